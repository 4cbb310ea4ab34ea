"""Attempts to move the goalposts: each ends non-green, and the message names the cause."""

import json
import shutil
import subprocess

import pytest

from tests.project import make_key, many, once


@pytest.fixture
def ready(project, tmp_path_factory):
    """40 cases, a signed baseline that had them all right, a candidate that lost 12."""
    return once(project, "test_tampering", build, tmp_path_factory.mktemp("built"))


def build(project):
    project.categories = ("extraction", "reasoning")
    project.suite("extraction", many(20))
    project.suite("reasoning", many(20, "reasoning", "r"))
    project.answers("old", project.right())
    project.answers("new", project.right(*(f"r{i:03}" for i in range(12))))
    project.settings()
    project.fineval("lock", "add", "evals/cases")
    project.baseline()


def baseline(project):
    return project.root / "baselines" / "main.json"


def refused(project, *arguments, cause, code=4):
    """The run ends with this exit code, and says this; nothing reads as green."""
    done = project.pytest(*arguments)
    said = done.stdout.str() + done.stderr.str()
    assert done.ret == code, said
    assert cause in said
    assert "fineval: PASS" not in said
    return said


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def sign_as_stranger(project):
    """Propose an easier baseline of the bad model, signed by a key that nobody allowed."""
    key = project.root / "stranger"
    make_key(key)
    project.fineval("baseline", "sign", str(baseline(project)), "--key", str(key))
    return key


def git(project, *arguments):
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, cwd=project.root, check=True, capture_output=True)


@pytest.fixture
def reviewed(ready):
    """The project as it is on main; what follows is a pull request."""
    git(ready, "init", "-q", "-b", "main")
    git(ready, "add", "pyproject.toml", "evals", "baselines")
    git(ready, "commit", "-qm", "reviewed")
    git(ready, "switch", "-qc", "change")
    return ready


TRUST = ("--fineval-trust-ref", "main")


def test_the_candidate_blocks_before_anybody_tampers(ready):
    refused(ready, cause="fineval: BLOCK", code=1)


def test_an_edited_policy(ready):
    edit(baseline(ready), '"reasoning": 0.03', '"reasoning": 0.93')
    refused(ready, cause="bytes were altered since it was signed")


def test_an_edited_score(ready):
    edit(baseline(ready), '"scores": [1.0]', '"scores": [0.0]')
    refused(ready, cause="bytes were altered since it was signed")


def test_a_swapped_signature(ready):
    other = ready.root / "baselines" / "other.json"
    shutil.copy(baseline(ready), other)
    shutil.copy(
        ready.root / "baselines" / "main.answers.jsonl", other.with_name("other.answers.jsonl")
    )
    shutil.copy(ready.root / "baselines" / "main.cases.lock", other.with_name("other.cases.lock"))
    edit(other, '"reason": "test"', '"reason": "another"')
    ready.sign(other)
    shutil.copy(other.with_name("other.json.sig"), baseline(ready).with_name("main.json.sig"))
    refused(ready, cause="bytes were altered since it was signed")


def test_an_old_signature_on_new_bytes(ready):
    signature = baseline(ready).with_name("main.json.sig")
    old = signature.read_bytes()
    ready.fineval(
        *("baseline", "propose", "runs/base-old", "--reason", "again"),
        *("-o", "baselines/main.json", "--by", "t"),
    )
    assert not signature.exists()
    signature.write_bytes(old)
    refused(ready, cause="bytes were altered since it was signed")


def test_a_strangers_signature(ready):
    sign_as_stranger(ready)
    refused(ready, cause="its signer is not in")


def test_replaced_signers_in_a_pull_request(reviewed):
    key = sign_as_stranger(reviewed)
    edit(
        reviewed.root / "pyproject.toml",
        "[tool.fineval.gate]",
        "[tool.fineval.gate]\nalpha = 0.001",
    )
    public = key.with_suffix(".pub").read_text()
    (reviewed.root / "baselines" / "allowed_signers").write_text(f"me@example.com {public}")
    refused(reviewed, *TRUST, cause="fineval: BLOCK", code=1)


def test_an_easier_baseline_with_its_own_signers_in_a_pull_request(reviewed):
    folder = reviewed.root / "runs" / "easy"
    reviewed.pytest("--fineval-gate", "off", "--fineval-run", str(folder))
    reviewed.fineval(
        *("baseline", "propose", str(folder), "--reason", "easier"),
        *("-o", "baselines/main.json", "--by", "t"),
    )
    key = sign_as_stranger(reviewed)
    public = key.with_suffix(".pub").read_text()
    (reviewed.root / "baselines" / "allowed_signers").write_text(f"me@example.com {public}")
    assert reviewed.pytest().ret == 0, "without a trusted ref the working tree rules"
    refused(reviewed, *TRUST, cause="fineval: BLOCK", code=1)


@pytest.mark.parametrize(
    "line", ['baseline = "none"', 'baseline = "baselines/easy.json"', "# no baseline"]
)
def test_another_baseline_in_the_settings_of_a_pull_request(reviewed, line):
    edit(reviewed.root / "pyproject.toml", 'baseline = "baselines/main.json"', line)
    refused(reviewed, *TRUST, cause="fineval: BLOCK", code=1)


def test_a_retirement_that_only_the_pull_request_records(reviewed):
    path = reviewed.root / "evals" / "cases" / "reasoning.jsonl"
    for number in range(12):
        reviewed.fineval("lock", "retire", f"r{number:03}", "--reason", "too hard")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[12:]))
    refused(reviewed, *TRUST, cause="r000")


def test_a_ledger_rewritten_in_a_pull_request(reviewed):
    edit(reviewed.root / "evals" / "cases.lock", '"version": 1', '"version": 2')
    refused(reviewed, *TRUST, cause="the ledger only grows")


def test_a_ref_that_does_not_exist(reviewed):
    refused(reviewed, "--fineval-trust-ref", "origin/main", cause='the ref "origin/main" is not in')


def test_a_ref_without_the_baseline(reviewed):
    git(reviewed, "rm", "-q", "-r", "--cached", "baselines")
    git(reviewed, "commit", "-qm", "no baseline")
    refused(
        reviewed,
        *("--fineval-trust-ref", "change"),
        cause="change:baselines/main.json: there is no such baseline in the trusted ref",
    )


def test_the_trusted_verdict_is_repeated_from_the_commit(reviewed):
    reviewed.pytest(*TRUST)
    (reviewed.root / "baselines" / "allowed_signers").write_text("")
    again = reviewed.fineval("gate", str(reviewed.run_folder()), "--json", fails=True)
    assert again.returncode == 1
    assert again.stdout.encode() == (reviewed.run_folder() / "verdict.json").read_bytes()


def test_a_deleted_case(ready):
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    refused(ready, cause="case r000 is gone")


def test_a_shrunk_suite_whose_ledger_went_with_it(ready):
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[12:]))
    (ready.root / "evals" / "cases.lock").unlink()
    said = refused(ready, cause="the case ledger is gone")
    assert "r000" in said


def test_a_changed_gold(ready):
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    edit(path, '"answer": 100', '"answer": 7')
    refused(ready, cause="fineval lock bump r000")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_score_that_is_no_number(ready, number):
    ready.pytest()
    records = ready.run_folder() / "records.jsonl"
    edit(records, '"value": 1.0', f'"value": {number}')
    done = ready.fineval("gate", str(ready.run_folder()), fails=True)
    assert done.returncode == 4
    assert "records.jsonl:" in done.stderr
    assert "value" in done.stderr


def test_a_nan_in_a_gold(ready):
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    edit(path, '"answer": 100', '"answer": NaN')
    refused(ready, cause="reasoning.jsonl:1")


def test_a_nan_in_the_baseline(ready):
    edit(baseline(ready), '"scores": [1.0]', '"scores": [NaN]')
    ready.fineval("baseline", "sign", str(baseline(ready)), "--key", "owner_key", fails=True)
    refused(ready, cause="main.json")


def test_an_empty_category(ready):
    (ready.root / "evals" / "cases" / "reasoning.jsonl").write_text("")
    refused(ready, cause="holds no case")


def test_a_category_that_nothing_belongs_to(ready):
    for name in ("test_reasoning.py", "cases/reasoning.jsonl", "cases.lock"):
        (ready.root / "evals" / name).unlink()
    refused(ready, cause="r000")


def test_zero_cases(ready):
    for path in (ready.root / "evals").glob("test_*.py"):
        path.unlink()
    done = ready.pytest()
    assert done.ret == 5


def test_a_split_without_cases(ready):
    done = ready.pytest("--fineval-split", "smoke")
    assert done.ret == 5


@pytest.mark.parametrize("command", [["--rescore"], ["--rescore", "--json"]])
def test_forged_scores_in_the_runs_folder(ready, command):
    ready.pytest()
    records = ready.run_folder() / "records.jsonl"
    forged = records.read_text().replace('"value": 0.0', '"value": 1.0')
    records.write_text(forged.replace('"status": "wrong"', '"status": "correct"'))
    run = str(ready.run_folder())
    assert ready.fineval("gate", run).returncode == 0, "the folder alone is believed"
    done = ready.fineval("gate", run, *command, fails=True)
    assert done.returncode == 1
    assert "BLOCK" in done.stdout.upper()


# Waivers.


@pytest.fixture
def stopped(ready):
    """A deploy verdict that stops."""
    assert ready.pytest("--fineval-gate", "deploy", "--fineval-run", "runs/deploy").ret == 1
    return ready


def waive(project, key):
    return project.fineval(
        *("waive", "runs/deploy", "--reason", "all read by hand", "--key", str(key), "--by", "t"),
        *("--until", _soon()),
    )


def _soon():
    from datetime import UTC, datetime, timedelta

    return str((datetime.now(UTC) + timedelta(days=3)).date())


def test_a_signed_waiver_lets_exactly_this_verdict_pass(stopped):
    waive(stopped, stopped.root / "owner_key")
    done = stopped.pytest("--fineval-gate", "deploy", "--fineval-run", "runs/again")
    assert done.ret == 0
    last = [line for line in done.outlines if line.strip()][-1]
    assert last.startswith("fineval: BLOCK")
    assert "waived by owner@example.com" in last
    again = json.loads((stopped.root / "runs" / "again" / "verdict.json").read_text())
    assert again["exit_code"] == 1
    assert stopped.fineval("gate", "runs/deploy").returncode == 0
    stopped.answers("new", stopped.right(*(f"r{i:03}" for i in range(13))))
    refused(stopped, "--fineval-gate", "deploy", cause="fineval: BLOCK", code=1)


def test_a_strangers_waiver_is_named_and_lifts_nothing(stopped):
    make_key(stopped.root / "stranger")
    waive(stopped, stopped.root / "stranger")
    refused(
        stopped,
        "--fineval-gate",
        "deploy",
        cause="the waiver of this verdict does not hold",
        code=1,
    )

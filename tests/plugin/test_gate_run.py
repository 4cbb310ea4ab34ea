"""A run against a signed baseline: outcomes, exit codes, what the terminal says."""

import json

import pytest

from tests.project import make_key, many


@pytest.fixture
def ready(project):
    """40 extraction and 40 reasoning cases, a signed baseline that had them all right."""
    project.categories = ("extraction", "reasoning")
    project.suite("extraction", many(40, splits=["smoke"]))
    project.suite("reasoning", many(40, "reasoning", "r"))
    project.answers("old", project.right())
    project.settings()
    project.baseline()
    return project


def wrong(prefix, n):
    return [f"{prefix}{i:03}" for i in range(n)]


def last_line(done):
    return [line for line in done.outlines if line.strip()][-1]


def test_the_same_answers_pass_without_a_flip(ready):
    ready.answers("new", ready.right())
    done = ready.pytest()
    assert done.ret == 0
    assert ready.verdict()["outcome"] == "pass"
    assert ready.verdict()["flips"] == []
    assert last_line(done).startswith("fineval: PASS")


def test_a_real_regression_blocks_and_the_lost_cases_are_shown_before_and_after(ready):
    ready.answers("new", ready.right(*wrong("r", 12)))
    done = ready.pytest()
    assert done.ret == 1
    verdict = ready.verdict()
    assert verdict["outcome"] == "block"
    outcomes = {check["name"]: check["outcome"] for check in verdict["checks"]}
    assert outcomes["reasoning"] == "block"
    assert outcomes["extraction"] == "pass"
    done.stdout.fnmatch_lines(
        ["*reasoning*40*1.000*0.700*30.0 pts*3.0*12/0*BLOCK*", "LOST r000*", "*before*“100”*"]
    )
    assert last_line(done).startswith("fineval: BLOCK")
    assert "reasoning" in last_line(done)


def test_a_single_flip_is_noise_and_does_not_block(ready):
    ready.answers("new", ready.right("r000"))
    done = ready.pytest()
    assert done.ret == 0
    assert ready.verdict()["outcome"] in ("pass", "inconclusive")


def test_a_drop_that_cannot_be_told_from_noise_is_inconclusive_and_says_what_to_do(ready):
    ready.answers("new", ready.right(*wrong("r", 3)))
    done = ready.pytest()
    assert done.ret == 0
    assert ready.verdict()["outcome"] == "inconclusive"
    assert last_line(done).startswith("fineval: INCONCLUSIVE")


def test_inconclusive_is_not_good_enough_for_a_deploy(ready):
    ready.answers("new", ready.right(*wrong("r", 3)))
    done = ready.pytest("--fineval-gate", "deploy")
    assert done.ret == 1


def test_too_many_client_errors_are_no_verdict_and_not_a_block(ready):
    right = ready.right()
    ready.answers("new", {name: text for name, text in right.items() if name > "e010"})
    done = ready.pytest()
    assert done.ret == 1
    assert ready.verdict()["outcome"] == "invalid"
    assert last_line(done).startswith("fineval: INVALID")


def test_the_smoke_split_is_judged_by_the_smoke_gate(ready):
    ready.answers("new", ready.right(*wrong("e", 12)))
    done = ready.pytest("--fineval-split", "smoke")
    assert done.ret == 1
    assert ready.verdict()["mode"] == "smoke"
    assert ready.verdict()["outcome"] == "block"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-k", "e001"],
        ["--fineval-gate", "off"],
        ["--fineval-baseline", "none"],
        ["--deselect", "evals/test_extraction.py::test_extraction[e001]"],
    ],
)
def test_what_is_left_out_by_choice_is_not_judged(ready, arguments):
    ready.answers("new", ready.right(*wrong("r", 12)))
    done = ready.pytest(*arguments)
    assert done.ret == 0
    assert ready.verdict()["outcome"] == "not_judged"
    assert last_line(done).startswith("fineval: NOT JUDGED")


def test_a_single_file_is_not_judged(ready):
    ready.answers("new", ready.right())
    done = ready.pytester.runpytest_inprocess("evals/test_extraction.py")
    assert done.ret == 0
    assert ready.verdict()["outcome"] == "not_judged"
    assert "test_reasoning.py" in last_line(done)


def test_not_judged_is_not_good_enough_for_a_deploy(ready):
    ready.answers("new", ready.right())
    assert ready.pytest("-k", "e001", "--fineval-gate", "deploy").ret == 1


def test_a_run_that_x_stopped_is_not_judged(ready):
    ready.answers("new", ready.right("e003"))
    done = ready.pytest("-x", "--fineval-strict")
    assert done.ret == 1
    assert ready.verdict()["outcome"] == "not_judged"
    assert "4 of 80" in last_line(done)


def test_a_case_that_was_deleted_is_invalid_before_anything_is_asked(ready):
    ready.answers("new", ready.right())
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    done = ready.pytest()
    assert done.ret == 4
    assert "r000" in done.stderr.str()
    assert "INVALID" in done.stderr.str()


def test_a_suite_that_was_deleted_is_invalid_when_its_folder_was_asked_for(ready):
    ready.answers("new", ready.right())
    (ready.root / "evals" / "test_reasoning.py").unlink()
    done = ready.pytest()
    assert done.ret == 4


def test_a_changed_gold_is_invalid(ready):
    ready.answers("new", ready.right())
    path = ready.root / "evals" / "cases" / "reasoning.jsonl"
    path.write_text(path.read_text().replace('"answer": 105', '"answer": 106'))
    done = ready.pytest()
    assert done.ret == 4
    assert "r005" in done.stderr.str()


def test_a_new_case_is_reported_and_not_gated(ready):
    ready.suite("extraction", [*many(40, splits=["smoke"]), *many(1, prefix="n")])
    ready.answers("new", ready.right("n000"))
    done = ready.pytest()
    assert done.ret == 0
    assert ready.verdict()["new_cases"] == ["n000"]
    assert ready.verdict()["outcome"] == "pass"


def test_an_unsigned_baseline_is_invalid_and_names_the_command(ready):
    (ready.root / "baselines" / "main.json.sig").unlink()
    done = ready.pytest()
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*baselines/main.json*", "fineval: INVALID*"])
    assert "fineval baseline sign" in done.stderr.str()
    assert not (ready.root / ".fineval").exists()


def test_one_altered_byte_is_invalid(ready):
    path = ready.root / "baselines" / "main.json"
    path.write_text(path.read_text().replace('"extraction": 0.03', '"extraction": 0.93'))
    done = ready.pytest()
    assert done.ret == 4
    assert "main.json" in done.stderr.str()


def test_an_unknown_signer_is_invalid(ready):
    make_key(ready.root / "stranger")
    path = ready.root / "baselines" / "main.json"
    ready.fineval("baseline", "sign", str(path), "--key", str(ready.root / "stranger"))
    done = ready.pytest()
    assert done.ret == 4
    assert "allowed_signers" in done.stderr.str()


def test_altered_answers_beside_the_baseline_are_invalid(ready):
    path = ready.root / "baselines" / "main.answers.jsonl"
    path.write_text(path.read_text().replace("100", "999", 1))
    done = ready.pytest()
    assert done.ret == 4
    assert "main.answers.jsonl" in done.stderr.str()


def test_gate_repeats_the_verdict_byte_for_byte_and_exits_alike(ready):
    ready.answers("new", ready.right(*wrong("r", 12)))
    ready.pytest()
    again = ready.fineval("gate", str(ready.run_folder()), "--json", fails=True)
    assert again.returncode == 1
    assert again.stdout.encode() == (ready.run_folder() / "verdict.json").read_bytes()
    shown = ready.fineval("gate", str(ready.run_folder()), fails=True)
    assert shown.stdout.splitlines()[-1].startswith("fineval: BLOCK")


def test_the_manifest_names_what_was_measured(ready):
    ready.answers("new", ready.right())
    ready.pytest()
    manifest = json.loads((ready.run_folder() / "manifest.json").read_text())
    assert manifest["candidate"] == "new"
    assert manifest["models"]["new"]["model"] == "new"
    assert len(manifest["planned"]) == 80
    assert manifest["finished"] >= manifest["started"]
    assert {"pytest", "python", "pytest-fineval"} <= set(manifest["versions"])


def test_an_unproposable_run_is_refused(ready):
    ready.answers("new", {"e000": "100"})
    ready.pytest("--fineval-gate", "off", "--fineval-run", "errored")
    done = ready.fineval(
        "baseline", "propose", "errored", "--reason", "r", "-o", "b.json", "--by", "t", fails=True
    )
    assert done.returncode == 4
    assert "error" in done.stderr


def test_verify_names_the_signer(ready):
    done = ready.fineval("baseline", "verify", "baselines/main.json")
    assert "owner@example.com" in done.stdout


def test_a_lost_case_is_shown_beside_an_answer_that_was_right(project):
    project.suite("extraction", many(40))
    project.answers("old", project.right("e003"), [0])
    project.answers("old", project.right(), [1, 2])
    project.answers("new", project.right("e003"))
    project.settings()
    project.baseline(repeat=3)
    done = project.pytest()
    shown = done.outlines.index("LOST e003 (extraction): read “7”, score 0")
    assert [line.strip() for line in done.outlines[shown + 1 : shown + 3]] == [
        "before “103”",
        "after  “7”",
    ]

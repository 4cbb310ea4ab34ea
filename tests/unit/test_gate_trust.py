"""Rules read from a git ref, with real git."""

import subprocess

import pytest

from pytest_fineval.cases import files, lock
from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError
from pytest_fineval.gate import trust
from pytest_fineval.gate.baseline import load, write
from pytest_fineval.gate.signoff import sign, signature_path, verify
from tests.unit.gate_world import NOW, allow, make_key, ones, proposal, run

CASE = Case.model_validate(
    {
        "id": "a",
        "category": "extraction",
        "candidate": {"question": "?"},
        "gold": {"answer": "1"},
        "scorer": {"name": "exact"},
    }
)


def git(folder, *arguments):
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """main: a signed baseline of Ann's and a ledger; the project lies in a folder of its own."""
    root = tmp_path / "service"
    path = root / "baselines" / "main.json"
    made = proposal(run(ones(2)))
    write(made.baseline, made.companion, path)
    key = make_key(tmp_path, "ann")
    sign(path, key)
    allow(path.parent, key, "ann")
    cases = root / "evals" / "cases" / "a.jsonl"
    files.write(cases, [CASE])
    ledger = lock.Ledger(root / "evals" / "cases.lock")
    ledger = ledger.with_entries(lock.added(ledger, files.read(cases, ["extraction"])))
    ledger.path.write_text(ledger.to_text())
    (root / "pyproject.toml").write_text('[tool.fineval]\nbaseline = "baselines/main.json"\n')
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "service")
    git(tmp_path, "commit", "-qm", "first")
    return root


def files_of(root):
    return [root / "evals" / "cases" / "a.jsonl"]


def test_a_ref_gives_what_was_merged_whatever_lies_in_the_tree(repository):
    path = repository / "baselines" / "main.json"
    before = path.read_bytes()
    path.write_text("{}")
    path.with_name("allowed_signers").write_text("")
    signature_path(path).unlink()
    with trust.rules(path, files_of(repository), repository, "main") as rules:
        assert rules.baseline.read_bytes() == before
        assert verify(rules.baseline, rules.signers, now=NOW).principal == "ann"
        assert load(rules.baseline).name == "main"
        assert set(rules.ledger.latest) == {"a"}
        folder = rules.baseline.parent
    assert not folder.exists()


def test_without_a_ref_the_tree_rules(repository):
    path = repository / "baselines" / "main.json"
    with trust.rules(path, files_of(repository), repository) as rules:
        assert rules.baseline == path
        assert rules.recorded == {}


def test_the_settings_of_the_ref_name_its_baseline(repository):
    (repository / "pyproject.toml").write_text("[tool.fineval]\n")
    assert trust.setting("main", repository, "baseline") == "baselines/main.json"
    assert trust.setting("main", repository, "candidate") is None


def test_what_only_the_tree_records_does_not_count(repository):
    ledger = lock.read(repository / "evals" / "cases.lock")
    ledger = ledger.with_entries([lock.retired(ledger, "a", "too hard")])
    ledger.path.write_text(ledger.to_text())
    path = repository / "baselines" / "main.json"
    with trust.rules(path, files_of(repository), repository, "main") as rules:
        assert rules.recorded == {}
        assert rules.own_ledger.recorded == {"a": None}
    git(repository, "commit", "-qam", "retire")
    with trust.rules(path, files_of(repository), repository, "main") as rules:
        assert rules.recorded == {"a": None}


def test_faults_name_the_file_in_the_ref(repository):
    path = repository / "baselines" / "main.json"
    path.write_bytes(path.read_bytes() + b" ")
    git(repository, "commit", "-qam", "altered")
    with (
        pytest.raises(InputError, match=r"^main:baselines/main\.json: its bytes were altered"),
        trust.rules(path, files_of(repository), repository, "main") as rules,
    ):
        verify(rules.baseline, rules.signers, now=NOW)


@pytest.mark.parametrize("ref", ["nothing", "--help", "main:baselines", ""])
def test_a_ref_that_names_no_commit_is_refused(repository, ref):
    with pytest.raises(InputError, match="is not in this repository"):
        trust.commit_of(ref, repository)


def test_a_baseline_outside_the_project_cannot_be_trusted(repository, tmp_path):
    with (
        pytest.raises(InputError, match="lies outside the project"),
        trust.rules(tmp_path / "x.json", [], repository, "main"),
    ):
        pass


def test_a_folder_that_is_no_repository_has_no_refs(tmp_path):
    with pytest.raises(InputError, match="is not in this repository"):
        trust.commit_of("main", tmp_path)


def test_a_replaced_commit_is_not_the_trusted_one(repository):
    git(repository, "switch", "-qc", "change")
    (repository / "baselines" / "main.json").write_text("{}")
    git(repository, "commit", "-qam", "easier")
    git(repository, "replace", "main", "change")
    data = trust.blob(
        trust.commit_of("main", repository), repository / "baselines/main.json", repository
    )
    assert data != b"{}"

"""Held-out cases: one opening a case, a committed line first, whatever is renamed or added."""

import json
import subprocess
from datetime import UTC, datetime

import pytest

from pytest_fineval.cases import files, lock
from pytest_fineval.cases.model import Case
from pytest_fineval.cli import main
from pytest_fineval.errors import InputError
from pytest_fineval.gate import heldout
from pytest_fineval.gate.heldout import Gatekeeper, Openings
from pytest_fineval.settings import ModelSettings
from pytest_fineval.store.manifest import identity
from tests.unit import gate_world

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MODELS = {"new": identity(ModelSettings(model="new-1"))}


def case(name, *, held=True, question=None, **fields):
    return Case.model_validate(
        {
            "id": name,
            "category": "extraction",
            "candidate": {"question": question or f"What is {name}?"},
            "gold": {"answer": "1"},
            "scorer": {"name": "exact"},
            "splits": ["heldout"] if held else [],
            **fields,
        }
    )


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evals" / "cases" / "new.jsonl"
    (tmp_path / "pyproject.toml").write_text('[tool.fineval.models.new]\nmodel = "new-1"\n')

    def write(*cases):
        files.write(path, cases)
        return files.read(path, ["extraction"])

    write.path = path
    write.ledger = tmp_path / "evals" / "heldout.jsonl"
    return write


def opened(known, found, **options):
    values = {"models": MODELS, "plan": None, "reason": "release", "who": "ann", "now": NOW}
    return heldout.open_cases(known, found, **{**values, **options})


def keeper(root, models=MODELS, **options):
    return Gatekeeper(root, models, **options)


def write_line(suite, found, **options):
    line, _ = opened(heldout.read(suite.ledger), found, **options)
    heldout.append(suite.ledger, line)
    return line


def test_a_line_names_who_when_which_models_plan_and_cases(suite):
    found = suite(case("a"), case("b", held=False))
    line, refused = opened(Openings(), found)
    assert (line.who, line.when[:10], line.reason) == ("ann", "2026-03-01", "release")
    assert [one.sha256 for one in line.cases] == [found[0].case.digest]
    assert len(line.plan) == 64
    assert not refused


def test_adding_cases_does_not_reopen_old_ones(suite):
    first = write_line(suite, suite(case("a")))
    line, refused = opened(heldout.read(suite.ledger), suite(case("a"), case("b")))
    assert [one.id for one in line.cases] == ["b"]
    assert refused == {"a": first}


@pytest.mark.parametrize(
    "again",
    [
        case("a"),
        case("renamed", question="what is A? "),
        case("a", question="Another question?"),
        case("a", tags={"edited": "yes"}),
    ],
)
def test_what_was_opened_is_known_again(suite, again):
    write_line(suite, suite(case("a")))
    with pytest.raises(InputError, match=r"opened before \(opening \w+ of 2026-03-01 by ann"):
        opened(heldout.read(suite.ledger), suite(again))


@pytest.mark.parametrize(
    ("cases", "options", "message"),
    [
        ([case("a", held=False)], {}, "no case here is held out"),
        ([case("a")], {"reason": " "}, "for a reason"),
    ],
)
def test_what_cannot_be_opened_is_refused(suite, cases, options, message):
    with pytest.raises(InputError, match=message):
        opened(Openings(), suite(*cases), **options)


def test_a_case_that_was_not_opened_may_not_be_asked(suite, tmp_path):
    (found,) = suite(case("a"))
    with pytest.raises(InputError, match=r"new\.jsonl:1.*fineval heldout open new\.jsonl"):
        keeper(tmp_path).refusal(found)


def test_an_opened_case_may_be_asked_of_its_models_alone(suite, tmp_path):
    (found,) = suite(case("a"))
    line = write_line(suite, [found])
    gate = keeper(tmp_path)
    assert gate.refusal(found) is None
    assert gate.admitted == {line.id}
    other = {**MODELS, "other": identity(ModelSettings(model="other"))}
    assert "not for other" in keeper(tmp_path, other).refusal(found)
    changed = {"new": identity(ModelSettings(model="new-1", temperature=1))}
    assert "another model by now" in keeper(tmp_path, changed).refusal(found)


def test_a_changed_case_stays_closed(suite, tmp_path):
    write_line(suite, suite(case("a")))
    (found,) = suite(case("a", tags={"edited": "yes"}))
    assert "an earlier version" in keeper(tmp_path).refusal(found)


def finished_run(root, line, **fields):
    run = gate_world.run({"extraction": [[1.0]]}, split="heldout", openings=(line.id,), **fields)
    folder = root / "runs" / run.manifest.run_id
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(run.manifest.model_dump_json())
    return root / "runs"


def test_a_line_is_used_up_by_a_whole_run(suite, tmp_path):
    (found,) = suite(case("a"))
    runs = finished_run(tmp_path, write_line(suite, [found]))
    assert "was asked in run run-1" in keeper(tmp_path, runs=runs).refusal(found)


@pytest.mark.parametrize("fields", [{"finished": None}, {"incomplete": "interrupted"}])
def test_a_crashed_run_is_resumed_under_the_same_line(suite, tmp_path, fields):
    (found,) = suite(case("a"))
    runs = finished_run(tmp_path, write_line(suite, [found]), **fields)
    assert keeper(tmp_path, runs=runs).refusal(found) is None


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_the_line_has_to_be_committed_first(suite, tmp_path):
    (found,) = suite(case("a"))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    write_line(suite, [found])
    with pytest.raises(InputError, match="is not committed yet"):
        keeper(tmp_path).refusal(found)
    git(tmp_path, "switch", "-qc", "change")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "open")
    assert keeper(tmp_path).refusal(found) is None
    with pytest.raises(InputError, match="is not in main yet"):
        keeper(tmp_path, ref="main").refusal(found)


def test_open_writes_the_line_and_says_what_stays_closed(suite, capsys):
    suite(case("a"))
    command = ["heldout", "open", str(suite.path), "--reason", "r", "--model", "new", "--by", "ann"]
    assert main(command) == 0
    assert main(command) == 4
    assert "opened before" in capsys.readouterr().err
    suite(case("a"), case("b"))
    assert main(command) == 0
    assert "refused: a: opening" in capsys.readouterr().err
    lines = suite.ledger.read_text().splitlines()
    assert [json.loads(line)["cases"][0]["id"] for line in lines] == ["a", "b"]


def test_a_broken_line_is_named(suite):
    suite(case("a"))
    suite.ledger.write_text('{"when": "x"}\n')
    with pytest.raises(InputError, match=r"heldout\.jsonl:1: missing key"):
        heldout.read(suite.ledger)


def test_whole_clusters_are_held_out_and_the_choice_is_the_contents(suite):
    cases = [case(f"c{n}", held=False, cluster=f"filing-{n // 2}") for n in range(20)]
    first = heldout.chosen(cases)
    assert len(first) == 3
    assert heldout.chosen(cases[::-1]) == first
    marked = heldout.mark(suite(*cases), None)
    held = {c.cluster for c in marked if "heldout" in c.splits}
    assert held == first
    assert all(("heldout" in c.splits) == (c.cluster in first) for c in marked)


def test_cases_in_use_cannot_be_held_out_any_more(suite, capsys):
    suite(case("a", held=False), case("b", held=False))
    assert main(["lock", "add", "evals/cases"]) == 0
    assert main(["heldout", "mark", str(suite.path)]) == 4
    assert "in use already by cases.lock: a, b" in capsys.readouterr().err
    assert not any("heldout" in one.case.splits for one in files.read(suite.path, ["extraction"]))


def test_mark_then_add(suite):
    suite(*(case(f"c{n}", held=False) for n in range(10)))
    assert main(["heldout", "mark", str(suite.path), "--share", "0.2"]) == 0
    assert main(["lock", "add", "evals/cases"]) == 0
    found = files.read(suite.path, ["extraction"])
    assert sum("heldout" in one.case.splits for one in found) == 2
    ledger = lock.read(suite.path.parents[1] / "cases.lock")
    with pytest.raises(InputError, match="holds held-out cases already"):
        heldout.mark(found, ledger)

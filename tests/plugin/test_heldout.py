"""The held-out split and registered plans in real runs."""

import json
import shutil

import pytest

from pytest_fineval.store.run import read
from tests.project import many, once

HELD = ("--fineval-split", "heldout")


@pytest.fixture
def ready(project, tmp_path_factory):
    """Six cases, two of them held out; no baseline."""
    return once(project, "test_heldout", build, tmp_path_factory.mktemp("built"))


def build(project):
    project.suite("extraction", [*many(4), *many(2, prefix="h", splits=["heldout"])])
    project.answers("new", project.right("h001"))
    project.answers("old", project.right())
    project.settings()
    project.fineval("lock", "add", "evals/cases")


def open_suite(project, model="new", fails=False):
    return project.fineval(
        *("heldout", "open", "evals/cases/extraction.jsonl", "--reason", "release 2"),
        *("--model", model, "--by", "ann"),
        fails=fails,
    )


def manifest(project):
    return json.loads((project.run_folder() / "manifest.json").read_text())


def test_the_full_split_asks_no_held_out_case(ready):
    done = ready.pytest("--fineval-gate", "off")
    assert done.ret == 0
    assert [case["id"] for case in manifest(ready)["planned"]] == ["e000", "e001", "e002", "e003"]


def test_held_out_cases_are_not_asked_before_they_are_opened(ready):
    done = ready.pytest(*HELD)
    assert done.ret == 4
    assert "fineval heldout open extraction.jsonl" in done.stderr.str()
    assert not (ready.root / ".fineval").exists()


def test_an_opened_suite_is_asked_once_and_after_a_crash_again(ready):
    open_suite(ready)
    line = json.loads((ready.root / "evals" / "heldout.jsonl").read_text())
    assert (line["who"], line["reason"], len(line["cases"])) == ("ann", "release 2", 2)
    done = ready.pytest(*HELD)
    assert done.ret == 0
    first = manifest(ready)
    assert [case["id"] for case in first["planned"]] == ["h000", "h001"]
    assert len(first["openings"]) == 1

    again = ready.pytest(*HELD)
    assert again.ret == 4
    assert f"h000: was asked in run {first['run_id']}" in again.stderr.str()
    assert "opening" in again.stderr.str()

    path = ready.run_folder() / "manifest.json"
    path.write_text(json.dumps({**first, "finished": None}))
    assert ready.pytest(*HELD).ret == 0


def test_a_case_opened_before_stays_closed_while_a_new_one_is_asked(ready):
    open_suite(ready)
    assert ready.pytest(*HELD).ret == 0
    shutil.move(ready.run_folder(), ready.root / ".fineval" / "runs" / "first")
    ready.suite(
        "extraction",
        [
            *many(4),
            *many(2, prefix="h", splits=["heldout"]),
            *many(1, prefix="x", splits=["heldout"]),
        ],
    )
    ready.answers("new", {"x000": "100"})
    assert "refused: h000" in open_suite(ready).stderr
    done = ready.pytest(*HELD, "--fineval-run", "second")
    assert done.ret == 0
    planned = json.loads((ready.root / "second" / "manifest.json").read_text())["planned"]
    assert [case["id"] for case in planned] == ["x000"]
    assert "not asked: h000: was asked in run" in done.stdout.str()


def test_another_model_may_not_use_the_opening(ready):
    open_suite(ready)
    done = ready.pytest(*HELD, "--fineval-model", "old")
    assert done.ret == 4
    assert "not for old" in done.stderr.str()
    assert open_suite(ready, "old", fails=True).returncode == 4


def test_a_run_against_a_plan_lists_its_deviations_and_repeats_them(ready):
    ready.fineval("plan", "--hypothesis", "better", "-o", "plan.json", "--by", "ann")
    ready.baseline()
    done = ready.pytest("--fineval-plan", "plan.json", "--fineval-repeat", "2")
    notes = ready.verdict()["notes"]
    assert any("samples a case: planned 1, ran 2" in note for note in notes)
    assert "is not committed: nothing shows that it came first" in done.stdout.str()
    again = ready.fineval("gate", str(ready.run_folder()), "--json", fails=True)
    assert again.stdout.encode() == (ready.run_folder() / "verdict.json").read_bytes()


def test_a_plan_that_does_not_exist_is_a_usage_error(ready):
    done = ready.pytest("--fineval-plan", "none.json", "--fineval-gate", "off")
    assert done.ret == 4
    assert "no plan can be read here" in done.stderr.str()


def test_each_shard_asks_its_own_held_out_cases_once(ready):
    open_suite(ready)
    runs = ready.root / ".fineval" / "runs"
    for shard in ("1/2", "2/2"):
        assert ready.pytest(*HELD, "--fineval-shard", shard).ret == 0
    asked = [len(read(path.parent).records) for path in runs.glob("*/manifest.json")]
    assert sum(asked) == 2
    for again in ("1/2", "2/2", "1/1", "1/3"):
        done = ready.pytest(*HELD, "--fineval-shard", again)
        assert done.ret == 4, again
        assert "was asked in run" in done.stderr.str()
    assert ready.pytest(*HELD).ret == 4

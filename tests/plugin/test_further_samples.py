"""Answers asked beyond the plan: must-pass confirmations, a deploy's second look, comparisons."""

import json

import pytest

from pytest_fineval.gate.further import confirmation_samples, second_look_samples
from pytest_fineval.store.run import read
from tests.project import many, number_case

SECOND = second_look_samples(1)
CONFIRM = confirmation_samples(1)


@pytest.fixture
def ready(project):
    """40 cases that the signed baseline had right."""
    project.categories = ("extraction",)
    project.suite("extraction", many(40))
    project.answers("old", project.right())
    project.settings()
    project.baseline()
    return project


def wrong(n):
    return [f"e{i:03}" for i in range(n)]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_deploy_asks_the_open_check_again_and_passes_what_was_noise(ready, workers):
    ready.answers("new", ready.right(*wrong(2)))
    ready.answers("new", ready.right(), samples=SECOND)
    done = ready.pytest("--fineval-gate", "deploy", *workers)
    assert done.ret == 0, done.stdout.str()
    verdict = ready.verdict()
    assert verdict["outcome"] == "pass"
    assert {check["look"] for check in verdict["checks"]} == {2}
    run = read(ready.run_folder())
    # Never only the failing cases: all forty were asked three times more.
    assert len(run.records) == 40 + 40 * 3


def test_gate_repeats_a_second_look_byte_for_byte(ready):
    ready.answers("new", ready.right(*wrong(2)))
    ready.answers("new", ready.right(*wrong(3)), samples=SECOND)
    done = ready.pytest("--fineval-gate", "deploy")
    folder = ready.run_folder()
    again = ready.fineval("gate", str(folder), "--json", fails=True)
    assert again.stdout.encode() == (folder / "verdict.json").read_bytes()
    assert again.returncode == done.ret == 1
    assert json.loads(again.stdout)["outcome"] == "inconclusive"


def test_recordings_without_further_samples_leave_the_deploy_open_and_say_so(ready):
    ready.answers("new", ready.right(*wrong(2)))
    done = ready.pytest("--fineval-gate", "deploy")
    assert done.ret == 1
    assert ready.verdict()["outcome"] == "inconclusive"
    done.stdout.fnmatch_lines(["*no second look: the recordings hold no further samples*"])
    assert len(read(ready.run_folder()).records) == 40


def test_a_must_pass_case_that_is_right_twice_more_does_not_fail(project):
    project.suite("numbers", [number_case("a", 1, must_pass=True), number_case("b", 2)])
    project.answers("new", {"a": "7", "b": "2"})
    project.answers("new", {"a": "1"}, samples=CONFIRM)
    project.settings()
    assert project.pytest("--fineval-baseline", "none").ret == 0
    statuses = [
        (r.sample, r.status) for r in read(project.run_folder()).records if r.case.id == "a"
    ]
    assert statuses == [(0, "wrong"), (1, "correct"), (2, "correct")]


def test_a_must_pass_case_that_is_wrong_again_fails_and_shows_its_answers(project):
    project.suite("numbers", [number_case("a", 1, must_pass=True)])
    project.answers("new", {"a": "7"}, samples=3)
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*a is wrong (a must_pass case)*", "*again:*wrong, wrong*"])


def test_compare_gives_the_same_figures_for_a_matrix_and_for_separate_runs(ready):
    ready.answers("new", ready.right(*wrong(6)))
    for name in ("old", "new"):
        ready.pytest(
            *("--fineval-model", name, "--fineval-gate", "off"),
            *("--fineval-run", str(ready.root / name)),
        )
    both = ready.pytest(
        *("--fineval-model", "old", "--fineval-model", "new", "--fineval-gate", "off"),
        *("--fineval-run", str(ready.root / "both")),
    )
    both.stdout.fnmatch_lines(
        ["*overall: old 1.000 against new 0.850, drop -15.0 pts (*lost 0, gained 6, Holm p=*"]
    )
    apart = ready.fineval("compare", "new", "--reference", "old", "--json").stdout
    matrix = ready.fineval("compare", "both", "--reference", "old", "--json").stdout
    assert json.loads(apart) == json.loads(matrix)
    (one,) = [d for d in json.loads(apart)["differences"] if d["check"] == "overall"]
    assert (one["model"], one["drop"], one["lost"]) == ("new", 0.15, wrong(6))
    table = ready.fineval("compare", "new", "--reference", "old").stdout
    assert "lost with new: e000, e001, e002, e003, e004 and 1 more" in table


def test_an_unknown_reference_names_the_models(ready):
    ready.answers("new", ready.right())
    ready.pytest("--fineval-run", str(ready.root / "one"))
    done = ready.fineval("compare", "one", "--reference", "nobody", fails=True)
    assert done.returncode == 4
    assert '"nobody" is neither a run nor one of the models: new' in done.stderr


def test_self_check_says_how_often_halves_of_a_run_block_each_other(ready):
    ready.answers("new", ready.right(), samples=4)
    ready.pytest("--fineval-repeat", "4", "--fineval-run", str(ready.root / "four"))
    done = ready.fineval("gate", "four", "--self-check")
    assert "200 random splits of 2 against 2 samples, full rules: 0 blocked" in done.stdout
    assert json.loads(ready.fineval("gate", "four", "--self-check", "--json").stdout)["noise"] == 0

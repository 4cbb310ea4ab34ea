"""How xdist workers share a run that asks models."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.session.schedule import following
from pytest_fineval.store.run import read
from tests.plugin.live import calls, live, most_in_flight, pipeline
from tests.project import many

LIVE = ("--fineval-baseline", "none", "--fineval-live")


@given(total=st.integers(0, 200), hands=st.integers(1, 20))
def test_every_item_is_in_one_hand_and_hands_are_even(total, hands):
    dealt = [list(following(first, total, hands)) for first in range(min(hands, total))]
    assert sorted(rank for hand in dealt for rank in hand) == list(range(total))
    assert max(map(len, dealt), default=0) - min(map(len, dealt), default=0) <= 1


@given(total=st.integers(1, 200), hands=st.integers(1, 20), data=st.data())
def test_from_any_item_on_the_rest_of_its_hand_follows(total, hands, data):
    rank = data.draw(st.integers(0, total - 1))
    whole = list(following(rank % hands, total, hands))
    assert list(following(rank, total, hands)) == whole[whole.index(rank) :]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_workers_ask_ahead_and_nothing_twice(project, workers):
    live(project, 24, 0.2, concurrency=12)
    done = project.pytest(*LIVE, "-n", workers)
    done.stdout.fnmatch_lines(["*24 correct*"])
    asked = calls(project)
    assert len(asked) == 24
    assert len(set(asked)) == 24
    assert 4 <= most_in_flight(project) <= 12


def test_a_pipeline_of_the_project_is_asked_ahead_in_each_worker(project):
    project.suite("extraction", many(12))
    project.settings()
    pipeline(project, 0.2)
    done = project.pytest("--fineval-baseline", "none", "-n", "2")
    done.stdout.fnmatch_lines(["*12 correct*"])
    assert len(calls(project)) == 12


@pytest.mark.parametrize("dist", ["loadfile", "loadgroup"])
def test_another_distribution_works_and_says_once_that_it_is_slower(project, dist):
    live(project, 6, 0.01, concurrency=4)
    done = project.pytest(*LIVE, "-n", "2", "--dist", dist)
    done.stdout.fnmatch_lines(["*6 correct*"])
    assert done.stdout.str().count(f"--dist {dist} may give any case") == 1
    assert len(calls(project)) == 6


def test_tests_without_a_model_run_beside_cases(project):
    live(project, 7, 0.01, concurrency=4)
    plain = (
        "import pytest\n\n\n@pytest.mark.parametrize('i', range(11))\ndef test_x(i):\n    pass\n"
    )
    (project.root / "evals" / "test_plain.py").write_text(plain, encoding="utf-8")
    done = project.pytest(*LIVE, "-n", "3")
    done.stdout.fnmatch_lines(["*11 passed*7 correct*"])


def test_a_run_without_cases_is_left_to_xdist(project):
    project.settings()
    (project.root / "evals").mkdir()
    plain = (
        "import pytest\n\n\n@pytest.mark.parametrize('i', range(11))\ndef test_x(i):\n    pass\n"
    )
    (project.root / "evals" / "test_plain.py").write_text(plain, encoding="utf-8")
    done = project.pytest("-n", "2")
    done.assert_outcomes(passed=11)
    assert not (project.root / ".fineval").exists()


def test_what_a_dead_worker_had_left_is_asked_by_another_and_paid_once(project):
    body = (
        "import os, pathlib\n"
        "    mark = pathlib.Path('died')\n"
        "    if fineval.candidate.question == 'What is figure e004?' and not mark.exists():\n"
        "        mark.touch()\n"
        "        os._exit(9)\n"
        "    fineval.check()"
    )
    live(project, 16, 0.05, concurrency=8, body=body)
    done = project.pytest(*LIVE, "-n", "2")
    assert done.ret == 1, os.linesep.join(done.outlines)
    run = read(project.run_folder())
    assert [key.case for key in run.lost] == ["e004"]
    assert len(run.records) == 15
    # Of what was answered before the death nothing is asked again; only calls in flight may be.
    assert len(calls(project)) <= 16 + 4

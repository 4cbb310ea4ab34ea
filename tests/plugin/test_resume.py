"""A killed run leaves a readable store, and can be continued without paying twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from pytest_fineval.store.run import read
from tests.plugin.live import calls, live
from tests.project import many

LIVE = ("--fineval-baseline", "none", "--fineval-live")
SEED = 20261130


def killed_after(project, seconds, *arguments):
    """Start a run in a process of its own and kill it so long after its first call."""
    command = [sys.executable, "-m", "pytest", "evals", *LIVE, "--fineval-run", "run", *arguments]
    running = subprocess.Popen(
        command, cwd=project.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while not calls(project) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(seconds)
    os.kill(running.pid, signal.SIGKILL)
    running.wait(timeout=60)


def test_a_killed_run_is_continued_to_the_same_verdict_and_pays_for_nothing_twice(project):
    live(project, 30, 0.05, concurrency=2)
    random_times = random.Random(SEED)
    whole = project.pytest(*LIVE, "--fineval-run", "whole")
    (project.root / "log").unlink()
    killed_after(project, random_times.uniform(0.2, 0.6))
    at_death = len(calls(project))
    recorded = len(read(project.root / "run").records)
    resumed = project.pytest(*LIVE, "--fineval-resume=run")
    assert resumed.ret == whole.ret == 0
    assert recorded < 30
    resumed.stdout.fnmatch_lines(["*30 correct*"])
    same = [(project.root / name / "verdict.json").read_bytes() for name in ("run", "whole")]
    assert same[0] == same[1]
    # Calls in flight at the kill are the only ones that are made again: two at a time.
    assert len(calls(project)) <= 30 + 2, at_death
    assert len(read(project.root / "run").records) == 30
    assert read(project.root / "run").repeated == ()


@pytest.mark.parametrize("moment", range(4))
def test_a_kill_at_any_moment_leaves_a_readable_store(project, moment):
    live(project, 20, 0.3, concurrency=2)
    killed_after(project, random.Random(SEED + moment).uniform(0, 2.5))
    run = read(project.root / "run")
    assert len(run.records) + len(run.lost) == 20
    assert "PASS" not in project.fineval("gate", "run", fails=True).stdout
    assert project.pytest(*LIVE, "--fineval-resume=run").ret == 0
    assert read(project.root / "run").lost == []


def test_a_line_that_was_torn_by_the_kill_is_asked_for_again(project):
    live(project, 5, 0.0, concurrency=1)
    project.pytest(*LIVE, "--fineval-run", "run")
    path = project.root / "run" / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert len(read(project.root / "run").lost) == 1
    project.pytest(*LIVE, "--fineval-resume=run")
    assert read(project.root / "run").lost == []
    assert len(calls(project)) == 5  # its answer was kept


def test_a_run_is_resumed_under_xdist_too(project):
    live(project, 12, 0.01, concurrency=4)
    project.pytest(*LIVE, "--fineval-run", "run")
    path = project.root / "run" / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:7]), encoding="utf-8")
    done = project.pytest(*LIVE, "--fineval-resume=run", "-n", "2")
    done.stdout.fnmatch_lines(["*12 correct*"])
    assert len(read(project.root / "run").records) == 12
    assert len(calls(project)) == 12


def test_the_last_run_is_resumed_when_none_is_named(project):
    live(project, 3, 0.0, concurrency=1)
    project.pytest(*LIVE)
    folder = project.run_folder()
    done = project.pytest(*LIVE, "--fineval-resume")
    assert done.ret == 0
    assert project.run_folder() == folder


def test_changed_cases_are_not_mixed_into_a_run(project):
    live(project, 3, 0.0, concurrency=1)
    project.pytest(*LIVE, "--fineval-run", "run")
    project.cases = []
    project.suite("extraction", many(4))
    done = project.pytest(*LIVE, "--fineval-resume=run")
    assert done.ret == 4
    assert "a change in the cases" in done.stderr.str()


def test_a_call_that_was_not_made_is_made_when_the_run_goes_on(project):
    live(project, 3, 0.0, concurrency=1)
    project.pytest(*LIVE, "--fineval-run", "run")
    path = project.root / "run" / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[1] = {key: lines[1][key] for key in ("case", "model", "sample")} | {"status": "not_run"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = project.pytest(*LIVE, "--fineval-resume=run")
    done.stdout.fnmatch_lines(["*3 correct*"])
    assert len(read(project.root / "run").records) == 3


def test_a_folder_that_is_no_run_is_refused(project):
    live(project, 1, 0.0, concurrency=1)
    done = project.pytest(*LIVE, "--fineval-resume=evals")
    assert done.ret == 4
    assert "is not a run's folder" in done.stderr.str()

"""Calls overlap, are never made twice, and stop when the run does."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.plugin.live import calls, live, most_in_flight, pipeline
from tests.project import many

NO_GATE = ("--fineval-baseline", "none")
LIVE = (*NO_GATE, "--fineval-live")


def test_a_session_scoped_pipeline_is_asked_ahead(project):
    project.suite("extraction", many(30))
    project.extra = "[tool.fineval.run]\nconcurrency = 10"
    project.settings()
    pipeline(project, 0.5)
    done = project.pytest(*NO_GATE)
    done.stdout.fnmatch_lines(["*30 correct*"])
    assert len(calls(project)) == 30
    assert most_in_flight(project) == 10


def test_a_function_scoped_pipeline_is_asked_in_turn_and_says_so_once(project):
    project.suite("extraction", many(4))
    project.settings()
    pipeline(project, 0.01, scope="function")
    done = project.pytest(*NO_GATE)
    assert calls(project) == [f"own What is figure e{i:03}?" for i in range(4)]
    assert most_in_flight(project) == 1
    assert done.stdout.str().count("fixture is of scope function") == 1


def test_several_models_and_samples_are_asked_at_once(project):
    live(project, 5, 0.5, concurrency=20)
    models = ("--fineval-model", "new", "--fineval-model", "old")
    done = project.pytest(*LIVE, *models, "--fineval-repeat", "2")
    done.stdout.fnmatch_lines(["*20 correct*"])
    asked = calls(project)
    assert len(asked) == 20
    assert sum(line.startswith("old ") for line in asked) == 10
    assert most_in_flight(project) == 20


def test_a_stop_at_the_first_failure_wastes_no_more_than_the_concurrency(project):
    live(project, 60, 0.02, concurrency=3, body="fineval.check()\n    assert False")
    done = project.pytest(*LIVE, "-x")
    assert done.ret == 1
    assert len(calls(project)) <= 1 + 3 + 1


def test_skipped_cases_are_not_paid_for(project):
    live(project, 10, 0.01, concurrency=2)
    module = project.root / "evals" / "test_extraction.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("@pytest", "@pytest.mark.skip\n@pytest", 1), encoding="utf-8")
    project.pytest(*LIVE)
    assert calls(project) == []


def test_what_is_skipped_in_its_turn_makes_room_for_others(project):
    live(project, 40, 0.01, concurrency=2)
    fixture = (
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef odd(request):\n"
        "    if int(request.node.name[-3:-1]) < 20:\n        pytest.skip()\n"
    )
    (project.root / "evals" / "conftest.py").write_text(fixture, encoding="utf-8")
    done = project.pytest(*LIVE)
    done.stdout.fnmatch_lines(["*20 skipped*20 correct*"])
    assert len(calls(project)) <= 20 + 8 + 20


def started(project, *arguments):
    command = [sys.executable, "-m", "pytest", "evals", *LIVE, *arguments]
    running = subprocess.Popen(
        command,
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A background job of a shell ignores interrupts, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while len(calls(project)) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return running


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_the_run_at_once_and_judges_nothing(project, times):
    live(project, 50, 30, concurrency=2)
    running = started(project)
    began = time.monotonic()
    for _ in range(times):
        os.kill(running.pid, signal.SIGINT)
        time.sleep(0.3)
    output, _ = running.communicate(timeout=60)
    # A second one may reach pytest while it prints the first, and kill it as it kills any process.
    assert running.returncode in {1: (2,), 2: (2, -signal.SIGINT)}[times], output
    assert time.monotonic() - began < 30
    assert "PASS" not in output
    assert (project.run_folder() / "manifest.json").exists()


def test_a_client_that_blocks_the_loop_does_not_hold_up_the_end(project):
    live(project, 1, 0.01, concurrency=1)
    path = project.root / "slow.py"
    text = path.read_text(encoding="utf-8")
    closing = "    class Client:\n        async def answer(self, request, sample):\n"
    closing += "            return await ask(request)\n\n"
    closing += "        async def close(self):\n            await asyncio.sleep(600)\n\n"
    path.write_text(text.replace("    return ask\n", closing + "    return Client()\n"))
    began = time.monotonic()
    done = project.pytest(*LIVE)
    assert done.ret == 0
    assert time.monotonic() - began < 60

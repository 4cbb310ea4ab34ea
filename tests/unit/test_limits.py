"""One rate for all workers: shared over a file, or split, and never passed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_fineval.clients.callables import as_client
from pytest_fineval.engine.guard import guarded
from pytest_fineval.engine.limits import SharedBucket, TokenBucket
from pytest_fineval.settings import ModelSettings, RunSettings

SPAWN = multiprocessing.get_context("spawn")
MODEL = ModelSettings(client="x:y", model="m")


def most_in_a_minute(starts: list[float]) -> int:
    """The most starts in any 60 seconds (right-open; the margin is for binary fractions)."""
    return max(sum(first <= other < first + 60 - 1e-6 for other in starts) for first in starts)


def buckets(workers: int, per_minute: int, shared: Path | None, **model: str) -> list[TokenBucket]:
    """The buckets of requests that guarded clients of so many workers draw from."""
    settings = MODEL.model_copy(update=model)
    run = RunSettings(requests_per_minute=per_minute)
    made = [
        guarded(as_client(lambda _: "x"), settings, run, workers=workers, shared=shared)
        for _ in range(workers)
    ]
    return [client._requests for client in made if client._requests is not None]


takes = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 5)), min_size=1, max_size=80)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(per_minute=st.integers(1, 60), workers=st.integers(1, 5), takes=takes)
def test_workers_that_share_a_file_never_pass_the_rate_together(
    tmp_path_factory: pytest.TempPathFactory,
    per_minute: int,
    workers: int,
    takes: list[tuple[int, float]],
) -> None:
    shared = buckets(workers, per_minute, tmp_path_factory.mktemp("rates"))
    now, starts = 1000.0, []
    for worker, gap in takes:
        now += gap
        starts.append(now + shared[worker % workers].take(1, now))
    assert most_in_a_minute(starts) <= per_minute


@given(workers=st.integers(1, 8), share=st.integers(1, 20), odd=st.integers(0, 7), takes=takes)
def test_workers_that_share_no_file_never_pass_the_rate_either(
    workers: int, share: int, odd: int, takes: list[tuple[int, float]]
) -> None:
    per_minute = workers * share + min(odd, workers - 1)
    apart = buckets(workers, per_minute, None)
    now, starts = 0.0, []
    for worker, gap in takes:
        now += gap
        starts.append(now + apart[worker % workers].take(1, now))
    assert most_in_a_minute(starts) <= per_minute


def test_what_one_worker_leaves_another_may_use(tmp_path: Path) -> None:
    busy, _idle = buckets(2, 100, tmp_path)
    # Alone, one worker gets the whole rate: a tenth at once, the rest within the minute.
    starts = [busy.take(1, 1000.0) for _ in range(100)]
    assert starts[9] == 0
    assert starts[-1] < 60


def test_tokens_that_one_worker_gave_back_another_may_use(tmp_path: Path) -> None:
    one, two = SharedBucket(tmp_path / "tokens", 1000), SharedBucket(tmp_path / "tokens", 1000)
    assert one.take(100, 5.0) == 0
    assert two.take(50, 5.0) > 0
    one.correct(-100)
    assert two.take(50, 5.0) == 0


def test_models_have_rates_of_their_own(tmp_path: Path) -> None:
    [one] = buckets(1, 10, tmp_path, model="one")
    [two] = buckets(1, 10, tmp_path, model="two")
    assert one.take(1, 5.0) == 0
    assert one.take(1, 5.0) > 0
    assert two.take(1, 5.0) == 0


def test_a_clock_read_before_anothers_turn_does_not_turn_time_back(tmp_path: Path) -> None:
    one, two = SharedBucket(tmp_path / "r", 60), SharedBucket(tmp_path / "r", 60)
    for _ in range(6):
        assert one.take(1, 100.0) == 0
    waits = [two.take(1, 99.9), one.take(1, 100.0)]
    assert 0 < waits[0] < waits[1]


def test_a_restart_of_the_machine_does_not_stop_a_run_that_is_resumed(tmp_path: Path) -> None:
    before = SharedBucket(tmp_path / "r", 60)
    for _ in range(6):
        before.take(1, 900_000.0)
    resumed = SharedBucket(tmp_path / "r", 60)
    assert resumed.take(1, 30.0) < 2
    assert resumed.take(1, 90.0) == 0


def _take(path: Path, count: int, report: Path) -> None:
    bucket = SharedBucket(path, 120)
    starts = []
    for _ in range(count):
        now = time.monotonic()
        starts.append(now + bucket.take(1, now))
    report.write_text(json.dumps(starts))


def test_processes_keep_to_one_rate_and_a_killed_one_stops_nobody(tmp_path: Path) -> None:
    rate = tmp_path / "rate"
    doomed = SPAWN.Process(target=_take, args=(rate, 10**9, tmp_path / "never"))
    reports = [tmp_path / f"report{n}" for n in range(2)]
    workers = [SPAWN.Process(target=_take, args=(tmp_path / "r2", 60, to)) for to in reports]
    for process in (doomed, *workers):
        process.start()
    for worker in workers:
        worker.join(60)
    starts = sorted(start for report in reports for start in json.loads(report.read_text()))
    assert len(starts) == 120
    assert most_in_a_minute(starts) <= 120
    assert starts[-1] - starts[0] < 61  # and the rate is used, not only kept

    until = time.monotonic() + 30
    while not rate.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert doomed.pid is not None
    os.kill(doomed.pid, signal.SIGKILL)
    doomed.join()
    assert SharedBucket(rate, 120).take(1, time.monotonic()) > 0

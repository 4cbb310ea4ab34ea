"""The cap holds against a provider that lies about usage, dying workers and a full disk."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_fineval.clients.base import Answer
from pytest_fineval.engine import guard
from pytest_fineval.engine.budget import NANO, Budget
from tests.unit.lying_provider import LyingProvider, in_a_process, most_promised, work

SPAWN = multiprocessing.get_context("spawn")
NANO_USD = 1 / NANO


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that wait for others to settle look again soon."""
    monkeypatch.setattr(guard, "POLL_S", 0.001)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cap=st.floats(0.0001, 0.012),  # of up to 64 calls of about 0.001 each
    workers=st.integers(1, 4),
    concurrency=st.integers(1, 12),
    most=st.integers(1, 5),
    calls=st.integers(1, 16),
    seed=st.integers(0, 2**32),
)
def test_the_cap_is_never_passed_whatever_a_provider_says_it_counted(
    impatient: None,
    tmp_path_factory: pytest.TempPathFactory,
    cap: float,
    workers: int,
    concurrency: int,
    most: int,
    calls: int,
    seed: int,
) -> None:
    ledger = tmp_path_factory.mktemp("b") / "spend"
    providers = [LyingProvider(seed + n) for n in range(workers)]

    async def all_workers() -> list[list[Answer]]:
        return await asyncio.gather(
            *(
                work(provider, ledger, cap, calls=calls, concurrency=concurrency, most=most)
                for provider in providers
            )
        )

    answers = [answer for each in asyncio.run(all_workers()) for answer in each]
    assert sum(provider.billed_nano for provider in providers) <= cap * NANO
    assert not ledger.exists() or most_promised(ledger) <= cap
    assert len(answers) == workers * calls
    # Every call to the provider was an attempt of some answer, and was paid for.
    assert sum(answer.attempts for answer in answers) == sum(p.calls for p in providers)
    spent = Budget(ledger, cap).spent_usd
    assert sum(answer.cost_usd or 0.0 for answer in answers) == pytest.approx(spent, abs=1e-6)
    assert {a.status for a in answers} <= {"ok", "error"}


def test_several_processes_and_a_lying_provider_never_pass_the_cap(tmp_path: Path) -> None:
    cap, ledger = 0.15, tmp_path / "spend"
    reports = [tmp_path / f"report{n}" for n in range(3)]
    workers = [
        SPAWN.Process(target=in_a_process, args=(ledger, cap, 7 + n, report))
        for n, report in enumerate(reports)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    told = [json.loads(report.read_text()) for report in reports]
    assert sum(report["billed_nano"] for report in told) <= cap * NANO
    assert most_promised(ledger) <= cap
    assert most_promised(ledger) > 0.95 * cap  # it was a contest
    assert sum(r["attempts"] for r in told) == sum(r["calls"] for r in told)
    assert sum(r["cost_usd"] for r in told) == pytest.approx(
        Budget(ledger, cap).spent_usd, abs=1e-6
    )
    ends = [end for report in told for end in report["ends"]]
    assert len(ends) == 180
    assert {"ok", "cap_reached"} <= set(ends)


def _reserve_on_and_on(ledger: Path, ready: Path) -> None:
    budget = Budget(ledger, 1000)
    while True:
        token = budget.reserve(0.001)
        assert token is not None
        budget.settle(token, 0.0005)
        ready.touch()


def test_workers_killed_at_any_moment_leave_a_ledger_that_counts_at_least_what_they_spent(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "spend"
    signs = [tmp_path / f"ready{n}" for n in range(2)]
    workers = [SPAWN.Process(target=_reserve_on_and_on, args=(ledger, sign)) for sign in signs]
    for worker in workers:
        worker.start()
    until = time.monotonic() + 30
    while not all(sign.exists() for sign in signs) and time.monotonic() < until:
        time.sleep(0.01)
    budget = Budget(ledger, 1000)
    for worker in workers:  # one after the other: the lock of the first must not stay
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        before = budget.spent_usd
        assert budget.reserve(0.001) is not None
        assert budget.spent_usd == pytest.approx(before + 0.001, abs=0.1)
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    reserved = sum("reserve" in entry for entry in entries)
    settled = sum("settle" in entry for entry in entries)
    assert settled <= reserved <= settled + 4  # of each worker one, and two from here
    assert Budget(ledger, 1000).spent_usd == pytest.approx(
        settled * 0.0005 + (reserved - settled) * 0.001
    )


def _fill_the_disk(ledger: Path, outcome: Path) -> None:
    budget = Budget(ledger, 10)
    budget.reserve(0.5)
    room = ledger.stat().st_size + 20  # of the next line's 70 bytes
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    failures = 0
    for _ in range(3):
        try:
            budget.reserve(0.5)
        except OSError:
            failures += 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert budget.reserve(0.25) is not None
    outcome.write_text(f"{failures} {budget.spent_usd}")


def test_on_a_full_disk_nothing_is_reserved_and_the_ledger_stays_whole(tmp_path: Path) -> None:
    ledger, outcome = tmp_path / "spend", tmp_path / "outcome"
    worker = SPAWN.Process(target=_fill_the_disk, args=(ledger, outcome))
    worker.start()
    worker.join(30)
    assert outcome.read_text() == "3 0.75"
    assert Budget(ledger, 10).spent_usd == 0.75


@pytest.mark.parametrize("amount", [1e9, 1e15])
def test_no_amount_is_too_large_to_be_booked(tmp_path: Path, amount: float) -> None:
    budget = Budget(tmp_path / "spend", 1)
    token = budget.reserve(0.5)
    assert token is not None
    budget.settle(token, amount)
    assert budget.spent_usd == pytest.approx(amount)
    assert budget.reserve(NANO_USD) is None


def test_a_resumed_run_goes_on_counting_on_its_ledger(tmp_path: Path) -> None:
    first = Budget(tmp_path / "spend", 1)
    token = first.reserve(0.6)
    assert token is not None
    first.settle(token, 0.6)
    assert Budget(tmp_path / "spend", 1).reserve(0.5) is None
    assert Budget(tmp_path / "spend", 1).reserve(0.4) is not None

"""The spend cap: exact, shared by processes, never passed."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_fineval.engine.budget import Budget
from pytest_fineval.errors import MeasurementError


def test_a_reservation_that_fits_exactly_is_granted(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 0.3)
    assert [budget.reserve(0.1) is None for _ in range(4)] == [False, False, False, True]


def test_what_a_call_did_not_cost_is_free_again(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 1.0)
    token = budget.reserve(0.9)
    assert token is not None
    assert budget.reserve(0.2) is None
    assert budget.may_fit_later(0.2)
    budget.settle(token, 0.4)
    assert budget.spent_usd == 0.4
    assert budget.reserve(0.6) is not None
    assert not budget.may_fit_later(0.61)


def test_a_call_that_cost_more_than_its_worst_case_is_counted_in_full(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 1.0)
    budget.settle(budget.reserve(0.1) or "", 1.5)
    assert budget.spent_usd == 1.5
    assert budget.reserve(0) is None


def test_a_cap_of_zero_allows_what_is_free(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 0)
    assert budget.reserve(0) is not None
    assert budget.reserve(1e-12) is None


@pytest.mark.parametrize("amount", [-0.01, float("nan"), float("inf")])
def test_an_amount_that_is_none_is_refused(tmp_path: Path, amount: float) -> None:
    with pytest.raises(ValueError, match="no amount"):
        Budget(tmp_path / "b", 1).reserve(amount)


def test_a_reservation_is_settled_once(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 1)
    token = budget.reserve(0.5) or ""
    budget.settle(token, 0.1)
    with pytest.raises(ValueError, match="not open"):
        budget.settle(token, 0.1)


def test_two_objects_on_one_file_share_the_cap(tmp_path: Path) -> None:
    one, two = Budget(tmp_path / "b", 1), Budget(tmp_path / "b", 1)
    token = one.reserve(0.7)
    assert two.reserve(0.7) is None
    assert token is not None
    one.settle(token, 0.1)
    assert two.reserve(0.7) is not None
    assert one.spent_usd == pytest.approx(0.8)


def test_half_a_line_of_a_process_that_died_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "b"
    Budget(path, 1).reserve(0.25)
    with path.open("ab") as file:
        file.write(b'{"reserve": "x", "nano')
    budget = Budget(path, 1)
    assert budget.spent_usd == 0.25
    assert budget.reserve(0.75) is not None
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_ledger_that_was_cut_is_an_error_and_no_new_money(tmp_path: Path) -> None:
    path = tmp_path / "b"
    budget = Budget(path, 1)
    budget.reserve(1)
    path.write_bytes(b"")
    with pytest.raises(MeasurementError, match="was cut"):
        budget.reserve(0.5)


amounts = st.floats(min_value=0, max_value=0.5, allow_nan=False)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cap=st.floats(min_value=0, max_value=2), calls=st.lists(st.tuples(amounts, st.floats(0, 1))))
def test_no_order_of_calls_passes_the_cap(
    tmp_path_factory: pytest.TempPathFactory, cap: float, calls: list[tuple[float, float]]
) -> None:
    budget = Budget(tmp_path_factory.mktemp("b") / "b", cap)
    held: list[tuple[str, float]] = []
    for worst, share in calls:
        token = budget.reserve(worst)
        if token is not None:
            held.append((token, worst * share))
        if len(held) > 2:
            budget.settle(*held.pop(0))
        assert budget.spent_usd <= cap


def _spend(path: Path, cap: float, seed: int, log: Path) -> None:
    draw = random.Random(seed)
    budget = Budget(path, cap)
    held: list[tuple[str, float]] = []
    spent = []
    for _ in range(120):
        worst = draw.choice([0.003, 0.01, 0.02])
        token = budget.reserve(worst)
        if token is not None:
            held.append((token, worst * draw.random()))
        if held and (token is None or draw.random() < 0.5):
            token, actual = held.pop(draw.randrange(len(held)))
            time.sleep(draw.random() / 500)
            budget.settle(token, actual)
            spent.append(actual)
    log.write_text(json.dumps(spent))  # what is still held dies with this process


def test_several_processes_together_never_pass_the_cap(tmp_path: Path) -> None:
    path, cap = tmp_path / "b", 1.0
    workers = [
        multiprocessing.get_context("spawn").Process(
            target=_spend, args=(path, cap, seed, tmp_path / f"log{seed}")
        )
        for seed in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    # Replay the ledger: at no line did what was promised pass the cap.
    promised: dict[str, int] = {}
    settled = 0
    most = 0
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        if "reserve" in entry:
            promised[entry["reserve"]] = entry["nano_usd"]
        else:
            assert entry["nano_usd"] <= promised.pop(entry["settle"])
            settled += entry["nano_usd"]
        most = max(most, settled + sum(promised.values()))
    assert most <= cap * 10**9
    assert most > 0.95 * cap * 10**9  # it was a contest
    logs = [
        Decimal(repr(a)) for n in range(4) for a in json.loads((tmp_path / f"log{n}").read_text())
    ]
    assert abs(settled - sum(logs) * 10**9) <= len(logs)  # each rounded up to a nano-dollar


def test_a_reservation_costs_little(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "b", 1)
    started = time.process_time()
    for _ in range(200):
        budget.settle(budget.reserve(0.01) or "", 0.0001)
    assert (time.process_time() - started) / 200 < 0.003

"""What a guarded client does with money, time and failing providers, case by case."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Request, Usage, build_request, failed
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.guard import NOT_BILLED, GuardedClient, guarded
from pytest_fineval.engine.limits import DEAD, RETRYABLE, Retries
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, RunSettings

FREE = ModelSettings(client="x:y", model="m", usd_per_million_input=0.0, usd_per_million_output=0.0)
PRICED = FREE.model_copy(
    update={"usd_per_million_input": 1.0, "usd_per_million_output": 10.0, "max_tokens": 20}
)
UNPRICED = ModelSettings(client="x:y", model="m")
REQUEST = build_request(Candidate(question="How much?"), PRICED)
WORST = 337e-6
"""USD: 9 bytes and 128 of overhead at 1, 20 tokens at 10 USD a million."""

RIGHT = Answer(text="42", usage=Usage(input_tokens=10, output_tokens=5))
AT_ONCE = Retries(most=4, for_s=30, base_s=0.0)


class Scripted:
    """Answers call i with script[i], the last one from there on."""

    def __init__(self, *script: Answer | str, takes_s: float = 0.0):
        self._script = script
        self._takes_s = takes_s
        self.calls = 0

    async def answer(self, request: Request, sample: int) -> Answer:  # noqa: ARG002 - a protocol
        reply = self._script[min(self.calls, len(self._script) - 1)]
        self.calls += 1
        await asyncio.sleep(self._takes_s)
        return failed(reply, "it broke") if isinstance(reply, str) else reply

    async def close(self) -> None:
        """Nothing is held open."""


def guard(client: Scripted, model: ModelSettings = PRICED, **how: Any) -> GuardedClient:
    run = RunSettings(**how.pop("run", {}))
    return guarded(client, model, run, **{"retries": AT_ONCE, **how})


def ask(client: GuardedClient, count: int = 1, together: bool = False) -> list[Answer]:
    async def go() -> list[Answer]:
        if together:
            return await asyncio.gather(*(client.answer(REQUEST, n) for n in range(count)))
        return [await client.answer(REQUEST, n) for n in range(count)]

    return asyncio.run(go())


def kinds(answers: Sequence[Answer]) -> list[str]:
    return [answer.error.kind if answer.error else "ok" for answer in answers]


# A cap of 0


@pytest.mark.parametrize("model", [FREE, PRICED, UNPRICED])
def test_a_cap_of_zero_asks_no_live_model_not_even_a_free_one(
    tmp_path: Path, model: ModelSettings
) -> None:
    client = Scripted(RIGHT)
    [answer] = ask(guard(client, model, budget=Budget(tmp_path / "spend", 0)))
    assert answer.error is not None
    assert answer.error.kind == "cap_reached"
    assert "recordings only" in answer.error.message
    assert (answer.attempts, client.calls) == (0, 0)


def test_a_cap_that_is_not_zero_needs_a_price(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='price of model "m"'):
        guard(Scripted(RIGHT), UNPRICED, budget=Budget(tmp_path / "spend", 0.01))


# Token counts that cannot be


def test_a_provider_that_counts_too_little_frees_no_room(tmp_path: Path) -> None:
    free = RIGHT.model_copy(update={"usage": Usage(input_tokens=0, output_tokens=0)})
    client = Scripted(free)
    answers = ask(guard(client, budget=Budget(tmp_path / "spend", 3.5 * WORST)), 10)
    assert kinds(answers) == ["ok"] * 3 + ["cap_reached"] * 7
    assert client.calls == 3
    assert [answer.cost_usd for answer in answers[:3]] == [pytest.approx(WORST)] * 3


def test_a_call_that_cost_more_than_it_could_makes_the_next_set_aside_more(
    tmp_path: Path,
) -> None:
    # A gateway with a prompt of its own: 1,010 tokens where 137 were the most.
    usage = Usage(input_tokens=1010, output_tokens=5)
    client = Scripted(RIGHT.model_copy(update={"usage": usage}))
    budget = Budget(tmp_path / "spend", 4000e-6)
    answers = ask(guard(client, budget=budget), 10)
    assert answers[0].cost_usd == pytest.approx(1060e-6)
    # 3 x 1,060 leave 820: room for the bound of 337, not for what a call did cost.
    assert kinds(answers) == ["ok"] * 3 + ["cap_reached"] * 7
    assert budget.spent_usd == pytest.approx(3180e-6)


# Every attempt is counted and paid for


outcomes = st.lists(
    st.sampled_from(
        ["ok", "uncounted", "timeout", "connection", "server", "rate_limited", "bad_request"]
    ),
    min_size=1,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(script=outcomes, most=st.integers(1, 5), calls=st.integers(1, 4))
def test_each_attempt_is_counted_and_each_that_may_be_billed_is_paid(
    tmp_path_factory: pytest.TempPathFactory, script: list[str], most: int, calls: int
) -> None:
    replies = {"ok": RIGHT, "uncounted": Answer(text="42")}
    client = Scripted(*(replies.get(word, word) for word in script))
    budget = Budget(tmp_path_factory.mktemp("b") / "spend", 1)
    retries = Retries(most=most, for_s=30, base_s=0.0)
    answers = ask(guard(client, budget=budget, retries=retries, run={"breaker_after": 100}), calls)
    happened = [script[min(n, len(script) - 1)] for n in range(client.calls)]
    costs = {"ok": 60e-6, "uncounted": WORST}
    paid = sum(costs.get(word, 0.0 if word in NOT_BILLED else WORST) for word in happened)
    assert sum(answer.attempts for answer in answers) == client.calls
    assert all(1 <= answer.attempts <= most for answer in answers)
    assert sum(answer.cost_usd or 0.0 for answer in answers) == pytest.approx(paid)
    assert budget.spent_usd == pytest.approx(paid)


# A dead provider


@given(
    kind=st.sampled_from(sorted(DEAD)),
    after=st.integers(1, 6),
    most=st.integers(1, 4),
    together=st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_a_dead_provider_is_asked_a_few_times_only(
    kind: str, after: int, most: int, together: bool
) -> None:
    client = Scripted(kind, takes_s=0.001)
    retries = Retries(most=most, for_s=30, base_s=0.0)
    answers = ask(
        guard(client, run={"breaker_after": after}, retries=retries), 12, together=together
    )
    attempts = most if kind in RETRYABLE else 1
    # What is in flight when it opens ends its attempt, and begins no other.
    assert client.calls <= (12 if together else after) * attempts
    assert sum(answer.attempts for answer in answers) == client.calls
    assert set(kinds(answers)) <= {kind, "breaker_open"}
    if not together:
        assert kinds(answers) == [kind] * after + ["breaker_open"] * (12 - after)


def test_a_provider_that_recovers_while_calls_are_tried_again_is_not_given_up() -> None:
    client = Scripted("connection", "server", "rate_limited", RIGHT)
    answers = ask(guard(client, run={"breaker_after": 1}), 5)
    assert kinds(answers) == ["ok"] * 5
    assert answers[0].attempts == 4


# Time for the whole run


def test_when_the_runs_time_is_over_no_call_starts_and_those_in_flight_end(
    tmp_path: Path,
) -> None:
    client = Scripted(RIGHT, takes_s=0.2)
    started = time.monotonic()
    budget = Budget(tmp_path / "spend", 1)
    answers = ask(guard(client, budget=budget, run={"timeout_s": 0.5}), 10)
    assert time.monotonic() - started < 2
    assert kinds(answers) == ["ok", "ok", "timeout"] + ["breaker_open"] * 7
    assert client.calls == 3
    assert "the run's time of 0.5 s is over" in str(answers[2].error)
    assert "not asked: the run's time of 0.5 s is over" in str(answers[3].error)
    # What was cut off may be billed all the same.
    assert budget.spent_usd == pytest.approx(2 * 60e-6 + WORST)


@pytest.mark.parametrize(
    "held_up",
    [
        {"run": {"timeout_s": 0.4, "requests_per_minute": 1}},
        {"run": {"timeout_s": 0.4, "tokens_per_minute": 1}},
        {"run": {"timeout_s": 0.4}, "retries": Retries(most=20, for_s=1e6, base_s=1e5)},
    ],
)
def test_no_wait_outlasts_the_runs_time(held_up: dict[str, Any]) -> None:
    client = Scripted("server")
    started = time.monotonic()
    answers = ask(guard(client, **held_up), 4, together=True)
    assert time.monotonic() - started < 3
    assert all(answer.error is not None for answer in answers)


def test_waiting_for_room_under_the_cap_ends_with_the_runs_time(tmp_path: Path) -> None:
    other_worker = Budget(tmp_path / "spend", WORST)
    assert other_worker.reserve(WORST) is not None  # in flight, and slow
    client = Scripted(RIGHT)
    started = time.monotonic()
    budget = Budget(tmp_path / "spend", WORST)
    [answer] = ask(guard(client, budget=budget, run={"timeout_s": 0.3}))
    assert time.monotonic() - started < 3
    assert kinds([answer]) == ["breaker_open"]
    assert client.calls == 0

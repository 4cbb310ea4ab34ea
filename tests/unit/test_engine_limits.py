"""Rates, retries and the breaker: as pure rules, and around a real client and server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Client, ClientError, Request, Usage, build_request
from pytest_fineval.clients.callables import as_client
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.clients.retry_after import RetryLaterError
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.guard import guarded
from pytest_fineval.engine.limits import RETRYABLE, Breaker, Retries, TokenBucket
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, RunSettings
from tests.http_server import (
    Reply,
    ScriptedServer,
    error,
    html,
    ok,
    rate_limited,
    reset_mid_body,
    slow,
)

QUICK = Retries(most=4, for_s=30, base_s=0.01)
PRICES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}


def failure(kind: str, retry_after_s: float | None = None) -> ClientError:
    return RetryLaterError(kind=kind, message="it broke", retry_after_s=retry_after_s)


def settings_for(server: ScriptedServer, **model: Any) -> ModelSettings:
    base = {"client": "openai-compatible", "model": "m", "base_url": server.url, "max_tokens": 20}
    return ModelSettings(**{**base, **model})


def ask(
    server: ScriptedServer,
    count: int = 1,
    *,
    run: RunSettings | None = None,
    together: bool = True,
    model: dict[str, Any] | None = None,
    **guard: Any,
) -> list[Answer]:
    settings = settings_for(server, **(model or {}))

    async def go() -> list[Answer]:
        client = guarded(
            OpenAICompatibleClient(settings, env={}),
            settings,
            run or RunSettings(),
            **{"retries": QUICK, **guard},
        )
        assert isinstance(client, Client)
        request = build_request(Candidate(question="How much?"), settings)
        try:
            if together:
                return await asyncio.gather(*(client.answer(request, i) for i in range(count)))
            return [await client.answer(request, i) for i in range(count)]
        finally:
            await client.close()

    return asyncio.run(go())


# Rates


@given(
    per_minute=st.integers(1, 300),
    gaps=st.lists(st.floats(0, 30), min_size=1, max_size=150),
)
def test_no_minute_holds_more_requests_than_allowed(per_minute: int, gaps: list[float]) -> None:
    bucket, now, starts = TokenBucket(per_minute), 0.0, []
    for gap in gaps:
        now += gap
        starts.append(now + bucket.take(1, now))
    for first, start in enumerate(starts):
        # Left-closed, right-open; the margin is for rounding of binary fractions.
        within = sum(start <= other < start + 60 - 1e-6 for other in starts[first:])
        assert within <= per_minute
    assert starts == sorted(starts)


def test_a_rate_is_used_and_not_only_kept() -> None:
    bucket = TokenBucket(600)
    starts = [bucket.take(1, 0.0) for _ in range(600)]
    assert starts[59] == 0  # a tenth at once
    assert starts[-1] < 60  # all of a minute's requests within that minute


def test_a_call_larger_than_the_burst_starts_and_delays_the_next() -> None:
    bucket = TokenBucket(6000)
    assert bucket.take(3000, 0.0) == 0
    assert 25 < bucket.take(100, 0.0) < 35


def test_tokens_that_were_not_used_are_given_back() -> None:
    bucket = TokenBucket(600)
    bucket.take(60, 0.0)
    bucket.correct(-50)
    assert bucket.take(50, 0.0) == 0
    assert bucket.take(1, 0.0) > 0


def test_workers_share_a_rate() -> None:
    alone, shared = TokenBucket(60), TokenBucket(60 / 4)
    assert max(shared.take(1, 0.0) for _ in range(4)) == pytest.approx(12)
    assert [alone.take(1, 0.0) for _ in range(6)] == [0] * 6


def test_requests_a_minute_hold_back_real_calls() -> None:
    with ScriptedServer() as server:
        started = time.monotonic()
        answers = ask(server, 6, run=RunSettings(requests_per_minute=120), workers=4)
        # 30 a minute for this worker: a burst of 3, then one each 2.14 s.
        assert {answer.status for answer in answers} == {"ok"}
        assert 5.5 < time.monotonic() - started < 12


# Retries


@pytest.mark.parametrize(
    "kind", ["bad_request", "unauthorized", "bad_response", "client_raised", "cap_reached"]
)
def test_what_would_fail_again_is_not_tried_again(kind: str) -> None:
    assert kind not in RETRYABLE
    assert QUICK.wait(failure(kind), 1, 0.0) is None


@given(attempt=st.integers(1, 60), kind=st.sampled_from(sorted(RETRYABLE)))
def test_a_wait_lies_between_zero_and_the_doubled_base(attempt: int, kind: str) -> None:
    retries = Retries(most=100, for_s=1e9, base_s=0.5, longest_s=8)
    wait = retries.wait(failure(kind), attempt, 0.0)
    assert wait is not None
    assert 0 <= wait <= min(8, 0.5 * 2 ** (attempt - 1))


def test_waits_are_spread_over_their_whole_range() -> None:
    waits = [Retries(9, 1e9).wait(failure("server"), 3, 0.0) or 0.0 for _ in range(400)]
    assert min(waits) < 0.4
    assert max(waits) > 3.6
    assert 1.7 < sum(waits) / len(waits) < 2.3


def test_retries_end_by_number_and_by_time() -> None:
    retries = Retries(most=3, for_s=10, base_s=1)
    assert retries.wait(failure("server"), 2, 0.0) is not None
    assert retries.wait(failure("server"), 3, 0.0) is None
    assert retries.wait(failure("server"), 1, 10.0) is None
    assert retries.wait(failure("rate_limited", 11), 1, 0.0) is None


def test_retry_after_is_kept_to() -> None:
    for _ in range(50):
        wait = Retries(3, 100, base_s=2).wait(failure("rate_limited", 7), 1, 0.0)
        assert wait is not None
        assert 7 <= wait <= 9


def test_a_call_is_tried_again_until_it_is_answered() -> None:
    with ScriptedServer([rate_limited(), error(500), reset_mid_body(), ok("42")]) as server:
        [answer] = ask(server)
    assert (answer.text, answer.attempts, answer.status) == ("42", 4, "ok")


def test_a_call_that_never_works_is_tried_as_often_as_allowed() -> None:
    with ScriptedServer([error(503)]) as server:
        [answer] = ask(server)
    assert answer.error is not None
    assert (answer.error.kind, answer.attempts, len(server.seen)) == ("server", 4, 4)


def test_a_bad_request_is_asked_once() -> None:
    with ScriptedServer([error(400)]) as server:
        [answer] = ask(server)
    assert (answer.attempts, len(server.seen)) == (1, 1)


def in_two_seconds() -> str:
    # A date has whole seconds: two seconds from now are at least one.
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize("header", [lambda: "1", in_two_seconds])
def test_a_server_that_asks_for_time_gets_it(header: Callable[[], str]) -> None:
    with ScriptedServer([rate_limited(header()), ok()]) as server:
        [answer] = ask(server)
        first, second = server.seen
    assert answer.status == "ok"
    assert 0.95 < second.at - first.at < 4


def test_a_server_that_asks_for_too_much_time_is_left_alone() -> None:
    with ScriptedServer([rate_limited("3600")]) as server:
        started = time.monotonic()
        [answer] = ask(server)
    assert answer.error is not None
    assert (answer.error.kind, answer.attempts) == ("rate_limited", 1)
    assert time.monotonic() - started < 5


def test_other_calls_wait_with_the_one_that_was_told_to() -> None:
    with ScriptedServer([rate_limited("1"), ok()]) as server:
        settings = settings_for(server)

        async def go() -> None:
            client = guarded(
                OpenAICompatibleClient(settings, env={}), settings, RunSettings(), retries=QUICK
            )
            request = build_request(Candidate(question="?"), settings)
            first = asyncio.ensure_future(client.answer(request, 0))
            await asyncio.sleep(0.3)
            await client.answer(request, 1)
            await first
            await client.close()

        asyncio.run(go())
        assert min(seen.at for seen in server.seen[1:]) - server.seen[0].at > 0.95


def test_the_wish_to_wait_is_not_stored() -> None:
    with ScriptedServer([rate_limited("3600")]) as server:
        [answer] = ask(server)
    assert type(answer.error) is ClientError
    assert "retry_after" not in answer.model_dump_json()


# Breaker


def test_a_dead_provider_is_not_asked_on_and_on() -> None:
    with ScriptedServer([error(500)]) as server:
        answers = ask(
            server, 20, run=RunSettings(breaker_after=3), together=False, retries=Retries(1, 0)
        )
    kinds = [answer.error.kind for answer in answers if answer.error]
    assert kinds == ["server"] * 3 + ["breaker_open"] * 17
    assert {answer.attempts for answer in answers[3:]} == {0}
    assert "3 calls in a row failed, the last one with server: HTTP 500" in str(answers[-1].error)
    assert len(server.seen) == 3


def test_calls_in_flight_stop_their_retries_when_the_breaker_opens() -> None:
    with ScriptedServer([error(500)]) as server:
        answers = ask(
            server,
            30,
            run=RunSettings(breaker_after=2),
            retries=Retries(most=50, for_s=1.0, base_s=0.2),
        )
    assert all(answer.error is not None for answer in answers)
    assert len(server.seen) < 30 * 20


def test_an_answer_between_failures_keeps_the_breaker_closed() -> None:
    breaker = Breaker(2)
    for outcome in (failure("server"), None, failure("timeout"), None, failure("connection")):
        breaker.ended(outcome)
    assert breaker.reason is None


def test_failures_of_single_requests_do_not_open_the_breaker() -> None:
    breaker = Breaker(1)
    for kind in ("bad_request", "client_raised"):
        breaker.ended(failure(kind))
    assert breaker.reason is None
    breaker.ended(failure("unauthorized"))
    assert breaker.reason is not None


# Money


def spent(path: Path) -> float:
    return Budget(path, 1e6).spent_usd


@pytest.mark.parametrize(
    ("script", "cost", "attempts"),
    [
        # An answer of 10 + 5 tokens costs 60 micro-dollars at these prices.
        ([ok()], 60e-6, 1),
        ([rate_limited(), error(500), ok()], 60e-6, 3),
        ([error(400)], 0.0, 1),
        # Half an answer may have been billed: the worst case of 137 + 20 tokens stays.
        ([reset_mid_body(), ok()], 60e-6 + 337e-6, 2),
        ([html()], 337e-6, 1),
        # Nothing was counted: the worst case.
        ([ok(usage={})], 337e-6, 1),
    ],
)
def test_every_attempt_is_paid_for(
    tmp_path: Path, script: list[Reply], cost: float, attempts: int
) -> None:
    path = tmp_path / "b"
    with ScriptedServer(script) as server:
        [answer] = ask(server, model=PRICES, budget=Budget(path, 1))
    assert answer.cost_usd == pytest.approx(cost)
    assert answer.attempts == attempts
    assert spent(path) == pytest.approx(cost)


def test_costs_are_known_without_a_cap() -> None:
    with ScriptedServer() as server:
        assert ask(server, model=PRICES)[0].cost_usd == pytest.approx(60e-6)
        assert ask(server)[0].cost_usd is None


def test_at_the_cap_no_new_call_starts(tmp_path: Path) -> None:
    path = tmp_path / "b"
    with ScriptedServer(lambda _: slow(0.05)) as server:
        # Room for 10 answers of 60 micro-dollars, and for the worst case of the last one.
        answers = ask(server, 40, model=PRICES, budget=Budget(path, 9 * 60e-6 + 338e-6))
        assert len(server.seen) < 40
    done = [answer for answer in answers if answer.status == "ok"]
    refused = [answer for answer in answers if answer.error]
    assert len(done) == len(server.seen) >= 10
    assert {answer.error.kind for answer in refused} == {"cap_reached"}
    assert {answer.attempts for answer in refused} == {0}
    assert spent(path) <= 9 * 60e-6 + 338e-6


def test_reservations_of_a_dead_process_do_not_hold_up_a_run(tmp_path: Path) -> None:
    path = tmp_path / "b"
    Budget(path, 1).reserve(1)  # never settled
    with ScriptedServer() as server:
        started = time.monotonic()
        model = {**PRICES, "timeout_s": 0.2}
        settings = settings_for(server, **model)
        client = guarded(
            OpenAICompatibleClient(settings, env={}),
            settings,
            RunSettings(),
            budget=Budget(path, 1),
        )
        client._patience_s = 0.3  # five seconds in earnest
        request = build_request(Candidate(question="?"), settings)
        for _ in range(3):
            answer = asyncio.run(client.answer(request, 0))
            assert answer.error is not None
            assert answer.error.kind == "cap_reached"
        assert time.monotonic() - started < 3
    assert server.seen == []


def test_a_call_that_is_cancelled_stays_paid(tmp_path: Path) -> None:
    path = tmp_path / "b"
    with ScriptedServer([slow(5)]) as server:
        settings = settings_for(server, **PRICES)

        async def go() -> None:
            client = guarded(
                OpenAICompatibleClient(settings, env={}),
                settings,
                RunSettings(),
                budget=Budget(path, 1),
            )
            request = build_request(Candidate(question="How much?"), settings)
            task = asyncio.ensure_future(client.answer(request, 0))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.close()

        asyncio.run(go())
    assert spent(path) == pytest.approx(337e-6)


def test_a_cap_without_a_price_is_refused(tmp_path: Path) -> None:
    model = ModelSettings(client="pkg.mod:make", model="m")
    with pytest.raises(InputError, match="usd_per_million_input"):
        guarded(as_client(lambda _: "x"), model, RunSettings(), budget=Budget(tmp_path / "b", 1))


def test_a_pipeline_may_say_itself_what_it_cost(tmp_path: Path) -> None:
    model = ModelSettings(client="pkg.mod:make", model="m", **PRICES)
    own = as_client(lambda _: Answer(text="x", cost_usd=0.25, usage=Usage(input_tokens=1)))
    client = guarded(own, model, RunSettings(), budget=Budget(tmp_path / "b", 1))
    request: Request = build_request(Candidate(question="?"), model)
    assert asyncio.run(client.answer(request, 0)).cost_usd == 0.25
    assert spent(tmp_path / "b") == 0.25


def test_an_output_limit_that_is_none_is_refused() -> None:
    model = ModelSettings(client="x:y", model="m", options={"max_completion_tokens": "many"})
    with pytest.raises(InputError, match="max_completion_tokens"):
        guarded(as_client(lambda _: "x"), model, RunSettings())


def test_limits_cost_little_cpu_per_call(tmp_path: Path) -> None:
    model = ModelSettings(client="pkg.mod:make", model="m", **PRICES)

    async def pipeline(request: Request) -> str:
        return "x"

    client = guarded(as_client(pipeline), model, RunSettings(), budget=Budget(tmp_path / "b", 1))
    request = build_request(Candidate(question="?"), model)

    async def go() -> float:
        started = time.process_time()
        for sample in range(200):
            await client.answer(request, sample)
        return (time.process_time() - started) / 200

    assert asyncio.run(go()) < 0.003

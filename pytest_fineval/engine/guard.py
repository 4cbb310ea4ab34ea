"""A client with limits around it: rates, retries, breaker and spend cap, seen as a plain Client."""

from __future__ import annotations

import asyncio
import time
from math import inf
from pathlib import Path
from typing import NamedTuple

from pytest_fineval.cases.model import digest
from pytest_fineval.clients.base import Answer, Client, ClientError, Request, failed
from pytest_fineval.clients.pricing import Price, likely_tokens, most_output_tokens, price_of
from pytest_fineval.clients.wording import one_line
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.limits import Breaker, Retries, SharedBucket, TokenBucket
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, RunSettings

NOT_BILLED = frozenset(
    {
        "rate_limited",
        "server",
        "bad_request",
        "unauthorized",
        "absent_candidate",
        "recording_missing",
        "breaker_open",
        "cap_reached",
    }
)
"""Failures in which the provider said no, or was not asked. Any other may have been billed."""

POLL_S = 0.05
PATIENCE_S = 5.0
"""How much longer than a call's own timeout a reservation is waited for."""


def guarded(
    client: Client,
    model: ModelSettings,
    run: RunSettings,
    *,
    budget: Budget | None = None,
    workers: int = 1,
    shared: Path | None = None,
    retries: Retries | None = None,
) -> GuardedClient:
    """A client whose calls are limited, tried again and paid for.

    Args:
        client: the live client. What is replayed should not pass here: put recordings around.
        model: its price and timeout.
        run: attempts, breaker, requests and tokens a minute, time for the whole run.
        budget: the spend cap; None for no cap. A cap of 0 lets no call through.
        workers: processes that share the provider's limits, >= 1.
        shared: a folder over which they do, exactly: what one leaves another may use. Without it
            each keeps to its part, rounded down.
        retries: waits between attempts, where they should differ from the run's.

    Returns:
        A Client. `attempts` and `cost_usd` of its answers count every attempt.

    Raises:
        InputError: a cap without a known price, or an output limit that is none.
    """
    limits = {"max_tokens": model.max_tokens}
    most_output_tokens(
        Request(model=model.model, messages=(), decoding=limits, options=model.options)
    )
    price = price_of(model)
    if budget is not None and budget.cap_usd > 0 and price is None:
        raise InputError(
            f'a spend cap needs the price of model "{model.model}": set usd_per_million_input and '
            "usd_per_million_output (0 for one that costs nothing), or install "
            '"pytest-fineval[prices]" for the list prices of known endpoints'
        )
    rates = _Rates(
        _bucket("requests", run.requests_per_minute, model, workers, shared),
        _bucket("tokens", run.tokens_per_minute, model, workers, shared),
    )
    return GuardedClient(client, model, run, budget, price, rates, retries or Retries.of(run))


class _Payment(NamedTuple):
    """What may be spent on one attempt: the worst case in USD, and its reservation under a cap."""

    worst: float | None
    token: str | None


class _Rates(NamedTuple):
    requests: TokenBucket | None
    tokens: TokenBucket | None


class GuardedClient:
    """What `guarded` returns."""

    def __init__(
        self,
        client: Client,
        model: ModelSettings,
        run: RunSettings,
        budget: Budget | None,
        price: Price | None,
        rates: _Rates,
        retries: Retries,
    ):
        self._client = client
        self._budget = budget
        self._price = price
        self._retries = retries
        self._breaker = Breaker(run.breaker_after)
        self._requests, self._tokens = rates
        self._paused_until = 0.0
        self._run_s = run.timeout_s
        self._ends = inf if run.timeout_s is None else time.monotonic() + run.timeout_s
        self._beyond = 0.0
        self._patience_s = model.timeout_s + PATIENCE_S
        self._stalled_at = -1

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return await self._client.answer(request, sample)
        started: float | None = None
        attempts, cost = 0, 0.0
        last: Answer | None = None
        while True:
            refusal, payment = await self._admit(request)
            if refusal is not None:
                # What the provider said last tells more than that it was not asked again.
                last = last or refusal
                break
            started = time.monotonic() if started is None else started
            last = await self._pay(request, sample, payment)
            attempts += max(1, last.attempts)
            cost += last.cost_usd or 0.0
            wait = None
            if last.error is not None:
                wait = self._retries.wait(last.error, attempts, time.monotonic() - started)
            if wait is None or time.monotonic() + wait >= self._ends:
                self._breaker.ended(last.error)
                break
            if last.error is not None and last.error.kind == "rate_limited":
                # The limit is the whole client's: calls that start meanwhile would only be refused.
                self._paused_until = max(self._paused_until, time.monotonic() + wait)
            await asyncio.sleep(wait)
        return last.model_copy(
            update={
                "attempts": attempts,
                "cost_usd": None if self._price is None and not cost else cost,
                "error": last.error
                and ClientError(kind=last.error.kind, message=last.error.message),
            }
        )

    async def close(self) -> None:
        await self._client.close()

    async def _admit(self, request: Request) -> tuple[Answer | None, _Payment]:
        """Wait until a call may start; or the answer that says why it may not."""
        refusal = self._stopped()
        if refusal is None:
            await self._turn(request)
            # The breaker may have opened while this call waited for its turn.
            refusal = self._stopped()
        worst = None if self._price is None else self._price.worst_case(request) + self._beyond
        nothing = _Payment(worst, None)
        if refusal is not None or self._budget is None or worst is None:
            return refusal, nothing
        token = await self._reserved(self._budget, worst)
        if token is None:
            message = (
                f"not asked: the spend cap of {self._budget.cap_usd:g} USD leaves no room for a "
                f"call that can cost {worst:.6f} USD"
            )
            return self._stopped() or failed("cap_reached", message, attempts=0), nothing
        return None, _Payment(worst, token)

    def _stopped(self) -> Answer | None:
        """Why no call may start any more, whatever it is."""
        if self._budget is not None and not self._budget.cap_usd:
            message = "not asked: a spend cap of 0 allows recordings only"
            return failed("cap_reached", message, attempts=0)
        reason = self._breaker.reason
        if time.monotonic() >= self._ends:
            reason = f"not asked: {self._over()}"
        return None if reason is None else failed("breaker_open", one_line(reason), attempts=0)

    def _over(self) -> str:
        return f"the run's time of {self._run_s:g} s is over"

    async def _turn(self, request: Request) -> None:
        now = time.monotonic()
        wait = 0.0
        if self._requests is not None:
            wait = self._requests.take(1, now)
        if self._tokens is not None:
            wait = max(wait, self._tokens.take(likely_tokens(request), now))
        if wait:
            await asyncio.sleep(min(wait, max(0.0, self._ends - now)))
        while (pause := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(pause)

    async def _reserved(self, budget: Budget, worst: float) -> str | None:
        """A reservation; waits while calls in flight, which mostly cost less than their worst
        case, stand in its way."""
        seen, since = -1, time.monotonic()
        while time.monotonic() < self._ends:
            token = budget.reserve(worst)
            if token is not None or not budget.may_fit_later(worst):
                return token
            if budget.position == self._stalled_at:
                return None
            if budget.position != seen:
                seen, since = budget.position, time.monotonic()
            elif time.monotonic() - since > self._patience_s:
                # What is left are reservations of a process that died: they are never settled.
                self._stalled_at = seen
            await asyncio.sleep(POLL_S)
        return None

    async def _pay(self, request: Request, sample: int, payment: _Payment) -> Answer:
        """One attempt, and what it cost."""
        cost = payment.worst  # of a call that is cancelled: it may be billed all the same
        try:
            answer = await self._ask(request, sample)
            cost = self._cost(request, answer, payment.worst)
        finally:
            if payment.token is not None and self._budget is not None and cost is not None:
                self._budget.settle(payment.token, cost)
        if self._tokens is not None and answer.error is None:
            used = answer.usage
            if used.input_tokens is not None and used.output_tokens is not None:
                actual = used.input_tokens + used.output_tokens
                self._tokens.correct(actual - likely_tokens(request))
        return answer.model_copy(update={"cost_usd": cost})

    async def _ask(self, request: Request, sample: int) -> Answer:
        if self._run_s is None:
            return await self._client.answer(request, sample)
        limit = asyncio.timeout(self._ends - time.monotonic())
        try:
            async with limit:
                return await self._client.answer(request, sample)
        except TimeoutError:
            if not limit.expired():
                raise
            return failed("timeout", self._over())

    def _cost(self, request: Request, answer: Answer, worst: float | None) -> float | None:
        cost = answer.cost_usd  # the client may know better: free, or a pipeline of several calls
        if cost is None and answer.error is not None:
            return 0.0 if answer.error.kind in NOT_BILLED else worst
        if cost is None and self._price is not None:
            cost = self._price.believable_cost(request, answer)
            cost = worst if cost is None else cost
        if cost is not None and self._price is not None:
            # More than a call can cost: a gateway adds to the prompt, or ignores the output limit.
            # From here on as much more is set aside.
            self._beyond = max(self._beyond, cost - self._price.worst_case(request))
        return cost


def _bucket(
    what: str, per_minute: int | None, model: ModelSettings, workers: int, shared: Path | None
) -> TokenBucket | None:
    if per_minute is None:
        return None
    if shared is not None:
        # Providers count by model.
        name = digest([model.client, model.base_url, model.model])[:16]
        return SharedBucket(shared / f"{what}-{name}", per_minute)
    part = per_minute / workers
    return TokenBucket(int(part) if part >= 1 else part)

"""A provider that bills truly and reports falsely, and the guarded calls of one worker to it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Request, Usage, build_request, failed
from pytest_fineval.engine.budget import NANO, Budget
from pytest_fineval.engine.guard import guarded
from pytest_fineval.engine.limits import Retries
from pytest_fineval.settings import ModelSettings, RunSettings

MODEL = ModelSettings(
    client="x:y",
    model="m",
    max_tokens=80,
    timeout_s=5,
    usd_per_million_input=3.0,
    usd_per_million_output=15.0,
)
QUESTION = "What were net sales, in millions of dollars, " * 5
REQUEST = build_request(Candidate(question=QUESTION), MODEL)


class LyingProvider:
    """Counts what it really bills, within the limits that it was sent, and says something else."""

    def __init__(self, seed: int):
        self._draw = Random(seed)
        self._habit = self._draw.randrange(9)  # one lie always, or (8) each time another
        self.billed_nano = 0
        self.calls = 0

    async def answer(self, request: Request, sample: int) -> Answer:  # noqa: ARG002 - a protocol
        self.calls += 1
        await asyncio.sleep(self._draw.random() / 500)
        what = self._draw.choice(["answer"] * 5 + ["timeout", "connection", "server", "limited"])
        if what in ("server", "limited"):  # it said no: nothing was computed
            return failed("server" if what == "server" else "rate_limited", "not now")
        prompt = len(QUESTION) // self._draw.choice([1, 3, 5])
        output = self._draw.randint(20, MODEL.max_tokens)
        # 3 and 15 USD a million tokens are so many nano-dollars a token.
        self.billed_nano += prompt * 3_000 + output * 15_000
        if what != "answer":  # billed, and never arrived
            return failed(what, "gone")
        return Answer(text="net sales of " * (output // 3), usage=self._lie(prompt, output))

    async def close(self) -> None:
        """Nothing is held open."""

    def _lie(self, prompt: int, output: int) -> Usage:
        lies = (
            Usage(input_tokens=prompt, output_tokens=output),
            Usage(),
            Usage(input_tokens=0, output_tokens=0),
            Usage(input_tokens=1, output_tokens=1),
            Usage(input_tokens=prompt, output_tokens=1),
            Usage(input_tokens=2, output_tokens=output),
            Usage(input_tokens=prompt),
            Usage(input_tokens=prompt, output_tokens=output, cached_tokens=10**9),
        )
        return self._draw.choice(lies) if self._habit == len(lies) else lies[self._habit]


async def work(
    provider: LyingProvider, ledger: Path, cap: float, *, calls: int, concurrency: int, most: int
) -> list[Answer]:
    """All calls of one worker: its own Budget object on the ledger that all workers share."""
    client = guarded(
        provider,
        MODEL,
        RunSettings(breaker_after=10_000),
        budget=Budget(ledger, cap),
        retries=Retries(most=most, for_s=60, base_s=0.002),
    )
    slots = asyncio.Semaphore(concurrency)

    async def one(sample: int) -> Answer:
        async with slots:
            return await client.answer(REQUEST, sample)

    return await asyncio.gather(*map(one, range(calls)))


def in_a_process(ledger: Path, cap: float, seed: int, report: Path) -> None:
    """A whole worker, which leaves what was billed and what it was told in `report`."""
    provider = LyingProvider(seed)
    draw = Random(seed)
    answers = asyncio.run(
        work(
            provider,
            ledger,
            cap,
            calls=60,
            concurrency=draw.randint(2, 12),
            most=draw.randint(1, 4),
        )
    )
    report.write_text(
        json.dumps(
            {
                "billed_nano": provider.billed_nano,
                "calls": provider.calls,
                "attempts": sum(answer.attempts for answer in answers),
                "cost_usd": sum(answer.cost_usd or 0.0 for answer in answers),
                "ends": [answer.error.kind if answer.error else "ok" for answer in answers],
            }
        )
    )


def most_promised(ledger: Path) -> float:
    """The most that settled costs and open reservations came to at any line of a ledger, USD."""
    promised: dict[str, int] = {}
    settled = most = 0
    for line in ledger.read_text().splitlines():
        entry = json.loads(line)
        if "reserve" in entry:
            promised[entry["reserve"]] = entry["nano_usd"]
        else:
            promised.pop(entry["settle"])
            settled += entry["nano_usd"]
        most = max(most, settled + sum(promised.values()))
    return most / NANO

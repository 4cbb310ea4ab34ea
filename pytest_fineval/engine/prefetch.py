"""Bounded look-ahead: answers upcoming items while the current one runs (ENGINE, Prefetch).

Items run one after another on the main thread; the calls wait on input and output on one
background asyncio loop. At most `concurrency` calls are in flight, and at most `window` are
started but not yet consumed, so that a stop wastes a bounded number of paid calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import threading
from collections.abc import Coroutine, Hashable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_fineval.clients.base import Answer, Client, Request, failed

T = TypeVar("T")

CLOSE_S = 5.0
"""How long clients may take to close."""


@dataclass(frozen=True)
class Job:
    """One call to make.

    Attributes:
        key: what it will be asked for by.
        turn: its place in the order in which jobs will be asked for.
    """

    key: Hashable
    client: Client
    request: Request
    sample: int
    turn: int = 0


class Prefetcher:
    """Answers planned jobs in their order, ahead of their consumer.

    Not thread-safe on the consumer's side: one thread plans, takes and closes.

    Args:
        concurrency: most calls in flight, >= 1.
        window: most jobs started but not consumed, >= concurrency.
    """

    def __init__(self, concurrency: int, window: int):
        self._concurrency = concurrency
        self._window = max(window, concurrency)
        self._waiting: list[tuple[int, int, Job]] = []  # a heap by turn
        self._planned = 0
        self._jobs: dict[Hashable, Job] = {}
        self._started: dict[Hashable, Future[Answer]] = {}
        self._clients: dict[int, Client] = {}
        self._loop = asyncio.new_event_loop()
        self._slots: asyncio.Semaphore | None = None
        self._thread = threading.Thread(target=self._serve, name="fineval-calls", daemon=True)
        self._thread.start()

    def plan(self, jobs: Iterable[Job]) -> None:
        """Add jobs, and start those whose turn comes first; more may be planned at any time."""
        for job in jobs:
            self._jobs[job.key] = job
            heapq.heappush(self._waiting, (job.turn, self._planned, job))
            self._planned += 1
        self._fill()

    def is_planned(self, key: Hashable) -> bool:
        """Is the job planned and neither taken nor dropped?"""
        return key in self._jobs

    def take(self, key: Hashable) -> Answer:
        """Wait for a planned job's answer, out of turn if need be, and make room for the next."""
        self._start(self._jobs[key])
        future = self._started[key]
        try:
            return future.result()
        finally:
            self.drop(key)

    def drop(self, key: Hashable) -> None:
        """Forget a job that nobody will ask for: cancel its call if it still runs."""
        self._jobs.pop(key, None)
        future = self._started.pop(key, None)
        if future is not None:
            future.cancel()
        self._fill()

    def ask(self, job: Job) -> Answer:
        """Make one call now, beside the plan."""
        return self._run(self._call(job))

    def close(self) -> None:
        """Cancel what is in flight, close every client that was used, end the thread."""
        for future in self._started.values():
            future.cancel()
        self._started.clear()
        self._waiting.clear()
        self._jobs.clear()
        try:
            closing = asyncio.run_coroutine_threadsafe(self._close_clients(), self._loop)
            closing.result(CLOSE_S)
        except FutureTimeout:
            # A client that blocks the loop or does not let go: the run does not wait for it.
            closing.cancel()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=1)
            if not self._loop.is_running():
                self._loop.close()

    def _fill(self) -> None:
        while self._waiting and len(self._started) < self._window:
            _, _, job = heapq.heappop(self._waiting)
            if self._jobs.get(job.key) is job:
                self._start(job)

    def _start(self, job: Job) -> None:
        if job.key not in self._started:
            coroutine = self._call(job)
            self._started[job.key] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _call(self, job: Job) -> Answer:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self._concurrency)
        async with self._slots:
            self._clients[id(job.client)] = job.client
            try:
                return await job.client.answer(job.request, job.sample)
            except Exception as error:  # costs one case, not the run
                return failed("client_raised", f"{type(error).__name__}: {error}")

    async def _close_clients(self) -> None:
        for client in self._clients.values():
            with contextlib.suppress(Exception):  # the answers are in; a close costs none of them
                await client.close()
        await asyncio.sleep(0)  # lets cancelled calls end before the loop does

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

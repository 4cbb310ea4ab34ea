"""What holds calls back: rates, waits between attempts, and a breaker for a dead provider.

Nothing here sleeps or reads a clock: `engine.guard` does, and asks these for how long.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from filelock import FileLock

from pytest_fineval.clients.base import ClientError
from pytest_fineval.clients.retry_after import RetryLaterError
from pytest_fineval.settings import RunSettings

RETRYABLE = frozenset({"timeout", "connection", "rate_limited", "server"})
"""Failures that may be gone a moment later."""

DEAD = frozenset(
    {"timeout", "connection", "rate_limited", "server", "unauthorized", "bad_response"}
)
"""Failures that say something about the provider, not about the one request."""

STATE = struct.Struct("<2d")
"""A bucket in a file: level, and the time it was reached."""

CLOCKS_DIFFER_S = 1.0
"""Processes on one clock are not further apart: a turn at the lock takes microseconds."""

LOCK_POLL_S = 0.001
"""The lock is held for microseconds, and who waits for it holds up an event loop."""

# Not the shared generator: tests are often run with it seeded alike in every worker, and equal
# waits would send all workers' retries at the same moment.
_random = SystemRandom()


class TokenBucket:
    """At most `per_minute` units in any 60 seconds, a tenth of them in one burst.

    First come, first served: each call takes its place at once and is told how long to wait for
    it. A call that needs more than the burst starts when the bucket is full and leaves a debt.
    """

    def __init__(self, per_minute: float):
        """
        Args:
            per_minute: > 0; may be a fraction (a worker's share).
        """
        # Full at t = 0, the bucket gives `burst` at once and one each 1/rate seconds: with this
        # rate, burst + ceil(60 rate) - 1 <= per_minute within any minute.
        self._burst = max(1.0, float(int(per_minute / 10)))
        self._rate = (per_minute - self._burst + 1) / 60
        self._level = self._burst
        self._at: float | None = None

    def take(self, amount: float, now: float) -> float:
        """Take `amount` units (>= 0) at time `now` (seconds, never falling).

        Returns:
            Seconds to wait before the call may start.
        """
        if self._at is not None:
            now = max(now, self._at)
            self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        short = min(amount, self._burst) - self._level
        self._level -= amount
        return max(0.0, short / self._rate)

    def correct(self, amount: float) -> None:
        """Take more units (or give back, < 0) once it is known what a call really used."""
        self._level -= amount


class SharedBucket(TokenBucket):
    """A TokenBucket that several processes draw from: its state is a small file under a lock, and
    `now` a clock that they share (`time.monotonic` of one machine)."""

    def __init__(self, path: Path, per_minute: float):
        """
        Args:
            path: of the state; made by the first `take`, in a folder that exists.
            per_minute: of all processes together, > 0.
        """
        super().__init__(per_minute)
        self._path = path
        self._lock = FileLock(path.with_name(path.name + ".lock"))

    def take(self, amount: float, now: float) -> float:
        with self._shared():
            if self._at is not None and self._at > now + CLOCKS_DIFFER_S:
                self._at = now  # left by a run that is resumed, before the machine was restarted
            return super().take(amount, now)

    def correct(self, amount: float) -> None:
        with self._shared():
            super().correct(amount)

    @contextmanager
    def _shared(self) -> Generator[None, None, None]:
        with (
            self._lock.acquire(poll_interval=LOCK_POLL_S),
            open(self._path, "r+b", buffering=0, opener=_made) as file,
        ):
            state = file.read(STATE.size)
            if state:
                self._level, self._at = STATE.unpack(state)
            yield
            if self._at is not None:
                # In one write over the old state: who is killed here leaves the one or the other.
                file.seek(0)
                file.write(STATE.pack(self._level, self._at))


def _made(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT)


class Breaker:
    """Opens after some calls in a row have failed as calls to a dead provider do; stays open."""

    def __init__(self, after: int):
        self._after = after
        self._in_a_row = 0
        self._last: ClientError | None = None

    @property
    def reason(self) -> str | None:
        """Why no more calls are made; None while the breaker is closed."""
        if self._in_a_row < self._after or self._last is None:
            return None
        return (
            f"not asked: {self._in_a_row} calls in a row failed, the last one with "
            f"{self._last.kind}: {self._last.message}"
        )

    def ended(self, error: ClientError | None) -> None:
        """Count the end of a call (after its retries); None for an answer."""
        if error is None:
            self._in_a_row = 0
        elif error.kind in DEAD:
            self._in_a_row += 1
            self._last = error


@dataclass(frozen=True)
class Retries:
    """When to try again: exponential backoff with full jitter, bounded in number and time.

    Attributes:
        most: attempts of one call, the first one included, >= 1.
        for_s: seconds after which no further attempt of a call begins.
        base_s, longest_s: the wait before attempt n + 1 is uniform in
            [0, min(longest_s, base_s * 2**(n - 1))].

    Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
    """

    most: int
    for_s: float
    base_s: float = 1.0
    longest_s: float = 30.0

    @classmethod
    def of(cls, run: RunSettings) -> Retries:
        return cls(most=run.max_attempts, for_s=run.retry_for_s)

    def wait(self, error: ClientError, attempt: int, elapsed_s: float) -> float | None:
        """Seconds until the next attempt.

        Args:
            error: why the last one failed; a provider's Retry-After is kept to, with some jitter
                after it.
            attempt: attempts made so far, >= 1.
            elapsed_s: since the first attempt began.

        Returns:
            None when there is no next attempt.
        """
        if error.kind not in RETRYABLE or attempt >= self.most:
            return None
        asked = error.retry_after_s if isinstance(error, RetryLaterError) else None
        if asked is None:
            wait = _random.uniform(0, min(self.longest_s, self.base_s * 2 ** (attempt - 1)))
        else:
            wait = asked + _random.uniform(0, self.base_s)
        return wait if elapsed_s + wait <= self.for_s else None

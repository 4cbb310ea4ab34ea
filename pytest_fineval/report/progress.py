"""How far a long run is: a live line under pytest's own output, or a line now and then in a log.

Nothing of what a model said is shown: counts, categories, cost and times only.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Mapping
from typing import Literal, Protocol

from pytest_fineval.report.text import visible
from pytest_fineval.store.record import Record

LIVE_S = 0.5
"""How often the live line is drawn, and after how long a run counts as a long one."""

LOG_S = 30.0
"""How often a log gets a line."""

RATE_S = 30.0
"""The stretch over which requests a second are counted."""


class Progress:
    """What has arrived so far, as one line.

    Args:
        total: how many records the run will have.
        now: a monotonic clock's time, seconds.
    """

    def __init__(self, total: int, now: float):
        self._total = total
        self._began = now
        self._done = 0
        self._errors = 0
        self._cost = 0.0
        self._values: dict[str, tuple[float, int]] = {}
        self._recent: deque[float] = deque()

    def add(self, record: Record, now: float, *, asked: bool = True) -> None:
        """Count one record.

        Args:
            asked: False for a record of the run that this one resumes: it says nothing of speed.
        """
        self._done += 1
        if record.answer is not None:
            self._cost += record.answer.cost_usd or 0.0
        if record.status in ("errored", "not_run", "unchecked"):
            self._errors += 1
        if record.status != "pending":
            value, n = self._values.get(record.case.category, (0.0, 0))
            self._values[record.case.category] = (value + record.value, n + 1)
        if asked:
            self._recent.append(now)

    def line(self, now: float) -> str:
        """`fineval 120/200  extraction 0.94  $0.1200  14.2/s  2 errors  6 s left`."""
        while self._recent and self._recent[0] < now - RATE_S:
            self._recent.popleft()
        rate = len(self._recent) / max(min(now - self._began, RATE_S), 1e-3)
        parts = [f"fineval {self._done}/{self._total}"]
        parts += [
            f"{visible(name, 24)[1:-1]} {value / n:.2f}"
            for name, (value, n) in sorted(self._values.items())
        ]
        if self._cost:
            parts.append(f"${self._cost:.4f}")
        parts.append(f"{rate:.1f}/s")
        if self._errors:
            parts.append(f"{self._errors} error{'s' if self._errors > 1 else ''}")
        if rate and self._done < self._total:
            parts.append(f"{_time((self._total - self._done) / rate)} left")
        return "  ".join(parts)


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


Style = Literal["live", "log", "none"]


def style(*, terminal: bool, verbosity: int, capture: str, environment: Mapping[str, str]) -> Style:
    """How progress is to be shown.

    Args:
        terminal: is the output one?
        verbosity: of pytest; below 0 with `-q`.
        capture: pytest's `--capture`; with `no` the tests themselves write where a live line is.
    """
    log: Style = "log" if verbosity >= 0 else "none"
    if not terminal or environment.get("CI") or environment.get("TERM") == "dumb":
        return log
    return "live" if capture != "no" else log


class Output(Protocol):
    """The part of pytest's terminal reporter that is used."""

    def write(self, content: str, *, flush: bool = False) -> None: ...
    def write_line(self, line: str) -> None: ...
    def ensure_newline(self) -> None: ...


class Display:
    """Shows a Progress between pytest's own lines."""

    def __init__(self, progress: Progress, out: Output, how: Style, now: float):
        self._progress = progress
        self._out = out
        self._how = how
        self._last = now
        self._drawn = False

    def clear(self) -> None:
        """Before pytest writes: take the live line away."""
        if self._drawn:
            # To the end of the screen: what pytest wrote stands before the cursor.
            self._out.write("\x1b[J", flush=True)
            self._drawn = False

    def show(self, now: float) -> None:
        """After pytest wrote: draw the live line again, or log one when it is time."""
        if self._how == "live" and now - self._last >= LIVE_S:
            width = shutil.get_terminal_size().columns
            line = self._progress.line(now)[: width - 1]
            # One line down and back (so that there is one), remember the place, draw, return.
            self._out.write(f"\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K{line}\x1b8", flush=True)
            self._drawn = True
            self._last = now
        elif self._how == "log" and now - self._last >= LOG_S:
            self._out.ensure_newline()
            self._out.write_line(self._progress.line(now))
            self._last = now


def display(
    total: int, out: Output, now: float, *, terminal: bool, verbosity: int, capture: str
) -> tuple[Progress, Display]:
    """The progress of a run that begins, and what shows it."""
    how = style(terminal=terminal, verbosity=verbosity, capture=capture, environment=os.environ)
    progress = Progress(total, now)
    return progress, Display(progress, out, how, now)

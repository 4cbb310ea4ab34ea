"""The spend cap, shared by all processes of a run and never passed.

A call reserves the most it can cost before it starts and settles to what it did cost afterwards.
The ledger is a file that is only ever appended to, under a lock: a process that dies leaves its
reservations standing (its calls may have been billed), and a run that is resumed on the same file
goes on counting where it stopped.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import inf
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from filelock import FileLock

from pytest_fineval.errors import MeasurementError

NANO = 10**9
"""Amounts are kept as whole nano-dollars: sums are exact in any order."""

LOCK_POLL_S = 0.001
"""The lock is held for microseconds, and who waits for it holds up an event loop."""


class Budget:
    """The cap over one ledger file. Each process has its own object on the same path."""

    def __init__(self, path: Path, cap_usd: float):
        """
        Args:
            path: the ledger; made where it is missing.
            cap_usd: most that all reservations and settled costs may sum to, USD, >= 0.
        """
        self.path = path
        self._cap = _nano(cap_usd, ROUND_FLOOR)
        self._settled = 0
        self._open: dict[str, int] = {}
        self._reserved = 0
        self._read = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path.with_name(path.name + ".lock"))

    def reserve(self, worst_usd: float) -> str | None:
        """Set aside the most a call can cost.

        Returns:
            A token to settle with, or None when the cap leaves no room.
        """
        amount = _nano(worst_usd, ROUND_CEILING)
        with self._locked(), self._ledger() as file:
            if self._settled + self._reserved + amount > self._cap:
                return None
            token = uuid4().hex
            self._append(file, {"reserve": token, "nano_usd": amount})
            return token

    def settle(self, token: str, actual_usd: float) -> None:
        """Put what a call did cost in the place of its reservation.

        Raises:
            ValueError: the token is unknown or settled already.
        """
        amount = _nano(actual_usd, ROUND_CEILING)
        with self._locked(), self._ledger() as file:
            if token not in self._open:
                raise ValueError("settled a reservation that is not open")
            self._append(file, {"settle": token, "nano_usd": amount})

    def may_fit_later(self, worst_usd: float) -> bool:
        """Is there room but for reservations of calls that have not ended yet?"""
        with self._locked(), self._ledger():
            return self._settled + _nano(worst_usd, ROUND_CEILING) <= self._cap

    @property
    def cap_usd(self) -> float:
        return self._cap / NANO

    @property
    def spent_usd(self) -> float:
        """Settled costs, and the reservations that are still open: never less than was billed."""
        with self._locked(), self._ledger():
            return (self._settled + self._reserved) / NANO

    @property
    def position(self) -> int:
        """Grows with every reservation and settlement that this object has seen."""
        return self._read

    def _locked(self) -> AbstractContextManager[object]:
        return self._lock.acquire(poll_interval=LOCK_POLL_S)

    def _ledger(self) -> BinaryIO:
        """The open file, after what other processes appended was read. Needs the lock."""
        file = self.path.open("ab+")
        size = file.seek(0, os.SEEK_END)
        if size < self._read:
            file.close()
            raise MeasurementError(f"{self.path}: the budget's ledger was cut during the run")
        file.seek(self._read)
        data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._count(json.loads(line))
        self._read += len(whole)
        if len(whole) < len(data):
            file.truncate(self._read)  # half a line of a process that died: its call never began
        return file

    def _append(self, file: BinaryIO, entry: dict[str, str | int]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        file.write(line)
        file.flush()
        self._read += len(line)
        self._count(entry)

    def _count(self, entry: dict[str, str | int]) -> None:
        amount = int(entry["nano_usd"])
        if "reserve" in entry:
            self._open[str(entry["reserve"])] = amount
            self._reserved += amount
        else:
            self._reserved -= self._open.pop(str(entry["settle"]))
            self._settled += amount


def _nano(usd: float, rounding: str) -> int:
    if not 0 <= usd < inf:
        raise ValueError(f"{usd} is no amount of USD")
    return int((Decimal(repr(float(usd))) * NANO).to_integral_value(rounding))

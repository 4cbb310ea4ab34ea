"""Answers that a run has paid for, kept until they are recorded.

A call is answered ahead of its item's turn; a process that is killed in between has paid for
answers that no record holds. They are kept in one SQLite file in the run's folder, shared by all
its processes, and found again by the worker that takes over or by the run that is resumed. The
file belongs to one run: another run asks again, so that its measurement is its own.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from pydantic import ValidationError

from pytest_fineval import __version__
from pytest_fineval.clients.base import Answer, Client, Request

WAIT_S = 30.0
"""How long a process waits for another one's write."""


class ResponseCache:
    """The answers of one run. Each process opens its own object on the same path; no two threads
    use it at a time."""

    def __init__(self, path: Path):
        self._file = sqlite3.connect(
            path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
        )
        # A commit survives the death of the process; only one of the machine may undo it.
        _write_ahead(self._file)
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS answers (adapter TEXT, request TEXT, sample INTEGER, "
            "answer TEXT NOT NULL, PRIMARY KEY (adapter, request, sample)) WITHOUT ROWID"
        )

    def get(self, adapter: str, request: str, sample: int) -> Answer | None:
        """The kept answer, marked as coming from here; its cost is what the run paid for it."""
        row = self._file.execute(
            "SELECT answer FROM answers WHERE adapter = ? AND request = ? AND sample = ?",
            (adapter, request, sample),
        ).fetchone()
        if row is None:
            return None
        try:
            answer = Answer.model_validate_json(row[0])
        except ValidationError:  # written by another version of this package
            return None
        return answer.model_copy(update={"source": "cache"})

    def put(self, adapter: str, request: str, sample: int, answer: Answer) -> None:
        """Keep an answer; what failed is not one.

        Raises:
            ValueError: the answer is an error.
        """
        if answer.error is not None:
            raise ValueError("a failed call is never kept")
        self._file.execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
            (adapter, request, sample, answer.model_dump_json(exclude_defaults=True)),
        )

    def close(self) -> None:
        self._file.close()


def _write_ahead(file: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait for its lock in this one statement, so
    that of several processes that open a new file at once all but one would fail."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            file.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


class CachedClient:
    """A client whose answers are looked up in, and added to, a run's cache."""

    def __init__(self, client: Client, cache: ResponseCache, adapter: str):
        """
        Args:
            adapter: what makes the same request another one: kind of client, endpoint.
        """
        self._client = client
        self._cache = cache
        self._adapter = f"{adapter} {__version__}"

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return await self._client.answer(request, sample)
        kept = self._cache.get(self._adapter, request.digest, sample)
        if kept is not None:
            return kept
        answer = await self._client.answer(request, sample)
        if answer.error is None:
            try:
                self._cache.put(self._adapter, request.digest, sample, answer)
            except sqlite3.Error:
                # No room or no lock: the answer is here and will be recorded; it is only not
                # insured against a kill until then.
                return answer
        return answer

    async def close(self) -> None:
        await self._client.close()

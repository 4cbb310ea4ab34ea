"""Recorded answers: replay them offline, or record them from a live client.

A recording is a JSONL file that a reviewer can read in a pull request: one line an answer, in a
stable order. New answers go first to a journal beside it (`NAME.jsonl.part`, append and flush),
so that a crash loses none that was paid for and the reviewed file is never half written;
`compact` folds the journal in. The journal counts on reading, so a forgotten one loses nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError

from pytest_fineval.clients.base import Answer, Client, Request, Usage, failed
from pytest_fineval.errors import InputError, faults, nearest
from pytest_fineval.settings import Frozen

if TYPE_CHECKING:
    from filelock import BaseFileLock

RecordMode = Literal["none", "once", "new", "all"]
"""`none`: record nothing. `once`: only if there is no file yet. `new`: replay what is there, ask
and record what is missing. `all`: ask and record everything again."""

RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)


class Recorded(Frozen):
    """What of an answer is kept: what the model said, and nothing that differs from call to call
    (latency, attempts, cost)."""

    text: str
    status: Literal["ok", "empty", "truncated", "filtered"] | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    model_returned: str | None = None
    fingerprint: str | None = None


class Recording(Frozen):
    """One line of a recording file. `case` is a hint for the reader and for the order of lines;
    answers are found by `request` and `sample` alone."""

    request: str = Field(pattern=r"^[0-9a-f]{64}$")
    sample: int = Field(0, ge=0)
    case: str | None = None
    answer: Recorded

    @property
    def key(self) -> Key:
        return Key(self.request, self.sample)

    def line(self) -> bytes:
        """The line as it stands in the file, newline included."""
        content = {
            "request": self.request,
            "sample": self.sample,
            **({"case": self.case} if self.case else {}),
            "answer": self.answer.model_dump(mode="json", exclude_defaults=True),
        }
        return (json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def replay(self) -> Answer:
        """The answer as a run sees it: free and immediate, with the usage it once had."""
        kept = self.answer
        return Answer(
            text=kept.text,
            status=kept.status or ("ok" if kept.text.strip() else "empty"),
            finish_reason=kept.finish_reason,
            usage=kept.usage,
            cost_usd=0.0,
            model_returned=kept.model_returned,
            fingerprint=kept.fingerprint,
            source="recording",
        )


class Key(NamedTuple):
    """What an answer is found by."""

    request: str
    sample: int


@dataclass
class Recordings:
    """The recorded answers of one model, in memory, with the file they live in."""

    path: Path
    entries: dict[Key, Recording] = field(default_factory=dict)
    _folded: tuple[int, int] | None = None  # which file was read: inode, time of change
    _done: int = 0  # bytes of the journal that were read

    @classmethod
    def load(cls, path: Path) -> Recordings:
        """Read a recording file and its journal; absent files are an empty recording.

        A last line without a newline that does not parse was cut off by a crash and is left out.

        Raises:
            InputError: a broken line (names file and line), or two lines for one request and
                sample (names both).
        """
        recordings = cls(path)
        recordings._load()
        return recordings

    @property
    def journal(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    def get(self, request: str, sample: int) -> Answer | None:
        """The recorded answer to the request with this digest, or None."""
        entry = self.entries.get(Key(request, sample))
        return None if entry is None else entry.replay()

    def add(
        self, request: str, sample: int, answer: Answer, *, case: str | None, replace: bool
    ) -> Answer:
        """Append an answer to the journal, safe against other processes.

        Args:
            request: digest of the request.
            case: a hint for the reader.
            replace: record it even where another answer is there already.

        Returns:
            The answer that is now recorded: another process may have been first.
        """
        if answer.status == "error":
            raise ValueError("a failed call is never recorded")
        entry = Recording(
            request=request,
            sample=sample,
            case=case,
            answer=Recorded(
                text=answer.text,
                status=None if answer.status == "ok" else answer.status,
                finish_reason=answer.finish_reason,
                usage=answer.usage,
                model_returned=answer.model_returned,
                fingerprint=answer.fingerprint,
            ),
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._catch_up()
            known = self.entries.get(entry.key)
            if known is not None and not replace:
                return known.replay()
            with self.journal.open("ab+") as file:
                file.truncate(file.seek(0, os.SEEK_END) - _torn_bytes(file))
                file.write(entry.line())
                file.flush()
                self._done = file.tell()
            self.entries[entry.key] = entry
        return answer

    def compact(self) -> None:
        """Fold the journal into the file: lines sorted by case hint, sample and digest, rewritten
        atomically. Without a journal nothing is written."""
        if not self.journal.exists():
            return
        with self._locked():
            self._load()
            entries = sorted(self.entries.values(), key=_order)
            temporary = self.path.with_name(self.path.name + ".tmp")
            with temporary.open("wb") as file:
                file.writelines(entry.line() for entry in entries)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            self.journal.unlink(missing_ok=True)
            self._folded, self._done = _identity(self.path), 0

    def _load(self) -> None:
        self.entries = {}
        lines: dict[Key, int] = {}
        self._folded, self._done = _identity(self.path), 0
        if self._folded is not None:
            for number, entry in _parsed(self.path, self.path.read_bytes()):
                if entry.key in lines:
                    raise InputError(
                        f"lines {lines[entry.key]} and {number} both record request "
                        f"{entry.request[:12]}..., sample {entry.sample}: delete one of them",
                        path=self.path,
                        line=number,
                    )
                lines[entry.key] = number
                self.entries[entry.key] = entry
        self._read_journal()

    def _catch_up(self) -> None:
        # Another process that compacted has replaced the file and begun a new journal.
        if _identity(self.path) != self._folded:
            self._load()
        else:
            self._read_journal()

    def _read_journal(self) -> None:
        if not self.journal.exists():
            return
        with self.journal.open("rb") as file:
            file.seek(self._done)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        for _, entry in _parsed(self.journal, whole):
            self.entries[entry.key] = entry
        self._done += len(whole)

    def _locked(self) -> BaseFileLock:
        from filelock import FileLock

        return FileLock(self.journal.with_name(self.journal.name + ".lock"))


class RecordingClient:
    """A client that answers from recordings only."""

    def __init__(self, recordings: Recordings):
        self.recordings = recordings

    async def answer(self, request: Request, sample: int) -> Answer:
        return self.recordings.get(request.digest, sample) or missing(
            self.recordings.path, request, sample
        )

    async def close(self) -> None:
        """Nothing is held open."""


class Recorder:
    """A live client whose answers are recorded and replayed, by mode (see `RecordMode`).

    An absent candidate is answered from the recordings in every mode. Failed calls are passed on
    and never recorded.
    """

    def __init__(
        self,
        client: Client,
        recordings: Recordings,
        mode: RecordMode,
        cases: Mapping[str, str] | None = None,
    ):
        """
        Args:
            client: what is asked.
            recordings: where answers are looked up and added.
            mode: when to ask and when to record.
            cases: digest of a request -> case id, the hint on a recorded line.

        Raises:
            InputError: an unknown mode.
        """
        if mode not in RECORD_MODES:
            raise InputError(f'unknown record mode "{mode}"; {nearest(mode, RECORD_MODES)}')
        self.client = client
        self.recordings = recordings
        self.mode = mode
        self.cases = {} if cases is None else cases
        self._frozen = mode == "once" and recordings.path.exists()
        self._asked: dict[Key, Answer] = {}
        self._turns: dict[Key, asyncio.Lock] = {}

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return self.recordings.get(request.digest, sample) or absent(request)
        if self.mode == "none":
            return await self.client.answer(request, sample)
        if self._frozen:
            return self.recordings.get(request.digest, sample) or missing(
                self.recordings.path, request, sample
            )
        # Two cases may ask the same: the second waits for the first and shares its answer.
        key = Key(request.digest, sample)
        async with self._turns.setdefault(key, asyncio.Lock()):
            if key in self._asked:
                return self._asked[key]
            if self.mode != "all":
                replayed = self.recordings.get(*key)
                if replayed is not None:
                    return replayed
            answer = await self.client.answer(request, sample)
            if answer.status == "error":
                return answer
            kept = self.recordings.add(
                *key, answer, case=self.cases.get(request.digest), replace=self.mode == "all"
            )
            self._asked[key] = kept
            return kept

    async def close(self) -> None:
        """Close the client and put the recording file in order."""
        try:
            await self.client.close()
        finally:
            self.recordings.compact()


def missing(path: Path, request: Request, sample: int) -> Answer:
    """The answer that says that nothing was recorded, and what to do."""
    if request.absent:
        remedy = f"no live model can answer it ({request.absent}): import its recorded answers"
    else:
        remedy = "record it with: pytest ... --fineval-live --fineval-record new"
    return failed(
        "recording_missing",
        f"no recorded answer for this request and sample in {path} "
        f"(request {request.digest[:12]}..., sample {sample}); {remedy}",
    )


def absent(request: Request) -> Answer:
    """The answer of a live client to a case that has no question."""
    return failed(
        "absent_candidate",
        f"this case has nothing to send to a model: {request.absent}; only a recording answers it",
        attempts=0,
    )


def _order(entry: Recording) -> tuple[str, int, str]:
    return (entry.case or "", entry.sample, entry.request)


def _parsed(path: Path, data: bytes) -> list[tuple[int, Recording]]:
    # Only "\n" ends a line: answers may hold other separators (U+2028), which splitlines() cuts at.
    lines = data.split(b"\n")
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append((number, Recording.model_validate(json.loads(line))))
        except ValidationError as error:
            fault = "; ".join(faults(error, Recording))
            raise InputError(f"not a recording: {fault}", path=path, line=number) from error
        except (ValueError, RecursionError) as error:
            if number == len(lines):  # no newline after it: cut off by a crash
                continue
            raise InputError(f"not valid JSON: {error}", path=path, line=number) from error
    return found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return (stat.st_ino, stat.st_mtime_ns)


def _torn_bytes(file: BinaryIO) -> int:
    """Bytes after the last newline; the file stands at its end afterwards."""
    size = file.seek(0, os.SEEK_END)
    step = 65536
    start = size
    while start > 0:
        start = max(0, start - step)
        file.seek(start)
        block = file.read(min(step, size - start))
        cut = block.rfind(b"\n")
        if cut >= 0:
            start += cut + 1
            break
    file.seek(0, os.SEEK_END)
    return size - start

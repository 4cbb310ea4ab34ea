"""One run's folder: manifest.json, records.jsonl, verdict.json.

records.jsonl is appended line by line and flushed; a line torn by a kill is dropped on reading.
A line is either a record or, for a score that was pending, `{"amends": [case, model, sample],
"status": ..., "score": {...}}`: a record is never rewritten.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pytest_fineval.cases.model import json_line
from pytest_fineval.errors import InputError, faults
from pytest_fineval.settings import Frozen
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import ItemStatus, Key, Record, StoredScore

MANIFEST, RECORDS, VERDICT = "manifest.json", "records.jsonl", "verdict.json"

RUNS = Path(".fineval") / "runs"
"""Where runs are kept, relative to the project's root."""

LOCK = ".lock"


class Amendment(Frozen):
    """The final score of a record that was written while its score was pending."""

    amends: tuple[str, str, int]
    status: ItemStatus
    score: StoredScore


@dataclass(frozen=True)
class Run:
    """A finished (or cut short) run as it was read back.

    Attributes:
        records: sorted by key, amendments applied.
        repeated: keys that stand more than once in the file: such a run cannot be judged.
    """

    folder: Path
    manifest: Manifest
    records: tuple[Record, ...]
    repeated: tuple[Key, ...] = ()

    @property
    def lost(self) -> list[Key]:
        """Expected keys without a record."""
        return self.manifest.lost(self.records)


def new_run_id(now: datetime | None = None) -> str:
    """A sortable, unique name: UTC time and four random hex digits."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class RunWriter:
    """The only writer of a run's folder (ENGINE, Records): lives in the controller."""

    def __init__(self, folder: Path, *, begun: bool = False):
        """
        Args:
            begun: the folder holds a run that is resumed.

        Raises:
            InputError: the folder cannot be made or written, another process writes it, or it
                holds another run.
        """
        self.folder = folder
        self._whole = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / LOCK)
            self._lock.acquire(blocking=False)
            if (folder / RECORDS).exists() and not begun:
                self._lock.release()
                raise InputError(
                    "already holds a run's records; name another folder with --fineval-run",
                    path=folder,
                )
            self._records = (folder / RECORDS).open("ab", buffering=0)
            self._whole = self._records.tell()
        except Timeout:
            raise InputError("is being written by another process", path=folder) from None
        except OSError as error:
            raise InputError(
                f"the run folder cannot be written ({error.strerror}); "
                "name another with --fineval-run DIR",
                path=folder,
            ) from error

    @classmethod
    def resume(cls, folder: Path, kept: Iterable[Record]) -> RunWriter:
        """Go on in the folder of a run that was cut short.

        Args:
            kept: its records that stand, amendments applied; whatever else the file holds (half a
                line, calls that were not made) goes.

        Raises:
            InputError: as for a new run.
        """
        writer = cls(folder, begun=True)
        writer._records.close()
        text = "".join(dumps(record) + "\n" for record in kept)
        write_atomically(folder / RECORDS, text)
        writer._records = (folder / RECORDS).open("ab", buffering=0)
        writer._whole = writer._records.tell()
        return writer

    def manifest(self, manifest: Manifest) -> None:
        """Write (or rewrite) the manifest atomically."""
        write_atomically(self.folder / MANIFEST, manifest.model_dump_json(indent=1) + "\n")

    def append(self, line: Record | Amendment) -> None:
        """Append one line and flush it to the operating system.

        Raises:
            OSError: it could not be written whole; nothing of it stays in the file.
        """
        data = (dumps(line) + "\n").encode()
        done = 0
        try:
            while done < len(data):
                done += self._records.write(data[done:])
        except OSError:
            if done:
                self._records.truncate(self._whole)
            raise
        self._whole += len(data)

    def close(self) -> None:
        self._records.close()
        self._lock.release()


def dumps(line: Frozen) -> str:
    """One model as one strict JSON line, defaults left out."""
    return json_line(line.model_dump(mode="json", exclude_defaults=True))


def write_atomically(path: Path, text: str) -> None:
    """Write a whole file so that a reader sees the old or the new text, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(path)


def read(folder: Path) -> Run:
    """Read a run's folder back.

    Raises:
        InputError: no manifest, or a line (other than a torn last one) that is no record.
    """
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            "is not a run's folder: it holds no manifest.json (a run's folder is "
            ".fineval/runs/<run-id>, printed at the end of each run)",
            path=folder,
        ) from None
    except ValidationError as error:
        raise InputError("; ".join(faults(error, Manifest)), path=path) from error
    records, repeated = read_records(folder / RECORDS)
    return Run(folder, manifest, records, repeated)


def read_records(path: Path) -> tuple[tuple[Record, ...], tuple[Key, ...]]:
    """All records of a file sorted by key, amendments applied, and the keys that repeat."""
    found: dict[Key, Record] = {}
    repeated: list[Key] = []
    for line in _lines(path):
        if isinstance(line, Amendment):
            key = Key(*line.amends)
            if key in found:
                amended = {"status": line.status, "score": line.score}
                found[key] = found[key].model_copy(update=amended)
        elif line.key in found:
            repeated.append(line.key)
        else:
            found[line.key] = line
    return tuple(found[key] for key in sorted(found)), tuple(repeated)


def _lines(path: Path) -> Iterable[Record | Amendment]:
    try:
        raw = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise InputError("the run has no records.jsonl", path=path) from None
    for number, line in enumerate(raw, start=1):
        if not line.strip():
            continue
        model = Amendment if line.startswith(b'{"amends"') else Record
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            if number == len(raw):  # no newline after it: the write was cut by a kill
                return
            raise InputError("; ".join(faults(error, model)), path=path, line=number) from error

"""What every track has in common: its provenance, its records, and the manifest of an import.

A track turns the records of a public benchmark into cases. Candidate and gold are both built by
naming the fields they may hold; a field that no track names is not read at all, so a new field of
the source can never reach a model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError, faults, nearest

MANIFEST = "SOURCE.json"
"""Name of the manifest that stands beside imported cases."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a source file and where it stands.

    Attributes:
        number: line of a JSONL file, or place in a JSON list, from 1.
        fields: the record as it is: gold and candidate together. Only a track reads it.
    """

    path: Path
    number: int
    fields: Mapping[str, Any]

    def fault(self, text: str) -> InputError:
        """An error about this record that names its file and line."""
        return InputError(text, path=self.path, line=self.number)

    def need(self, name: str, kind: type | tuple[type, ...] = str) -> Any:
        """A field that has to be there and of a kind.

        Args:
            name: the field, dotted where it is nested (`qa.question`).
            kind: the type or types it may have; a bool never counts as a number.

        Raises:
            InputError: missing or of another type.
        """
        here: Any = self.fields
        for part in name.split("."):
            if not isinstance(here, Mapping) or part not in here:
                known = here if isinstance(here, Mapping) else ()
                raise self.fault(f'missing key "{name}"; {nearest(part, map(str, known))}')
            here = here[part]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(here, kinds) or (isinstance(here, bool) and bool not in kinds):
            names = " or ".join(each.__name__ for each in kinds)
            raise self.fault(f'"{name}" has to be {names}, not {type(here).__name__}')
        return here

    def lines(self, name: str) -> list[str]:
        """A field that is a list of texts (one text counts as a list of one)."""
        value = self.need(name, (list, str))
        found = [value] if isinstance(value, str) else value
        if not all(isinstance(line, str) for line in found):
            raise self.fault(f'"{name}" has to be a list of texts')
        return found

    def table(self, name: str) -> tuple[tuple[str, ...], ...]:
        """A field that is a list of rows of cells."""
        rows = self.need(name, list)
        if not all(isinstance(row, list) and row for row in rows):
            raise self.fault(f'"{name}" has to be a list of rows, each a list of cells')
        return tuple(tuple(str(cell) for cell in row) for row in rows)


@dataclass(frozen=True, slots=True)
class Track:
    """A public benchmark under a declared protocol.

    Attributes:
        name: as in `fineval import NAME` and in `Case.track`.
        source: where the records come from.
        revision: the commit whose files and scorer are meant.
        licence: of the records; the notice that has to travel with them.
        splits: the source's own splits with a public gold.
        candidate: the only fields of a record that a model may see.
        gold: the only fields of a record that the scorer reads.
        scorer: the scorer that an imported case declares.
        build: reads the records of one file into cases.
    """

    name: str
    source: str
    revision: str
    licence: str
    splits: tuple[str, ...]
    candidate: tuple[str, ...]
    gold: tuple[str, ...]
    scorer: str
    build: Callable[[Sequence[Record]], list[Case]]

    def import_file(self, source: Path) -> list[Case]:
        """The cases of one source file, in its order.

        Raises:
            InputError: the file is missing, empty or no JSON, or a record lacks what the track
                names (file and line are in the message).
        """
        return self.build(read_records(source))


def read_records(path: Path) -> list[Record]:
    """The records of a JSONL file or of a file that is one JSON list.

    Raises:
        InputError: missing, empty, not UTF-8, no JSON, or something other than objects.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})", path=path) from error
    if text.lstrip().startswith("["):
        records = [Record(path, n, item) for n, item in enumerate(_parsed(text, path, None), 1)]
    else:
        records = [
            Record(path, number, _parsed(line, path, number))
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    for record in records:
        if not isinstance(record.fields, dict):
            raise record.fault("each record has to be a JSON object")
    if not records:
        raise InputError("holds no record", path=path)
    return records


def _parsed(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", path=path, line=line) from error


def build_case(record: Record, **fields: Any) -> Case:
    """A case from named parts; a fault of the model names the record's line.

    Raises:
        InputError: a part is not what a case may hold.
    """
    try:
        return Case(**fields)
    except ValidationError as error:
        raise record.fault("; ".join(faults(error, Case))) from error


def unique(cases: Sequence[Case], records: Sequence[Record]) -> list[Case]:
    """The cases, if each id stands once.

    Raises:
        InputError: an id stands twice; names both lines.
    """
    seen: dict[str, int] = {}
    for case, record in zip(cases, records, strict=True):
        if case.id in seen:
            raise record.fault(f'the id "{case.id}" stands already in line {seen[case.id]}')
        seen[case.id] = record.number
    return list(cases)


def write_manifest(
    cases_path: Path,
    track: Track,
    source: Path,
    counts: Mapping[str, Any],
    predictions: Path | None = None,
) -> Path:
    """Enter an import in the manifest beside its cases; no date, so that it is reproducible.

    Args:
        cases_path: the case file that was written; its name is the entry's key.
        track: where the records come from.
        source: the file that was read.
        counts: what was read and written.
        predictions: the file that recorded answers were taken from.

    Returns:
        The manifest: a JSON object with one entry for each imported file of the folder.
    """
    path = cases_path.parent / MANIFEST
    entries: dict[str, Any] = {}
    if path.exists():
        entries = _parsed(path.read_text(encoding="utf-8"), path, None)
        if not isinstance(entries, dict):
            raise InputError("has to be a JSON object: entries by the name of a file", path=path)
    entries[cases_path.name] = {
        "track": track.name,
        "source": track.source,
        "revision": track.revision,
        "licence": track.licence,
        "scorer": track.scorer,
        "file": source.name,
        "sha256": sha256(source),
        "counts": dict(counts),
    }
    if predictions:
        entries[cases_path.name] |= {
            "predictions": predictions.name,
            "predictions_sha256": sha256(predictions),
        }
    text = json.dumps(entries, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def sha256(path: Path) -> str:
    """Digest of a file's bytes, hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

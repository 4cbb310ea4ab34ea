"""What every track has in common: its provenance and its records.

A track turns the records of a public benchmark into cases. Candidate and gold are both built by
naming the fields they may hold; a field that no track names is not read at all, so a new field of
the source can never reach a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from pytest_fineval.cases.model import Case, ScorerSpec
from pytest_fineval.errors import InputError, faults, nearest
from pytest_fineval.scoring.registry import prepare


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

    def only(self, names: Sequence[str]) -> Record:
        """The record with these fields alone (dotted where nested); absent ones stay absent.

        A candidate is built from such a record, so that no other field can get into it.
        """
        kept: dict[str, Any] = {}
        for name in names:
            *outer, last = name.split(".")
            here: Any = self.fields
            for part in outer:
                here = here.get(part) if isinstance(here, Mapping) else None
            if isinstance(here, Mapping) and last in here:
                target = kept
                for part in outer:
                    target = target.setdefault(part, {})
                target[last] = here[last]
        return Record(self.path, self.number, kept)

    def has(self, name: str) -> bool:
        """Does the record have this top-level field with a value?"""
        return self.fields.get(name) is not None

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
class Licence:
    """Under which terms the records may be had.

    Attributes:
        name: short name (`MIT`, `CC-BY-4.0`).
        notice: the attribution that has to travel with the records.
        non_commercial: only for non-commercial use: an import needs it acknowledged in the
            settings, and writes nowhere but into a folder that git and CI leave alone.
    """

    name: str
    notice: str
    non_commercial: bool = False

    @property
    def available_for(self) -> str:
        """Who may use the records, in words."""
        return "non-commercial use" if self.non_commercial else "any use"


@dataclass(frozen=True, slots=True)
class Role:
    """What figures of a suite can show.

    Attributes:
        visibility: a public suite may be part of what a model was trained on.
        contamination: is it known to be, or possibly, part of training data?
        evaluation_only: the records are no training data of anybody who imports them here.
    """

    visibility: Literal["public", "private"] = "public"
    contamination: Literal["possible", "none known"] = "possible"
    evaluation_only: bool = True


@dataclass(frozen=True, slots=True)
class Track:
    """A benchmark under a declared protocol; another protocol is another track.

    Attributes:
        name: what `Case.track` says.
        source: where the records come from.
        revision: the commit whose files and scorer are meant.
        licence: of the records.
        splits: the source's own splits with a public gold.
        candidate: the only fields of a record that a model may see.
        gold: the only fields of a record that the scorer, or the flag of a faulty gold, reads.
        official: the scorer that gives the published verdicts; None where these need another kind
            of answer than the protocol asks for.
        strict: this project's own rule; None likewise.
        scorer: which of the two an imported case declares unless it is said otherwise.
        cluster: what outcomes depend on together, in words.
        build: reads the records of one file into cases.
        evidence: what the model is given to answer from.
        tools: what the model may use beside its own words.
        role: what figures of this suite can show.
        model: settings that the protocol prescribes for the model, as they stand in the settings.
    """

    name: str
    source: str
    revision: str
    licence: Licence
    splits: tuple[str, ...]
    candidate: tuple[str, ...]
    gold: tuple[str, ...]
    official: str | None
    strict: str | None
    scorer: str
    cluster: str
    build: Callable[[Sequence[Record]], list[Case]]
    evidence: Literal["supplied", "retrieval", "closed-book", "gold-evidence"] = "supplied"
    tools: tuple[str, ...] = ()
    role: Role = Role()
    model: Mapping[str, str | float | int] = field(default_factory=dict)

    def with_scorer(self, which: Literal["official", "strict"]) -> Track:
        """The same track whose cases declare the other scorer.

        Raises:
            InputError: the protocol has no such scorer.
        """
        name = self.official if which == "official" else self.strict
        if name is None:
            raise InputError(
                f'track "{self.name}" has no {which} scorer: {self.scorer} scores its answers'
            )
        here, build = self.scorer, self.build

        def rebuilt(records: Sequence[Record]) -> list[Case]:
            cases = build(records)
            return [
                changed(case, scorer=ScorerSpec(name=name, **case.scorer.options))
                if case.scorer.name == here
                else case
                for case in cases
            ]

        return replace(self, scorer=name, build=rebuilt)


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
        records = [Record(path, n, item) for n, item in enumerate(parsed(text, path, None), 1)]
    else:
        records = [
            Record(path, number, parsed(line, path, number))
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    for record in records:
        if not isinstance(record.fields, dict):
            raise record.fault("each record has to be a JSON object")
    if not records:
        raise InputError("holds no record", path=path)
    return records


def parsed(text: str, path: Path, line: int | None) -> Any:
    """A JSON value; a fault names the place."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", path=path, line=line) from error


def build_all(make: Callable[[Record], Case], records: Sequence[Record]) -> list[Case]:
    """A case a record, each id once; a fault of a case names its record's line.

    Raises:
        InputError: a part is not what a case may hold, the scorer cannot use its gold, or an id
            stands twice (names both lines).
    """
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for record in records:
        try:
            case = make(record)
        except ValidationError as error:
            raise record.fault("; ".join(faults(error, Case))) from error
        try:
            prepare(case.scorer, case.gold)
        except InputError as error:
            raise record.fault(f'"{case.id}" cannot be scored: {error.fault}') from error
        if case.id in seen:
            raise record.fault(f'the id "{case.id}" stands already in line {seen[case.id]}')
        seen[case.id] = record.number
        cases.append(case)
    return cases


def changed(case: Case, **fields: Any) -> Case:
    """A case with other fields. No copy: that would keep the digest of the case as it was."""
    return Case(**{**{name: getattr(case, name) for name in Case.model_fields}, **fields})

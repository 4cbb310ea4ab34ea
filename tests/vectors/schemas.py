"""Families of vector rows: a file is recognised by the fields of its rows, not by its name.

A family is a module beside this one that exports `SCHEMAS: list[Schema]` and is named in
`FAMILIES`. `check` answers for one row: an empty list when the project agrees, else the names of
the fields that differ (with the two values, for a person to read).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

Row = dict[str, Any]

FAMILIES = ("answers", "statistics", "benchmarks", "chains", "steps")


@dataclass(frozen=True)
class Schema:
    """One kind of row.

    Attributes:
        name: what the kind is called in messages.
        matches: whether a row has this kind's fields.
        check: the fields in which the project differs from the row; empty = agrees.
        row_id: the row's name in the report.
    """

    name: str
    matches: Callable[[Row], bool]
    check: Callable[[Row], list[str]]
    row_id: Callable[[Row], str] = lambda row: str(row.get("id") or row.get("case_id"))


def schemas() -> list[Schema]:
    """All schemas of the families that exist."""
    found: list[Schema] = []
    for family in FAMILIES:
        name = f"tests.vectors.{family}"
        if (Path(__file__).parent / f"{family}.py").exists():
            found += import_module(name).SCHEMAS
    return found


def rows(path: Path) -> Iterator[Row]:
    """The rows of a JSONL file, empty lines left out."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def recognise(row: Row, known: list[Schema]) -> Schema | None:
    """The one schema whose fields a row has, or None."""
    return next((schema for schema in known if schema.matches(row)), None)


def same_number(got: Any, expected: Any, relative: float = 1e-9) -> bool:
    """Whole numbers exactly, others to a relative tolerance; a bool is no number."""
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if not isinstance(got, int | float) or not isinstance(expected, int | float):
        return bool(got == expected)
    if float(expected).is_integer():
        return got == expected
    return abs(got - expected) <= relative * abs(expected)

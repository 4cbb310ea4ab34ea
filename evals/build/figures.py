"""The fictional documents: read from documents.toml, checked, and rendered for a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("documents.toml")
SCALES = {"units": 1, "thousands": 1_000, "millions": 1_000_000}

_PLACEHOLDER = re.compile(r"\{(?:(\w+):)?([^{}]+)\}")
_FACTS = {
    ("going_concern", "yes"): "The auditor's report states that there is substantial doubt about "
    "the company's ability to continue as a going concern.",
    ("going_concern", "no"): "The auditor's report states that there is no doubt about the "
    "company's ability to continue as a going concern.",
}


@dataclass(frozen=True)
class Document:
    """One filing: its figures (line -> one number a column), its facts and its words."""

    id: str
    company: str
    kind: str
    scale: str
    columns: tuple[str, ...]
    show: str
    passage: str
    figures: Mapping[str, tuple[Decimal, ...]]
    units: Mapping[str, str]
    facts: Mapping[str, str]
    cases: tuple[Mapping[str, Any], ...]

    def value(self, line: str, column: str | None = None) -> Decimal:
        """The figure of a line, by default in the newest column."""
        return self.figures[line][self.columns.index(column) if column else 0]

    def unit(self, line: str) -> str:
        """The line's unit: US dollars unless the document says otherwise."""
        return self.units.get(line, "USD")

    def words(self, line: str, column: str | None = None) -> str:
        """A figure as running text has it: `$41.2 million`, `2.90x`."""
        value = self.value(line, column)
        if self.unit(line) == "x":
            return f"{value}x"
        sign, size = ("-" if value < 0 else ""), f"{abs(value):,}"
        word = {"millions": " million", "thousands": " thousand", "units": ""}[self.scale]
        return f"{sign}${size}{word}"

    def movement(self, line: str, new: str, old: str) -> str:
        """How a line changed: `rose to $152.4 million from $138.5 million`."""
        after, before = self.value(line, new), self.value(line, old)
        verb = "rose" if after > before else "fell" if after < before else "was unchanged"
        return f"{verb} to {self.words(line, new)} from {self.words(line, old)}"

    def action(self, line: str) -> str:
        """What a forecast's newest figure does to the one before: raised, lowered, maintained."""
        new, old = self.figures[line][:2]
        return "raised" if new > old else "lowered" if new < old else "maintained"

    def text(self) -> str | None:
        """The passage with its placeholders filled in; None where only the table is shown."""
        if self.show == "table":
            return None
        return _PLACEHOLDER.sub(lambda match: self._fill(match[1], match[2]), self.passage)

    def table(self) -> list[list[str]] | None:
        """The figures as rows of cells under a header; None where only the passage is shown."""
        if self.show == "passage":
            return None
        header = [f"$ {self.scale}" if self.scale != "units" else "", *self.columns]
        return [header, *([line, *map(_cell, row)] for line, row in self.figures.items())]

    def _fill(self, kind: str | None, body: str) -> str:
        if kind == "action":
            return self.action(body)
        if kind == "fact" and body == "cause":
            return f"The main reason was {self.facts['cause']}."
        if kind == "fact":
            return _FACTS[body, self.facts[body]]
        line, _, columns = body.partition("@")
        new, moved, old = columns.partition(">")
        return self.movement(line, new, old) if moved else self.words(line, new)


def _cell(value: Decimal) -> str:
    return f"({abs(value):,})" if value < 0 else f"{value:,}"


def documents(source: Path = SOURCE) -> list[Document]:
    """All documents in file order.

    Raises:
        ValueError: an id occurs twice, or a line has not one figure for each column.
    """
    found = [_document(entry) for entry in tomllib.loads(source.read_text("utf-8"))["document"]]
    if len({document.id for document in found}) != len(found):
        raise ValueError("a document id occurs twice")
    for document in found:
        for line, row in document.figures.items():
            if len(row) != len(document.columns):
                raise ValueError(f"{document.id}: {line} needs {len(document.columns)} figures")
    return found


def _document(entry: dict[str, Any]) -> Document:
    figures = {line: tuple(map(Decimal, row)) for line, row in entry["figures"].items()}
    return Document(
        id=entry["id"],
        company=entry["company"],
        kind=entry["kind"],
        scale=entry["scale"],
        columns=tuple(entry["columns"]),
        show=entry["show"],
        passage=entry.get("passage", ""),
        figures=figures,
        units=entry.get("units", {}),
        facts=entry.get("facts", {}),
        cases=tuple(entry.get("case", ())),
    )

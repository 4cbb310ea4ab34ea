"""The fictional documents: read from documents/*.toml, checked, and rendered for a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evals.build import words

SOURCE = Path(__file__).with_name("documents")
CATEGORIES = ("extraction", "summarization", "ranking", "reasoning", "classification")
UNITS = ("amount", "per share", "percent", "x", "count")
KEYS = {
    "id", "company", "kind", "language", "currency", "scale", "columns", "show", "passage",
    "figures", "units", "scales", "facts", "traits", "smoke", "heldout", "ask",
}  # fmt: skip

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Document:
    """One filing: its figures (line -> one number a column), its facts, its words, its questions.

    Attributes:
        units: what a line counts where it is not an amount of money: `percent`, `x`, `count` ...
        scales: the scale of a line where it is not the document's.
        facts: a date, a phrase, or `{value, OPTION: sentence, ...}`: what is true, and how the
            text says each of the things that could be.
        smoke: the category whose question belongs to the smoke split.
        ask: the question of each category.
    """

    id: str
    company: str
    kind: str
    language: str
    currency: str
    scale: str
    columns: tuple[str, ...]
    show: str
    passage: str
    figures: Mapping[str, tuple[Decimal, ...]]
    units: Mapping[str, str]
    scales: Mapping[str, str]
    facts: Mapping[str, Any]
    traits: tuple[str, ...]
    smoke: str | None
    heldout: bool
    ask: Mapping[str, Mapping[str, Any]]

    def value(self, figure: str) -> Decimal:
        """A figure by `Line@column`, or by `Line` in the newest column.

        Raises:
            ValueError: there is no such line or column.
        """
        line, _, column = figure.partition("@")
        if line not in self.figures or (column and column not in self.columns):
            raise ValueError(f"{self.id}: no figure {figure!r}")
        return self.figures[line][self.columns.index(column) if column else 0]

    def unit(self, figure: str) -> str:
        """What a line counts: `amount` unless the document says otherwise."""
        return self.units.get(figure.partition("@")[0], "amount")

    def scale_of(self, figure: str) -> str:
        """The scale that a line's figures are written in."""
        return self.scales.get(figure.partition("@")[0], self.scale)

    def whole(self, figure: str) -> Decimal:
        """A figure in single dollars, euros, roubles or rupees; other units as they are."""
        factor = words.SCALES[self.scale_of(figure)] if self.unit(figure) == "amount" else 1
        return self.value(figure) * factor

    def name(self, figure: str) -> str:
        """`revenue in 2024`: how a rubric names a figure."""
        line, _, column = figure.partition("@")
        return f"{line} ({column or self.columns[0]})"

    def words(self, figure: str, magnitude: bool = False) -> str:
        """A figure as running text has it: `$41.2 million`, `2.90x`."""
        value = abs(self.value(figure)) if magnitude else self.value(figure)
        if (unit := self.unit(figure)) != "amount":
            return words.quantity(value, unit, self.currency, self.language)
        return words.amount(value, self.scale_of(figure), self.currency, self.language)

    def text(self) -> str | None:
        """The passage with its placeholders filled in; None where only the table is shown."""
        return None if self.show == "table" else self.fill(self.passage)

    def table(self) -> list[list[str]] | None:
        """The figures as rows of cells under a header; None where only the passage is shown."""
        if self.show == "passage":
            return None
        corner = words.header(self.scale, self.currency, self.language)
        return [[corner, *self.columns], *([line, *self._cells(line)] for line in self.figures)]

    def fill(self, template: str) -> str:
        """A template with its placeholders replaced: see documents/README.md for their forms."""
        filled = _PLACEHOLDER.sub(lambda match: self._filled(match[1]), template)
        return filled.replace("руб..", "руб.")  # the abbreviation's point ends the sentence too

    def _cells(self, line: str) -> list[str]:
        return [words.cell(value, self.currency, self.language) for value in self.figures[line]]

    def _filled(self, body: str) -> str:
        kind, colon, rest = body.partition(":")
        if not colon:
            return self._moved(body) if ">" in body else self.words(body)
        if kind == "fact":
            fact = self.facts[rest]
            return self.fill(fact[fact["value"]]) if isinstance(fact, Mapping) else str(fact)
        if kind == "date":
            return words.day(self.facts[rest], self.language)
        if kind == "abs":
            return self.words(rest, magnitude=True)
        if kind == "cell":
            return words.cell(self.value(rest), self.currency, self.language)
        if kind == "count":
            figure, *forms = rest.split("|")
            return words.counted(self.value(figure), tuple(forms), self.language)
        raise ValueError(f"{self.id}: no placeholder of the kind {kind!r}")

    def _moved(self, body: str) -> str:
        """`Line@new>old` alone: `rose to ... from ...`; with `|up|down`: the verb that is true."""
        movement, *verbs = body.split("|")
        line, _, columns = movement.partition("@")
        new, _, old = (f"{line}@{column}" for column in columns.partition(">"))
        after, before = self.value(new), self.value(old)
        if after == before:
            raise ValueError(f"{self.id}: {movement} did not move")
        up, down = verbs or ("rose", "fell")
        verb = up if after > before else down
        return verb if verbs else f"{verb} to {self.words(new)} from {self.words(old)}"


def documents(source: Path = SOURCE) -> list[Document]:
    """All documents, file by file.

    Raises:
        ValueError: an id occurs twice, or a document is not whole: see `_document`.
    """
    found = [
        _document(entry)
        for path in sorted(source.glob("*.toml"))
        for entry in tomllib.loads(path.read_text("utf-8"))["document"]
    ]
    if len({document.id for document in found}) != len(found):
        raise ValueError("a document id occurs twice")
    return found


def _document(entry: dict[str, Any]) -> Document:
    """One document.

    Raises:
        ValueError: an unknown key or unit; a line without one figure for each column; a category
            without a question; a document that is held out and in the smoke split.
    """
    name = entry["id"]
    if unknown := entry.keys() - KEYS:
        raise ValueError(f"{name}: unknown {', '.join(sorted(unknown))}")
    document = Document(
        id=name,
        company=entry["company"],
        kind=entry["kind"],
        language=entry.get("language", "en"),
        currency=entry.get("currency", "USD"),
        scale=entry["scale"],
        columns=tuple(entry["columns"]),
        show=entry["show"],
        passage=entry.get("passage", ""),
        figures={line: tuple(map(Decimal, row)) for line, row in entry["figures"].items()},
        units=entry.get("units", {}),
        scales=entry.get("scales", {}),
        facts=entry.get("facts", {}),
        traits=tuple(entry.get("traits", ())),
        smoke=entry.get("smoke"),
        heldout=entry.get("heldout", False),
        ask=entry["ask"],
    )
    for line, row in document.figures.items():
        if len(row) != len(document.columns):
            raise ValueError(f"{name}: {line} needs {len(document.columns)} figures")
    if strange := {*document.units, *document.scales} - document.figures.keys():
        raise ValueError(f"{name}: no line {', '.join(sorted(strange))}")
    if not set(document.units.values()) <= set(UNITS):
        raise ValueError(f"{name}: units are {', '.join(UNITS)}")
    if set(document.ask) != set(CATEGORIES):
        raise ValueError(f"{name}: one question of each category is needed")
    if document.heldout and document.smoke:
        raise ValueError(f"{name}: what is held out is not in the smoke split")
    return document

"""Ranking: names in the order of a figure, of its growth or of its share; equal ones tie."""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby

from evals.build import words
from evals.build.documents import Document
from evals.build.questions.base import Input, Question, by_name

PASS_MARK = 0.7


def value(document: Document, asked: Input) -> Question:
    """By the figures themselves, in the newest column or in `column`."""
    at = f"@{asked['column']}" if "column" in asked else ""
    return _ranked(document, asked, {line: document.whole(line + at) for line in asked["of"]})


def growth(document: Document, asked: Input) -> Question:
    """By the change in percent from the second column to the first."""
    new, old = document.columns[:2]
    changes = {
        line: document.whole(f"{line}@{new}") / document.whole(f"{line}@{old}")
        for line in asked["of"]
    }
    return _ranked(document, asked, changes, "growth-ranking")


def columns(document: Document, asked: Input) -> Question:
    """Columns, such as years, by the figures of the one line `of`."""
    of = asked["of"]
    names = asked.get("columns", document.columns)
    return _ranked(document, asked, {name: document.whole(f"{of}@{name}") for name in names})


def ratio(document: Document, asked: Input) -> Question:
    """By a ratio: `of` maps each name to the two lines that it divides."""
    pairs = asked["of"].items()
    shares = {name: document.whole(over) / document.whole(under) for name, (over, under) in pairs}
    return _ranked(document, asked, shares, "ratio")


def _ranked(
    document: Document, asked: Input, measures: dict[str, Decimal], *traits: str
) -> Question:
    """Names by measure.

    Raises:
        ValueError: all are equal, so that there is nothing to rank.
    """
    names = asked.get("names", {})
    order = asked.get("order", "highest")
    ordered = sorted(measures, key=lambda line: measures[line], reverse=order == "highest")
    groups = [
        [names.get(line, line) for line in group]
        for _, group in groupby(ordered, key=lambda line: measures[line])
    ]
    if len(groups) == 1:
        raise ValueError(f"{document.id}: nothing to rank: all are equal")
    tied = len(groups) < len(ordered)
    request = words.request(order, document.language)
    if tied:
        request += " " + words.request("ties", document.language)
    answer = [group[0] if len(group) == 1 else group for group in groups]
    return Question(
        request,
        {"answer": answer},
        {"name": "ranking"},
        pass_mark=PASS_MARK,
        traits=(*traits, *(("ties",) if tied else ())),
    )


BUILDERS = by_name(value, growth, columns, ratio)

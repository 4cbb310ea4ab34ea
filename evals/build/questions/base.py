"""What every builder gives, and how numbers are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from evals.build import words
from evals.build.documents import Document

Input = Mapping[str, Any]
Builder = Callable[["Document", "Input"], "Question"]


@dataclass(frozen=True)
class Question:
    """What a builder gives: how to answer and, apart from it, the gold."""

    instructions: str
    gold: dict[str, Any]
    scorer: dict[str, Any]
    pass_mark: float | None = None
    traits: tuple[str, ...] = ()


def by_name(*builders: Builder) -> dict[str, Builder]:
    """Builders by the name that a document calls them by."""
    return {builder.__name__.strip("_"): builder for builder in builders}


def request(document: Document, asked: Input, kind: str, **parts: str) -> str:
    """The instruction of a kind, or a plain `one short sentence` where the question wants that."""
    wanted = "sentence" if asked.get("form") == "sentence" else kind
    return words.request(wanted, document.language, **parts)


def numeric(
    document: Document, asked: Input, value: Decimal, unit: str, scorer: dict[str, Any]
) -> Question:
    """A question for one number.

    Args:
        value: an amount in single dollars (euros, ...), a percentage, a ratio ...
        unit: amount, per share, percent, bps, x or count.
        scorer: name and tolerances; the document's locale is added.
    """
    currency, language = document.currency, document.language
    if language != "en":
        scorer = {**scorer, "locale": language}
    if unit == "amount":
        scale = asked.get("scale", document.scale)
        written = value / words.SCALES[scale]
        gold = {"answer": plain(written), "unit": currency, "scale": words.SCALES[scale]}
        where = words.in_scale(scale, currency, language)
        return Question(request(document, asked, "amount", scale=where), gold, scorer)
    if unit == "per share":
        where = words.in_scale("units", currency, language)
        gold = {"answer": rounded(value, "0.0001"), "unit": f"{currency}/share"}
        return Question(
            request(document, asked, "per share", scale=where), gold, scorer, traits=("per-share",)
        )
    gold = {"answer": rounded(value, "0.0001"), "unit": unit}
    traits = {"bps": ("bps",), "x": ("ratio",)}.get(unit, ())
    return Question(request(document, asked, unit), gold, scorer, traits=traits)


def rounded(value: Decimal, places: str) -> str:
    """A computed number to the given places, without zeros at the end."""
    return plain(value.quantize(Decimal(places), ROUND_HALF_UP))


def plain(value: Decimal) -> str:
    """A decimal as text without an exponent or zeros at the end."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

"""What a case asks of a number, and what a number in a text is worth to that case."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

from pytest_fineval.scoring import units
from pytest_fineval.scoring.reading import ARITHMETIC, Reading, Style
from pytest_fineval.scoring.units import Unit

_ONE, _HALF, _HUNDREDTH = Decimal(1), Decimal("0.5"), Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Ask:
    """Unit, scale and reading policy of one case (ANSWERS, section 2)."""

    unit: Unit
    scale: Decimal = _ONE
    style: Style = field(default_factory=Style)
    sign: str = "signed"
    label: re.Pattern[str] | None = None
    abs_tol: Decimal = Decimal(0)
    rel_tol: Decimal = Decimal(0)
    dash_is_zero: bool = False
    strict: bool = False

    @property
    def keeps_labels(self) -> bool:
        """Years and ranks are the answer here, not labels."""
        return self.unit.kind in {"year", "rank"}

    @property
    def durations(self) -> bool:
        """A length of time is asked."""
        return self.unit.kind in {"days", "weeks", "months", "quarters", "years"}

    def as_ratio(self, candidate: Candidate) -> Candidate | None:
        """A bare number read as a ratio where percent, points or basis points are asked."""
        if self.unit.kind not in {"percent", "pp", "bps", "permille"} or not candidate.bare:
            return None
        factor = units.factor("ratio", self.unit.kind) or _ONE
        value = ARITHMETIC.multiply(candidate.value or Decimal(0), factor)
        return Candidate(candidate.reading, value, half_unit=candidate.half_unit * factor)


@dataclass(slots=True)
class Candidate:
    """One number of a text in the unit and scale that the case asks for.

    Attributes:
        value: after scale, unit and sign policy; None where the number does not fit.
        problem: why it does not fit.
        explicit: a fitting unit, currency or scale word stands beside it.
        exact: that unit is the one asked for, not one that converts to it.
        half_unit: half a unit of its last written digit, in the asked unit and scale.
        label: a label-like number, no value.
        result, operand, context, inside, margin, aside: what its place says about it.
        restates, range_with, hedges: the neighbour it belongs to.
    """

    reading: Reading
    value: Decimal | None = None
    problem: str | None = None
    explicit: bool = False
    exact: bool = False
    half_unit: Decimal = Decimal(0)
    noun: bool = False
    year_like: bool = False
    label: bool = False
    result: bool = False
    operand: bool = False
    context: bool = False
    inside: bool = False
    margin: bool = False
    aside: bool = False
    contradicted: bool = False
    restates: Candidate | None = None
    range_with: Candidate | None = None
    hedges: Candidate | None = None
    conversions: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether its dimension is the one asked for."""
        return self.problem is None

    @property
    def bare(self) -> bool:
        """Whether neither unit, currency nor scale stand beside it."""
        reading = self.reading
        return reading.unit is None and not reading.currencies and reading.scale is None

    @property
    def weak(self) -> bool:
        """A bare number that more likely counts or dates something else."""
        return self.noun or self.year_like

    @property
    def penalty(self) -> tuple[bool, int, int]:
        """Sort key: what speaks least against it comes first."""
        against = self.operand + self.context + self.inside + self.aside
        return self.weak, int(against > 0), 2 - self.explicit - self.exact

    @staticmethod
    def zero(text: str) -> Candidate:
        """The zero that a dash stands for where the case says so."""
        return Candidate(Reading(0, len(text), 0, value=Decimal(0)), Decimal(0), explicit=True)


_NOUN = re.compile(r"[ \u00a0-]([a-z]{3,})")
_NO_NOUN = frozenset(
    [
        "and",
        "are",
        "but",
        "for",
        "from",
        "has",
        "have",
        "had",
        "its",
        "per",
        "the",
        "than",
        "that",
        "this",
        "was",
        "were",
        "which",
        "with",
        "will",
        "would",
        "after",
        "before",
        "during",
        "versus",
        "compared",
        "over",
        "under",
        "into",
        "year",
        "quarter",
        "below",
        "above",
        "because",
        "since",
        "while",
        "when",
        "where",
        "being",
        "plus",
        "minus",
        "less",
        "more",
        "times",
        "only",
        "rounded",
        "approximately",
        "about",
        "(in",
        "or",
        "increase",
        "decrease",
    ]
)


def resolve(text: str, reading: Reading, ask: Ask, note: Decimal | None) -> Candidate:
    """What a reading is worth in the asked unit and scale, or why it does not fit.

    Args:
        text: the text that was read.
        reading: one number of it.
        ask: what the case asks.
        note: scale of a note that covers amounts without a scale of their own.
    """
    if reading.value is None:
        return Candidate(reading, problem=reading.fault or "malformed_number")
    problem, factor, explicit = _fit(text, reading, ask)
    scale = reading.scale
    if scale is None and note is not None and ask.unit.kind == "money" and problem is None:
        scale = note
    size = units.converted(reading.value, factor)
    unit_size = ARITHMETIC.multiply(factor, _HALF)
    if scale is not None:
        shift = ARITHMETIC.divide(scale, ask.scale)
        size = ARITHMETIC.multiply(size, shift)
        unit_size = ARITHMETIC.multiply(unit_size, shift)
    elif reading.minor and ask.scale != _ONE:
        size = ARITHMETIC.divide(size, ask.scale)
    if _is_negative(text, reading, ask):
        size = -size
    if ask.sign == "magnitude":
        size = abs(size)
    candidate = Candidate(reading, size, problem, explicit)
    candidate.exact = explicit and reading.unit in {ask.unit.kind, None}
    candidate.half_unit = ARITHMETIC.scaleb(unit_size, reading.place)
    candidate.conversions = _conversions(reading, ask, factor, scale)
    if problem is None and not explicit and reading.scale is None:
        candidate.year_like = _is_year_like(reading) and ask.unit.kind != "year"
        if ask.unit.kind in {"money", "percent", "pp", "bps", "ratio", "x", "shares"}:
            noun = _NOUN.match(text, reading.end)
            candidate.noun = bool(
                noun and noun.group(1) not in _NO_NOUN and (reading.plain or reading.spelled)
            )
    return candidate


def _is_year_like(reading: Reading) -> bool:
    return reading.plain and reading.value is not None and 1900 <= reading.value <= 2100


def _conversions(
    reading: Reading, ask: Ask, factor: Decimal, scale: Decimal | None
) -> tuple[str, ...]:
    done = []
    if factor != _ONE:
        done.append(f"{reading.unit or 'minor unit'} to {ask.unit.kind}")
    if scale is not None and scale != ask.scale:
        done.append(f"scale {scale.normalize():f} to {ask.scale.normalize():f}")
    return tuple(done)


def _fit(text: str, reading: Reading, ask: Ask) -> tuple[str | None, Decimal, bool]:
    """Problem, factor to the asked unit, and whether a fitting unit is explicit."""
    unit, seen = ask.unit, reading.unit
    if unit.kind == "money":
        return _fit_money(reading, unit)
    if unit.kind == "free":
        return _fit_free(text, reading, unit)
    if reading.currencies or reading.per_share:
        return "unit_mismatch", _ONE, False
    if unit.kind == "year":
        plain = reading.plain and reading.digits == 4 and seen is None and reading.scale is None
        return (None if plain else "unit_mismatch"), _ONE, False
    if unit.kind == "rank":
        whole = reading.value is not None and reading.value == reading.value.to_integral_value()
        return (None if whole and seen is None else "unit_mismatch"), _ONE, reading.ordinal
    if reading.ordinal:
        return "unit_mismatch", _ONE, False
    if unit.kind in {"count", "number"}:
        allowed = {None, "shares", "days", "weeks", "months", "quarters", "years"}
        if unit.kind == "number":
            allowed = {None, "x", "ratio"}
        return (None if seen in allowed else "unit_mismatch"), _ONE, reading.scale is not None
    if unit.kind == "shares":
        fits = seen in {None, "shares"}
        return (
            (None if fits else "unit_mismatch"),
            _ONE,
            seen == "shares" or reading.scale is not None,
        )
    if seen is None:
        return (None if reading.scale is None else "unit_mismatch"), _ONE, False
    factor = units.factor(seen, unit.kind)
    return (None, factor, True) if factor is not None else ("unit_mismatch", _ONE, False)


def _fit_money(reading: Reading, unit: Unit) -> tuple[str | None, Decimal, bool]:
    factor = _HUNDREDTH if reading.minor else _ONE
    if reading.unit not in {None, "per share"} or reading.ordinal:
        return "unit_mismatch", _ONE, False
    if unit.per_share:
        if reading.scale is not None and not reading.noted and not reading.per_share:
            return "unit_mismatch", _ONE, False
    elif reading.per_share:
        return "unit_mismatch", _ONE, False
    if reading.currencies and unit.currency not in reading.currencies:
        return "wrong_currency", factor, False
    explicit = bool(reading.currencies) or reading.per_share
    return None, factor, explicit or (reading.scale is not None and not reading.noted)


def _fit_free(text: str, reading: Reading, unit: Unit) -> tuple[str | None, Decimal, bool]:
    after = text[reading.at : reading.end + len(unit.words) + 3].lower()
    if unit.words in after:
        return None, _ONE, True
    noun = re.match(r"[ \u00a0-]?([A-Za-z]+)", text[reading.end : reading.end + 24])
    other = reading.currencies or reading.unit or (
        noun and len(noun.group(1)) > 1 and noun.group(1).lower() not in _NO_NOUN
        and noun.group(1).lower() not in {"in", "of", "at", "is", "as", "by", "to", "on"}
    )  # fmt: skip
    return ("unit_mismatch" if other else None), _ONE, False


def _is_negative(text: str, reading: Reading, ask: Ask) -> bool:
    if reading.negative:
        return True
    alone = reading.enclosed and reading.lead == "alone" and not ask.unit.counts
    if alone and (ask.unit.kind in {"money", "percent", "pp", "bps"} or not reading.plain):
        return True
    if ask.sign == "direction" and not reading.signed:
        return stated_direction(text, reading) < 0
    return False


_DIRECTION = re.compile(
    r"\b(?:(?P<down>decreas\w*|declin\w*|f[ae]ll\w*|drop\w*|down(?:\b|ward)|lower\w*|reduc\w*|shr[aiu]nk\w*|contract(?:ed|ion|ing)"
    r"|slip\w*|slid\w*|plung\w*|tumbl\w*|weaken\w*|narrow\w*|compress\w*|erod\w*|deteriorat\w*|cut|lost|negative)"
    r"|(?P<up>increas\w*|r[oi]s(?:e|es|ing|en)|gr[eo]w\w*|up(?:\b|ward)|higher|improv\w*|expan\w*|widen\w*|climb\w*|jump\w*|surg\w*"
    r"|advanc\w*|gain\w*|positive)"
    r"|(?P<loss>loss(?:es)?|deficit|shortfall|outflows?)|(?P<profit>profits?|income|earnings|surplus|inflows?))\b",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\bto\s+(?:about |approximately |roughly |around |just |nearly |a |an? (?:net )?loss of )?$",
    re.IGNORECASE,
)
_DIRECTION_AFTER = re.compile(
    r"\s?(?:year[- ]over[- ]year |yoy |\w+ )?(?:(?P<down>decreas\w*|declin\w*|drop|fall|lower|reduction|contraction|less|below|loss|down)"
    r"|(?P<up>increase|growth|rise|gain|higher|improvement|up|above))\b",
    re.IGNORECASE,
)


def stated_direction(text: str, reading: Reading) -> int:
    """-1 where words around a number state a decrease or a loss, else 1.

    `to` before the number states a level: then only loss and profit words count.
    """
    before = text[max(0, reading.start - 90) : reading.start]
    before = re.split(r"[\n;]|[.!?]\s|,\s(?!net)", before)[-1]
    level = bool(_TO.search(before))
    found = list(_DIRECTION.finditer(before))
    if level:
        found = [m for m in found if m.lastgroup in {"loss", "profit"}]
    if found:
        return -1 if found[-1].lastgroup in {"down", "loss"} else 1
    after = None if level else _DIRECTION_AFTER.match(text, reading.end)
    return -1 if after and after.lastgroup == "down" else 1


def agree(first: Candidate, second: Candidate, ask: Ask) -> bool:
    """Whether two statements are one value: within the tolerance, or one rounds the other."""
    if first.value is None or second.value is None:
        return False
    gap = abs(ARITHMETIC.subtract(first.value, second.value))
    if gap == 0:
        return True
    if gap <= max(first.half_unit, second.half_unit) * (1 if ask.unit.kind != "count" else 0):
        return True
    return gap <= ask.abs_tol or gap <= ARITHMETIC.multiply(ask.rel_tol, abs(first.value))

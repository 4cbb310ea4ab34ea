"""The numeric scorer: read the answer's number, compare it with the gold on Decimal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.errors import InputError
from pytest_fineval.scoring import noise, units
from pytest_fineval.scoring.ask import Ask, Candidate
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, Tolerances, gold_fault
from pytest_fineval.scoring.candidates import Pick, pick
from pytest_fineval.scoring.extract import NON_FINITE, Located, locate
from pytest_fineval.scoring.number import decimal_of, find_numbers
from pytest_fineval.scoring.reading import ARITHMETIC, Style
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean

CANDIDATES_KEPT = 20


class NumericOptions(CommonOptions, Tolerances):
    """Options of `numeric` (ANSWERS, section 2)."""

    sign: Literal["signed", "direction", "magnitude"] = "signed"
    accept_bare_ratio: bool = False
    accept_base_units: bool = False
    accept_rounding: bool = False
    min_sig_digits: int = Field(3, ge=1, le=30)
    dash_is_zero: bool = False
    trailing_minus: bool = False


_OWN_LETTER = {"days": "d", "weeks": "w", "months": "m", "years": "y"}


def exact(number: float) -> Decimal:
    """A float of a case file as the Decimal that its author wrote."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def label_pattern(label: str | None) -> re.Pattern[str] | None:
    """`label: / was / is / =` for an asked line item, or None without one."""
    if not label or not label.strip():
        return None
    words = r"\s+".join(re.escape(word) for word in label.split())
    return re.compile(
        rf"(?<!\w){words}(?!\w)(?:\s*\([^()\n]{{0,40}}\))?(?:[^.\n:=|]{{0,60}}?)"
        r"(?:\s*[:=≈|]|\s+(?:was|were|is|are|of|totall?ed|came (?:in )?(?:to|at)|amounted to|stood at|equals?)\b)",
        re.IGNORECASE,
    )


def ask_of(unit: str, scale: float | None, options: Any) -> Ask:
    """What a case asks, from its unit, scale and options.

    Raises:
        ValueError: the unit is none.
    """
    parsed = units.parse_unit(unit)
    style = Style(
        locale=options.locale,
        crore=parsed.currency in units.CRORE_CURRENCIES,
        letters=parsed.kind in {"money", "shares", "count", "number"},
        trailing_minus=getattr(options, "trailing_minus", False),
        odds=parsed.kind in {"x", "ratio"},
        own=_OWN_LETTER.get(parsed.kind, ""),
        own_unit=parsed.kind,
    )
    return Ask(
        unit=parsed,
        scale=exact(scale) if scale is not None else Decimal(1),
        style=style,
        sign=getattr(options, "sign", "signed"),
        label=label_pattern(options.label),
        abs_tol=exact(options.abs_tol),
        rel_tol=exact(options.rel_tol),
        dash_is_zero=getattr(options, "dash_is_zero", False),
        strict=options.strict,
    )


def gold_number(answer: Any, ask: Ask, field: str = "answer") -> Decimal:
    """The gold of a numeric case, read by the same reader as answers.

    Raises:
        InputError: no number, or outside its unit's range.
    """
    value: Decimal | None = None
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        value = exact(answer)
    elif isinstance(answer, str):
        value = decimal_of(answer, ask.style.locale)
        if value is None:
            picked = pick(Located("json", view := clean(answer), 0, len(view.text)), ask)
            value = picked.candidate.value if picked.candidate and not picked.failure else None
    if value is None:
        raise gold_fault(field, f"{answer!r} is no number in the unit that the case declares")
    if ask.sign == "magnitude":
        value = abs(value)
    whole = value == value.to_integral_value()
    kind = ask.unit.kind
    if kind == "year" and not (whole and 1000 <= value <= 2999):
        raise gold_fault(field, f"{answer!r} is no year (1000 to 2999)")
    if kind == "rank" and not (whole and value >= 1):
        raise gold_fault(field, f"{answer!r} is no rank (1, 2, 3, ...)")
    if kind in {"count", "shares"} and ask.scale == 1 and kind == "count" and not whole:
        raise gold_fault(field, f"{answer!r} is no count: a whole number is needed")
    return value


@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome of comparing a value with the gold; `passed` names the rule that passed."""

    value: Decimal
    passed: str | None
    reading: str = "declared"


def as_json(value: Decimal | None) -> int | float | None:
    """A Decimal as a JSON number: whole numbers exactly."""
    if value is None:
        return None
    if value == value.to_integral_value():
        return int(value)
    return float(value)


class NumericScorer(AnswerScorer):
    """`numeric`: one number in a declared unit and scale; score 1 or 0."""

    Options = NumericOptions

    def __init__(self, identity: str, options: NumericOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if gold.unit is None:
            raise InputError(
                '"gold.unit": a numeric case needs one, such as USD, percent, ratio, x or count'
            )
        try:
            self.ask = ask_of(gold.unit, gold.scale, options)
        except ValueError as error:
            raise gold_fault("unit", str(error)) from None
        if options.unanswerable and gold.answer is None:
            self.expected = None
        else:
            self.expected = gold_number(gold.answer, self.ask)

    def judge(self, text: str) -> Score:
        """Stages 1 to 8, then the comparison."""
        located = locate(text, self.options, "number")
        if located.failure:
            return self._unread(located.failure, located.stage)
        picked, located = read_number(located, self.ask)
        details = _details(picked, self.ask)
        if picked.failure or picked.candidate is None:
            return self._unread(
                picked.failure or "no_number",
                picked.stage,
                parsed=picked.candidate.value if picked.candidate else None,
                ambiguous=picked.ambiguous,
                details=details,
            )
        return self._compared(picked, located, details)

    def _unread(
        self,
        failure: str,
        stage: str | None,
        parsed: Decimal | None = None,
        ambiguous: bool = False,
        details: dict[str, Any] | None = None,
    ) -> Score:
        return Score(
            0.0,
            self.identity,
            parsed=as_json(parsed),
            failure=failure,
            stage=stage,
            ambiguous=ambiguous,
            details=details or {},
        )

    def _compared(self, picked: Pick, located: Located, details: dict[str, Any]) -> Score:
        candidate = picked.candidate
        assert candidate is not None  # noqa: S101 - narrows the type
        result = compare(candidate, self.expected, self.ask, self.options)
        details["value"] = str(result.value)
        details["passed"] = result.passed
        if result.reading != "declared":
            details["reading"] = result.reading
        if result.passed is None and self.expected is not None:
            cause = cause_of(result.value, self.expected)
            if cause:
                details["cause"] = cause
        return Score(
            1.0 if result.passed else 0.0,
            self.identity,
            parsed=as_json(result.value),
            stage=picked.stage,
            span=located.span(candidate.reading.start, candidate.reading.end),
            ambiguous=picked.ambiguous,
            details=details,
        )


class ReasoningScorer(NumericScorer):
    """`reasoning`: the final number of a reasoned answer; advised rel_tol 0.005."""


def read_number(located: Located, ask: Ask) -> tuple[Pick, Located]:
    """The number of a located answer, JSON values included."""
    if not located.from_json:
        return pick(located, ask), located
    return _from_value(located.value, located.siblings or {}, located, ask)


def _from_value(
    value: Any, siblings: dict[str, Any], located: Located, ask: Ask
) -> tuple[Pick, Located]:
    if isinstance(value, list) and len(value) == 1:
        return _from_value(value[0], siblings, located, ask)
    failure = None
    if isinstance(value, bool):
        failure = "wrong_type"
    elif value is None or value == [] or value == "":
        failure = "no_answer"
    elif value is NON_FINITE:
        failure = "non_finite"
    elif isinstance(value, list):
        failure = "ambiguous"
    elif isinstance(value, dict):
        folded = {str(key).casefold(): item for key, item in value.items()}
        for key in ("value", "amount", "number", "answer"):
            if key in folded:
                rest = {**siblings, **{k: v for k, v in folded.items() if k != key}}
                return _from_value(folded[key], rest, located, ask)
        failure = "wrong_type"
    if failure:
        return Pick("json", failure=failure), located
    written = value if isinstance(value, str) else _plain(value)
    text = _with_siblings(written, siblings)
    view = clean(text)
    inner = Located("json", view, 0, len(view.text), raw_span=located.raw_span)
    if isinstance(value, str) and len(written) > 60:
        from pytest_fineval.scoring.extract import marked

        found = marked(view, CommonOptions(locale=ask.style.locale), "number")
        if found is not None:
            inner = Located("json", view, found.start, found.end, raw_span=located.raw_span)
    return pick(inner, ask), inner


def _plain(value: Decimal) -> str:
    exponent = value.adjusted()
    return f"{value:f}" if abs(exponent) < 40 else str(value)


_NUMERIC_SCALE = {"1000": "thousand", "1000000": "million", "1000000000": "billion",
                  "1000000000000": "trillion", "100000": "lakh", "10000000": "crore"}  # fmt: skip


def _with_siblings(written: str, siblings: dict[str, Any]) -> str:
    """The value with the unit, scale and currency of the fields beside it, where it has none."""
    first = next(iter(find_numbers(written, Style())), None)
    if first is None:
        return written
    text = (
        written[first.start : first.end]
        if written.strip() == written[first.start : first.end]
        else ""
    )
    if not text:
        return written
    for key in ("scale", "unit", "units", "currency"):
        field = siblings.get(key)
        if isinstance(field, Decimal):
            field = _NUMERIC_SCALE.get(_plain(field).rstrip("0").rstrip(".") if "." in _plain(field) else _plain(field), "")  # fmt: skip
        if not isinstance(field, str) or len(field) > 40:
            continue
        for word in _unit_words(field):
            seen = next(iter(find_numbers(text, Style())), first)
            trial = next(iter(find_numbers(f"1 {word}", Style())), None)
            if trial is None:
                continue
            if trial.scale is not None and seen.scale is not None:
                continue
            if trial.currencies and (seen.currencies or seen.unit):
                continue
            if trial.unit and (seen.unit or seen.currencies):
                continue
            text = f"{text} {word}"
    return text


def _unit_words(field: str) -> list[str]:
    """Scale first, then the rest, so that `USD millions` reads as millions of USD."""
    words = re.findall(r"per share|/\s?share|percentage points?|basis points?|[^\s,()]+", re.sub(r"(?i)\bin\b|\bof\b", " ", field))  # fmt: skip
    return sorted(words, key=lambda word: units.scale_at(word, 0, "en") is None)


def within(value: Decimal, expected: Decimal, abs_tol: Decimal, rel_tol: Decimal) -> str | None:
    """Which tolerance passes, inclusive: `exact`, `abs` or `rel`; None when neither does."""
    gap = abs(ARITHMETIC.subtract(value, expected))
    if gap == 0:
        return "exact"
    if gap <= abs_tol:
        return "abs"
    if expected and gap <= ARITHMETIC.multiply(rel_tol, abs(expected)):
        return "rel"
    return None


def compare(
    candidate: Candidate, expected: Decimal | None, ask: Ask, options: NumericOptions
) -> Comparison:
    """Compare in the declared reading, then in the readings that the case accepts besides.

    Returns:
        The reading that passed, else the declared one.
    """
    declared = candidate.value if candidate.value is not None else Decimal(0)
    if expected is None:
        return Comparison(declared, None)
    readings = [("declared", declared, candidate.half_unit)]
    if options.accept_bare_ratio and (ratio := ask.as_ratio(candidate)) is not None:
        readings.append(("bare_ratio", ratio.value or Decimal(0), ratio.half_unit))
    if options.accept_base_units and candidate.reading.scale is None and ask.scale != 1:
        shift = ask.scale
        readings.append(
            ("base_units", ARITHMETIC.divide(declared, shift), candidate.half_unit / shift)
        )
    for name, value, half_unit in readings:
        passed = within(value, expected, ask.abs_tol, ask.rel_tol)
        if passed is None and options.accept_rounding:
            gap = abs(ARITHMETIC.subtract(value, expected))
            if gap <= half_unit and candidate.reading.digits >= options.min_sig_digits:
                passed = "rounding"
        if passed:
            return Comparison(value, passed, name)
    return Comparison(declared, None)


_FACTORS = {10: "off_by_10", 100: "off_by_100", 1e3: "off_by_scale", 1e5: "off_by_scale",
            1e6: "off_by_scale", 1e7: "off_by_scale", 1e9: "off_by_scale", 1e12: "off_by_scale"}  # fmt: skip


def cause_of(value: Decimal, expected: Decimal) -> str | None:
    """A likely cause of a wrong number, for the report; it forgives nothing."""
    if not value or not expected:
        return None
    ratio = ARITHMETIC.divide(value, expected)
    if not -16 < ratio.adjusted() < 16:
        return None
    size = abs(float(ratio))
    if abs(size - 1) <= 0.005 and ratio < 0:
        return "sign_flipped"
    size = max(size, 1 / size)
    return next((name for by, name in _FACTORS.items() if abs(size / by - 1) <= 0.005), None)


def _details(picked: Pick, ask: Ask) -> dict[str, Any]:
    shown = [_shown(candidate) for candidate in picked.candidates[-CANDIDATES_KEPT:]]
    details: dict[str, Any] = {"candidates": shown, "candidate_count": len(picked.candidates)}
    chosen = picked.candidate
    if chosen is not None:
        reading = chosen.reading
        details["unit_seen"] = reading.unit
        details["scale_seen"] = as_json(reading.scale)
        details["currency_seen"] = list(reading.currencies[:1]) if len(reading.currencies) == 1 else list(reading.currencies)  # fmt: skip
        details["conversions"] = list(chosen.conversions)
        details["scale_read"] = as_json(reading.scale if reading.scale is not None else ask.scale)
    return details


def _shown(candidate: Candidate) -> dict[str, Any]:
    reading = candidate.reading
    return {
        "value": None if candidate.value is None else str(candidate.value),
        "unit": reading.unit,
        "currency": reading.currencies[0] if len(reading.currencies) == 1 else None,
        "scale": as_json(reading.scale),
        "span": [reading.start, reading.end],
        "label": candidate.label,
        "problem": candidate.problem,
    }


__all__ = [
    "NumericOptions",
    "NumericScorer",
    "ReasoningScorer",
    "ask_of",
    "compare",
    "noise",
    "within",
]

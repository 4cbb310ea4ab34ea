"""Shown arithmetic, worked out again: `198,502 × 0.13 = 25,705` is a slip.

An expression is read number by number with the project's one reader and worked out by a small
recursive reader of operators; nothing is ever run as code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pytest_fineval.scoring.chains.value import prepared
from pytest_fineval.scoring.number import find_numbers
from pytest_fineval.scoring.reading import Reading, Style

MOST_TERMS = 60
"""Numbers and signs of one expression."""

MOST_CHARACTERS = 4_000
"""Of one step."""

TOLERANCE = 1e-3
"""Relative difference that rounded inputs explain; a slip is larger."""

_FRACTION = -28
"""Place of the last digit of a fraction, as the reader of numbers gives it."""

_EQUALITY = re.compile(r"(?<![<>!])={1,3}(?!>)|[≈≃≅]")
_SIGNS = {"+": "+", "-": "-", "−": "-", "–": "-", "*": "*", "×": "*", "·": "*", "∙": "*", "⋅": "*",
          "/": "/", "÷": "/", "⁄": "/", "^": "^", "(": "(", ")": ")", "[": "(", "]": ")"}  # fmt: skip
_TIMES = re.compile(r"[xXхХ](?=[ \u00a0]?[\d(])")
_FUNCTION = re.compile(r"(?P<name>max|min|abs|sqrt|exp|ln)(?=\()", re.IGNORECASE)
_IGNORED = frozenset(" \u00a0$€£₽₹¥\n")


class NoValueError(ValueError):
    """The text is no arithmetic of numbers, or has no finite value."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One expression with the result written after it.

    Attributes:
        expression: as written.
        stated: the number after the equality sign.
        worked_out: what the expression is worth; a percentage is read as written or as a
            fraction, whichever comes nearer to what is stated.
        holds: what is stated is the other, rounded or cut at its last digit, or within a
            thousandth.
    """

    expression: str
    stated: float
    worked_out: float
    holds: bool


def shown_arithmetic(text: str, locale: str = "en") -> list[Shown]:
    """Every `expression = number` of a step that can be worked out again.

    Args:
        text: cleaned text of one step.
        locale: of its numbers.
    """
    text = prepared(text[-MOST_CHARACTERS:], locale)
    signs = list(_EQUALITY.finditer(text))
    found = []
    for number, sign in enumerate(signs):
        start = signs[number - 1].end() if number else 0
        end = signs[number + 1].start() if number + 1 < len(signs) else len(text)
        terms = _terms(text, start, sign.start(), locale)
        left = _trailing_expression(terms)
        right = _leading_number(text, sign.end(), end, locale)
        if left is None or right is None:
            continue
        shown = _compare(text[left[0].start : sign.start()].strip(), left, right)
        if shown is not None:
            found.append(shown)
    return found


@dataclass(frozen=True, slots=True)
class _Term:
    kind: str  # "number", a sign, a function's name, or "word" for what is no arithmetic
    start: int
    end: int
    reading: Reading | None = None


def _terms(text: str, start: int, end: int, locale: str) -> list[_Term]:
    """Numbers, signs and words of a span, in order."""
    readings = {r.at: r for r in find_numbers(text, Style(locale=locale), start, end)}
    terms: list[_Term] = []
    at = start
    while at < end:
        char = text[at]
        reading = readings.get(at)
        if reading is not None:
            terms.append(_Term("number", at, max(at + 1, _end_of(text, reading)), reading))
        elif char in _IGNORED:
            at += 1
            continue
        elif char in _SIGNS:
            terms.append(_Term(_SIGNS[char], at, at + 1))
        elif times := _TIMES.match(text, at):
            terms.append(_Term("*", at, times.end()))
        elif function := _FUNCTION.match(text, at):
            terms.append(_Term(function["name"].lower(), at, function.end()))
        elif char == ",":
            terms.append(_Term(",", at, at + 1))
        else:
            terms.append(_Term("word", at, at + 1))
        at = terms[-1].end
    return terms


def _end_of(text: str, reading: Reading) -> int:
    """The end of a number with its units; the closing bracket and a × that it swallowed are not
    part of it."""
    end = reading.end
    while end > reading.at + 1 and text[end - 1] in ")] \u00a0×":
        end -= 1
    return end


def _trailing_expression(terms: list[_Term]) -> list[_Term] | None:
    """The longest run of terms before the equality sign that is arithmetic with an operator."""
    first = len(terms)
    while first and terms[first - 1].kind != "word" and len(terms) - first < MOST_TERMS:
        first -= 1
    run = terms[first:]
    while run and run[0].kind in {")", "*", "/", "^", ",", "+"}:
        run = run[1:]
    numbers = sum(term.kind == "number" for term in run)
    fraction = any(term.reading is not None and term.reading.place == _FRACTION for term in run)
    return run if numbers >= 2 or fraction else None


def _leading_number(text: str, start: int, end: int, locale: str) -> Reading | None:
    """The number that the text after the sign starts with, if it is no expression itself."""
    terms = _terms(text, start, min(end, start + 200), locale)
    if terms[:1] and terms[0].kind in {"(", "-"}:
        terms = terms[1:]
    if not terms or terms[0].kind != "number" or terms[0].reading is None:
        return None
    follows = terms[1].kind if len(terms) > 1 else ""
    operator = (
        follows in {"+", "-", "*", "/", "^"} and len(terms) > 2 and terms[2].kind in {"number", "("}
    )
    return None if operator else terms[0].reading


def _compare(expression: str, terms: list[_Term], stated: Reading) -> Shown | None:
    if stated.value is None or not stated.value.is_finite():
        return None
    scale = float(stated.scale) if stated.scale is not None else 1.0
    written = float(stated.value) * scale * (-1 if stated.negative or stated.enclosed else 1)
    last_digit = 10.0**stated.place * scale if abs(stated.place) < 300 else 0.0
    best: Shown | None = None
    for as_fraction in (False, True):
        try:
            value = _Reader(terms, as_fraction).value()
        except NoValueError:
            continue
        for worked_out in _same_amounts(value, terms, stated):
            gap = abs(worked_out - written)
            cut = gap < last_digit * (1 - 1e-9) and abs(worked_out) > abs(written)
            rounded = gap <= max(last_digit / 2 * (1 + 1e-9), TOLERANCE * abs(written))
            holds = cut or rounded
            if best is None or gap < abs(best.worked_out - best.stated):
                best = Shown(expression, written, worked_out, holds)
    return best


def _same_amounts(value: float, terms: list[_Term], stated: Reading) -> set[float]:
    """What the result may be written as: `300 / 900 = 33.33%`, `4 + 3 = 7 million`."""
    found = {value}
    if stated.unit == "percent":
        found.add(100 * value)
    scales = {float(t.reading.scale or 1) for t in terms if t.reading is not None}
    if scales == {1.0} and stated.scale is not None:
        found.add(value * float(stated.scale))
    elif len(scales) == 1 and stated.scale is None:
        found.add(value / scales.pop())
    return found


class _Reader:
    """Works out terms by the usual precedence: brackets, powers, products, sums."""

    def __init__(self, terms: list[_Term], as_fraction: bool):
        self._terms = terms
        self._at = 0
        self._as_fraction = as_fraction

    def value(self) -> float:
        """The value of all the terms.

        Raises:
            NoValueError: they are no expression, or its value is not finite.
        """
        try:
            value = self._sum(0)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise NoValueError(str(error)) from error
        if self._at != len(self._terms) or not math.isfinite(value):
            raise NoValueError("no expression")
        return value

    def _next(self) -> str:
        return self._terms[self._at].kind if self._at < len(self._terms) else ""

    def _take(self) -> _Term:
        if self._at >= len(self._terms):
            raise NoValueError("it ends too early")
        self._at += 1
        return self._terms[self._at - 1]

    def _sum(self, depth: int) -> float:
        if depth > MOST_TERMS:
            raise NoValueError("nested too deep")
        value = self._product(depth)
        while self._next() in {"+", "-"}:
            sign = self._take().kind
            other = self._product(depth)
            value = value + other if sign == "+" else value - other
        return value

    def _product(self, depth: int) -> float:
        value = self._power(depth)
        while self._next() in {"*", "/", "("}:
            sign = "*" if self._next() == "(" else self._take().kind
            other = self._power(depth)
            value = value * other if sign == "*" else value / other
        return value

    def _power(self, depth: int) -> float:
        if depth > MOST_TERMS:
            raise NoValueError("nested too deep")
        if self._next() == "-":
            self._take()
            return -self._power(depth + 1)
        base = self._atom(depth)
        if self._next() == "^":
            self._take()
            exponent = self._power(depth + 1)
            if abs(exponent) > 10_000:
                raise NoValueError("too large")
            result = base**exponent
            if isinstance(result, complex):
                raise NoValueError("no real number")
            return float(result)
        return base

    def _atom(self, depth: int) -> float:
        term = self._take()
        if term.kind == "(":
            value = self._sum(depth + 1)
            if self._take().kind != ")":
                raise NoValueError("a bracket is not closed")
            return value
        if term.kind in _FUNCTIONS:
            return self._call(term.kind, depth)
        if term.kind != "number" or term.reading is None or term.reading.value is None:
            raise NoValueError("no number")
        return self._number(term.reading)

    def _call(self, name: str, depth: int) -> float:
        if self._take().kind != "(":
            raise NoValueError("a function without brackets")
        arguments = [self._sum(depth + 1)]
        while self._next() == ",":
            self._take()
            arguments.append(self._sum(depth + 1))
        if self._take().kind != ")":
            raise NoValueError("a bracket is not closed")
        if name in {"max", "min"}:
            return max(arguments) if name == "max" else min(arguments)
        if len(arguments) != 1:
            raise NoValueError("too many arguments")
        return _FUNCTIONS[name](arguments[0])

    def _number(self, reading: Reading) -> float:
        value = float(reading.value or 0) * (float(reading.scale) if reading.scale else 1.0)
        return value / 100 if reading.unit == "percent" and self._as_fraction else value


_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "max": float,
    "min": float,
    "abs": abs,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
}


def slips(texts: list[str], locale: str = "en") -> Iterator[tuple[int, Shown]]:
    """Every shown result that is not what its expression is worth, with the number of its step."""
    for number, text in enumerate(texts):
        for shown in shown_arithmetic(text, locale):
            if not shown.holds:
                yield number, shown

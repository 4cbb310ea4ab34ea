"""FinanceMath: the published comparison, which forgives sign and powers of ten."""

from __future__ import annotations

import math
import re
from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.official import tolerance
from pytest_fineval.scoring.official.arithmetic import NoValueError, read_expression
from pytest_fineval.scoring.official.base import BenchmarkScorer
from pytest_fineval.scoring.score import Score

REVISION = "bdddc58655947475da852e241b96a7dbd1478742"
"""Revision of github.com/yale-nlp/FinanceMath whose comparison is reproduced."""

REL_TOL = 0.0015

_MONEY = ("£", "€", "¥", "million", "billion", "thousand", "US", "USD", "RMB")
_OPTION = re.compile(r"\([a-d]\)")

# The distance from which on a factor counts as forgotten, and the factor.
_FORGIVEN = ((50, 100), (500, 1_000), (50_000, 100_000))


def normalize(text: str) -> Any:
    """The value that the published scorer makes of an extracted answer; 0 where it has none."""
    if len(text) > tolerance.MAX_LENGTH:
        return 0
    text = tolerance.without_marks(text.strip().rstrip("."), _MONEY)
    text = {"true": "True", "yes": "True", "false": "False", "no": "False"}.get(text, text)
    if "True" in text or "False" in text:
        text = "True" if "True" in text else "False"
    text = tolerance.with_operators(tolerance.without_units(text))
    option = _OPTION.search(text)
    if option:
        return option[0]
    try:
        value = read_expression(text or "0", with_math=True)
    except NoValueError:
        return 0
    if isinstance(value, set | tuple):
        return list(value)
    return value.real if isinstance(value, complex) else value


def accurate(answer: str, gold: float | int | bool) -> bool:
    """The official verdict on a text answer.

    Source: FinanceMath, revision bdddc586.
    """
    return _accurate(normalize(answer), gold)


def accurate_value(answer: Any, gold: float | int | bool) -> bool:
    """The official verdict on a value that a program returned; nan is right, as published."""
    try:
        return _accurate(float(answer), gold)
    except (TypeError, ValueError, OverflowError):
        return False


def _accurate(value: Any, gold: float | int | bool) -> bool:
    if isinstance(gold, bool):
        return isinstance(value, int | float | str | list) and bool(value == gold)
    if not isinstance(value, int | float):
        return False
    try:
        return _close(value, gold)
    except (ArithmeticError, ValueError):
        return False


def _close(value: float, gold: float) -> bool:
    # The order of the arguments decides what nan does: neither max nor min gives way to it.
    large, small = max(abs(gold), abs(value)), min(abs(gold), abs(value))
    if large and small:
        power = math.log10(large / small)
        if int(power) == power:
            return True
    if any(
        small <= large / distance and tolerance.within(small * forgotten, large, REL_TOL)
        for distance, forgotten in _FORGIVEN
    ):
        return True
    if _up(large) == _up(small):
        return True
    return tolerance.within(value, gold, REL_TOL)


def _up(number: float) -> float:
    return math.ceil(number * 1_000) / 1_000


class OfficialScorer(BenchmarkScorer):
    """The published comparison: lenient, for comparing with the leaderboard and not for gating."""

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = tolerance.gold_value(gold)

    def judge(self, text: str) -> Score:
        value = tolerance.plain_value(normalize(text))
        return self.verdict(accurate(text, self.wanted), value)


class StrictScorer(tolerance.StrictScorer):
    """One committed number within 0.15 percent, its sign and size included."""

    tolerance = REL_TOL

"""FinanceReasoning: ground truth within 0.2 percent, as published."""

from __future__ import annotations

from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.official import tolerance
from pytest_fineval.scoring.official.arithmetic import NoValueError, Opaque, read_expression
from pytest_fineval.scoring.official.base import BenchmarkScorer
from pytest_fineval.scoring.score import Score

REVISION = "b0fe6455396f831955e4eb988472b4a563403bc5"
"""Revision of github.com/BUPT-Reasoning-Lab/FinanceReasoning whose comparison is reproduced."""

REL_TOL = 0.002

_MONEY = ("£", "€", "¥", "million", "billion", "thousand", "us", "usd", "rmb")


def normalize(text: str) -> Any:
    """The value that the published scorer makes of an extracted answer.

    Returns:
        The value of the text as an expression, else of what is left after its marks, money words
        and units are dropped; None where neither has one. "1,234.5" is a pair, as published.
    """
    if len(text) > tolerance.MAX_LENGTH:
        return None
    try:
        return read_expression(text)
    except NoValueError:
        pass
    text = tolerance.without_marks(text.strip().lower().rstrip("."), _MONEY)
    text = {"yes": "true", "no": "false"}.get(text, text)
    if "true" in text or "false" in text:
        text = "True" if "true" in text else "False"
    text = tolerance.with_operators(tolerance.without_units(text))
    try:
        return read_expression(text or "None")
    except NoValueError:
        return None


def accurate(answer: Any, gold: float | int | bool) -> bool:
    """The official verdict.

    Args:
        answer: extracted text, or a value that a program returned.
        gold: the ground truth.

    Source: FinanceReasoning, revision b0fe6455.
    """
    value = normalize(answer) if isinstance(answer, str) else answer
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if value is None or isinstance(value, Opaque):
        return False
    if isinstance(value, bool) or isinstance(gold, bool):
        return bool(value == gold)
    try:
        return tolerance.within(value, gold, REL_TOL)
    except (TypeError, OverflowError):
        return False


class OfficialScorer(BenchmarkScorer):
    """The published comparison on a short answer; the text is read, never evaluated."""

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = tolerance.gold_value(gold)

    def judge(self, text: str) -> Score:
        value = normalize(text)
        failure = "no_number" if value is None else None
        return self.verdict(accurate(text, self.wanted), tolerance.plain_value(value), failure)


class StrictScorer(tolerance.StrictScorer):
    """One committed number within 0.2 percent."""

    tolerance = REL_TOL

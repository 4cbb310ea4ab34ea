"""What FinanceReasoning and FinanceMath share: text made a value, and a strict counterpart."""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.official.base import BenchmarkScorer, final_answer, plain_number
from pytest_fineval.scoring.official.finqa import figures, is_calculation
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

MAX_LENGTH = 1_000
"""Characters of a short answer; the published scorers get theirs from an extraction step."""

_GROUPED = re.compile(r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})*|[0-9]+)(?:\.[0-9]+)?")
_DIGITS = r"[\d,]*\.*\d+"
_UNIT_AFTER = re.compile(rf"([-+]?{_DIGITS}) [^0-9 ]+$")
_UNIT_BEFORE = re.compile(rf"[^0-9 ]+ ([-+]?{_DIGITS})$")
_GLUED_AFTER = re.compile(rf"([-+]?{_DIGITS})[^\d]{{1,2}}$")
_GLUED_BEFORE = re.compile(rf"[^-+\d]{{1,2}}({_DIGITS})$")


def without_marks(text: str, words: tuple[str, ...]) -> str:
    """Money words deleted, what follows the last = or ≈ kept, ` % $ and degree signs deleted."""
    for word in words:
        text = text.replace(word, "")
    for mark in "=≈":
        if mark in text:
            text = text.rsplit(mark, 1)[1].strip()
    return text.translate(str.maketrans("", "", "`%$°"))


def without_units(text: str) -> str:
    """The first of two alternatives, without one unit word (or two characters) around a number."""
    if "approximately" in text:
        text = text.replace("approximately", "").strip()
    text = text.split(" or ")[0]
    for pattern in (_UNIT_AFTER, _UNIT_BEFORE, _GLUED_AFTER, _GLUED_BEFORE):
        match = pattern.match(text)
        if match:
            text = match[1]
    return text


def with_operators(text: str) -> str:
    """Powers of ten as calls, a lone x as a multiplication, commas of a grouped number deleted."""
    text = re.sub(r"10\^(-?\d+)", r"math.pow(10, \1)", text)
    text = text.replace(" x ", "*").replace(" × ", "*")
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def within(value: Any, gold: Any, share: float) -> bool:
    """Whether a value lies within a share of |gold| around it, inclusive."""
    off = abs(gold) * share
    return bool(gold - off <= value <= gold + off)


def gold_value(gold: Gold) -> float | int | bool:
    """The ground truth: a finite number or a bool.

    Raises:
        InputError: anything else.
    """
    answer = gold.answer
    if isinstance(answer, bool):
        return answer
    if isinstance(answer, int | float) and abs(answer) < 1e300:
        return answer
    raise gold_fault("answer", "has to be a finite number or a bool (ground_truth)")


def plain_value(value: Any) -> Any:
    """A value as a record may hold it; sequences and odd things as text."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float):
        return plain_number(value) if abs(value) < 1e300 else str(value)
    return str(value)


class StrictOptions(Frozen):
    """`rel_tol`: share of |gold|, inclusive; None takes the benchmark's own."""

    rel_tol: float | None = Field(None, ge=0, le=1)


class StrictScorer(BenchmarkScorer):
    """One committed number within the benchmark's tolerance; its sign and size count.

    A percentage may be meant as written or as a fraction, a number with a scale word as written
    or in full; nothing is evaluated, two different numbers are ambiguous. A bool needs yes, no,
    true or false.
    """

    Options = StrictOptions
    tolerance: ClassVar[float]

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = gold_value(gold)

    def judge(self, text: str) -> Score:
        said = final_answer(text).strip("*` ")
        if not said:
            return self.failed("empty")
        if isinstance(self.wanted, bool):
            word = re.match(r"\W{0,3}(yes|no|true|false)\b", said, re.IGNORECASE)
            if word is None:
                return self.failed("no_label")
            label = word[1].lower() in {"yes", "true"}
            return self.verdict(label == self.wanted, label)
        seen = figures(said)
        if not seen:
            return self.failed("no_number")
        if len(seen) > 1 or is_calculation(said):
            return self.failed("ambiguous")
        share = self.tolerance if self.options.rel_tol is None else self.options.rel_tol
        readings = (seen[0].written, seen[0].value, seen[0].scaled)
        right = any(math.isfinite(r) and within(r, self.wanted, share) for r in readings)
        return self.verdict(right, plain_number(seen[0].written))

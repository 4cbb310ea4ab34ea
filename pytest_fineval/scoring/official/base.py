"""What the benchmark scorers share: bounded text, plain values, one shape of verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, gold_fault
from pytest_fineval.scoring.score import Score, Status

MAX_TEXT = 200_000
"""Characters of an answer that are read; of a longer one, its head and its tail."""

MAX_PARSED = 1_000
"""Characters of a text that a score keeps as what it read."""


def bounded(text: str) -> str:
    """The text, or head and tail of one that is longer than any answer."""
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return text[:half] + "\n" + text[-half:]


_MARKER = re.compile(r"(?:answer|回答|解答|答え|答)\s*[:：]\s*", re.IGNORECASE)


def final_answer(text: str) -> str:
    """What follows the last answer marker on its line, else the last line that is not empty."""
    ends = [marker.end() for marker in _MARKER.finditer(text)]
    if ends and text[ends[-1] :].strip():
        text = text[ends[-1] :].strip().splitlines()[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def plain_number(value: float | Decimal) -> float | str:
    """A number as a record may hold it: finite, else as text."""
    number = float(value)
    return number if math.isfinite(number) else str(value)


def gold_text(gold: Gold) -> str:
    """The gold answer, which has to be text.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(gold.answer, str):
        raise gold_fault("answer", f"has to be text, not {type(gold.answer).__name__}")
    return gold.answer


class BenchmarkScorer(AnswerScorer):
    """Base of the scorers in this folder: text is bounded before any of them reads it."""

    def score(self, text: str, status: Status = "ok") -> Score:
        return super().score(bounded(text), status)

    def verdict(
        self,
        value: bool | float,
        parsed: Any = None,
        failure: str | None = None,
        parts: Mapping[str, float] | None = None,
        **details: Any,
    ) -> Score:
        """A score with what was read; `parsed` is None where that was nothing."""
        if isinstance(parsed, str):
            parsed = parsed[:MAX_PARSED]
        return Score(
            float(value),
            self.identity,
            parsed=parsed,
            failure=failure,
            parts=parts or {},
            details=details,
        )

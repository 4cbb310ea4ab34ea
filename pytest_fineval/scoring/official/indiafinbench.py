"""IndiaFinBench: the published 0/1 scorer, and one that sees negation, magnitude and length."""

from __future__ import annotations

import re
from typing import Any, Literal

from rapidfuzz.fuzz import token_set_ratio

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.official.base import BenchmarkScorer, final_answer, gold_text
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

REVISION = "a8c394bfcf5846abb2aeea560f02beea1e1f2d7e"
"""Revision of github.com/Rajveer-code/IndiaFinBench whose scorer is reproduced."""

THRESHOLD = 0.72
"""Share of token_set_ratio from which two texts count as the same answer."""

CONTRADICTION = "contradiction_detection"

_NON_ANSWERS = ("fail:", "cannot be determined")
_NUMBERS = re.compile(r"\d[\d,]*\.?\d*")


def normalize(text: str) -> str:
    """Lower case; everything but word characters, "%" and "." becomes one space."""
    return " ".join(re.sub(r"[^\w\s%.]", " ", text.lower()).split())


def is_non_answer(text: str) -> bool:
    """Whether an output is empty or names itself a failure, in any casing."""
    return not text or any(phrase in text.lower() for phrase in _NON_ANSWERS)


def yes_no(text: str) -> str:
    """What a normalised text starts with: yes, no, else the whole text."""
    return next((word for word in ("yes", "no") if text.startswith(word)), text)


def correct(reference: str, answer: str, task_type: str) -> bool:
    """The official verdict.

    Args:
        reference: the reference answer.
        answer: what the model wrote.
        task_type: the item's task; `contradiction_detection` is scored by yes or no.

    Source: IndiaFinBench, revision a8c394bf.
    """
    if is_non_answer(answer):
        return False
    wanted, seen = normalize(reference), normalize(answer)
    if task_type == CONTRADICTION:
        return yes_no(wanted) == yes_no(seen)
    numbers = set(_NUMBERS.findall(wanted))
    if numbers and numbers == set(_NUMBERS.findall(seen)):
        return True
    return similarity(wanted, seen) >= THRESHOLD


def similarity(reference: str, answer: str) -> float:
    """token_set_ratio of two normalised texts, as a share of 1."""
    return token_set_ratio(reference, answer) / 100.0


# --- strict -------------------------------------------------------------------------------------

MAX_WORDS = 40
"""Words an answer may always have; a longer one may have three times those of the reference."""

_NEGATIONS = frozenset(["no", "not", "never", "neither", "nor", "none", "cannot", "without"])
# "Not more than ten" sets a bound and denies nothing.
_BOUNDS = re.compile(
    r"\b(?:not|no) (?:more|less|later|earlier|fewer) than\b|\bnot exceeding\b|\bnot only\b"
)
_QUANTITY = re.compile(
    r"(?<![\w.])(?:(regulation|section|schedule|clause|rule|chapter|article)s?\s*)?"
    r"(\d[\d,]*(?:\.\d+)?)(?:\([0-9a-z]{1,4}\))*\s*(per cent|percent|%|[a-z]+)?"
)
_UNITS = {
    "%": "percent",
    "per cent": "percent",
    "percent": "percent",
    **{word: word.rstrip("s") for word in ("day", "days", "week", "weeks", "month", "months")},
    **{word: word.rstrip("s") for word in ("year", "years", "hour", "hours", "minute", "minutes")},
    **{word: word.rstrip("s") for word in ("lakh", "lakhs", "crore", "crores")},
    **{word: word for word in ("thousand", "million", "billion")},
}


def quantities(text: str) -> list[tuple[str, str]]:
    """Numbers with the unit word after them, in order; without one the unit is empty.

    The number of a regulation, section or the like is none.
    """
    found = []
    for label, number, word in _QUANTITY.findall(text.lower()):
        if label:
            continue
        digits = number.replace(",", "").lstrip("0") or "0"
        if "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        found.append((digits, _UNITS.get(word, "")))
    return found


def strictly_correct(reference: str, answer: str, task_type: str) -> tuple[bool, str | None]:
    """The official verdict with what it does not see.

    An answer is wrong if it is far longer than its reference, opens with no for yes or is negated
    where the reference is not, does not state the first quantity of the reference, or gives one
    of its numbers another unit. A contradiction needs yes or no as its first word.

    Returns:
        The verdict, and what decided against the answer.
    """
    if is_non_answer(answer.strip()):
        return False, "non-answer"
    if task_type == CONTRADICTION:
        words = re.findall(r"\w+", normalize(final_answer(answer) if ":" in answer else answer))
        first = words[0] if words else ""
        wanted = yes_no(normalize(reference))
        return first == wanted, None if first in {"yes", "no"} else "no yes or no at the start"
    wanted, seen = normalize(reference), normalize(answer)
    if len(seen.split()) > max(MAX_WORDS, 3 * len(wanted.split())):
        return False, "too long"
    if _negated(wanted) != _negated(seen):
        return False, "negation"
    if not _same_quantities(reference, answer):
        return False, "quantity"
    stated, known = set(quantities(answer)), set(quantities(reference))
    same_numbers = bool(known) and stated == known
    return same_numbers or similarity(wanted, seen) >= THRESHOLD, None


def _negated(text: str) -> str | bool:
    words = _BOUNDS.sub(" ", text).replace(".", " ").split()
    if words and words[0] in {"yes", "no"}:
        return words[0]
    return sum(word in _NEGATIONS for word in words) % 2 == 1


def _same_quantities(reference: str, answer: str) -> bool:
    known, stated = quantities(reference), quantities(answer)
    if known and known[0][0] not in {number for number, _ in stated}:
        return False
    for number, unit in stated:
        units = {other for shared, other in known if shared == number and other}
        if unit and units and unit not in units:
            return False
    return True


# --- as scorers ---------------------------------------------------------------------------------


class Options(Frozen):
    """Options of both IndiaFinBench scorers."""

    task_type: Literal[
        "regulatory_interpretation",
        "numerical_reasoning",
        "temporal_reasoning",
        "contradiction_detection",
    ]


class OfficialScorer(BenchmarkScorer):
    """The published verdict. It does not see negation or magnitude: not for gating alone."""

    Options = Options

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = gold_text(gold)

    def judge(self, text: str) -> Score:
        right = correct(self.wanted, text, self.options.task_type)
        seen = normalize(text)
        if not seen:
            return self.verdict(right, None, "empty")
        return self.verdict(right, seen, "no_answer" if is_non_answer(text) else None)


class StrictScorer(OfficialScorer):
    """The published verdict with checks of negation, quantity and length."""

    def judge(self, text: str) -> Score:
        right, against = strictly_correct(self.wanted, text, self.options.task_type)
        if not text.strip():
            return self.verdict(right, None, "empty")
        failure = "no_answer" if against == "non-answer" else None
        return self.verdict(right, normalize(text), failure, against=against)

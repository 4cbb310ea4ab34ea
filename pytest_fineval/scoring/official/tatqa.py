"""TAT-QA: exact match, F1 and scale score as published, on answers that carry a scale."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.official.base import BenchmarkScorer, final_answer
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

REVISION = "870accc41953dcde885aabeb963d94aabdc0fbc3"
"""Revision of github.com/NExTplusplus/TAT-QA whose metric the official functions reproduce."""

SCALES = ("", "thousand", "million", "billion", "percent")

_FACTORS = (
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
    ("billion", 1_000_000_000),
    ("percent", 0.01),
)
_IGNORED = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MOST_DIGITS = 300
"""Longer numbers are infinite as a float, and Python refuses to read the longest as an int."""

# Each finds what the published pattern finds, without trying every digit of a run as a start.
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?|[+-]?\.\d+")
_SCALE_WORD = re.compile(r"(?<![\d.])[\d.]+\s?[a-zA-Z]+")
_IN_PARENTHESES = re.compile(r"\([\d.\s]+\)")
_PERCENT = re.compile(r"[\d.\s]%")


@dataclass(frozen=True, slots=True)
class Metrics:
    """The three published figures for one question.

    Attributes:
        em, f1, scale: in [0, 1]; all 0 where the published metric stops with an exception.
        error: the name of that exception.
    """

    em: float = 0.0
    f1: float = 0.0
    scale: float = 0.0
    error: str | None = None


def factor(scale: str) -> float:
    """What a scale word multiplies by; an unknown one by 1."""
    scale = scale.lower()
    return next((value for word, value in _FACTORS if word in scale), 1)


def is_number(text: str) -> bool:
    """Whether a text counts as a number: its first word is one, a second word is a scale."""
    words = " ".join(word.translate(_IGNORED) for word in text.split()).split()
    try:
        if not words or math.isnan(float(words[0])):
            return False
    except ValueError:
        return False
    return len(words) < 2 or factor(words[1]) != 1


def to_number(text: str) -> float | int | None:
    """The first number in a text with its scale word, sign by parentheses and percent sign.

    Returns:
        The value rounded to four decimals; None without a number or for one that begins with its
        decimal point. Whole numbers stay whole.
    """
    match = _NUMBER.search(text.translate(_IGNORED))
    if match is None or match[0].lstrip("+-").startswith("."):
        return None
    whole = "." not in match[0] and len(match[0]) <= _MOST_DIGITS
    value: float | int = int(match[0]) if whole else float(match[0])
    scale_word = _SCALE_WORD.search(text)
    if scale_word:
        value = value * factor(scale_word[0])
    if _IN_PARENTHESES.search(text):
        value = -value
    return round(value * 0.01 if _PERCENT.search(text.strip()) else value, 4)


def normalize(text: str) -> str:
    """The text as the metric compares it: lower case, no punctuation or articles, numbers as
    values."""
    parts = []
    for token in text.split(" "):
        word = token.lower()
        if not is_number(word):
            word = word.translate(_PUNCTUATION)
        if is_number(word):
            word = str(to_number(word))
        parts += _ARTICLES.sub(" ", word).split()
    return " ".join(parts)


def score(answer_type: str, gold: Any, gold_scale: str, answer: Any, answer_scale: Any) -> Metrics:
    """The published metrics of one prediction.

    Args:
        answer_type: span, multi-span, arithmetic, count or another.
        gold: list of texts for spans, a number or text for the others.
        gold_scale: one of SCALES.
        answer: text, number, list of these, or None.
        answer_scale: the predicted scale.

    Returns:
        The metrics. Any falsy answer (also the number 0) scores 0.

    Source: TAT-QA, revision 870accc4.
    """
    if not answer:
        return Metrics()
    try:
        golds = _golds(answer_type, gold)
        if not golds:
            return Metrics()
        wanted = _joined(golds, gold_scale)
        answers = answer if isinstance(answer, list) else [answer]
        candidates = [_joined(answers, answer_scale), *_as_share(answers, answer_scale)]
        em, f1 = max(_compare(candidate, wanted) for candidate in candidates)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        return Metrics(error=type(error).__name__)
    if answer_type in {"arithmetic", "count"}:
        f1 = em
    return Metrics(em, f1, float(gold_scale == answer_scale))


def _golds(answer_type: str, gold: Any) -> list[Any]:
    if answer_type in {"span", "multi-span"}:
        if not isinstance(gold, list):
            raise TypeError("the gold of a span has to be a list")
        return gold
    return [str(int(gold)) if answer_type == "count" else str(gold)]


def _joined(answers: Sequence[Any], scale: Any) -> str:
    """One text for all answers, the scale worked into the numbers."""
    parts = []
    for answer in sorted(answers):
        text = str(answer)
        value = to_number(text) if is_number(text) else None
        if value is None:
            text = f"{text} {scale}" if scale else text
        elif "%" in text:
            text = f"{value:.4f}"
        else:
            text = f"{round(value, 2) * factor(scale):.4f}"
        parts.append(text)
    return " ".join(parts)


def _as_share(answers: Sequence[Any], scale: Any) -> list[str]:
    """A lone number without scale is also tried unrounded, so that 0.2212 is 22.12 percent."""
    text = str(answers[0])
    if len(answers) > 1 or scale or "%" in text or not is_number(text):
        return []
    value = to_number(text)
    return [] if value is None else [f"{value:.4f}"]


def _compare(answer: str, gold: str) -> tuple[float, float]:
    answer, gold = normalize(answer), normalize(gold)
    seen, wanted = set(answer.split()), set(gold.split())
    shared = len(seen & wanted)
    precision = shared / len(seen) if seen else 1.0
    recall = shared / len(wanted) if wanted else 1.0
    both = precision + recall
    return float(answer == gold), round(2 * precision * recall / both, 2) if both else 0.0


# --- strict -------------------------------------------------------------------------------------

_PLAIN = re.compile(
    r"(\()?\s*([-+−–]?)\s*[$€£¥]?\s*([-+−–]?)\s*"
    r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,2})?)"
    r"\s*(%?)\s*(\))?"
)


def strict_score(
    answer_type: str, gold: Any, gold_scale: str, answer: Any, answer_scale: Any
) -> Metrics:
    """The published metrics on numbers read as accounts write them.

    Differs from `score`: the number 0 is an answer, (1,234) and (12.5%) are negative, .5 and 1e5
    have their values, 0 equals only 0, a scale has to be one of SCALES (None is none), a count may
    be written 3.0.
    """
    scale = "" if answer_scale is None else answer_scale
    if scale not in SCALES:
        return Metrics()
    golds = [_plain(item) for item in gold] if isinstance(gold, list) else _plain(gold)
    answers = [_plain(item) for item in (answer if isinstance(answer, list) else [answer])]
    if not any(answers):
        return Metrics()
    if answer_type == "count":
        answer_type = "arithmetic"  # which takes a count written 3.0
    metrics = score(answer_type, golds, gold_scale, answers, scale)
    # The metric rounds to two decimals before it scales, so that 0 would match 0.001 million.
    if _zeros(golds) != _zeros(answers):
        return Metrics(scale=metrics.scale)
    return metrics


def _zeros(answers: str | list[str]) -> int:
    texts = answers if isinstance(answers, list) else [answers]
    return sum(is_number(text) and to_number(text) == 0 for text in texts)


def _plain(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return ""
    text = str(item).strip()
    match = _PLAIN.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[6]):
        return text
    number = float(match[4].replace(",", ""))
    if not math.isfinite(number):
        return text
    minus = bool(match[1]) or any(sign not in "+" for sign in (match[2], match[3]))
    digits = f"{number:.10f}".rstrip("0").rstrip(".")
    return ("-" if minus and number else "") + digits + match[5]


# --- as scorers ---------------------------------------------------------------------------------


class Options(Frozen):
    """Options of both TAT-QA scorers: what belongs to the gold beside `gold.answer`.

    Attributes:
        answer_type: the kind of the gold answer.
        scale: the scale of the gold answer.
        metric: which published figure is the score; all are kept.
    """

    answer_type: Literal["span", "multi-span", "arithmetic", "count"]
    scale: Literal["", "thousand", "million", "billion", "percent"] = ""
    metric: Literal["em", "f1"] = "em"


class OfficialScorer(BenchmarkScorer):
    """A prediction `[answer, scale]` (JSON), or a bare answer without scale, as published."""

    Options = Options
    metrics = staticmethod(score)

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        spans = options.answer_type in {"span", "multi-span"}
        kinds: tuple[type, ...] = (list,) if spans else (int, float, str)
        if not isinstance(gold.answer, kinds) or isinstance(gold.answer, bool):
            raise gold_fault(
                "answer", f"a {options.answer_type} answer cannot be {type(gold.answer).__name__}"
            )

    def judge(self, text: str) -> Score:
        answer, scale = prediction(text)
        metrics = self.metrics(
            self.options.answer_type, self.gold.answer, self.options.scale, answer, scale
        )
        parts = {"em": metrics.em, "f1": metrics.f1, "scale": metrics.scale}
        empty = answer is None or answer == "" or answer == []
        return self.verdict(
            parts[self.options.metric],
            None if empty else {"answer": answer, "scale": scale},
            "empty" if empty else None,
            parts,
            raised=metrics.error,
        )


class StrictScorer(OfficialScorer):
    """The same on numbers read as accounts write them (`strict_score`)."""

    metrics = staticmethod(strict_score)


def prediction(text: str) -> tuple[Any, Any]:
    """Answer and scale of an output: JSON `[answer, scale]` or `{"answer": , "scale": }`, else
    the final answer as text."""
    stripped = text.strip()
    if stripped[:1] in {"[", "{"}:
        try:
            value = json.loads(stripped)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and "answer" in value:
            return _simple(value["answer"]), _simple(value.get("scale", ""))
        if isinstance(value, list) and len(value) == 2 and value[1] in SCALES:
            return _simple(value[0]), value[1]
    return final_answer(text), ""


def _simple(value: Any) -> Any:
    """Text, numbers and lists of these; anything deeper, or not finite, as text."""
    if isinstance(value, list):
        return [item if _is_simple(item) else str(item) for item in value]
    return value if value is None or _is_simple(value) else str(value)


def _is_simple(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int | str)

"""Summaries: ROUGE-L and embedding cosine against a reference text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import regex
from rapidfuzz.distance import LCSseq

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, gold_fault
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache, cosines
from pytest_fineval.scoring.encoders import EncoderOptions
from pytest_fineval.scoring.score import Score

MOST_CHARACTERS = 20_000
"""Characters of an answer that are compared; a summary is never that long."""

_TOKEN = regex.compile(r"[\p{L}\p{M}\p{N}]+")


class Rouge(NamedTuple):
    """ROUGE-L figures in [0, 1]."""

    precision: float
    recall: float
    f1: float


def tokens(text: str) -> list[str]:
    """Runs of letters, marks and digits after NFKC and casefold: Russian and Hindi words count."""
    found: list[str] = _TOKEN.findall(
        unicodedata.normalize("NFKC", text[:MOST_CHARACTERS]).casefold()
    )
    return found


def rouge_l(answer: str, reference: str) -> Rouge:
    """ROUGE-L by the longest common subsequence of tokens, without stemming.

    Args:
        answer, reference: of each at most 20,000 characters count.

    Returns:
        precision (share of the answer's tokens), recall (share of the reference's), F1; all 0
        when either text has no token.

    Source: Lin (2004); equal to the package rouge-score on English text.
    """
    predicted, wanted = tokens(answer), tokens(reference)
    if not predicted or not wanted:
        return Rouge(0.0, 0.0, 0.0)
    common = LCSseq.similarity(predicted, wanted)
    precision, recall = common / len(predicted), common / len(wanted)
    f1 = 2 * precision * recall / (precision + recall) if common else 0.0
    return Rouge(precision, recall, f1)


class SummaryScorer(AnswerScorer):
    """`summary`: mean of ROUGE-L F1 and embedding cosine (clipped at 0); both are kept.

    The cosine is computed after the last item, for all summaries at once: until then it is
    pending.
    """

    Options = EncoderOptions

    def __init__(self, identity: str, options: EncoderOptions, gold: Gold):
        super().__init__(f"{identity}+{options.encoder}", options, gold)
        if not isinstance(gold.answer, str) or not gold.answer.strip():
            raise gold_fault("answer", "a summary case needs a reference text")

    def judge(self, text: str) -> Score:
        if not text.strip():
            return self.failed("empty", stage="text")
        figures = rouge_l(text, str(self.gold.answer))
        return Score(
            0.0,
            self.identity,
            parsed=" ".join(text.split())[:200],
            stage="text",
            parts={"rouge_l": round(figures.f1, 6)},
            pending=("cosine",),
        )


def finish_pending(
    texts: Sequence[tuple[str, str]], cache: EmbeddingCache, embedder: Callable[[], Embedder]
) -> list[float]:
    """Cosine of each (answer, reference) pair, rounded to 6 decimals.

    Args:
        texts: what was answered and what was wanted.
        cache: embeddings by content; only what it lacks is encoded.
        embedder: makes the encoder; called only when something is missing.

    Raises:
        MeasurementError: something is missing and no encoder is installed.
    """
    return cosines([(a[:MOST_CHARACTERS], r[:MOST_CHARACTERS]) for a, r in texts], cache, embedder)


def complete(score: Score, cosine: float) -> Score:
    """The final score of a pending summary: mean of ROUGE-L F1 and cosine, the latter clipped at 0.

    Args:
        score: what `SummaryScorer` gave; one that is not pending is returned as it is.
        cosine: in [-1, 1]; kept unclipped in `parts`.
    """
    if "cosine" not in score.pending:
        return score
    value = (max(0.0, cosine) + score.parts["rouge_l"]) / 2
    return replace(
        score,
        value=min(1.0, value),
        parts={**score.parts, "cosine": cosine},
        pending=tuple(part for part in score.pending if part != "cosine"),
    )

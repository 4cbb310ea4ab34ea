"""BERTScore of two texts from the token vectors of any encoder: an optional extra, reported only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pytest_fineval.scoring.chains.align import f1
from pytest_fineval.scoring.chains.metrics import Rates
from pytest_fineval.scoring.embeddings import SentenceTransformerEmbedder, Vectors

MOST_TOKENS = 2_000
"""Tokens of one text that are compared."""


class TokenEmbedder(Protocol):
    """Turns texts into one vector a token, special tokens left out."""

    identity: str

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text float32 (tokens, d), each row of length 1."""
        ...


def bert_score(predicted: Vectors, gold: Vectors) -> Rates:
    """Greedy matching of tokens: precision over predicted, recall over gold tokens.

    Args:
        predicted, gold: unit vectors, a row a token; of each at most 2,000 rows count.

    Returns:
        Rates in [-1, 1] (negative cosines are possible but rare), not rescaled with a baseline;
        all 0 when a side has no tokens.

    Raises:
        ValueError: the vectors differ in width.

    Source: Zhang et al. (2020), BERTScore, without idf weights.
    """
    if not len(predicted) or not len(gold):
        return Rates(0.0, 0.0, 0.0)
    if predicted.shape[1] != gold.shape[1]:
        raise ValueError(f"vectors of width {predicted.shape[1]} against {gold.shape[1]}")
    cosines = predicted[:MOST_TOKENS].astype(np.float64) @ gold[:MOST_TOKENS].T.astype(np.float64)
    precision, recall = float(cosines.max(1).mean()), float(cosines.max(0).mean())
    return Rates(precision, recall, f1(precision, recall))


def bert_scores(pairs: Sequence[tuple[str, str]], encoder: TokenEmbedder) -> list[Rates]:
    """BERTScore of each (predicted, gold) pair; every text is encoded once, all in one call."""
    texts = sorted({text for pair in pairs for text in pair})
    vectors = dict(zip(texts, encoder.tokens(texts), strict=True)) if texts else {}
    return [bert_score(vectors[predicted], vectors[gold]) for predicted, gold in pairs]


class SentenceTransformerTokens(SentenceTransformerEmbedder):
    """Token vectors of all-MiniLM-L6-v2, from the same pinned weights as its sentence vectors.

    Raises:
        MeasurementError: the encoder or its weights are not installed, or are others.
    """

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text float32 (tokens, 384), each row of length 1."""
        self.encode(["load"])
        assert self._model is not None  # noqa: S101 - `encode` has loaded it
        found: list[Vectors] = []
        for matrix in self._model.encode(
            list(texts), output_value="token_embeddings", show_progress_bar=False
        ):
            inner = np.asarray(matrix.cpu(), dtype=np.float32)[1:-1]
            lengths = np.linalg.norm(inner, axis=1, keepdims=True)
            found.append((inner / np.where(lengths > 0, lengths, 1)).astype(np.float32))
        return found

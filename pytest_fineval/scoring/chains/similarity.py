"""SS: how alike the texts of two chains' steps are, by a sentence encoder.

Any encoder that keeps the `Embedder` protocol serves. all-MiniLM-L6-v2, the default, is trained on
English: in Russian most unrelated pairs of steps pass the threshold, so use a multilingual encoder
there (docs/steps.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pytest_fineval.errors import MeasurementError
from pytest_fineval.scoring.chains.align import Matrix
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache

StepPair = tuple[Sequence[str], Sequence[str]]
"""Texts of the gold steps and of the predicted steps of one chain."""


def similarities(
    chains: Sequence[StepPair], cache: EmbeddingCache, embedder: Callable[[], Embedder]
) -> list[Matrix]:
    """Cosine of every gold step with every predicted step, for all chains at once.

    Args:
        chains: texts of the steps. Every text is encoded once, all that are new in one call.
        cache: known embeddings by content; what it lacks is added.
        embedder: makes the encoder; called only when something is missing.

    Returns:
        A matrix a chain, gold steps x predicted steps, in [0, 1] and rounded to 6 decimals (the
        size of a batch moves a vector by up to 4e-7); of shape (0, 0) where a side has no steps.

    Raises:
        MeasurementError: no encoder is installed, or it is not the one of the cache.
    """
    texts = {text for pair in chains if pair[0] and pair[1] for side in pair for text in side}
    missing = sorted(text for text in texts if text not in cache)
    if missing:
        encoder = embedder()
        if encoder.identity != cache.encoder:
            raise MeasurementError(
                f"the cache holds embeddings of {cache.encoder}, not of {encoder.identity}"
            )
        # A lone surrogate can stand in a reply's JSON; no tokenizer takes it.
        encodable = [text.encode("utf-8", "replace").decode() for text in missing]
        for text, vector in zip(missing, encoder.encode(encodable), strict=True):
            cache.add(text, vector)
    return [_similarity(gold, predicted, cache) for gold, predicted in chains]


def _similarity(gold: Sequence[str], predicted: Sequence[str], cache: EmbeddingCache) -> Matrix:
    if not gold or not predicted:
        return np.zeros((0, 0))
    first = np.array([cache[text] for text in gold], dtype=np.float64)
    second = np.array([cache[text] for text in predicted], dtype=np.float64)
    cosines: Matrix = np.clip(first @ second.T, 0.0, 1.0).round(6)
    return cosines

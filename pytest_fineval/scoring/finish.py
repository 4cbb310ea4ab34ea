"""Scores that wait for the encoder, of whatever scorer: completed together after the last item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_fineval.cases.model import Case
from pytest_fineval.scoring.chains.chain_scorer import ChainOptions, complete_chains
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.text import complete, finish_pending


def finish(
    answers: Sequence[tuple[Score, Case, str]],
    cache: EmbeddingCache,
    embedder: Callable[[], Embedder],
) -> list[Score]:
    """The final scores, in the order given; those that are not pending are returned as they are.

    Args:
        answers: score, case and verbatim text of each answer.
        cache: known embeddings by content; what it lacks is encoded and added.
        embedder: makes the encoder; called only when something is missing.

    Raises:
        MeasurementError: a text has no cached embedding and no encoder is installed.
    """
    finished = [score for score, _, _ in answers]
    summaries = [n for n, score in enumerate(finished) if "cosine" in score.pending]
    texts = [(answers[n][2], str(answers[n][1].gold.answer)) for n in summaries]
    for number, cosine in zip(summaries, finish_pending(texts, cache, embedder), strict=True):
        finished[number] = complete(finished[number], cosine)
    chains = [n for n, score in enumerate(finished) if score.pending]
    waiting = [
        (finished[n], case.gold, ChainOptions(**case.scorer.options), text)
        for n in chains
        for _, case, text in [answers[n]]
    ]
    for number, score in zip(chains, complete_chains(waiting, cache, embedder), strict=True):
        finished[number] = score
    return finished

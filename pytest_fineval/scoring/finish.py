"""Scores that wait for the encoder, of whatever scorer: completed together after the last item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_fineval.cases.model import Case
from pytest_fineval.scoring.chains.chain_scorer import ChainOptions, complete_chains
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache
from pytest_fineval.scoring.encoders import Embeddings, encoder_of
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.text import complete, finish_pending


def finish(answers: Sequence[tuple[Score, Case, str]], embeddings: Embeddings) -> list[Score]:
    """The final scores, in the order given; those that are not pending are returned as they are.

    Args:
        answers: score, case and verbatim text of each answer.
        embeddings: of the project; what a cache lacks is encoded and added.

    Raises:
        MeasurementError: a text has no cached embedding and its encoder cannot be had.
    """
    finished = [score for score, _, _ in answers]
    waiting: dict[str, list[int]] = {}
    for number, (score, case, _) in enumerate(answers):
        if score.pending:
            waiting.setdefault(encoder_of(case), []).append(number)
    for encoder, numbers in sorted(waiting.items()):
        scores = _finish([answers[number] for number in numbers], *embeddings.of(encoder))
        for number, score in zip(numbers, scores, strict=True):
            finished[number] = score
    return finished


def _finish(
    answers: Sequence[tuple[Score, Case, str]],
    cache: EmbeddingCache,
    embedder: Callable[[], Embedder],
) -> list[Score]:
    finished = [score for score, _, _ in answers]
    summaries = [n for n, score in enumerate(finished) if "cosine" in score.pending]
    texts = [(answers[n][2], str(answers[n][1].gold.answer)) for n in summaries]
    for number, cosine in zip(summaries, finish_pending(texts, cache, embedder), strict=True):
        finished[number] = complete(finished[number], cosine)
    chains = [n for n, score in enumerate(finished) if score.pending]
    unfinished = [
        (finished[n], case.gold, ChainOptions(**case.scorer.options), text)
        for n in chains
        for _, case, text in [answers[n]]
    ]
    for number, score in zip(chains, complete_chains(unfinished, cache, embedder), strict=True):
        finished[number] = score
    return finished

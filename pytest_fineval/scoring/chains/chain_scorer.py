"""The `chain` scorer: step metrics against a gold chain; what needs the encoder comes later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.chains.evaluate import evaluate_chains, gold_chain
from pytest_fineval.scoring.chains.metrics import Profile, final_closeness, final_match
from pytest_fineval.scoring.chains.parse import parse_chain
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache
from pytest_fineval.scoring.encoders import EncoderOptions
from pytest_fineval.scoring.numeric import NumericOptions, NumericScorer
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.text import rouge_l

STEP_FIGURES = ("fuzzy_f1", "soft_f1")
"""Parts of a score that need the encoder: pending until the last item has answered."""


class ChainOptions(NumericOptions, EncoderOptions):
    """Options of `numeric`, profile and encoder of the step metrics, which figure is the score."""

    profile: Profile = "paper"
    metric: Literal["final", "fuzzy_f1", "soft_f1"] = "final"


class ChainScorer(NumericScorer):
    """`chain`: the final answer, or fuzzy or soft F1 of the steps; DTW norms never decide.

    `gold.steps` is the gold chain: `{"description", "value"}` each. With `metric: final` nothing
    waits for the encoder. Otherwise the score is 0 and pending until `complete_chains`; an answer
    of which nothing can be read is 0 at once.
    """

    Options = ChainOptions

    def __init__(self, identity: str, options: ChainOptions, gold: Gold):
        by_steps = options.metric != "final"
        depends = f"{identity}+{options.profile}+{options.encoder}" if by_steps else identity
        super().__init__(depends, options, gold)
        self.chain = gold_chain(gold, options.locale)

    def judge(self, text: str) -> Score:
        """The final answer, and the figures that need no encoder."""
        final = super().judge(text)
        said = parse_chain(text, self.options.locale)
        answer = None if said.final_answer is None else float(said.final_answer)
        words = rouge_l("\n".join(step.text for step in said.steps), "\n".join(self.chain.texts))
        parts = {
            **final.parts,
            "final": final.value,
            "fam": float(final_match(self.chain.final, answer)),
            "fuzzy_fas": round(final_closeness(self.chain.final, answer), 6),
            "rouge_l": round(words.f1, 6),
            "value_coverage": round(said.value_coverage, 6),
        }
        details = {**final.details, "parse_status": said.parse_status, "steps": len(said.steps)}
        if self.options.metric == "final" or not said.steps:
            return replace(final, parts=parts, details=details)
        # The steps are scored also where no final answer could be read: the part `final` says so.
        return replace(
            final, value=0.0, failure=None, parts=parts, details=details, pending=STEP_FIGURES
        )


def complete_chains(
    answers: Sequence[tuple[Score, Gold, ChainOptions, str]],
    cache: EmbeddingCache,
    embedder: Callable[[], Embedder],
) -> list[Score]:
    """The final scores of pending chains, all new texts encoded in one call.

    Args:
        answers: what `ChainScorer` gave, with the case's gold and options and the verbatim text.
            A score that is not pending is returned as it is.
        cache: known embeddings by content; what it lacks is added.
        embedder: makes the encoder; called only when something is missing.

    Raises:
        MeasurementError: a text has no cached embedding and no encoder is installed.
    """
    finished = [score for score, _, _, _ in answers]
    for profile in ("paper", "lenient"):
        waiting = [
            number
            for number, (score, _, options, _) in enumerate(answers)
            if score.pending and options.profile == profile
        ]
        chains = [
            (gold_chain(answers[n][1], answers[n][2].locale), answers[n][3], answers[n][2].locale)
            for n in waiting
        ]
        for number, found in zip(
            waiting, evaluate_chains(chains, cache, embedder, profile), strict=True
        ):
            score, _, options, _ = answers[number]
            figures = {name: round(found.figures[name], 6) for name in STEP_FIGURES}
            finished[number] = replace(
                score,
                value=figures[options.metric],
                parts={**score.parts, **figures},
                pending=tuple(part for part in score.pending if part not in STEP_FIGURES),
            )
    return finished

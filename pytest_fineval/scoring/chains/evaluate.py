"""Chains from text to figures: parse, compare with the gold chain, all texts encoded at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.chains.causes import Diagnosis, diagnose
from pytest_fineval.scoring.chains.metrics import Profile, StepMetrics, step_metrics
from pytest_fineval.scoring.chains.parse import Chain, parse_chain
from pytest_fineval.scoring.chains.similarity import similarities
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache
from pytest_fineval.scoring.number import decimal_of
from pytest_fineval.scoring.text import Rouge, rouge_l

VERSION = 1


def identity(profile: Profile, encoder: str) -> str:
    """What the figures depend on, for the scorer's version: profile and encoder with its digest."""
    return f"chain@{VERSION}+{profile}+{encoder}"


@dataclass(frozen=True, slots=True)
class GoldChain:
    """The gold steps of a case with their values, and its final answer."""

    texts: tuple[str, ...]
    values: tuple[float | None, ...]
    final: float | None


@dataclass(frozen=True, slots=True)
class ChainFigures:
    """One chain: how it was read, all its metrics, and the cause of a wrong answer."""

    chain: Chain
    metrics: StepMetrics
    rouge: Rouge
    diagnosis: Diagnosis

    @property
    def figures(self) -> dict[str, float]:
        """The figures by name, each in [0, 1]. Gate on `fam`, `fuzzy_f1` and `soft_f1` only."""
        metrics = self.metrics
        return {
            "fam": float(metrics.fam),
            "fuzzy_fas": metrics.fuzzy_fas,
            "hard_precision": metrics.hard.precision,
            "hard_recall": metrics.hard.recall,
            "hard_f1": metrics.hard.f1,
            "fuzzy_precision": metrics.fuzzy.precision,
            "fuzzy_recall": metrics.fuzzy.recall,
            "fuzzy_f1": metrics.fuzzy.f1,
            "soft_precision": metrics.soft.precision,
            "soft_recall": metrics.soft.recall,
            "soft_f1": metrics.soft.f1,
            "soft_score": metrics.soft_score,
            "dtw_gate_norm": metrics.dtw_gate.norm,
            "dtw_gate_f1": metrics.dtw_gate.f1,
            "dtw_bonus_norm": metrics.dtw_bonus.norm,
            "dtw_bonus_f1": metrics.dtw_bonus.f1,
            "rouge_l": self.rouge.f1,
            "value_coverage": self.chain.value_coverage,
        }


def gold_chain(gold: Gold, locale: str = "en") -> GoldChain:
    """The gold chain of a case.

    Args:
        gold: `steps` hold `description` and `value` (a number or null); `answer` is a number or
            null.
        locale: of an answer that is written as text.

    Raises:
        InputError: no steps, or one of another shape (names the field).
    """
    if not gold.steps:
        raise gold_fault("steps", "a chain needs the gold steps")
    texts, values = [], []
    for number, step in enumerate(gold.steps):
        text = step.get("description")
        if not isinstance(text, str) or not text.strip():
            raise gold_fault(f"steps[{number}]", 'each step needs a "description"')
        texts.append(text)
        values.append(_number(step.get("value"), f"steps[{number}].value", locale))
    return GoldChain(tuple(texts), tuple(values), _number(gold.answer, "answer", locale))


def _number(value: Any, field: str, locale: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        read = decimal_of(value, locale)
        if read is not None:
            return float(read)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise gold_fault(field, f"{value!r} is neither a number nor null")


def evaluate_chains(
    answers: Sequence[tuple[GoldChain, str, str]],
    cache: EmbeddingCache,
    embedder: Callable[[], Embedder],
    profile: Profile = "paper",
    correct: Mapping[int, bool] | None = None,
) -> list[ChainFigures]:
    """Figures of many chains; every new text is encoded once, all in one call.

    Args:
        answers: gold chain, verbatim model text and number locale of each.
        cache: known embeddings by content; what it lacks is encoded and added.
        embedder: makes the encoder; called only when something is missing.
        profile: `paper` or `lenient`.
        correct: by place in `answers`, whether a scorer found the final answer right.

    Raises:
        MeasurementError: a text has no cached embedding and no encoder is installed.
    """
    chains = [parse_chain(text, locale) for _, text, locale in answers]
    texts = [[step.text for step in chain.steps] for chain in chains]
    pairs = [(gold.texts, said) for (gold, _, _), said in zip(answers, texts, strict=True)]
    found = []
    for number, ss in enumerate(similarities(pairs, cache, embedder)):
        gold, _, locale = answers[number]
        chain = chains[number]
        values = [None if value is None else float(value) for value in chain.values]
        final = None if chain.final_answer is None else float(chain.final_answer)
        found.append(
            ChainFigures(
                chain,
                step_metrics(ss, gold.values, values, gold.final, final, profile),
                rouge_l("\n".join(texts[number]), "\n".join(gold.texts)),
                diagnose(
                    chain, gold.values, gold.final, locale, correct=(correct or {}).get(number)
                ),
            )
        )
    return found

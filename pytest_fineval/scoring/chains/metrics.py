"""Step metrics of a reasoning chain: ChainEval with its fuzzy and soft extensions.

Everything starts from SS, the similarity of every gold step to every predicted step, and from the
values that the steps state. Nothing here reads text or loads an encoder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_fineval.scoring.chains.align import SLACK, Alignment, Matrix, align, f1

Profile = Literal["paper", "lenient"]

STEP_THRESHOLD = 0.45
VALUE_TOL = 0.15
FINAL_TOL = 0.05
SIGMA = 0.15
FINAL_SIGMA = 0.05
TEMPERATURE = 0.1
TEXT_WEIGHT = 0.85
"""Share of the similarity in the bonus score; the value's agreement is the rest."""

Values = Sequence[float | None]
_Array = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


class Rates(NamedTuple):
    """Precision, recall and F1 in [0, 1]."""

    precision: float
    recall: float
    f1: float


_NOTHING = Rates(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """All step metrics of one chain in one profile, each in [0, 1].

    Attributes:
        hard: share of steps whose best SS x AM reaches 0.45.
        dtw_gate, dtw_bonus: alignments in order by SS x AM and by 0.85 SS + 0.15 AM.
        fuzzy: mean best SS x FNS; no threshold.
        soft: the same with attention over all steps instead of the best one.
        soft_score: equals the fuzzy recall by definition.
        fam: 1 if the final values agree within 5 percent of the gold.
        fuzzy_fas: closeness of the final values; 0 when one is missing.
    """

    hard: Rates
    dtw_gate: Alignment
    dtw_bonus: Alignment
    fuzzy: Rates
    soft: Rates
    fam: int
    fuzzy_fas: float

    @property
    def soft_score(self) -> float:
        return self.fuzzy.recall


def step_metrics(
    ss: npt.ArrayLike,
    gold_values: Values,
    predicted_values: Values,
    gold_final: float | None,
    predicted_final: float | None,
    profile: Profile = "paper",
) -> StepMetrics:
    """All metrics of one chain.

    Args:
        ss: similarity of gold steps (rows) to predicted steps (columns); clipped to [0, 1]. Any
            empty array when a side has no steps: every step metric is then 0.
        gold_values, predicted_values: one value a step; None (or a non-finite number) when the
            step states no result.
        gold_final, predicted_final: the final answers, None without one.
        profile: `paper` lets a missing value agree only with a missing value, `lenient` with
            everything.

    Raises:
        ValueError: the shape of `ss` does not fit the values, or it holds NaN.

    Source: FinChain (ChainEval), and its fuzzy and soft extensions.
    """
    fam, fas = (
        final_match(gold_final, predicted_final),
        final_closeness(gold_final, predicted_final),
    )
    if not gold_values or not predicted_values:
        return StepMetrics(_NOTHING, Alignment(), Alignment(), _NOTHING, _NOTHING, fam, fas)
    similarity = np.asarray(ss, dtype=np.float64)
    if similarity.shape != (len(gold_values), len(predicted_values)):
        raise ValueError(
            f"ss has shape {similarity.shape}, the values need "
            f"({len(gold_values)}, {len(predicted_values)})"
        )
    if np.isnan(similarity).any():
        raise ValueError("ss holds NaN")
    similarity = np.clip(similarity, 0.0, 1.0)
    gold, predicted = _array(gold_values), _array(predicted_values)
    missing = np.isnan(gold)[:, None], np.isnan(predicted)[None, :]
    matches = _matches(gold, predicted, missing, profile)
    gated = similarity * matches
    fuzzy = similarity * _closeness(gold, predicted, missing)
    reached: _Flags = np.greater_equal(gated, STEP_THRESHOLD - SLACK)
    return StepMetrics(
        hard=_rates(np.any(reached, axis=1), np.any(reached, axis=0)),
        dtw_gate=align(gated, STEP_THRESHOLD),
        dtw_bonus=align(TEXT_WEIGHT * similarity + (1 - TEXT_WEIGHT) * matches, STEP_THRESHOLD),
        fuzzy=_rates(fuzzy.max(1), fuzzy.max(0)),
        soft=_rates(_attended(fuzzy, 1), _attended(fuzzy, 0)),
        fam=fam,
        fuzzy_fas=fas,
    )


def answer_matches(gold_values: Values, predicted_values: Values, profile: Profile) -> Matrix:
    """AM: 1 where two steps state the same value within 15 percent of the gold, else 0.

    Returns:
        gold steps x predicted steps. A gold of 0 agrees only with 0.
    """
    gold, predicted = _array(gold_values), _array(predicted_values)
    return _matches(
        gold, predicted, (np.isnan(gold)[:, None], np.isnan(predicted)[None, :]), profile
    )


def closeness(gold_values: Values, predicted_values: Values) -> Matrix:
    """FNS: exp(-d^2 / (2 x 0.15^2)) with d the relative difference; 0.5 if a value is missing.

    Returns:
        gold steps x predicted steps, each in [0, 1].
    """
    gold, predicted = _array(gold_values), _array(predicted_values)
    return _closeness(gold, predicted, (np.isnan(gold)[:, None], np.isnan(predicted)[None, :]))


def final_match(gold: float | None, predicted: float | None, tolerance: float = FINAL_TOL) -> int:
    """FAM: 1 if both exist and differ by at most 5 percent of the gold, else 0."""
    if gold is None or predicted is None or not (math.isfinite(gold) and math.isfinite(predicted)):
        return 0
    return int(abs(predicted - gold) <= (tolerance + SLACK) * abs(gold))


def final_closeness(gold: float | None, predicted: float | None) -> float:
    """Fuzzy FAS: the kernel of FNS with sigma 0.05; 0 when a value is missing."""
    if gold is None or predicted is None or not (math.isfinite(gold) and math.isfinite(predicted)):
        return 0.0
    largest = max(abs(gold), abs(predicted))
    if largest == 0:
        return 1.0
    difference = gold / largest - predicted / largest
    return math.exp(-(difference**2) / (2 * FINAL_SIGMA**2))


def _array(values: Values) -> _Array:
    array = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    array[np.isinf(array)] = math.nan
    return array


def _matches(
    gold: _Array, predicted: _Array, missing: tuple[_Flags, _Flags], profile: Profile
) -> Matrix:
    no_gold, no_predicted = missing
    # Comparisons with NaN are false: a missing value agrees with nothing so far.
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(predicted[None, :] - gold[:, None])
        agree = gap <= (VALUE_TOL + SLACK) * np.abs(gold)[:, None]
    agree |= (no_gold | no_predicted) if profile == "lenient" else (no_gold & no_predicted)
    return agree.astype(np.float64)


def _closeness(gold: _Array, predicted: _Array, missing: tuple[_Flags, _Flags]) -> Matrix:
    largest = np.maximum(np.abs(gold)[:, None], np.abs(predicted)[None, :])
    scale = np.where(largest > 0, largest, 1.0)
    # Each value is scaled before the difference is taken, which then cannot overflow.
    difference = gold[:, None] / scale - predicted[None, :] / scale
    kernel = np.exp(-(difference**2) / (2 * SIGMA**2))
    return np.where(missing[0] | missing[1], 0.5, kernel)


def _attended(fuzzy: Matrix, axis: int) -> _Array:
    """Softmax over an axis at temperature 0.1 as weights of the scores themselves, summed."""
    weights = np.exp((fuzzy - fuzzy.max(axis, keepdims=True)) / TEMPERATURE)
    attended: _Array = (weights * fuzzy).sum(axis) / weights.sum(axis)
    return attended


def _rates(gold: _Array | _Flags, predicted: _Array | _Flags) -> Rates:
    """Recall is the mean over gold steps, precision that over predicted steps."""
    recall, precision = float(gold.sum()) / gold.size, float(predicted.sum()) / predicted.size
    return Rates(precision, recall, f1(precision, recall))

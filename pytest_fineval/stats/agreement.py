"""Agreement of raters and of verdicts: kappa, alpha, a confusion table's rates, pass@k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_fineval.stats._check import Floats, count
from pytest_fineval.stats.intervals import Interval, wilson

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa with three weightings; None where chance agreement is complete."""

    unweighted: float | None
    linear: float | None
    quadratic: float | None


@dataclass(frozen=True)
class ClassificationReport:
    """Rates of a binary confusion table; a rate without cases is 0, its Wilson interval [0, 1]."""

    precision: float
    recall: float
    f1: float
    mcc: float
    accuracy: float
    recall_interval: Interval
    precision_interval: Interval


@dataclass(frozen=True)
class PassAtK:
    """Probability that at least one, and that every one, of k samples is right."""

    pass_at_k: float
    pass_all_k: float


def cohen_kappa(table: Sequence[Sequence[int]]) -> Kappa:
    """Cohen's kappa of two raters over ordered classes.

    Args:
        table: square; entry (i, j) counts the cases put in class i by one and j by the other.

    Returns:
        Unweighted, linearly and quadratically weighted kappa; each None when both raters use one
        class alone or there are no cases.

    Raises:
        ValueError: not square, or a negative entry.

    Source: Cohen (1960), Educational and Psychological Measurement 20; weights: Cohen (1968).
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError("a kappa table must be square")
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError("a kappa table holds counts of at least 0")
    total = float(counts.sum())
    places = np.arange(counts.shape[0])
    distance = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))

    def kappa(weights: Floats) -> float | None:
        by_chance = float((weights * expected).sum())
        if by_chance == 0:
            return None
        return 1.0 - float((weights * counts).sum()) * total / by_chance

    return Kappa(kappa((distance > 0).astype(np.float64)), kappa(distance), kappa(distance**2))


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]], level: Level = "nominal"
) -> float | None:
    """Krippendorff's alpha of any number of raters, with missing ratings.

    Args:
        ratings: one row per rater, one column per case; None or NaN is missing.
        level: "nominal" (equal or not), "ordinal" (order counts) or "interval" (distance counts).

    Returns:
        alpha, at most 1; None when fewer than two ratings can be compared or all are the same.

    Raises:
        ValueError: rows of different lengths, or an unknown level.

    Source: Krippendorff (2004), Content Analysis, chapter 11.
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f'level must be "nominal", "ordinal" or "interval", not "{level}"')
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater needs one entry per case (None where missing)")
    rows = [[math.nan if value is None else float(value) for value in row] for row in ratings]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0)
    if np.isinf(table).any():
        raise ValueError("ratings must be finite or missing")
    # A case with a single rating has nothing to be compared with.
    table = table[:, np.count_nonzero(~np.isnan(table), axis=0) >= 2]
    values = np.unique(table[~np.isnan(table)])
    if values.size < 2:
        return None
    # counts[case, value]: how many raters gave the case that value
    counts = np.stack([np.count_nonzero(table == value, axis=0) for value in values], axis=1)
    raters = counts.sum(axis=1, keepdims=True)
    pairs = (counts / (raters - 1)).T @ counts - np.diag((counts / (raters - 1)).sum(axis=0))
    marginals = pairs.sum(axis=0)
    distance = _squared_distance(values, marginals, level)
    total = float(marginals.sum())
    observed = float((pairs * distance).sum())
    by_chance = float((np.outer(marginals, marginals) * distance).sum()) / (total - 1.0)
    return 1.0 - observed / by_chance


def _squared_distance(values: Floats, marginals: Floats, level: Level) -> Floats:
    if level == "nominal":
        return 1.0 - np.eye(values.size)
    # On an ordinal scale two values lie as far apart as the ratings between their midpoints.
    place = values if level == "interval" else np.cumsum(marginals) - marginals / 2.0
    distance: Floats = (place[:, None] - place[None, :]) ** 2
    return distance


def classification_report(
    tp: int, fp: int, fn: int, tn: int, confidence: float = 0.95
) -> ClassificationReport:
    """Precision, recall, F1, Matthews correlation and accuracy of a binary confusion table.

    Args:
        tp, fp, fn, tn: counts of at least 0; positive is the class that matters.
        confidence: of the Wilson intervals of recall and precision, in (0, 1).

    Returns:
        Rates in [0, 1] (mcc in [-1, 1]); 0 where the denominator is 0.

    Raises:
        ValueError: a negative count, or confidence outside (0, 1).
    """
    tp, fp, fn, tn = count(tp, "tp"), count(fp, "fp"), count(fn, "fn"), count(tn, "tn")
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return ClassificationReport(
        precision=_ratio(tp, tp + fp),
        recall=_ratio(tp, tp + fn),
        f1=_ratio(2 * tp, 2 * tp + fp + fn),
        mcc=_ratio(tp * tn - fp * fn, math.sqrt(margins)),
        accuracy=_ratio(tp + tn, tp + fp + fn + tn),
        recall_interval=wilson(tp, tp + fn, confidence),
        precision_interval=wilson(tp, tp + fp, confidence),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def pass_at_k(n: int, c: int, k: int) -> PassAtK:
    """Chance that k of n samples, drawn without replacement, hold a right one; that all are right.

    Args:
        n: samples taken, at least 1.
        c: right ones, in [0, n].
        k: in [1, n].

    Returns:
        1 - C(n - c, k)/C(n, k) and C(c, k)/C(n, k): unbiased for a model asked k times.

    Raises:
        ValueError: outside the ranges.

    Source: Chen et al. (2021), arXiv:2107.03374; all-k: Yao et al. (2024), arXiv:2406.12045.
    """
    n, c, k = count(n, "n"), count(c, "c"), count(k, "k")
    if not 1 <= k <= n or c > n:
        raise ValueError(f"need 1 <= k <= n and c <= n, not n = {n}, c = {c}, k = {k}")
    ways = math.comb(n, k)
    return PassAtK((ways - math.comb(n - c, k)) / ways, math.comb(c, k) / ways)

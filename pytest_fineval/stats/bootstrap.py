"""Bootstrap intervals of a mean: reported beside the verdict, never deciding it.

The same values in any order and the same seed give the same interval. Memory is bounded whatever
the number of cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np

from pytest_fineval.stats._check import (
    Floats,
    Values,
    count,
    finite,
    normal_cdf,
    normal_quantile,
    share,
)
from pytest_fineval.stats.intervals import Interval

BootstrapMethod = Literal["percentile", "bca"]

DEFAULT_RESAMPLES = 10_000

_TABLED_VALUES = 200
_CHUNK = 2_000_000  # resampled cases held at once: 8 MB of indexes, 16 MB of scores


@dataclass(frozen=True)
class Bootstrap:
    """A bootstrap interval of a mean, with the estimate it belongs to."""

    estimate: float
    low: float
    high: float
    method: BootstrapMethod
    resamples: int


def seed_from(*parts: str) -> int:
    """A seed from words, such as the plan's hash and the check's name.

    Args:
        parts: any text; their order and borders count.

    Returns:
        A whole number below 2^128, the same on every machine.
    """
    digest = sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return int.from_bytes(digest.digest()[:16], "little")


def bootstrap_mean(
    scores: Values,
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    method: BootstrapMethod = "percentile",
) -> Bootstrap:
    """Bootstrap interval of a mean score or of a mean paired difference.

    Args:
        scores: one finite number per case, at least one.
        confidence: in (0, 1).
        resamples: at least 1; not used for the percentile interval of two distinct values (such as
            0/1 scores), whose bootstrap law is binomial and known.
        seed: any whole number of at least 0.
        method: "percentile", or "bca" (bias-corrected and accelerated).

    Returns:
        Interval around the mean; without spread both ends are the mean. Zero width is not evidence
        of certainty: use `wilson` for rates.

    Raises:
        ValueError: no cases, a value not finite, an unknown method.

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 14.
    """
    if method not in ("percentile", "bca"):
        raise ValueError(f'method must be "percentile" or "bca", not "{method}"')
    values = np.sort(finite(scores, "scores"))
    tail = (1.0 - share(confidence, "confidence")) / 2.0
    if count(resamples, "resamples") < 1 or values.size == 0:
        raise ValueError("a bootstrap needs at least one case and one resample")
    estimate = math.fsum(values.tolist()) / values.size
    low, high = float(values[0]), float(values[-1])
    if low == high:
        return Bootstrap(low, low, low, method, resamples)
    counts = np.unique(values, return_counts=True)[1]
    if method == "percentile" and counts.size == 2:
        law = binary_law_interval(int(counts[1]), values.size, confidence)
        ends = low + (high - low) * np.array([law.low, law.high])
    else:
        means = resampled_means(values, resamples, np.random.default_rng(seed))
        levels = [tail, 1.0 - tail]
        if method == "bca":
            levels = _bca_levels(values, means, estimate, tail)
        ends = np.quantile(means, levels)
    # Rounding may carry a mean of equal scores past them.
    lower, upper = np.clip(ends, low, high).tolist()
    return Bootstrap(estimate, lower, upper, method, resamples)


def binary_law_interval(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Percentile interval of the mean of 0/1 scores under infinitely many resamples.

    The total of a resample is Binomial(n, successes/n): its quantiles need no random numbers.

    Args:
        successes: in [0, n].
        n: cases, at least 1.
        confidence: in (0, 1).

    Returns:
        Quantiles of the law divided by n. At 0 or n successes the width is zero, which is no
        evidence: use `wilson`.

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).
    """
    successes, n = count(successes, "successes"), count(n, "n")
    tail = (1.0 - share(confidence, "confidence")) / 2.0
    if n == 0 or successes > n:
        raise ValueError(f"successes = {successes} of n = {n} cases is not a rate")
    if successes in (0, n):
        return Interval(successes / n, successes / n)
    from scipy.special import bdtr

    cumulative = bdtr(np.arange(n + 1, dtype=np.float64), n, successes / n)
    low = int(np.searchsorted(cumulative, tail, side="left"))
    high = int(np.searchsorted(cumulative, 1.0 - tail, side="left"))
    return Interval(low / n, min(high, n) / n)


def resampled_means(scores: Values, resamples: int, rng: np.random.Generator) -> Floats:
    """Means of `resamples` samples of all cases with replacement.

    Up to 200 distinct values are drawn as multinomial counts; more as indexes, in chunks of about
    2,000,000, so that memory does not grow with the number of cases or resamples.

    Args:
        scores: one finite number per case, at least one.
        resamples: at least 0.
        rng: source of random numbers.

    Returns:
        One mean per resample.
    """
    values = finite(scores, "scores")
    n = values.size
    distinct, counts = np.unique(values, return_counts=True)
    means = np.empty(resamples)
    if distinct.size <= _TABLED_VALUES:
        rows = max(1, _CHUNK // distinct.size)
        for start in range(0, resamples, rows):
            size = min(rows, resamples - start)
            drawn = rng.multinomial(n, counts / n, size=size)
            means[start : start + size] = drawn @ distinct / n
        return means
    rows = min(resamples, max(1, _CHUNK // n))
    taken = np.empty((rows, n))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        indexes = rng.integers(0, n, size=(size, n), dtype=np.int32)
        # "clip" spares a copy that the bounds check would make; no index is out of bounds.
        values.take(indexes, out=taken[:size], mode="clip")
        means[start : start + size] = taken[:size].mean(axis=1)
    return means


def bca_acceleration(scores: Values) -> float:
    """Acceleration of the BCa interval of a mean: skewness of its jackknife values over 6.

    Args:
        scores: one finite number per case, any length.

    Returns:
        a; 0 for constant scores or fewer than 2 cases.

    Source: Efron (1987), JASA 82.
    """
    values = finite(scores, "scores")
    if values.size < 2 or values.min() == values.max():
        return 0.0
    # A jackknife mean lies (mean - value)/(n - 1) away from their mean; the factor cancels.
    deviations = values - math.fsum(values.tolist()) / values.size
    # So does a power of two, which keeps the cubes of tiny deviations from vanishing.
    deviations = np.ldexp(deviations, -np.frexp(np.abs(deviations).max())[1])
    squares = float((deviations**2).sum())
    return float((deviations**3).sum()) / (6.0 * squares * math.sqrt(squares))


def _bca_levels(values: Floats, means: Floats, estimate: float, tail: float) -> list[float]:
    """Levels of the resampled means at which the BCa interval ends."""
    # Means that are equal as fractions may differ in the last bits.
    noise = 1e-12 * max(1.0, float(np.abs(values).max()))
    below = np.count_nonzero(means < estimate - noise)
    equal = np.count_nonzero(np.abs(means - estimate) <= noise)
    part = (below + equal / 2.0) / means.size
    edge = 0.5 / means.size
    bias = normal_quantile(min(max(part, edge), 1.0 - edge))
    acceleration = bca_acceleration(values)

    def level(z: float) -> float:
        moved = bias + z
        room = 1.0 - acceleration * moved
        if room <= 0:  # beyond the range of the transformation: the end of the law
            return 1.0 if moved > 0 else 0.0
        return normal_cdf(bias + moved / room)

    z = normal_quantile(tail)
    return [level(z), level(-z)]

"""Intervals of a rate, of a paired drop and of a clustered mean, in closed form.

Bootstrap intervals are in `bootstrap.py`; the sign-flip bound is in `permutation.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pytest_fineval.stats._check import (
    Floats,
    Values,
    count,
    finite,
    normal_cdf,
    one_sided_z,
    share,
    two_sided_z,
)


@dataclass(frozen=True)
class Interval:
    """A confidence interval, in the unit of the estimate (a share of 1 for rates and drops)."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2.0


@dataclass(frozen=True)
class ClusterError:
    """Standard error of a mean when cases come in clusters.

    `small_sample` carries the factor sqrt(G / (G - 1)) for G clusters; None when G < 2: one cluster
    says nothing about the spread between clusters.
    """

    no_correction: float
    small_sample: float | None
    clusters: int


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a rate.

    Args:
        successes: number right (or the sum of scores in [0, 1]), in [0, n].
        n: cases, at least 0.
        confidence: in (0, 1).

    Returns:
        Interval within [0, 1]; [0, 1] when n = 0.

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).

    Source: Wilson (1927), JASA 22.
    """
    successes, n = _rate(successes, n)
    z = two_sided_z(confidence)
    if n == 0:
        return Interval(0.0, 1.0)
    rate, square = successes / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4.0 * n * n))
    # At the ends the bound is exact; arithmetic would leave 1e-17 there.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high)


def wilson_half_width_points(successes: float, n: int, confidence: float = 0.95) -> float:
    """Half the width of Wilson's interval, in percentage points.

    Args, Raises: as `wilson`.
    """
    return 100.0 * wilson(successes, n, confidence).half_width


def score_test_below(successes: float, n: int, rate: float) -> float:
    """One-sided p that the true rate is below `rate`: the test that Wilson's upper bound inverts.

    Args:
        successes, n: as in `wilson`.
        rate: the floor that is tested, in (0, 1].

    Returns:
        p; 1 when n = 0. p <= alpha exactly when the upper end of `wilson` at confidence
        1 - 2 alpha is at or below `rate`.

    Raises:
        ValueError: counts that do not fit, or a rate outside (0, 1].
    """
    successes, n = _rate(successes, n)
    if not 0 < rate <= 1:
        raise ValueError(f"rate must lie in (0, 1], not {rate}")
    if n == 0:
        return 1.0
    gap = successes / n - rate
    if rate == 1.0:
        return 1.0 if gap == 0 else math.ulp(0.0)
    return max(normal_cdf(gap / math.sqrt(rate * (1 - rate) / n)), math.ulp(0.0))


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Clopper-Pearson ("exact") interval of a rate: inverts the binomial test.

    Args, Returns, Raises: as `wilson`; whole successes.

    Source: Clopper and Pearson (1934), Biometrika 26.
    """
    successes, n = _whole_rate(successes, n)
    tail = (1.0 - share(confidence, "confidence")) / 2.0
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1.0 - tail))
    return Interval(low, high)


def agresti_coull(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Agresti-Coull interval of a rate; not clipped to [0, 1].

    Args, Raises: as `wilson`.

    Source: Agresti and Coull (1998), The American Statistician 52.
    """
    successes, n = _rate(successes, n)
    z = two_sided_z(confidence)
    widened = n + z * z
    centre = (successes + z * z / 2.0) / widened
    half = z * math.sqrt(centre * (1.0 - centre) / widened)
    return Interval(centre - half, centre + half)


def jeffreys(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Jeffreys interval of a rate: equal tails of Beta(successes + 1/2, failures + 1/2).

    Args, Raises: as `wilson`. The ends are not moved to 0 or 1 at 0 or n successes.

    Source: Brown, Cai and DasGupta (2001), Statistical Science 16.
    """
    successes, n = _rate(successes, n)
    tail = (1.0 - share(confidence, "confidence")) / 2.0
    from scipy.special import betaincinv

    a, b = successes + 0.5, n - successes + 0.5
    return Interval(float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1.0 - tail)))


def tango_z(n: int, b: int, c: int, drop: float) -> float:
    """Tango's score statistic of the hypothesis that the true drop is `drop`.

    Args:
        n: pairs, at least 1.
        b, c: lost and gained pairs, b + c <= n.
        drop: hypothesis in [-1, 1].

    Returns:
        z, falling in `drop`; infinite where the hypothesis is impossible for these counts.

    Raises:
        ValueError: counts that do not fit, or a drop outside [-1, 1].

    Source: Tango (1998), Statistics in Medicine 17, with the restricted maximum-likelihood
    estimate of the gained rate.
    """
    n, b, c = _pairs(n, b, c)
    if not -1 <= drop <= 1:
        raise ValueError(f"drop must lie in [-1, 1], not {drop}")
    if drop < 0:  # the mirror image keeps the formula in its stable half
        return -tango_z(n, c, b, -drop)
    room = drop * (1.0 - drop)
    linear = -b - c + (2 * n - b + c) * drop
    root = math.sqrt(max(0.0, linear * linear + 8.0 * n * c * room))
    # The larger root of 2n q^2 + linear q - c room = 0, without cancellation.
    gained = 2.0 * c * room / (linear + root) if linear > 0 else (root - linear) / (4.0 * n)
    variance = n * (2.0 * gained + room)
    distance = b - c - n * drop
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def tango(n: int, b: int, c: int, confidence: float = 0.95) -> Interval:
    """Tango's score interval of the paired drop (b - c)/n.

    Args:
        n: pairs, at least 0.
        b, c: lost and gained pairs, b + c <= n.
        confidence: in (0, 1).

    Returns:
        Interval within [-1, 1]; [-1, 1] when n = 0.

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).

    Source: as `tango_z`.
    """
    n, b, c = _pairs(n, b, c)
    z = two_sided_z(confidence)
    return Interval(-_tango_bound(n, c, b, z), _tango_bound(n, b, c, z))


@lru_cache(maxsize=65536)
def tango_upper(n: int, b: int, c: int, confidence: float = 0.95) -> float:
    """One-sided upper bound of the paired drop (b - c)/n by Tango's score test.

    Args, Raises, Source: as `tango`.

    Returns:
        The largest drop that the one-sided test at 1 - confidence does not reject; 1 when n = 0.
    """
    n, b, c = _pairs(n, b, c)
    return _tango_bound(n, b, c, one_sided_z(confidence))


def _tango_bound(n: int, b: int, c: int, z: float) -> float:
    if n == 0 or b == n:
        return 1.0
    # With little confidence (z < 0) the bound lies below the estimate.
    low = (b - c) / n if z > 0 else -1.0
    return _bisect(lambda drop: tango_z(n, b, c, drop) + z, low, 1.0)


def _bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses 0, to the last bit."""
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if falling(middle) > 0:
            low = middle
        else:
            high = middle


def newcombe_paired(
    n: int, both: int, only_first: int, only_second: int, confidence: float = 0.95
) -> Interval:
    """Newcombe's interval of the difference of two paired rates (his method 10).

    Args:
        n: pairs, at least 0.
        both: pairs that both sides had right.
        only_first, only_second: pairs that one side had right.
        confidence: in (0, 1).

    Returns:
        Interval of rate(first) - rate(second) within [-1, 1]; [-1, 1] when n = 0.

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).

    Source: Newcombe (1998), Statistics in Medicine 17, 2635-2650.
    """
    n, only_first, only_second = _pairs(n, only_first, only_second)
    both = count(both, "both")
    neither = n - both - only_first - only_second
    if neither < 0:
        raise ValueError("both + only_first + only_second must not exceed n")
    first = wilson(both + only_first, n, confidence)
    second = wilson(both + only_second, n, confidence)
    if n == 0:
        return Interval(-1.0, 1.0)
    rate_1, rate_2 = (both + only_first) / n, (both + only_second) / n
    phi = _corrected_phi(n, both, only_first, only_second, neither)

    def reach(side_1: float, side_2: float) -> float:
        return math.sqrt(max(0.0, side_1**2 - 2.0 * phi * side_1 * side_2 + side_2**2))

    drop = (only_first - only_second) / n
    low = drop - reach(rate_1 - first.low, second.high - rate_2)
    high = drop + reach(first.high - rate_1, rate_2 - second.low)
    return Interval(max(-1.0, low), min(1.0, high))


def _corrected_phi(n: int, both: int, only_first: int, only_second: int, neither: int) -> float:
    margins = (
        (both + only_first)
        * (only_second + neither)
        * (both + only_second)
        * (only_first + neither)
    )
    if margins == 0:
        return 0.0
    product = both * neither - only_first * only_second
    # A positive association is taken half a case smaller, but not below none.
    corrected = max(product - n / 2.0, 0.0) if product > 0 else float(product)
    return corrected / math.sqrt(margins)


def cluster_standard_error(scores: Values, clusters: Sequence[Hashable]) -> ClusterError:
    """Standard error of the mean score, cases of one cluster taken as dependent.

    Args:
        scores: one finite number per case.
        clusters: the cluster of each case, same length.

    Returns:
        The sandwich estimate sqrt(sum over clusters of (sum of residuals)^2) / n, without and with
        the factor sqrt(G / (G - 1)); with one case a cluster the second is sd / sqrt(n).

    Raises:
        ValueError: lengths differ or no cases.

    Source: Liang and Zeger (1986), Biometrika 73; Miller (2024), arXiv:2411.00640.
    """
    values = finite(scores, "scores")
    if values.size == 0:
        raise ValueError("a standard error needs at least one case")
    sums, _ = cluster_sums(values - values.mean(), clusters)
    plain = math.sqrt(float((sums**2).sum())) / values.size
    groups = int(sums.size)
    corrected = plain * math.sqrt(groups / (groups - 1)) if groups > 1 else None
    return ClusterError(plain, corrected, groups)


def cluster_sums(values: Values, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Sum and size of each cluster, in the order in which clusters first appear.

    Args:
        values: one finite number per case.
        clusters: the cluster of each case, same length; None or any hashable label.

    Returns:
        Two arrays with one entry per cluster.

    Raises:
        ValueError: lengths differ.
    """
    array = finite(values)
    if array.size != len(clusters):
        raise ValueError(f"{array.size} values but {len(clusters)} cluster labels")
    place: dict[Hashable, int] = {}
    codes = np.array([place.setdefault(label, len(place)) for label in clusters], dtype=np.int64)
    sums = np.bincount(codes, weights=array, minlength=len(place)).astype(np.float64)
    sizes = np.bincount(codes, minlength=len(place)).astype(np.float64)
    return sums, sizes


def _rate(successes: float, n: int) -> tuple[float, int]:
    n = count(n, "n")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in [0, n] = [0, {n}], not {successes}")
    return float(successes), n


def _whole_rate(successes: int, n: int) -> tuple[int, int]:
    _rate(successes, n)
    return count(successes, "successes"), count(n, "n")


def _pairs(n: int, b: int, c: int) -> tuple[int, int, int]:
    n, b, c = count(n, "n"), count(b, "b"), count(c, "c")
    if b + c > n:
        raise ValueError(f"b + c = {b + c} discordant pairs do not fit in n = {n}")
    return n, b, c

"""Ranks and rank correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_fineval.stats._check import Floats, Values, count, finite


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho and Kendall's tau-b; None where a side is constant and they are undefined."""

    spearman: float | None
    kendall_tau_b: float | None


def average_ranks(values: Values) -> Floats:
    """Ranks from 1, ties sharing the mean of the places they take.

    Args:
        values: finite numbers, any length.

    Returns:
        One rank per value, in the order given.
    """
    array = finite(values)
    if array.size == 0:
        return array
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2.0)[inverse]
    return ranks


def spearman(a: Values, b: Values) -> float | None:
    """Spearman's rho: Pearson's correlation of the average ranks.

    Args:
        a, b: two scores of the same items, same length.

    Returns:
        rho in [-1, 1], or None when a side is constant or has fewer than 2 items.

    Raises:
        ValueError: lengths differ.
    """
    first, second = _same_length(a, b)
    # Twice the centred rank is whole, so the sums are exact whatever the order of the items.
    x = 2 * average_ranks(first) - (first.size + 1)
    y = 2 * average_ranks(second) - (second.size + 1)
    scale = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return None if scale == 0 else _clip(float(x @ y) / scale)


def kendall_tau_b(a: Values, b: Values) -> float | None:
    """Kendall's tau-b: concordant minus discordant pairs, corrected for ties on either side.

    Args:
        a, b: as in `spearman`; time and memory grow with the square of the length.

    Returns:
        tau-b in [-1, 1], or None when a side is constant or has fewer than 2 items.

    Raises:
        ValueError: lengths differ.

    Source: Kendall (1945), Biometrika 33.
    """
    first, second = _same_length(a, b)
    signs_a = np.sign(first[:, None] - first[None, :])
    signs_b = np.sign(second[:, None] - second[None, :])
    scale = math.sqrt(float(np.abs(signs_a).sum())) * math.sqrt(float(np.abs(signs_b).sum()))
    return None if scale == 0 else _clip(float((signs_a * signs_b).sum()) / scale)


def rank_correlation(a: Values, b: Values) -> RankCorrelation:
    """Both rank correlations of two scores of the same items.

    Args, Raises: as `spearman`.
    """
    return RankCorrelation(spearman(a, b), kendall_tau_b(a, b))


def spearman_values_n(n: int) -> list[float]:
    """The values that Spearman's rho can take on n items without ties, ascending.

    A pass mark is only as fine as these values: at n = 3, "rho > 0.7" asks for a perfect order.

    Args:
        n: items, at least 0.

    Returns:
        Distinct values of 1 - 6 D / (n (n^2 - 1)); empty for n < 2.

    Raises:
        ValueError: n negative.

    Source: D, the sum of squared rank differences, is even and at most n (n^2 - 1)/3. From n = 4
    every even D occurs: permutations that keep the last item in place reach those of n - 1, their
    reversals the same distances from the top, and the two ranges meet from n = 5 on.
    """
    n = count(n, "n")
    if n < 2:
        return []
    cube = n * (n * n - 1)
    distances = [d for d in range(0, cube // 3 + 1, 2) if (n, d) != (3, 4)]
    return [1.0 - 6.0 * d / cube for d in reversed(distances)]


def _same_length(a: Values, b: Values) -> tuple[Floats, Floats]:
    first, second = finite(a, "a"), finite(b, "b")
    if first.size != second.size:
        raise ValueError(f"the two sides have {first.size} and {second.size} items")
    return first, second


def _clip(value: float) -> float:
    return max(-1.0, min(1.0, value))

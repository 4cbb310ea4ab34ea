"""How much a check can see: power of McNemar's test, cases needed, smallest blocking counts.

Rates: p10 is the share of cases right before and wrong now, p01 the reverse; drop = p10 - p01.
With a noise f (share of verdicts that differ when nothing changed) and a true drop d, p01 = f/2 and
p10 = d + f/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_fineval.stats._check import count, normal_quantile, share
from pytest_fineval.stats.paired import binomial_upper

PowerTest = Literal["exact_drop", "midp_drop"]

_SLACK = 1e-9  # a drop equal to the limit is not over it


@dataclass(frozen=True)
class FlipRates:
    """Shares of lost (p10) and gained (p01) cases."""

    p10: float
    p01: float


def flip_rates(drop: float, noise: float) -> FlipRates:
    """Rates of lost and gained cases for a true drop on top of run-to-run noise.

    Args:
        drop: true drop in [0, 1].
        noise: share of verdicts that differ when nothing changed, in [0, 1].

    Returns:
        p01 = noise/2 and p10 = drop + noise/2, the noise cut so that their sum is at most 1.

    Raises:
        ValueError: outside the ranges.
    """
    drop = share(drop, "drop", open_ends=False)
    noise = share(noise, "noise", open_ends=False)
    gained = min(noise, 1.0 - drop) / 2.0
    return FlipRates(p10=drop + gained, p01=gained)


def mcnemar_power(
    n: int,
    p10: float,
    p01: float,
    alpha: float,
    test: PowerTest = "midp_drop",
    min_drop: float | None = None,
) -> float:
    """Probability that a check blocks: p <= alpha and, with `min_drop`, drop over that limit.

    Enumerates the trinomial law of (lost, gained, unchanged) by the number of discordant pairs.

    Args:
        n: pairs, at least 0.
        p10, p01: true rates of lost and gained pairs, p10 + p01 <= 1.
        alpha: level of the single test, in (0, 1).
        test: which one-sided p is compared.
        min_drop: allowed drop, or None for the test alone.

    Returns:
        Probability in [0, 1]; with p10 = p01 it is the size of the rule.

    Raises:
        ValueError: outside the ranges.
    """
    n = count(n, "n")
    alpha = share(alpha, "alpha")
    p10, p01 = share(p10, "p10", open_ends=False), share(p01, "p01", open_ends=False)
    discordant = p10 + p01
    if discordant > 1 + _SLACK:
        raise ValueError(f"p10 + p01 = {discordant} exceeds 1")
    if n == 0 or discordant == 0:
        return 0.0
    from scipy.special import bdtrc

    flips = np.arange(n + 1)
    needed = np.array(_needed_lost(n, alpha, test, min_drop))
    weights = _binomial_law(n, min(1.0, discordant))
    # P(lost >= needed), given the number of flips; 0 where no number would do.
    reachable = needed <= flips
    blocks = np.zeros(n + 1)
    share_lost = p10 / discordant
    blocks[reachable] = np.where(
        needed[reachable] <= 0, 1.0, bdtrc(needed[reachable] - 1.0, flips[reachable], share_lost)
    )
    return min(1.0, float((weights * blocks).sum()))


def _needed_lost(n: int, alpha: float, test: PowerTest, min_drop: float | None) -> list[int]:
    """For each number of flips m = 0..n, the smallest number lost that blocks (m + 1: none does).

    It grows by 0 or 1 as m does, so one pass finds them all.
    """
    if test not in ("exact_drop", "midp_drop"):
        raise ValueError(f'test must be "exact_drop" or "midp_drop", not "{test}"')

    def significant(lost: int, m: int) -> bool:
        p = binomial_upper(lost, m)
        if test == "midp_drop":
            p = (p + binomial_upper(lost + 1, m)) / 2.0
        return p <= alpha

    def over(lost: int, m: int) -> bool:
        return min_drop is None or (2 * lost - m) / n > min_drop + _SLACK

    needed, lost = [1], 0
    for m in range(1, n + 1):
        while lost <= m and not (significant(lost, m) and over(lost, m)):
            lost += 1
        needed.append(lost)
    return needed


def _binomial_law(n: int, p: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    law: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.exp(
        ways + xlogy(k, p) + xlog1py(n - k, -p)
    )
    return law


def mcnemar_sample_size(
    p10: float, p01: float, alpha: float = 0.05, power: float = 0.8, sides: Literal[1, 2] = 1
) -> int:
    """Pairs needed to detect a drop, by the normal approximation.

    Args:
        p10, p01: rates of lost and gained pairs, different, p10 + p01 <= 1.
        alpha: level of the test, in (0, 1).
        power: wanted probability of detection, in (0, 1).
        sides: 1 or 2.

    Returns:
        The smallest whole number of pairs, at least 1.

    Raises:
        ValueError: outside the ranges, or no drop to detect.

    Source: Connor (1987), Biometrics 43.
    """
    p10, p01 = share(p10, "p10", open_ends=False), share(p01, "p01", open_ends=False)
    discordant, drop = p10 + p01, abs(p10 - p01)
    if discordant > 1 + _SLACK or drop == 0:
        raise ValueError("p10 and p01 must differ and their sum must not exceed 1")
    pairs = _pairs_needed(discordant, drop, *_quantiles(alpha, power, sides))
    return max(1, math.ceil(pairs - _SLACK))


def cases_needed(
    drop: float,
    noise: float,
    alpha: float = 0.05,
    power: float = 0.8,
    sides: Literal[1, 2] = 1,
) -> int:
    """Cases needed to detect a true drop on top of run-to-run noise.

    Args:
        drop: true drop in (0, 1].
        noise: share of verdicts that differ when nothing changed, in [0, 1].
        alpha, power, sides: as in `mcnemar_sample_size`.

    Returns, Raises: as `mcnemar_sample_size`.
    """
    rates = flip_rates(drop, noise)
    return mcnemar_sample_size(rates.p10, rates.p01, alpha, power, sides)


def minimum_detectable_drop(
    n: int,
    discordance: float,
    alpha: float = 0.05,
    power: float = 0.8,
    sides: Literal[1, 2] = 1,
) -> float:
    """Smallest true drop that n cases detect with the wanted power.

    Root of the formula behind `mcnemar_sample_size`.

    Args:
        n: cases, at least 0.
        discordance: share of verdicts that differ when nothing changed, in [0, 1].
        alpha, power, sides: as in `mcnemar_sample_size`.

    Returns:
        Drop in (0, 1]; 1 when not even a complete loss would be detected.

    Raises:
        ValueError: outside the ranges.
    """
    n = count(n, "n")
    noise = share(discordance, "discordance", open_ends=False)
    z_alpha, z_power = _quantiles(alpha, power, sides)

    def too_small(drop: float) -> bool:
        rates = flip_rates(drop, noise)
        return _pairs_needed(rates.p10 + rates.p01, drop, z_alpha, z_power) > n

    if too_small(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high


def minimum_detectable_mean_drop(
    n: int,
    sd: float,
    alpha: float = 0.05,
    power: float = 0.8,
    sides: Literal[1, 2] = 1,
) -> float:
    """Smallest true mean drop of graded scores that n paired cases detect, by the normal law.

    Args:
        n: cases, at least 1.
        sd: standard deviation of the paired differences, at least 0.
        alpha, power, sides: as in `mcnemar_sample_size`.

    Returns:
        (z_alpha + z_power) sd / sqrt(n), at least 0.

    Raises:
        ValueError: outside the ranges.
    """
    n = count(n, "n")
    if n == 0 or not 0 <= sd < math.inf:
        raise ValueError("n must be at least 1 and sd at least 0")
    z_alpha, z_power = _quantiles(alpha, power, sides)
    return max(0.0, (z_alpha + z_power) * sd / math.sqrt(n))


def _quantiles(alpha: float, power: float, sides: int) -> tuple[float, float]:
    if sides not in (1, 2):
        raise ValueError(f"sides must be 1 or 2, not {sides}")
    return (
        -normal_quantile(share(alpha, "alpha") / sides),
        normal_quantile(share(power, "power")),
    )


def _pairs_needed(discordant: float, drop: float, z_alpha: float, z_power: float) -> float:
    if drop == 0:
        return math.inf
    spread = math.sqrt(max(0.0, discordant - drop * drop))
    return ((z_alpha * math.sqrt(discordant) + z_power * spread) / drop) ** 2


def signflip_min_n(alpha: float) -> int:
    """Smallest number of differences (or clusters) whose sign-flip p can reach `alpha`.

    Args:
        alpha: level of the single test, in (0, 1); divide by the number of checks first.

    Returns:
        The smallest n with 2^-n <= alpha: all differences of one sign.

    Raises:
        ValueError: alpha outside (0, 1).
    """
    alpha = share(alpha, "alpha")
    n = 1
    while 0.5**n > alpha:
        n += 1
    return n

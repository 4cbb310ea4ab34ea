"""Permutation tests of a paired drop: sign flips of differences and shuffles within a case.

Sign: drop = baseline - candidate, positive is worse; "greater" tests drop > 0. Every result is the
same for the same values in any order. Where the law cannot be computed exactly it is sampled with
a seed taken from the values themselves, and the result says so.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import combinations
from typing import Literal

import numpy as np

from pytest_fineval.stats._check import (
    DECIMALS,
    Alternative,
    Floats,
    Ints,
    Values,
    finite,
    known_alternative,
    rounded,
    share,
)
from pytest_fineval.stats.intervals import cluster_sums, tango_upper
from pytest_fineval.stats.paired import subset_sum_law

Method = Literal["no differences", "lattice", "enumeration", "monte carlo"]

RESAMPLES = 99_999
"""Random arrangements where the law is sampled: with the observed one, 100,000."""

_LATTICE_WORK = 400_000_000  # additions; about half a second
_LATTICE_DENOMINATOR = 10_000
_CONVOLUTION_WORK = 2_000_000_000  # multiplications; about a second
_TABLE_WORK = 5_000_000  # sums kept in dictionaries; about a second
_ENUMERATED_FLIPS = 36  # two halves of 2^18 sums
_ENUMERATED_SUBSETS = 20
_ENUMERATED_DRAWS = 5_000


@dataclass(frozen=True)
class SignFlip:
    """Sign-flip test of a mean drop.

    `statistic` is the mean difference, `n` the number of differences (or cluster sums) that are not
    0, `exact` whether every arrangement was counted.
    """

    statistic: float
    pvalue: float
    exact: bool
    method: Method
    n: int


@dataclass(frozen=True)
class WithinCase:
    """Permutation of samples within each case: p-values that the candidate is worse.

    `statistic` is the candidate's total score; `enumerated` says whether the law is exact.
    """

    statistic: float
    exact: float
    midp: float
    enumerated: bool


def signflip(
    differences: Values,
    alternative: Alternative = "greater",
    clusters: Sequence[Hashable] | None = None,
) -> SignFlip:
    """Sign-flip test: under no change, each difference could as well have the other sign.

    Exact by convolution when the differences are multiples of a common step (0/1 scores, means of a
    few samples), exact by enumeration up to 36 differences, else sampled.

    Args:
        differences: baseline - candidate per case, finite; rounded to 9 decimals, zeros dropped.
        alternative: "greater" tests mean drop > 0; "two-sided" doubles the smaller tail.
        clusters: cluster of each case; when given, the signs of whole cluster sums are flipped.

    Returns:
        The mean difference over all cases and p in (0, 1]; p = 1 when all differences are 0.

    Raises:
        ValueError: a value that is not finite, lengths that differ or an unknown alternative.

    Source: Fisher (1935), The Design of Experiments, section 21; sampled p = (r + 1)/(R + 1) as
    in Phipson and Smyth (2010), SAGMB 9.
    """
    known_alternative(alternative)
    mean = _mean(finite(differences, "differences"))
    d = rounded(differences)
    units = d if clusters is None else rounded(cluster_sums(d, clusters)[0])
    units = units[units != 0]
    if units.size == 0:
        return SignFlip(mean, 1.0, True, "no differences", 0)
    greater, less, method = _signflip_tails(units)
    if alternative == "two-sided":
        pvalue = min(1.0, 2.0 * min(greater, less))
    else:
        pvalue = greater if alternative == "greater" else less
    return SignFlip(mean, pvalue, method != "monte carlo", method, int(units.size))


def signflip_upper(
    differences: Values, confidence: float = 0.95, clusters: Sequence[Hashable] | None = None
) -> float:
    """One-sided upper bound of the mean drop: inverts the sign-flip test.

    The drops that the test does not reject end at an order statistic of the means of all non-empty
    subsets of the differences. When at least half of the differences are 0 the subsets have almost
    no spread, which is no evidence against a rare loss: the bound is then not below the one that as
    many unchanged 0/1 cases give (Tango).

    Args:
        differences: baseline - candidate per case, each in [-1, 1].
        confidence: in (0, 1).
        clusters: cluster of each case; when given, whole clusters are flipped.

    Returns:
        Bound in [-1, 1]; 1 when there are too few cases for the confidence. Exact up to 20
        differences (or clusters), else from 99,999 random subsets with a seed from the values.

    Raises:
        ValueError: a value outside [-1, 1], lengths that differ, confidence outside (0, 1).

    Source: Hartigan (1969), Using subsample values as typical values, JASA 64.
    """
    alpha = 1.0 - share(confidence, "confidence")
    d = rounded(differences)
    if d.size and float(np.abs(d).max()) > 1:
        raise ValueError("differences of scores must lie in [-1, 1]")
    sums, sizes = (d, np.ones(d.size)) if clusters is None else cluster_sums(d, clusters)
    if sums.size <= _ENUMERATED_SUBSETS:
        means = _subset_means(sums, sizes)
    else:
        means = _random_subset_means(sums, sizes)
    rank = math.floor(alpha * (means.size + 1))
    if rank < 1:
        return 1.0
    bound = float(np.partition(means, means.size - rank)[means.size - rank])
    if confidence >= 0.5:
        bound = max(bound, _mean(finite(differences)))
    if 2 * np.count_nonzero(sums) <= sums.size:
        bound = max(bound, tango_upper(int(sums.size), 0, 0, confidence))
    return max(-1.0, min(1.0, bound))


def within_case_permutation(
    baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]
) -> WithinCase:
    """Permutation test that shuffles the samples of each case between baseline and candidate.

    For the same model asked again: within a case all samples are exchangeable under no change. For
    0/1 scores the law of the candidate's total is a convolution of hypergeometric laws.

    Args:
        baseline: per case, the scores of its samples (at least one), finite.
        candidate: the same cases in the same order; the number of samples may differ.

    Returns:
        Exact and mid-p probability of a candidate total this low or lower; both 1 when no case has
        samples that differ.

    Raises:
        ValueError: different numbers of cases, a case without samples, a value not finite.

    Source: Lehmann and Romano, Testing Statistical Hypotheses, chapter 15.
    """
    if len(baseline) != len(candidate):
        raise ValueError(f"{len(baseline)} baseline cases but {len(candidate)} candidate cases")
    old = [rounded(list(samples), "baseline samples") for samples in baseline]
    new = [rounded(list(samples), "candidate samples") for samples in candidate]
    if any(samples.size == 0 for samples in (*old, *new)):
        raise ValueError("every case needs at least one sample on each side")
    total = math.fsum(float(value) for samples in new for value in samples)
    pooled = [np.sort(np.concatenate(pair)) for pair in zip(old, new, strict=True)]
    # A case whose samples are all alike adds a constant to both sides of every comparison.
    alive = [i for i, values in enumerate(pooled) if values[0] != values[-1]]
    if not alive:
        return WithinCase(total, 1.0, 1.0, True)
    # One order for the cases, so that the sums and the seed do not depend on the caller's.
    alive.sort(key=lambda i: (new[i].size, *pooled[i].tolist()))
    everything = np.concatenate([pooled[i] for i in alive])
    draws = [int(new[i].size) for i in alive]
    steps, slack = _whole_units(everything)
    pools = np.split(steps, np.cumsum([pooled[i].size for i in alive])[:-1])
    own, _ = _whole_units_like(np.concatenate([new[i] for i in alive]), everything)
    observed = int(own.sum())
    if slack == 0 and _is_convolvable(pools, draws):
        lower, equal = _convolved(pools, draws, observed)
        enumerated = True
    else:
        lower, equal = _drawn(pools, draws, observed, slack)
        enumerated = False
    smallest = math.ulp(0.0)
    return WithinCase(
        statistic=total,
        exact=min(1.0, max(lower + equal, smallest)),
        midp=min(1.0, max(lower + equal / 2.0, smallest)),
        enumerated=enumerated,
    )


def _mean(d: Floats) -> float:
    return math.fsum(d.tolist()) / d.size if d.size else 0.0


def _signflip_tails(units: Floats) -> tuple[float, float, Method]:
    """P(sum >= observed) and P(sum <= observed) over all signs.

    With W the sum of the magnitudes that get a plus, the sum is 2 W - constant: W is compared.
    """
    magnitudes, slack = _whole_units(np.abs(units))
    observed = int(magnitudes[units > 0].sum())
    magnitudes = np.sort(magnitudes)
    smallest = math.ulp(0.0)
    if slack == 0 and int(magnitudes.sum()) * magnitudes.size <= _LATTICE_WORK:
        law = subset_sum_law(magnitudes)
        greater, less = float(law[observed:].sum()), float(law[: observed + 1].sum())
        return min(1.0, max(greater, smallest)), min(1.0, max(less, smallest)), "lattice"
    if magnitudes.size <= _ENUMERATED_FLIPS:
        at_least, at_most = _count_sums(magnitudes, observed, slack)
        arrangements = 1 << magnitudes.size
        return at_least / arrangements, at_most / arrangements, "enumeration"
    sums = _random_subset_sums(magnitudes)
    at_least = int(np.count_nonzero(sums >= observed - slack))
    at_most = int(np.count_nonzero(sums <= observed + slack))
    return (at_least + 1) / (RESAMPLES + 1), (at_most + 1) / (RESAMPLES + 1), "monte carlo"


def _whole_units(values: Floats) -> tuple[Ints, int]:
    """Values as whole multiples of a step, and the slack within which sums count as equal."""
    return _whole_units_like(values, values)


def _whole_units_like(values: Floats, reference: Floats) -> tuple[Ints, int]:
    """`values` in the step of `reference`: a common fraction 1/q if there is one, else 1e-9."""
    denominator = _denominator(np.unique(np.abs(reference)))
    if denominator is not None:
        return np.rint(values * denominator).astype(np.int64), 0
    # Each value was rounded by up to half a unit, so equal sums may lie this far apart.
    return np.rint(values * 10**DECIMALS).astype(np.int64), (reference.size + 1) // 2


def _denominator(magnitudes: Floats) -> int | None:
    """Smallest q such that every magnitude is a multiple of 1/q, as far as its decimals tell.

    Thirds (means of three samples) are no finite decimals, so a power of ten would not do.
    """
    candidates = np.arange(1, _LATTICE_DENOMINATOR + 1)
    for magnitude in magnitudes.tolist():
        scaled = magnitude * candidates
        candidates = candidates[np.abs(scaled - np.rint(scaled)) <= candidates * 10.0**-DECIMALS]
        if candidates.size == 0:
            return None
    return int(candidates[0])


def _all_sums(magnitudes: Ints) -> Ints:
    sums = np.zeros(1, dtype=np.int64)
    for magnitude in magnitudes:
        sums = np.concatenate([sums, sums + magnitude])
    return sums


def _count_sums(magnitudes: Ints, observed: int, slack: int) -> tuple[int, int]:
    """How many subsets sum to at least, and to at most, the observed sum: by two halves."""
    half = magnitudes.size // 2
    left, right = np.sort(_all_sums(magnitudes[:half])), _all_sums(magnitudes[half:])
    too_small = np.searchsorted(left, observed - slack - right, side="left")
    at_most = np.searchsorted(left, observed + slack - right, side="right")
    return left.size * right.size - int(too_small.sum()), int(at_most.sum())


def _seeded(*arrays: Ints) -> np.random.Generator:
    digest = sha256()
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest()[:16], "little"))


def _random_subset_sums(magnitudes: Ints) -> Ints:
    """Sums of `RESAMPLES` random subsets, seeded by the magnitudes (given in ascending order)."""
    return _byte_sums(_seeded(magnitudes), magnitudes)[0]


def _byte_sums(rng: np.random.Generator, *columns: Ints) -> list[Ints]:
    """For each column, its sum over the same `RESAMPLES` random subsets of the rows.

    One random byte chooses among the 256 subsets of eight rows, whose sums are tabled.
    """
    totals = [np.zeros(RESAMPLES, dtype=np.int64) for _ in columns]
    chosen = np.empty(RESAMPLES, dtype=np.int64)
    for start in range(0, columns[0].size, 8):
        words = rng.integers(0, 2**64, RESAMPLES // 8 + 1, dtype=np.uint64)
        subset = words.astype("<u8", copy=False).view(np.uint8)[:RESAMPLES]
        for total, column in zip(totals, columns, strict=True):
            # A last block of fewer rows has a table of 2^rows sums: the byte wraps around in it.
            _all_sums(column[start : start + 8]).take(subset, mode="wrap", out=chosen)
            total += chosen
    return totals


def _subset_means(sums: Floats, sizes: Floats) -> Floats:
    """Mean per case of every non-empty subset of the clusters."""
    units = np.rint(sums * 10**DECIMALS).astype(np.int64)
    means: Floats = _all_sums(units)[1:] / (_all_sums(sizes.astype(np.int64))[1:] * 10.0**DECIMALS)
    return means


def _random_subset_means(sums: Floats, sizes: Floats) -> Floats:
    units = np.rint(sums * 10**DECIMALS).astype(np.int64)
    whole_sizes = sizes.astype(np.int64)
    order = np.lexsort((whole_sizes, units))
    units, whole_sizes = units[order], whole_sizes[order]
    totals, cases = _byte_sums(_seeded(units, whole_sizes), units, whole_sizes)
    means: Floats = totals / (np.maximum(cases, 1) * 10.0**DECIMALS)
    return means


def _is_convolvable(pools: Sequence[Ints], draws: Sequence[int]) -> bool:
    """Whether the exact law of the total takes about a second at most."""
    total = tabled = 0
    for pool, size in zip(pools, draws, strict=True):
        span = int(pool[-size:].sum() - pool[:size].sum())
        total += span
        if np.unique(pool).size > 2:  # two values have a closed form
            tabled += pool.size * size * min(span + 1, math.comb(pool.size, size))
    # Each case's law is folded over the law of the cases before it.
    return total * total // 2 <= _CONVOLUTION_WORK and tabled <= _TABLE_WORK


def _convolved(pools: Sequence[Ints], draws: Sequence[int], observed: int) -> tuple[float, float]:
    """P(total < observed) and P(total = observed) by convolution over the cases."""
    law = np.ones(1)
    least = 0
    for pool, size in zip(pools, draws, strict=True):
        first, case_law = _draw_law(tuple(pool.tolist()), size)
        law = np.convolve(law, case_law)  # direct sums: small tails keep their accuracy
        least += first
    place = observed - least
    return float(law[:place].sum()), float(law[place])


@lru_cache(maxsize=4096)
def _draw_law(pool: tuple[int, ...], size: int) -> tuple[int, Floats]:
    """Law of the sum of `size` values drawn without replacement: its least sum, probabilities."""
    ways = _ways_of_two(pool, size) if len(set(pool)) == 2 else _ways(pool, size)
    least, most = min(ways), max(ways)
    everything = math.comb(len(pool), size)
    law = np.zeros(most - least + 1)
    for subtotal, number in ways.items():
        law[subtotal - least] = number / everything
    return least, law


def _ways(pool: tuple[int, ...], size: int) -> dict[int, int]:
    """In how many ways `size` values of the pool give each sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for value in pool:
        for taken in range(size, 0, -1):
            for subtotal, number in ways[taken - 1].items():
                ways[taken][subtotal + value] = ways[taken].get(subtotal + value, 0) + number
    return ways[size]


def _ways_of_two(pool: tuple[int, ...], size: int) -> dict[int, int]:
    """The same for a pool of two values, such as 0 and 1: hypergeometric."""
    low, high = min(pool), max(pool)
    highs = pool.count(high)
    lows = len(pool) - highs
    return {
        low * (size - taken) + high * taken: math.comb(highs, taken) * math.comb(lows, size - taken)
        for taken in range(max(0, size - lows), min(size, highs) + 1)
    }


def _drawn(
    pools: Sequence[Ints], draws: Sequence[int], observed: int, slack: int
) -> tuple[float, float]:
    """The same probabilities from random draws, the observed arrangement counted among them."""
    rng = _seeded(*pools, np.array(draws, dtype=np.int64))
    totals = np.zeros(RESAMPLES, dtype=np.int64)
    for pool, size in zip(pools, draws, strict=True):
        if math.comb(pool.size, size) <= _ENUMERATED_DRAWS:
            sums = np.array([sum(drawn) for drawn in combinations(pool.tolist(), size)])
            totals += sums[rng.integers(0, sums.size, RESAMPLES)]
        else:
            for start in range(0, RESAMPLES, 10_000):
                rows = min(10_000, RESAMPLES - start)
                shuffled = rng.permuted(np.tile(pool, (rows, 1)), axis=1)
                totals[start : start + rows] += shuffled[:, :size].sum(axis=1)
    lower = int(np.count_nonzero(totals < observed - slack))
    equal = int(np.count_nonzero(np.abs(totals - observed) <= slack)) + 1
    return lower / (RESAMPLES + 1), equal / (RESAMPLES + 1)

"""What choosing the best of k models does to its score: the winner's luck, and overfitting.

A model picked because it scored best on the cases scores better than it is. These are the sizes of
that effect, and the probability that the choice itself would not hold on other cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pytest_fineval.stats._check import DECIMALS, Floats, count, normal_quantile, share
from pytest_fineval.stats.ranks import average_ranks

_MAX_SPLITS = 200_000


@dataclass(frozen=True)
class ExpectedMaximum:
    """Expected maximum of k standard normal draws: exact, and by Bailey's approximation."""

    exact: float
    bailey_approximation: float


@dataclass(frozen=True)
class OverfittingProbability:
    """Probability of backtest overfitting: share of splits whose winner is not above the median.

    `logits` holds one value per split, log(rank / (models + 1 - rank)) of the winner elsewhere.
    """

    pbo: float
    logits: tuple[float, ...]


def expected_best_accuracy(k: int, n: int, p: float) -> float:
    """Expected best accuracy of k models that are all equally good, on independent cases.

    Args:
        k: models, at least 1.
        n: cases, at least 1.
        p: true accuracy of each, in [0, 1].

    Returns:
        E max of k independent Binomial(n, p) / n.

    Raises:
        ValueError: outside the ranges.
    """
    k, n = _at_least_one(k, "k"), _at_least_one(n, "n")
    p = share(p, "p", open_ends=False)
    from scipy.special import bdtr

    cumulative = bdtr(np.arange(n, dtype=np.float64), n, p)
    return math.fsum((1.0 - cumulative**k).tolist()) / n


def expected_best_accuracy_correlated(k: int, n: int, p: float, rho: float) -> float:
    """Expected best accuracy of k equally good models whose scores are equally correlated.

    Args:
        k, n, p: as in `expected_best_accuracy`.
        rho: correlation between any two models' scores, in [0, 1].

    Returns:
        p + sqrt(p (1 - p) / n) sqrt(1 - rho) E_k, with E_k the expected maximum of k normal draws.

    Raises:
        ValueError: outside the ranges.
    """
    n = _at_least_one(n, "n")
    p = share(p, "p", open_ends=False)
    rho = share(rho, "rho", open_ends=False)
    return p + math.sqrt(p * (1.0 - p) / n * (1.0 - rho)) * expected_max_normal(k).exact


def expected_max_normal(k: int) -> ExpectedMaximum:
    """Expected maximum of k independent standard normal draws.

    Args:
        k: draws, at least 1.

    Returns:
        The integral, and (1 - g) q(1 - 1/k) + g q(1 - 1/(k e)) with Euler's g and the normal
        quantile q. Both are 0 for k = 1, where the approximation is not defined.

    Raises:
        ValueError: k < 1.

    Source: Bailey and Lopez de Prado (2014), The Deflated Sharpe Ratio, J. Portfolio Management 40.
    """
    k = _at_least_one(k, "k")
    if k == 1:
        return ExpectedMaximum(0.0, 0.0)
    from scipy.special import log_ndtr

    # The integrand is smooth and vanishes at both ends: equal steps converge faster than any power.
    step = 1.0 / 128.0
    x = np.arange(-12.0, 40.0 + step, step)
    density = np.exp((k - 1) * log_ndtr(x) - x * x / 2.0) * (k / math.sqrt(2.0 * math.pi))
    exact = float((x * density).sum() * step)
    bailey = -(1.0 - np.euler_gamma) * normal_quantile(1.0 / k) - np.euler_gamma * normal_quantile(
        1.0 / (k * math.e)
    )
    return ExpectedMaximum(exact, float(bailey))


def best_of_k_p_value(best: int, k: int, n: int, p0: float) -> float:
    """Probability that the best of k models reaches `best` right answers if each has accuracy p0.

    Args:
        best: right answers of the best model, in [0, n].
        k: models compared, at least 1.
        n: cases, at least 1.
        p0: accuracy under the null hypothesis, in [0, 1].

    Returns:
        1 - F(best - 1)^k with the binomial distribution function F.

    Raises:
        ValueError: outside the ranges.
    """
    k, n, best = _at_least_one(k, "k"), _at_least_one(n, "n"), count(best, "best")
    p0 = share(p0, "p0", open_ends=False)
    if best > n:
        raise ValueError(f"best = {best} exceeds n = {n}")
    if best == 0:
        return 1.0
    from scipy.special import bdtrc

    reached = float(bdtrc(best - 1, n, p0))
    return 1.0 if reached >= 1.0 else -math.expm1(k * math.log1p(-reached))


def pbo_cscv(
    scores: Sequence[Sequence[float]] | Floats, blocks: int = 16
) -> OverfittingProbability:
    """Probability of backtest overfitting by combinatorially symmetric cross-validation.

    Cuts the cases into blocks; for every choice of half of them, takes the model that is best there
    and looks up its rank on the other half.

    Args:
        scores: one row per case, one column per model (at least 2); finite.
        blocks: even number of consecutive blocks of cases, from 2 to the number of cases.

    Returns:
        Share of splits whose logit is at most 0, and the logits, in lexicographic order of the
        chosen blocks. Ranks are averages over ties; the first of several equally good models is
        chosen.

    Raises:
        ValueError: no such table, or a number of blocks that is odd or does not fit.

    Source: Bailey, Borwein, Lopez de Prado and Zhu (2017), J. Computational Finance 20.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise ValueError("scores must be a finite table of cases by at least 2 models")
    blocks = count(blocks, "blocks")
    if blocks < 2 or blocks % 2 or blocks > table.shape[0]:
        raise ValueError(f"blocks must be even and from 2 to {table.shape[0]}, not {blocks}")
    if math.comb(blocks, blocks // 2) > _MAX_SPLITS:
        raise ValueError(f"{blocks} blocks give more than {_MAX_SPLITS} splits; use at most 20")
    parts = np.array_split(table, blocks)
    sums = np.array([part.sum(axis=0) for part in parts])
    sizes = np.array([part.shape[0] for part in parts])
    models = table.shape[1]
    logits = []
    for chosen in combinations(range(blocks), blocks // 2):
        inside = np.zeros(blocks, dtype=bool)
        inside[list(chosen)] = True
        # Sums of the same scores in another order differ in the last bits: that is a tie.
        within = np.round(sums[inside].sum(axis=0) / sizes[inside].sum(), DECIMALS)
        beyond = np.round(sums[~inside].sum(axis=0) / sizes[~inside].sum(), DECIMALS)
        rank = float(average_ranks(beyond)[int(np.argmax(within))])
        logits.append(math.log(rank / (models + 1 - rank)))
    return OverfittingProbability(
        pbo=sum(logit <= 0 for logit in logits) / len(logits), logits=tuple(logits)
    )


def _at_least_one(value: int, name: str) -> int:
    if count(value, name) == 0:
        raise ValueError(f"{name} must be at least 1")
    return count(value, name)

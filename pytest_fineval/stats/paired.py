"""Tests of a paired drop: McNemar, Wilcoxon signed-rank, Tango's margin test, t tests, ANOVA.

Sign: drop = baseline - candidate, positive is worse. b counts the cases that the baseline had right
and the candidate wrong ("lost"), c the reverse ("gained"). "greater" tests drop > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from pytest_fineval.stats._check import (
    Alternative,
    Floats,
    Values,
    count,
    finite,
    known_alternative,
    normal_cdf,
    rounded,
    share,
)
from pytest_fineval.stats.intervals import tango_z
from pytest_fineval.stats.ranks import average_ranks

ZeroMethod = Literal["wilcox", "pratt"]

WILCOXON_EXACT_MAX = 500
"""Most differences whose exact signed-rank law is computed (the cost grows with n cubed)."""

# Up to here the binomial tail is summed in whole numbers: correctly rounded, and scipy stays
# unloaded. Beyond, the incomplete beta function is faster.
_WHOLE_NUMBERS_MAX = 2000


@dataclass(frozen=True)
class McNemar:
    """p-values of McNemar's test on b lost and c gained cases; all 1 when b + c = 0."""

    b: int
    c: int
    exact_two_sided: float
    exact_drop: float
    midp_drop: float
    midp_two_sided: float


@dataclass(frozen=True)
class McNemarChi2:
    """Asymptotic two-sided p-values of McNemar's test, with and without Edwards' correction."""

    corrected: float
    uncorrected: float


@dataclass(frozen=True)
class Wilcoxon:
    """Exact Wilcoxon signed-rank test: `statistic` is the rank sum of the positive differences."""

    statistic: float
    p_greater: float
    p_less: float
    p_two_sided: float
    n: int

    def pvalue(self, alternative: Alternative = "greater") -> float:
        """The p-value of one alternative."""
        by_name = {
            "greater": self.p_greater,
            "less": self.p_less,
            "two-sided": self.p_two_sided,
        }
        return by_name[alternative]


@dataclass(frozen=True)
class TestResult:
    """A statistic and its p-value."""

    __test__ = False  # the name begins with "Test", but pytest has nothing to collect here

    statistic: float
    pvalue: float


@lru_cache(maxsize=65536)
def binomial_upper(successes: int, n: int) -> float:
    """P(X >= successes) for X ~ Binomial(n, 1/2).

    Args:
        successes: any whole number.
        n: trials, at least 0.

    Returns:
        A probability; 1 for successes <= 0, 0 for successes > n.
    """
    if successes <= 0:
        return 1.0
    if successes > n:
        return 0.0
    if n > _WHOLE_NUMBERS_MAX:
        from scipy.special import betainc

        return max(float(betainc(successes, n - successes + 1, 0.5)), math.ulp(0.0))
    # Sum the shorter side: P(X >= s) = 1 - P(X <= s - 1), in whole numbers.
    below = successes - 1
    lower_side = below < n - successes
    last = below if lower_side else n - successes
    term = total = 1
    for i in range(last):
        term = term * (n - i) // (i + 1)
        total += term
    part = ((1 << n) - total) / (1 << n) if lower_side else total / (1 << n)
    return max(part, math.ulp(0.0))  # possible, so never 0: only the range of floats makes it so


def mcnemar(b: int, c: int) -> McNemar:
    """McNemar's test on discordant pairs, exact and mid-p.

    Args:
        b: cases right before and wrong now, at least 0.
        c: cases wrong before and right now, at least 0.

    Returns:
        Exact and mid-p values, two-sided and one-sided (`*_drop`: the candidate is worse).

    Raises:
        ValueError: a negative count.

    Source: McNemar (1947), Psychometrika 12; mid-p: Fagerland, Lydersen and Laake (2013), BMC
    Medical Research Methodology 13:91.
    """
    b, c = count(b, "b"), count(c, "c")
    n = b + c
    if n == 0:
        return McNemar(0, 0, 1.0, 1.0, 1.0, 1.0)
    larger = max(b, c)
    return McNemar(
        b=b,
        c=c,
        exact_two_sided=min(1.0, 2.0 * binomial_upper(larger, n)),
        exact_drop=binomial_upper(b, n),
        midp_drop=_midp_upper(b, n),
        midp_two_sided=min(1.0, 2.0 * _midp_upper(larger, n)),
    )


def _midp_upper(successes: int, n: int) -> float:
    # P(X > s) + P(X = s)/2 is the mean of two neighbouring tails.
    p = 0.5 * (binomial_upper(successes, n) + binomial_upper(successes + 1, n))
    return max(p, math.ulp(0.0))


def mcnemar_chi2(b: int, c: int) -> McNemarChi2:
    """McNemar's chi-squared test with one degree of freedom; for reports, not for the gate.

    Args:
        b, c: as in `mcnemar`.

    Returns:
        p with and without the continuity correction; both 1 when b + c = 0.

    Raises:
        ValueError: a negative count.

    Source: Edwards (1948), Psychometrika 13. The correction is not clipped at b = c, as in
    statsmodels.
    """
    b, c = count(b, "b"), count(c, "c")
    n = b + c
    if n == 0:
        return McNemarChi2(1.0, 1.0)
    gap = abs(b - c)
    return McNemarChi2(corrected=_chi2_tail((gap - 1) ** 2 / n), uncorrected=_chi2_tail(gap**2 / n))


def _chi2_tail(x: float) -> float:
    return math.erfc(math.sqrt(x / 2.0))


def mcnemar_min_b(
    alpha: float, variant: Literal["exact_drop", "midp_drop"] = "midp_drop", c: int = 0
) -> int:
    """Smallest number of lost cases that reaches `alpha` when c cases were gained.

    Args:
        alpha: level of the single test, in (0, 1); divide by the number of checks first.
        variant: which one-sided p-value is compared.
        c: gained cases, at least 0.

    Returns:
        The smallest b with p(b, c) <= alpha.

    Raises:
        ValueError: alpha outside (0, 1), c negative or an unknown variant.
    """
    share(alpha, "alpha")
    c = count(c, "c")
    if variant not in ("exact_drop", "midp_drop"):
        raise ValueError(f'variant must be "exact_drop" or "midp_drop", not "{variant}"')
    p_of = binomial_upper if variant == "exact_drop" else _midp_upper

    def reaches(b: int) -> bool:
        return b + c > 0 and p_of(b, b + c) <= alpha

    # p falls as b grows: double until it reaches, then halve the gap.
    high = 1
    while not reaches(high):
        high *= 2
    low = -1 if high == 1 else high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def noninferiority_tango(n: int, b: int, c: int, margin: float) -> TestResult:
    """Test that the drop is below a margin: H0 drop >= margin, a small p shows it is below.

    Args:
        n: pairs, at least 1.
        b, c: lost and gained pairs, b + c <= n.
        margin: allowed drop in (0, 1).

    Returns:
        Tango's score z at the margin and its lower-tail p.

    Raises:
        ValueError: counts that do not fit, or a margin outside (0, 1).

    Source: Tango (1998), Statistics in Medicine 17.
    """
    share(margin, "margin")
    if count(n, "n") == 0:
        raise ValueError("a margin cannot be tested without pairs")
    z = tango_z(n, b, c, margin)
    return TestResult(z, normal_cdf(z))


def wilcoxon_exact(differences: Values, zero_method: ZeroMethod = "wilcox") -> Wilcoxon:
    """Wilcoxon signed-rank test by the exact permutation law of the (tied) ranks.

    Tests symmetry about 0, not the mean. Differences are rounded to 9 decimals before ranking.

    Args:
        differences: baseline - candidate per case, any finite numbers, at most 500 not 0.
        zero_method: "wilcox" drops zeros before ranking, "pratt" ranks them and then drops them.

    Returns:
        The rank sum of the positive differences and the exact p-values; p = 1 when all are 0.

    Raises:
        ValueError: more than 500 differences, a value that is not finite, an unknown zero_method.

    Source: Wilcoxon (1945), Biometrics Bulletin 1; Pratt (1959), JASA 54.
    """
    signs, ranks = _signed_ranks(differences, zero_method)
    if signs.size > WILCOXON_EXACT_MAX:
        raise ValueError(
            f"the exact law is computed up to {WILCOXON_EXACT_MAX} differences, not {signs.size}; "
            "use wilcoxon_asymptotic or the sign-flip test"
        )
    if signs.size == 0:
        return Wilcoxon(0.0, 1.0, 1.0, 1.0, 0)
    # Average ranks are multiples of 1/2: twice the rank is whole.
    doubled = np.sort(np.rint(2 * ranks).astype(np.int64))
    observed = int(np.rint(2 * ranks[signs > 0]).sum())
    law = subset_sum_law(doubled)
    greater = _probability(law[observed:])
    less = _probability(law[: observed + 1])
    return Wilcoxon(
        statistic=observed / 2.0,
        p_greater=greater,
        p_less=less,
        p_two_sided=min(1.0, 2.0 * min(greater, less)),
        n=int(signs.size),
    )


def subset_sum_law(magnitudes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    """Law of the sum of a random subset: each magnitude is in it with probability 1/2.

    Args:
        magnitudes: whole numbers of at least 0; ascending order is fastest.

    Returns:
        Array of length sum + 1: entry w is P(subset sum = w).
    """
    law = np.zeros(int(magnitudes.sum()) + 1)
    law[0] = 1.0
    top = 0
    for magnitude in magnitudes.tolist():
        # Only sums of positive terms: small tails keep their relative accuracy.
        reach = law[: top + 1] * 0.5
        top += magnitude
        law[: reach.size] = reach
        law[magnitude : top + 1] += reach
    return law


def _probability(entries: Floats) -> float:
    # The observed arrangement is one of them, so the sum is never 0: only float range can make it.
    return min(1.0, max(float(entries.sum()), math.ulp(0.0)))


def wilcoxon_asymptotic(
    differences: Values,
    zero_method: ZeroMethod = "wilcox",
    alternative: Alternative = "two-sided",
    *,
    correction: bool = False,
) -> TestResult:
    """Wilcoxon signed-rank test by its normal approximation with tie correction; not for the gate.

    Args:
        differences: baseline - candidate per case.
        zero_method: as in `wilcoxon_exact`.
        alternative: "greater" tests drop > 0.
        correction: move the statistic half a rank towards its mean.

    Returns:
        The rank sum of the positive differences and the p-value; p = 1 when all are 0.

    Raises:
        ValueError: a value that is not finite, or an unknown word.
    """
    known_alternative(alternative)
    signs, ranks = _signed_ranks(differences, zero_method)
    if signs.size == 0:
        return TestResult(0.0, 1.0)
    statistic = float(ranks[signs > 0].sum())
    mean = float(ranks.sum()) / 2.0
    # Var of sum(rank * coin) = sum(rank^2)/4: ties and Pratt's zeros are in it already.
    deviation = math.sqrt(float((ranks**2).sum())) / 2.0
    z = (statistic - mean) / deviation
    if correction:
        towards = {"greater": 1.0, "less": -1.0}.get(alternative, float(np.sign(z)))
        z -= towards * 0.5 / deviation
    return TestResult(statistic, _normal_pvalue(z, alternative))


def _signed_ranks(differences: Values, zero_method: ZeroMethod) -> tuple[Floats, Floats]:
    """Signs and average ranks of the differences that are not 0."""
    if zero_method not in ("wilcox", "pratt"):
        raise ValueError(f'zero_method must be "wilcox" or "pratt", not "{zero_method}"')
    d = rounded(differences)
    if zero_method == "wilcox":
        d = d[d != 0]
    ranks = average_ranks(np.abs(d))
    kept = d != 0
    return np.sign(d[kept]), ranks[kept]


def _normal_pvalue(z: float, alternative: Alternative) -> float:
    if alternative == "greater":
        return normal_cdf(-z)
    if alternative == "less":
        return normal_cdf(z)
    return min(1.0, 2.0 * normal_cdf(-abs(z)))


def ttest_paired(a: Values, b: Values) -> TestResult:
    """Student's paired t test, two-sided; for reports, not for the gate.

    Args:
        a, b: scores of the same cases, same length, at least 2.

    Returns:
        t of mean(a - b) and p. Without spread t is 0 (p = 1) for equal means, else infinite
        (p = 0).

    Raises:
        ValueError: lengths differ or fewer than 2 pairs.
    """
    first, second = finite(a, "a"), finite(b, "b")
    if first.size != second.size or first.size < 2:
        raise ValueError("a paired t test needs two samples of the same length, at least 2")
    d = first - second
    spread = math.sqrt(float(d.var(ddof=1)) / d.size)
    return _student(float(d.mean()), spread, d.size - 1, float(np.abs(d).max()))


def ttest_pooled(a: Values, b: Values) -> TestResult:
    """Student's two-sample t test with pooled variance, two-sided; for reports.

    Args:
        a, b: two independent samples, together at least 3 values, each at least 1.

    Returns:
        As `ttest_paired`, for mean(a) - mean(b).

    Raises:
        ValueError: too few values.
    """
    first, second = finite(a, "a"), finite(b, "b")
    df = first.size + second.size - 2
    if not first.size or not second.size or df < 1:
        raise ValueError("a pooled t test needs two samples with at least 3 values together")
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    spread = math.sqrt(squares / df * (1 / first.size + 1 / second.size))
    scale = float(max(np.abs(first).max(), np.abs(second).max()))
    return _student(float(first.mean() - second.mean()), spread, df, scale)


def _student(mean: float, spread: float, df: int, scale: float) -> TestResult:
    # Equal numbers have means that differ in the last bits: that is no spread and no difference.
    noise = 1e-14 * scale
    if spread <= noise:
        if abs(mean) <= noise:
            return TestResult(0.0, 1.0)
        return TestResult(math.copysign(math.inf, mean), 0.0)
    from scipy.special import stdtr

    t = mean / spread
    return TestResult(t, float(2.0 * stdtr(df, -abs(t))))


def anova_oneway(groups: Sequence[Values]) -> TestResult:
    """One-way analysis of variance: do the means of several independent groups differ?

    Args:
        groups: at least 2 samples, none empty, with more values than groups.

    Returns:
        F and p. Without spread inside the groups F is 0 (p = 1) for equal means, else infinite
        (p = 0).

    Raises:
        ValueError: too few groups or values.
    """
    samples = [finite(group, "group") for group in groups]
    n = sum(sample.size for sample in samples)
    between_df, within_df = len(samples) - 1, n - len(samples)
    if between_df < 1 or within_df < 1 or any(sample.size == 0 for sample in samples):
        raise ValueError("ANOVA needs at least 2 groups, none empty, and more values than groups")
    everything = np.concatenate(samples)
    grand = float(everything.mean())
    between = sum(sample.size * (float(sample.mean()) - grand) ** 2 for sample in samples)
    within = float(sum(((sample - sample.mean()) ** 2).sum() for sample in samples))
    noise = n * (1e-14 * float(np.abs(everything).max())) ** 2
    if within <= noise:
        return TestResult(0.0, 1.0) if between <= noise else TestResult(math.inf, 0.0)
    from scipy.special import fdtrc

    ratio = (between / between_df) / (within / within_df)
    return TestResult(ratio, float(fdtrc(between_df, within_df, ratio)))

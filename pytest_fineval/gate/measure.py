"""Step 3 of the decision: one p-value a check, by the test that fits its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_fineval.gate.checks import Test
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.stats.intervals import score_test_below, tango_upper
from pytest_fineval.stats.paired import WILCOXON_EXACT_MAX, mcnemar, wilcoxon_exact
from pytest_fineval.stats.permutation import signflip, signflip_upper, within_case_permutation

CHANGED = 1e-9
"""Means that differ by less are the same: their difference is rounding."""


@dataclass(frozen=True)
class Measured:
    """One check's test, before it is corrected for the others.

    Attributes:
        p: one-sided. other, p_other: a figure shown beside it.
        upper: one-sided 95 % upper bound of the drop; None for a floor.
        units: independent units. reachable: those that can get worse at all.
        ways, halved: k units that all get worse as far as they can give a p of `ways ** -k`,
            halved for a mid-p.
        note: how the figure was come by, where that is not plain.
    """

    test: Test
    p: float
    units: int
    reachable: int
    upper: float | None = None
    p_other: float | None = None
    other: str | None = None
    ways: int = 2
    halved: bool = False
    note: str = ""


def mcnemar_counts(n: int, lost: int, gained: int, reachable: int | None = None) -> Measured:
    """Scores of 0 and 1, one sample each side: McNemar's mid-p, Tango's bound.

    Args:
        n: pairs. lost, gained: right before and wrong now, and the reverse.
        reachable: pairs that were right before; all of them where that is not known.
    """
    law = mcnemar(lost, gained)
    return Measured(
        test="mcnemar_midp",
        p=law.midp_drop,
        units=n,
        reachable=n if reachable is None else reachable,
        upper=tango_upper(n, lost, gained),
        p_other=law.exact_two_sided,
        other="McNemar exact, two-sided",
        halved=True,
    )


def measure(
    pairs: Sequence[Pair],
    *,
    same_model: bool,
    chosen: Literal["signflip", "wilcoxon"],
    mixed: bool = False,
    bounded: bool = True,
) -> Measured:
    """The test of one check, in the gate's order of precedence.

    Args:
        pairs: at least one, sorted by case id.
        same_model: samples of both sides are exchangeable under no change.
        chosen: what decides for scores other than 0 and 1.
        mixed: the pairs belong to several categories (overall, smoke).
        bounded: give the upper bound of the drop, which takes most of the time and decides
            nothing; whoever judges thousands of runs may leave it out.
    """
    found = _measure(pairs, same_model=same_model, chosen=chosen, mixed=mixed)
    if not bounded or found.upper is not None:
        return found
    drops = [pair.drop for pair in pairs]
    clusters = [pair.case.cluster for pair in pairs] if found.test == "signflip_clusters" else None
    return replace(found, upper=signflip_upper(drops, clusters=clusters))


def _measure(
    pairs: Sequence[Pair],
    *,
    same_model: bool,
    chosen: Literal["signflip", "wilcoxon"],
    mixed: bool,
) -> Measured:
    drops = [pair.drop for pair in pairs]
    clusters = [pair.case.cluster for pair in pairs]
    seen: set[float] = set()
    for pair in pairs:
        seen.update(pair.case.scores, pair.scores)
    binary = seen <= {0, 1}
    single = all(len(pair.case.scores) == len(pair.scores) == 1 for pair in pairs)
    if len(set(clusters)) < len(clusters):
        return _by_cluster(pairs, drops, clusters)
    if binary and single:
        lost, gained = flips(pairs)
        return mcnemar_counts(len(pairs), lost, gained, _reachable(pairs))
    if mixed and not binary:
        return _sign_flip(pairs, drops)
    if not single:
        return _within_case(pairs) if same_model else _sign_flip(pairs, drops)
    return _other_scores(pairs, drops, chosen)


def below_floor(pairs: Sequence[Pair], floor: float) -> Measured:
    """One-sided test that the candidate's mean lies below the floor.

    Wilson's upper bound has to lie below it. For scores other than 0/1 that errs on the safe side
    (0/1 has the largest variance of all scores in [0, 1]), as does taking all cases of a cluster
    as one. Where Wilson's approximation is the bolder one, for single 0/1 answers, the exact
    binomial tail has to agree; the larger p decides.

    Args:
        pairs: at least one.
        floor: lowest acceptable mean, in [0, 1].
    """
    n = len(pairs)
    sizes: dict[str, int] = {}
    for pair in pairs:
        sizes[pair.case.cluster] = sizes.get(pair.case.cluster, 0) + 1
    units = n * n // sum(size * size for size in sizes.values())
    total = math.fsum(pair.after for pair in pairs)
    single = all(pair.scores in ((0,), (1,)) for pair in pairs)
    counted = int(total) if single and units == n else None
    wilson, exact = floor_pvalues(total / n * units, units, floor, counted)
    if exact is None:
        return Measured("wilson", wilson, units, units)
    p, p_other, other = (
        (wilson, exact, "exact binomial") if wilson >= exact else (exact, wilson, "Wilson")
    )
    return Measured("wilson", p, units, units, p_other=p_other, other=other)


def floor_pvalues(
    right: float, n: int, floor: float, counted: int | None = None
) -> tuple[float, float | None]:
    """p of Wilson's score test and, for whole counts, of the exact binomial test."""
    if floor <= 0:
        return 1.0, None if counted is None else 1.0
    wilson = score_test_below(min(right, n), n, floor)
    if counted is None:
        return wilson, None
    from scipy.special import bdtr

    return wilson, float(bdtr(counted, n, floor))


def flips(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Lost and gained: cases (by the majority of their samples) right only before, only now."""
    lost = sum(pair.was_right and not pair.is_right for pair in pairs)
    gained = sum(pair.is_right and not pair.was_right for pair in pairs)
    return lost, gained


def _by_cluster(pairs: Sequence[Pair], drops: Sequence[float], clusters: Sequence[str]) -> Measured:
    result = signflip(drops, clusters=clusters)
    return Measured(
        test="signflip_clusters",
        p=result.pvalue,
        units=len(set(clusters)),
        reachable=len({pair.case.cluster for pair in pairs if pair.before > 0}),
        note=_sampled(result.exact),
    )


def _within_case(pairs: Sequence[Pair]) -> Measured:
    result = within_case_permutation(
        [pair.case.scores for pair in pairs], [pair.scores for pair in pairs]
    )
    ways = min(
        math.comb(len(pair.case.scores) + len(pair.records), len(pair.records)) for pair in pairs
    )
    return Measured(
        test="within_case_permutation",
        p=result.midp,
        units=len(pairs),
        reachable=_reachable(pairs),
        p_other=result.exact,
        other="within-case permutation, exact",
        ways=ways,
        halved=True,
        note=_sampled(result.enumerated),
    )


def _sign_flip(pairs: Sequence[Pair], drops: Sequence[float]) -> Measured:
    result = signflip(drops)
    return Measured(
        test="signflip",
        p=result.pvalue,
        units=len(pairs),
        reachable=_reachable(pairs),
        note=_sampled(result.exact),
    )


def _other_scores(
    pairs: Sequence[Pair], drops: Sequence[float], chosen: Literal["signflip", "wilcoxon"]
) -> Measured:
    """Both are computed; Wilcoxon tests symmetry, not the mean, and decides only when chosen."""
    mean = _sign_flip(pairs, drops)
    if sum(abs(drop) > CHANGED for drop in drops) > WILCOXON_EXACT_MAX:
        if chosen == "signflip":
            return mean
        why = f"no exact Wilcoxon above {WILCOXON_EXACT_MAX} differences: the sign-flip decides"
        return replace(mean, note="; ".join(filter(None, (mean.note, why))))
    ranks = wilcoxon_exact(drops).p_greater
    if chosen == "signflip":
        return replace(mean, p_other=ranks, other="Wilcoxon")
    return replace(mean, test="wilcoxon", p=ranks, p_other=mean.p, other="sign-flip", note="")


def _reachable(pairs: Sequence[Pair]) -> int:
    return sum(pair.before > 0 for pair in pairs)


def _sampled(exact: bool) -> str:
    return "" if exact else "p from 99,999 random arrangements"

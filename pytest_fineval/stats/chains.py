"""Diagnostics over many reasoning chains: do the steps tell what the final answer tells?

Pure functions of outcomes; where the outcomes come from is told in docs/steps.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_fineval.stats._check import Values, finite
from pytest_fineval.stats.paired import TestResult, anova_oneway
from pytest_fineval.stats.ranks import spearman

GROUPS = ("model", "domain", "topic", "level")
"""What tables can be made by."""

HIGH = 0.8
"""A chain whose step score reaches this is called well reasoned in `Gap`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One chain: the score of its final answer, its step figures, and where it belongs.

    Attributes:
        final: score of the final answer in [0, 1].
        figures: step figures by name, each in [0, 1]; the same names in all outcomes.
        cause: of a wrong answer, as `scoring.chains.causes` tells it.
    """

    final: float
    figures: Mapping[str, float]
    model: str = ""
    domain: str = ""
    topic: str = ""
    level: str = ""
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Step score against final answer.

    Attributes:
        n: chains. steps, final: mean step score and mean final score.
        gap: steps - final; positive where the reasoning looks better than the answers are.
        good_steps_wrong_answer: share of all chains with a step score of 0.8 or more and a final
            score below 1: the figure that a step metric alone hides.
        poor_steps_right_answer: share with a lower step score and a right answer: right by another
            way, or by luck.
    """

    n: int
    steps: float
    final: float
    gap: float
    good_steps_wrong_answer: float
    poor_steps_right_answer: float


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Means of one group of chains."""

    group: tuple[str, ...]
    n: int
    final: float
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Correlation:
    """One step figure against the final score; None where a side is constant or n < 2 (p: n < 3).

    The p-values are two-sided, by Student's t with n - 2 degrees of freedom.
    """

    figure: str
    n: int
    spearman: float | None
    spearman_p: float | None
    pearson: float | None
    pearson_p: float | None


@dataclass(frozen=True, slots=True)
class LevelTest:
    """Analysis of variance of a score over levels; `test` is None where it is not defined."""

    means: Mapping[str, float]
    counts: Mapping[str, int]
    test: TestResult | None


def reasoning_gap(outcomes: Sequence[Outcome], figure: str, high: float = HIGH) -> Gap:
    """How far step score and final answers lie apart.

    Args:
        outcomes: at least one.
        figure: the step figure, such as `fuzzy_f1`.
        high: from which step score on a chain is called well reasoned.

    Raises:
        ValueError: no outcomes, or one without that figure.
    """
    steps, final = _column(outcomes, figure), _final(outcomes)
    good, right = steps >= high - 1e-9, final >= 1.0
    return Gap(
        n=len(outcomes),
        steps=float(steps.mean()),
        final=float(final.mean()),
        gap=float(steps.mean() - final.mean()),
        good_steps_wrong_answer=float((good & ~right).mean()),
        poor_steps_right_answer=float((~good & right).mean()),
    )


def group_table(outcomes: Sequence[Outcome], by: Sequence[str]) -> list[GroupRow]:
    """Means by model, domain, topic or level, or by several of them, sorted by group.

    Raises:
        ValueError: no outcomes, an unknown grouping, or figures that differ between outcomes.
    """
    unknown = [name for name in by if name not in GROUPS]
    if unknown or not by:
        raise ValueError(f"tables are made by {', '.join(GROUPS)}, not by {', '.join(unknown)}")
    names = _names(outcomes)
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(tuple(str(getattr(outcome, name)) for name in by), []).append(outcome)
    return [
        GroupRow(
            group,
            len(members),
            float(_final(members).mean()),
            {name: float(_column(members, name).mean()) for name in names},
        )
        for group, members in sorted(groups.items())
    ]


def correlations(outcomes: Sequence[Outcome]) -> list[Correlation]:
    """Every step figure against the final score, in the order of the figures' names.

    Raises:
        ValueError: no outcomes, or figures that differ between outcomes.
    """
    final = _final(outcomes)
    found = []
    for name in _names(outcomes):
        column = _column(outcomes, name)
        rho, r = spearman(column, final), pearson(column, final)
        n = len(outcomes)
        found.append(Correlation(name, n, rho, _correlation_p(rho, n), r, _correlation_p(r, n)))
    return found


def pearson(a: Values, b: Values) -> float | None:
    """Pearson's correlation in [-1, 1]; None when a side is constant or has fewer than 2 items.

    Raises:
        ValueError: lengths differ.
    """
    first, second = finite(a), finite(b)
    if first.size != second.size:
        raise ValueError(f"{first.size} values against {second.size}")
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    x, y = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return None if scale == 0 else max(-1.0, min(1.0, float(x @ y) / scale))


def levels(
    outcomes: Sequence[Outcome], score: Callable[[Outcome], float] = lambda outcome: outcome.final
) -> LevelTest:
    """Does a score differ between the levels of difficulty?

    Args:
        outcomes: chains with a `level`; those without one are left out.
        score: of one outcome; the final score by default.
    """
    groups: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.level:
            groups.setdefault(outcome.level, []).append(score(outcome))
    names = sorted(groups)
    defined = len(names) > 1 and sum(map(len, groups.values())) > len(names)
    return LevelTest(
        {name: float(np.mean(groups[name])) for name in names},
        {name: len(groups[name]) for name in names},
        anova_oneway([groups[name] for name in names]) if defined else None,
    )


def cause_shares(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Share of each cause among the chains that have one, most frequent first; empty without."""
    counts = Counter(outcome.cause for outcome in outcomes if outcome.cause)
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {cause: count / total for cause, count in ordered}


def _final(outcomes: Sequence[Outcome]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if not outcomes:
        raise ValueError("no outcomes")
    return finite([outcome.final for outcome in outcomes], "final")


def _column(
    outcomes: Sequence[Outcome], name: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if not outcomes:
        raise ValueError("no outcomes")
    if any(name not in outcome.figures for outcome in outcomes):
        raise ValueError(f'an outcome has no figure "{name}"')
    return finite([outcome.figures[name] for outcome in outcomes], name)


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    if not outcomes:
        raise ValueError("no outcomes")
    return sorted({name for outcome in outcomes for name in outcome.figures})


def _correlation_p(r: float | None, n: int) -> float | None:
    if r is None or n < 3:
        return None
    if abs(r) >= 1:
        return 0.0
    from scipy.special import stdtr

    t = abs(r) * math.sqrt((n - 2) / (1 - r * r))
    return float(2 * stdtr(n - 2, -t))

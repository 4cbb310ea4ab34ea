"""Check: one comparison of candidate and baseline, and the rules that give it an outcome."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_fineval.settings import Frozen

Outcome = Literal["pass", "inconclusive", "block", "invalid"]

ORDER: tuple[Outcome, ...] = ("pass", "inconclusive", "block", "invalid")
"""From best to worst: a run's outcome is the worst of its checks'."""

Test = Literal[
    "mcnemar_midp",
    "signflip",
    "signflip_clusters",
    "within_case_permutation",
    "wilcoxon",
    "wilson",
    "none",
]
"""What gave the p-value: `wilson` for a floor, `none` where there are no pairs."""


class Check(Frozen):
    """One line of the verdict. Shares lie in [0, 1], never points; drop = baseline - candidate.

    Attributes:
        name: unique within the verdict: `reasoning`, `overall`, `classification recall`,
            `reasoning floor`, `smoke`; with `[track]` or `[track, evidence]` behind it when the
            run holds several.
        category: the category whose limit applies; None for overall and smoke.
        n: paired cases.
        units: independent units among them: cases, or clusters where cases share one.
        samples: answers a case: (baseline, candidate), the smallest over the cases.
        records: candidate records behind the check: the denominator of the next three.
        attempted, submitted, scored: calls started, non-empty answers, values read.
        baseline, candidate: mean of the case means; None without pairs.
        lost, gained: cases right before and wrong now, and the reverse (majority of the samples
            at or above the case's pass mark).
        lower, higher: cases whose mean score went down, and up.
        test: what gave `p`.
        p: one-sided, the candidate being worse (a floor: being below it).
        p_other, other: a second figure that does not decide, and its name.
        p_holm: p corrected over all checks of the run.
        alpha: what `p_holm` is held against.
        needs: the smallest number of one-way flips (of units) that can block; a floor: the
            smallest number of cases, all of them wrong.
        can_block: whether that many are there.
        drop_upper95: one-sided 95 % upper bound of the drop.
        proven: the bound lies within max_drop.
        look: 2 when the figures are those of a second look: fresh samples of all its cases.
        note: what a reader has to know beside the figures, in words.
    """

    name: str
    kind: Literal["category", "overall", "recall", "floor", "smoke"]
    category: str | None = None
    track: str = "own"
    evidence: str = "supplied"
    n: int = Field(ge=0)
    units: int = Field(ge=0)
    samples: tuple[int, int] = (1, 1)
    records: int = 0
    attempted: int = 0
    submitted: int = 0
    scored: int = 0
    baseline: float | None = None
    candidate: float | None = None
    drop: float | None = None
    max_drop: float | None = None
    floor: float | None = None
    lost: int = 0
    gained: int = 0
    lower: int = 0
    higher: int = 0
    test: Test = "none"
    p: float = 1.0
    p_other: float | None = None
    other: str | None = None
    p_holm: float = 1.0
    alpha: float
    needs: int
    can_block: bool
    drop_upper95: float | None = None
    proven: bool = False
    outcome: Outcome
    look: Literal[1, 2] = 1
    note: str = ""

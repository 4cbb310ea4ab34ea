"""Steps 4 and 5 of the decision: Holm over all checks, then an outcome for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_fineval.gate.checks import ORDER, Outcome
from pytest_fineval.gate.measure import Measured, floor_pvalues, mcnemar_counts
from pytest_fineval.stats.multiplicity import holm

SLACK = 1e-9
"""A drop equal to its limit is not over it, whatever the last bit of a float says."""


@dataclass(frozen=True)
class Evidence:
    """What one check has to go by.

    Attributes:
        measured: its test; None without pairs.
        drop, max_drop: of a check on the drop, as shares of 1.
        candidate, floor: of a check on the candidate's own mean; `floor` None for all others.
        required: without pairs the run is invalid. Otherwise (recall on positives of which the
            split has none) the check only cannot tell.
    """

    measured: Measured | None
    drop: float | None = None
    max_drop: float | None = None
    candidate: float | None = None
    floor: float | None = None
    required: bool = True


@dataclass(frozen=True)
class Ruling:
    """What is said about one check; the fields are those of `Check`."""

    p_holm: float
    needs: int
    can_block: bool
    proven: bool
    outcome: Outcome
    note: str


def decide(evidence: Sequence[Evidence], alpha: float) -> list[Ruling]:
    """Rule on all checks of a run together.

    Args:
        evidence: every configured check, those that cannot block included: leaving one out would
            make the others bolder.
        alpha: familywise error, in (0, 1).

    Returns:
        One ruling a check, in the order given.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, not {alpha}")
    adjusted = holm([e.measured.p if e.measured else 1.0 for e in evidence])
    level = alpha / max(1, len(evidence))
    return [_rule(e, p, level, alpha) for e, p in zip(evidence, adjusted, strict=True)]


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of pass < inconclusive < block < invalid; pass when there is none."""
    return max(outcomes, key=ORDER.index, default="pass")


def decide_counts(
    categories: Mapping[str, Mapping[str, float]], alpha: float, overall: float | None = None
) -> tuple[Outcome, dict[str, tuple[Evidence, Ruling]]]:
    """The decision from counts alone: scores of 0 and 1, one sample each side, no clusters.

    Args:
        categories: by name: `n` pairs, `b` lost, `c` gained, `max_drop`.
        alpha: familywise error, in (0, 1).
        overall: allowed drop over all pairs; None for no such check.

    Returns:
        The worst outcome, and per check its evidence and ruling.
    """
    tables = {name: dict(table) for name, table in categories.items()}
    if overall is not None:
        summed = {key: sum(table[key] for table in tables.values()) for key in ("n", "b", "c")}
        tables["overall"] = {**summed, "max_drop": overall}
    evidence = [_counted(table) for table in tables.values()]
    rulings = decide(evidence, alpha)
    return (
        worst(ruling.outcome for ruling in rulings),
        dict(zip(tables, zip(evidence, rulings, strict=True), strict=True)),
    )


def needed(measured: Measured, level: float) -> int:
    """Smallest number of units that block at this level when all of them get worse."""
    half = 0.5 if measured.halved else 1.0
    k = 1
    while half * float(measured.ways) ** -k > level:
        k += 1
    return k


def needed_below(floor: float, level: float, most: int = 100_000) -> int:
    """Smallest number of cases that block by a floor when all of them are wrong."""
    low, high = 0, 1
    while _all_wrong(floor, high) > level and high < most:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _all_wrong(floor, middle) <= level else (middle, high)
    return high


def _all_wrong(floor: float, n: int) -> float:
    wilson, exact = floor_pvalues(0.0, n, floor, 0)
    return max(wilson, exact or 0.0)


def _counted(table: Mapping[str, float]) -> Evidence:
    n, lost, gained = (int(table[key]) for key in ("n", "b", "c"))
    if n == 0:
        return Evidence(None, max_drop=table["max_drop"])
    measured = mcnemar_counts(n, lost, gained)
    return Evidence(measured, drop=(lost - gained) / n, max_drop=table["max_drop"])


def _rule(evidence: Evidence, p_holm: float, level: float, alpha: float) -> Ruling:
    measured = evidence.measured
    if measured is None:
        return _no_pairs(evidence, level)
    if evidence.floor is not None:
        needs = needed_below(evidence.floor, level)
        over = (evidence.candidate or 0.0) < evidence.floor - SLACK
    else:
        needs = needed(measured, level)
        over = (evidence.drop or 0.0) > (evidence.max_drop or 0.0) + SLACK
    outcome: Outcome = "pass"
    if over:
        outcome = "block" if p_holm <= alpha else "inconclusive"
    bound = measured.upper
    # The bound never lies below the drop: a check that is over its limit is never proven.
    proven = bound is not None and evidence.max_drop is not None and bound <= evidence.max_drop
    can_block = measured.reachable >= needs
    note = _note(evidence, measured, outcome, needs, significant=p_holm <= alpha, proven=proven)
    return Ruling(p_holm, needs, can_block, proven, outcome, note)


def _no_pairs(evidence: Evidence, level: float) -> Ruling:
    needs = needed(Measured("none", 1.0, 0, 0, halved=True), level)
    outcome: Outcome = "invalid" if evidence.required else "inconclusive"
    note = "no pairs: nothing to compare"
    if not evidence.required:
        note = f"no positive case here; at least {needs} are needed to block"
    return Ruling(1.0, needs, False, False, outcome, note)


def _note(
    evidence: Evidence,
    measured: Measured,
    outcome: Outcome,
    needs: int,
    *,
    significant: bool,
    proven: bool,
) -> str:
    unit = _unit(evidence, measured)
    parts = []
    if outcome == "block" and measured.reachable < needs:
        # Holm asks less of a check once others have been rejected before it.
        parts.append("blocks together with the other checks: alone it could not")
    elif measured.reachable < needs:
        parts.append(
            f"cannot block by itself: needs at least {needs} {unit}, "
            f"has {measured.reachable} that could"
        )
    elif outcome == "inconclusive":
        parts.append(f"this check needs at least {needs} {unit} to block")
    if outcome == "pass" and significant and evidence.floor is None:
        parts.append("a significant drop, within the limit")
    elif outcome == "pass" and not proven and measured.upper is not None:
        parts.append(f"not proven: rules out only drops above {100 * measured.upper:.1f} pts")
    return "; ".join(filter(None, (*parts, measured.note)))


def _unit(evidence: Evidence, measured: Measured) -> str:
    if evidence.floor is not None:
        return "cases, all wrong,"
    if measured.test == "signflip_clusters":
        return "clusters that only get worse"
    return "one-way flips"

"""Which checks a run is held to, and what each of them comes out as."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_fineval.gate.baseline import Condition, labels
from pytest_fineval.gate.checks import Check
from pytest_fineval.gate.decide import Evidence, Ruling, decide
from pytest_fineval.gate.measure import CHANGED, Measured, below_floor, flips, measure
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.gate.policy import Policy


@dataclass(frozen=True)
class Asked:
    """One configured check and its pairs."""

    name: str
    kind: Literal["category", "overall", "recall", "floor", "smoke"]
    condition: Condition
    pairs: Sequence[Pair]
    category: str | None = None
    max_drop: float | None = None
    floor: float | None = None


def configured(paired: Sequence[Pair], policy: Policy) -> list[Asked]:
    """Every configured check: categories with recall and floor, then overall; tracks apart."""
    asked: list[Asked] = []
    for condition, label in labels(one.case.condition for one in paired).items():
        here = [one for one in paired if one.case.condition == condition]
        by_category: dict[str, list[Pair]] = {}
        for one in here:
            by_category.setdefault(one.case.category, []).append(one)
        for category in policy.categories:
            members = by_category.get(category)
            if members:
                asked += _of_category(category, label, condition, members, policy)
        limit, floor = policy.max_drop["overall"], policy.floor.get("overall")
        asked.append(Asked(f"overall{label}", "overall", condition, here, max_drop=limit))
        if floor is not None:
            asked.append(Asked(f"overall floor{label}", "floor", condition, here, floor=floor))
    present = {one.case.category for one in paired}
    for category in policy.categories:
        if category not in present:
            limit = policy.max_drop[category]
            asked.append(
                Asked(category, "category", ("own", "supplied"), (), category, max_drop=limit)
            )
    return asked


def pooled(paired: Sequence[Pair], policy: Policy) -> list[Asked]:
    """One check over all smoke cases, where a category alone is too small to block."""
    asked = []
    for condition, label in labels(one.case.condition for one in paired).items():
        here = [one for one in paired if one.case.condition == condition]
        limit, floor = policy.max_drop["overall"], policy.floor.get("overall")
        asked.append(Asked(f"smoke{label}", "smoke", condition, here, max_drop=limit))
        if floor is not None:
            asked.append(Asked(f"smoke floor{label}", "floor", condition, here, floor=floor))
    return asked


def rule(
    asked: Sequence[Asked],
    policy: Policy,
    alpha: float,
    *,
    same_model: bool,
    bounded: bool = True,
) -> list[Check]:
    """Measure all configured checks and rule on them together, in the order given.

    Args:
        bounded: give the upper bounds of the drops too (`measure`).
    """
    evidence = [_evidence(one, policy, same_model, bounded) for one in asked]
    rulings = decide(evidence, alpha)
    return [
        _check(one, found, ruling, alpha)
        for one, found, ruling in zip(asked, evidence, rulings, strict=True)
    ]


def undecided(asked: Sequence[Asked], checks: Sequence[Check]) -> list[str]:
    """The cases that a second look has to ask again: all those of every inconclusive check."""
    return sorted(
        {
            pair.id
            for one, check in zip(asked, checks, strict=True)
            if check.outcome == "inconclusive"
            for pair in one.pairs
        }
    )


def look_again(
    asked: Sequence[Asked],
    checks: Sequence[Check],
    fresh: Mapping[str, Pair],
    policy: Policy,
    alpha: float,
    *,
    same_model: bool,
    bounded: bool = True,
) -> list[Check]:
    """The second look: inconclusive checks are ruled on by fresh samples alone.

    Holm still counts every configured check: those that are not looked at again enter with p = 1,
    which can only make the others less bold.

    Args:
        fresh: pairs of the second look, for every case that `undecided` names.

    Returns:
        All checks, in the order given.
    """
    again = [
        replace(one, pairs=[fresh[pair.id] for pair in one.pairs])
        if check.outcome == "inconclusive"
        else replace(one, pairs=())
        for one, check in zip(asked, checks, strict=True)
    ]
    seconds = rule(again, policy, alpha, same_model=same_model, bounded=bounded)
    return [
        _second(first, second) if one.pairs else first
        for one, first, second in zip(again, checks, seconds, strict=True)
    ]


def _second(first: Check, second: Check) -> Check:
    note = (
        f"second look, {second.samples[1]} fresh samples a case (the first: drop "
        f"{100 * (first.drop or 0.0):.1f} pts, Holm p {first.p_holm:.3f})"
    )
    return second.model_copy(
        update={"look": 2, "note": "; ".join(filter(None, (second.note, note)))}
    )


def _of_category(
    category: str,
    label: str,
    condition: Condition,
    members: Sequence[Pair],
    policy: Policy,
) -> list[Asked]:
    limit, floor = policy.max_drop[category], policy.floor.get(category)
    asked = [Asked(category + label, "category", condition, members, category, limit)]
    if any(one.case.positive is not None for one in members):
        # Accuracy alone never notices a model that always says no.
        positives = [one for one in members if one.case.positive]
        name = f"{category} recall{label}"
        asked.append(Asked(name, "recall", condition, positives, category, limit))
    if floor is not None:
        name = f"{category} floor{label}"
        asked.append(Asked(name, "floor", condition, members, category, floor=floor))
    return asked


def _evidence(asked: Asked, policy: Policy, same_model: bool, bounded: bool) -> Evidence:
    required = asked.kind != "recall"
    if not asked.pairs:
        return Evidence(None, max_drop=asked.max_drop, required=required)
    candidate = _mean([one.after for one in asked.pairs])
    if asked.floor is not None:
        found = below_floor(asked.pairs, asked.floor)
        return Evidence(found, candidate=candidate, floor=asked.floor)
    found = measure(
        asked.pairs,
        same_model=same_model,
        chosen=policy.test,
        mixed=asked.kind in {"overall", "smoke"},
        bounded=bounded,
    )
    drop = _mean([one.drop for one in asked.pairs])
    return Evidence(found, drop, asked.max_drop, candidate, required=required)


def _check(asked: Asked, evidence: Evidence, ruling: Ruling, alpha: float) -> Check:
    found = evidence.measured or Measured("none", 1.0, 0, 0)
    pairs = asked.pairs
    lost, gained = flips(pairs)
    drops = [one.drop for one in pairs]
    return Check(
        name=asked.name,
        kind=asked.kind,
        category=asked.category,
        track=asked.condition[0],
        evidence=asked.condition[1],
        n=len(pairs),
        units=found.units,
        samples=(
            min((len(one.case.scores) for one in pairs), default=0),
            min((len(one.records) for one in pairs), default=0),
        ),
        records=sum([len(one.records) for one in pairs]),
        attempted=sum([one.attempted for one in pairs]),
        submitted=sum([one.submitted for one in pairs]),
        scored=sum([one.scored for one in pairs]),
        baseline=_mean([one.before for one in pairs]) if pairs else None,
        candidate=_mean([one.after for one in pairs]) if pairs else None,
        drop=_mean(drops) if pairs else None,
        max_drop=asked.max_drop,
        floor=asked.floor,
        lost=lost,
        gained=gained,
        lower=sum(drop > CHANGED for drop in drops),
        higher=sum(drop < -CHANGED for drop in drops),
        test=found.test,
        p=found.p,
        p_other=found.p_other,
        other=found.other,
        p_holm=ruling.p_holm,
        alpha=alpha,
        needs=ruling.needs,
        can_block=ruling.can_block,
        drop_upper95=found.upper,
        proven=ruling.proven,
        outcome=ruling.outcome,
        note=ruling.note,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

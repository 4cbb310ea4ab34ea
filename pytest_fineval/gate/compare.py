"""k models on the same cases: each against one reference, and what choosing the best does.

Unlike the gate this decides nothing: it shows differences in both directions, corrected for how
many were looked at, and how much of the winner's lead is the luck of having been chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import labels
from pytest_fineval.gate.pairing import mostly_right
from pytest_fineval.settings import Frozen
from pytest_fineval.stats.bootstrap import bootstrap_mean, seed_from
from pytest_fineval.stats.intervals import Interval, cluster_standard_error, tango, wilson
from pytest_fineval.stats.multiplicity import holm
from pytest_fineval.stats.paired import mcnemar
from pytest_fineval.stats.permutation import signflip, within_case_permutation
from pytest_fineval.stats.selection import best_of_k_p_value, expected_best_accuracy, pbo_cscv
from pytest_fineval.store.manifest import ModelIdentity
from pytest_fineval.store.record import Key, PlannedCase
from pytest_fineval.store.run import Run

FIELDS = ("data", "split", "evidence", "decoding", "budget", "system", "template", "scorer")
"""What must not differ between compared runs unless it is named with `--allow`."""

PBO_MODELS = 4
"""Fewest models for which a probability of overfitting is worth computing."""

PBO_BLOCKS = 16

Z95 = 1.959963984540054


class Difference(Frozen):
    """One model against the reference in one check; shares in [0, 1], drop = reference - model.

    Attributes:
        interval95: of the drop: Tango's for single 0/1 answers, by cluster errors where cases
            share one, else a percentile bootstrap.
        p: two-sided. p_holm: corrected over all models and checks of the comparison.
        p_exact: McNemar's exact two-sided p beside its mid-p; None for other tests.
        lost, gained: cases right only with the reference, only with the model.
    """

    model: str
    check: str
    n: int
    reference: float
    value: float
    drop: float
    interval95: tuple[float, float]
    test: Literal["mcnemar_midp", "signflip", "signflip_clusters", "within_case_permutation"]
    p: float
    p_holm: float
    p_exact: float | None = None
    lost: tuple[str, ...]
    gained: tuple[str, ...]


class Standing(Frozen):
    """One model's own mean over all cases of a condition.

    Attributes:
        right: cases right in most of their samples.
        interval95: Wilson's for single 0/1 answers, else a percentile bootstrap.
    """

    model: str
    check: str
    n: int
    mean: float
    right: int
    interval95: tuple[float, float]


class Selection(Frozen):
    """What choosing the best of the compared models means for its figure.

    Attributes:
        k: models other than the reference. best: the one with the most right cases.
        p_best: probability that the best of k models reaches this many right cases if each were
            as good as the reference (1 - F^k).
        expected_best: expected best accuracy of k models that are all as good as the reference.
        pbo: probability of backtest overfitting over all models; None with fewer than four.
    """

    check: str
    k: int
    best: str
    right: int
    p_best: float
    expected_best: float
    pbo: float | None


class Comparison(Frozen):
    """All of it, as it stands in JSON.

    Attributes:
        allowed: fields that differ and were allowed to, in words.
    """

    format: int = 1
    reference: str
    standings: tuple[Standing, ...]
    differences: tuple[Difference, ...]
    selection: tuple[Selection, ...]
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contestant:
    """One model of one run."""

    label: str
    identity: ModelIdentity
    split: str
    cases: Mapping[str, PlannedCase]
    scores: Mapping[str, tuple[float, ...]]

    def field(self, name: str) -> object:
        """What a field of `FIELDS` holds."""
        decoding = self.identity.decoding
        return {
            "data": {case.id: case.digest for case in self.cases.values()},
            "split": self.split,
            "evidence": {case.id: case.evidence for case in self.cases.values()},
            "decoding": {key: v for key, v in decoding.items() if key != "max_tokens"},
            "budget": decoding.get("max_tokens"),
            "system": self.identity.system,
            "template": self.identity.template,
            "scorer": {case.id: case.scorer for case in self.cases.values()},
        }[name]


@dataclass(frozen=True)
class _Sides:
    """The cases that one check compares: scores of the reference and of a model."""

    cases: Sequence[PlannedCase]
    before: Sequence[tuple[float, ...]]
    after: Sequence[tuple[float, ...]]

    @cached_property
    def drops(self) -> list[float]:
        return [_mean(b) - _mean(a) for b, a in zip(self.before, self.after, strict=True)]

    @property
    def clusters(self) -> list[str]:
        return [case.cluster for case in self.cases]

    @property
    def clustered(self) -> bool:
        return len(set(self.clusters)) < len(self.cases)

    @property
    def verdicts(self) -> bool:
        """Single answers, right or wrong."""
        return all(scores in ((0,), (1,)) for scores in (*self.before, *self.after))

    @property
    def flips(self) -> tuple[list[str], list[str]]:
        lost: list[str] = []
        gained: list[str] = []
        for case, before, after in zip(self.cases, self.before, self.after, strict=True):
            was = mostly_right(before, case.pass_mark)
            now = mostly_right(after, case.pass_mark)
            if was != now:
                (lost if was else gained).append(case.id)
        return lost, gained


def contestants(runs: Sequence[Run]) -> list[Contestant]:
    """Every model of every run, labelled by its name (and run, where a name repeats).

    Raises:
        InputError: a run that is not whole.
    """
    names = [model for run in runs for model in run.manifest.models]
    found = []
    for run in runs:
        if run.manifest.part or run.lost or run.repeated:
            raise InputError("is not a whole run: it cannot be compared", path=run.folder)
        records = {record.key: record for record in run.records}
        samples = range(run.manifest.samples)
        for model, identity in run.manifest.models.items():
            unique = names.count(model) == 1
            found.append(
                Contestant(
                    label=model if unique else f"{model}@{run.manifest.run_id}",
                    identity=identity,
                    split=run.manifest.split,
                    cases={case.id: case for case in run.manifest.planned},
                    scores={
                        case.id: tuple(records[Key(case.id, model, k)].value for k in samples)
                        for case in run.manifest.planned
                    },
                )
            )
    return found


def compare(
    reference: Contestant, others: Sequence[Contestant], *, allow: Collection[str] = ()
) -> Comparison:
    """Hold each model against the reference, over the cases that all of them measured.

    Args:
        allow: fields of `FIELDS` that may differ.

    Raises:
        InputError: nothing to compare, an unknown field, a field that differs and is not allowed,
            or no case in common.
    """
    if not others:
        raise InputError("name at least one other run (or a run of several models) to compare")
    unknown = sorted(set(allow) - set(FIELDS))
    if unknown:
        raise InputError(f'--allow "{unknown[0]}" is no field; one of {", ".join(FIELDS)}')
    allowed = list(_allowed(reference, others, allow))
    common = _common([reference, *others])
    conditions = labels((case.track, case.evidence) for case in common)
    standings: list[Standing] = []
    differences: list[Difference] = []
    selection: list[Selection] = []
    for condition, label in conditions.items():
        here = [case for case in common if (case.track, case.evidence) == condition]
        overall = f"overall{label}"
        standings += [_standing(one, here, overall) for one in (reference, *others)]
        for category in dict.fromkeys(case.category for case in here):
            members = [case for case in here if case.category == category]
            differences += _against(reference, others, members, category + label)
        differences += _against(reference, others, here, overall)
        selection.append(_selection(reference, others, here, overall))
    corrected = holm([one.p for one in differences])
    return Comparison(
        reference=reference.label,
        standings=tuple(standings),
        differences=tuple(
            one.model_copy(update={"p_holm": p})
            for one, p in zip(differences, corrected, strict=True)
        ),
        selection=tuple(selection),
        allowed=tuple(allowed),
    )


def _allowed(
    reference: Contestant, others: Sequence[Contestant], allow: Collection[str]
) -> Iterable[str]:
    for name in FIELDS:
        differing = [one.label for one in others if one.field(name) != reference.field(name)]
        if not differing:
            continue
        if name not in allow:
            raise InputError(
                f"{differing[0]} differs from {reference.label} in its {name}: what differs would "
                f"be taken for the models; --allow {name} compares them all the same"
            )
        yield f"{name} differs: {', '.join(differing)}"


def _common(compared: Sequence[Contestant]) -> list[PlannedCase]:
    """The reference's cases that every model measured in the same version, sorted by id."""
    first = compared[0]
    shared = [
        case
        for name, case in sorted(first.cases.items())
        if all(name in o.cases and o.cases[name].digest == case.digest for o in compared)
    ]
    if not shared:
        raise InputError("the runs have no case in common")
    return shared


def _against(
    reference: Contestant, others: Sequence[Contestant], cases: Sequence[PlannedCase], check: str
) -> list[Difference]:
    found = []
    for other in others:
        sides = _Sides(
            cases,
            [reference.scores[case.id] for case in cases],
            [other.scores[case.id] for case in cases],
        )
        test, p = _two_sided(sides, reference.identity.weights == other.identity.weights)
        interval = _interval(sides, check, other.label)
        lost, gained = sides.flips
        found.append(
            Difference(
                model=other.label,
                check=check,
                n=len(cases),
                reference=_mean([_mean(scores) for scores in sides.before]),
                value=_mean([_mean(scores) for scores in sides.after]),
                drop=_mean(sides.drops),
                interval95=(interval.low, interval.high),
                test=test,
                p=p,
                p_holm=p,
                p_exact=(
                    mcnemar(len(lost), len(gained)).exact_two_sided
                    if test == "mcnemar_midp"
                    else None
                ),
                lost=tuple(lost),
                gained=tuple(gained),
            )
        )
    return found


def _two_sided(
    sides: _Sides, same_model: bool
) -> tuple[
    Literal["mcnemar_midp", "signflip", "signflip_clusters", "within_case_permutation"], float
]:
    """The gate's order of precedence, in both directions."""
    if sides.clustered:
        result = signflip(sides.drops, "two-sided", clusters=sides.clusters)
        return "signflip_clusters", result.pvalue
    if sides.verdicts:
        lost, gained = (len(names) for names in sides.flips)
        return "mcnemar_midp", mcnemar(lost, gained).midp_two_sided
    single = all(len(scores) == 1 for scores in (*sides.before, *sides.after))
    if same_model and not single:
        worse = within_case_permutation(sides.before, sides.after).midp
        better = within_case_permutation(sides.after, sides.before).midp
        return "within_case_permutation", min(1.0, 2 * min(worse, better))
    return "signflip", signflip(sides.drops, "two-sided").pvalue


def _interval(sides: _Sides, *names: str) -> Interval:
    drop = _mean(sides.drops)
    if sides.clustered:
        error = cluster_standard_error(sides.drops, sides.clusters).small_sample
        if error is None:
            return Interval(-1.0, 1.0)
        return Interval(max(-1.0, drop - Z95 * error), min(1.0, drop + Z95 * error))
    if sides.verdicts:
        lost, gained = (len(found) for found in sides.flips)
        return tango(len(sides.cases), lost, gained)
    found = bootstrap_mean(sides.drops, seed=seed_from("compare", *names))
    return Interval(found.low, found.high)


def _standing(one: Contestant, cases: Sequence[PlannedCase], check: str) -> Standing:
    scores = [one.scores[case.id] for case in cases]
    means = [_mean(samples) for samples in scores]
    right = _right(one, cases)
    if all(samples in ((0,), (1,)) for samples in scores):
        interval = wilson(right, len(cases))
    else:
        found = bootstrap_mean(means, seed=seed_from("standing", check, one.label))
        interval = Interval(found.low, found.high)
    return Standing(
        model=one.label,
        check=check,
        n=len(cases),
        mean=_mean(means),
        right=right,
        interval95=(interval.low, interval.high),
    )


def _selection(
    reference: Contestant, others: Sequence[Contestant], cases: Sequence[PlannedCase], check: str
) -> Selection:
    n, k = len(cases), len(others)
    right = {one.label: _right(one, cases) for one in others}
    best = max(right, key=lambda label: (right[label], label))
    level = _right(reference, cases) / n
    models = [reference, *others]
    pbo = None
    blocks = min(PBO_BLOCKS, n - n % 2)
    if len(models) >= PBO_MODELS and blocks >= 2:
        # In the order of their digests no block holds one category or one filing alone.
        mixed = sorted(cases, key=lambda case: case.digest)
        table = np.array([[_mean(one.scores[case.id]) for one in models] for case in mixed])
        pbo = pbo_cscv(table, blocks).pbo
    return Selection(
        check=check,
        k=k,
        best=best,
        right=right[best],
        p_best=best_of_k_p_value(right[best], k, n, level),
        expected_best=expected_best_accuracy(k, n, level),
        pbo=pbo,
    )


def _right(one: Contestant, cases: Sequence[PlannedCase]) -> int:
    return sum(mostly_right(one.scores[case.id], case.pass_mark) for case in cases)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

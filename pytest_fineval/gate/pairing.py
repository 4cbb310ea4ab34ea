"""Steps 1 and 2 of the decision: pair cases with the baseline, and say what was not measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_fineval.gate.baseline import Baseline, BaselineCase
from pytest_fineval.gate.further import (
    confirmation_samples,
    confirmations,
    is_further,
    second_look_samples,
    upheld,
)
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Key, Record

Recorded = Mapping[str, str | None]
"""What the trusted ref's case ledger records: case id -> digest of the version that a bump
recorded, None for a retired case."""


class Pair(NamedTuple):
    """One case measured on both sides; all that is declared of it comes from the signed side.

    Made by `Pair.of`: every figure is read several times for each of 100,000 pairs.

    Attributes:
        records: the candidate's samples of one look. confirming: a must-pass case's further ones.
        before, after: means of the baseline's and the candidate's samples. drop: their difference.
        scores: the candidate's samples; whatever brought no answer counts 0.
        was_right, is_right: right in most of the samples, before and now.
        attempted, submitted, scored: how many of the records are (`Record`).
    """

    id: str
    case: BaselineCase
    records: Sequence[Record]
    confirming: Sequence[Record]
    before: float
    after: float
    drop: float
    scores: tuple[float, ...]
    was_right: bool
    is_right: bool
    attempted: int
    submitted: int
    scored: int

    @classmethod
    def of(
        cls,
        name: str,
        case: BaselineCase,
        records: Sequence[Record],
        confirming: Sequence[Record] = (),
    ) -> Pair:
        """Pair a baseline case with the candidate's records of it."""
        before, mark = case.scores, case.pass_mark
        scores = tuple([record.value for record in records])
        was, now = _mean(before), _mean(scores)
        return cls(
            name,
            case,
            records,
            confirming,
            was,
            now,
            was - now,
            scores,
            mostly_right(before, mark),
            mostly_right(scores, mark),
            sum([record.attempted for record in records]),
            sum([record.submitted for record in records]),
            sum([record.scored for record in records]),
        )

    @property
    def fails_must_pass(self) -> bool:
        """A must-pass case that is wrong in the majority of its samples, confirmations included."""
        return self.case.must_pass and not upheld(
            self.records, self.confirming, self.case.pass_mark
        )


@dataclass(frozen=True)
class Pairing:
    """What of the run can be held against what of the baseline.

    Attributes:
        expected: ids of the baseline's cases in the run's split that were not recorded as gone.
        missing, changed: of those, what the run does not plan, or plans in another version.
        excluded: recorded in the ledger as retired or bumped, in words.
        new: planned, not in the baseline.
    """

    expected: tuple[str, ...]
    missing: tuple[str, ...]
    changed: tuple[str, ...]
    excluded: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """Why a run is invalid: what was asked (`configuration`), or what came back."""

    kind: Literal["configuration", "measurement"]
    text: str


def pair(manifest: Manifest, baseline: Baseline, recorded: Recorded) -> Pairing:
    """Step 1: pair by case id and content digest; the denominator never shrinks unrecorded."""
    planned = {case.id: case.digest for case in manifest.planned}
    expected: list[str] = []
    missing: list[str] = []
    changed: list[str] = []
    excluded: list[str] = []
    for name in sorted(baseline.cases):
        case = baseline.cases[name]
        if not case.in_split(manifest.split):
            continue
        if planned.get(name) == case.digest:
            expected.append(name)
        elif name not in planned and name in recorded and recorded[name] is None:
            excluded.append(f"{name} (retired)")
        elif name in planned and recorded.get(name) == planned[name]:
            excluded.append(f"{name} (bumped)")
        else:
            expected.append(name)
            (changed if name in planned else missing).append(name)
    return Pairing(
        expected=tuple(expected),
        missing=tuple(missing),
        changed=tuple(changed),
        excluded=tuple(excluded),
        new=tuple(sorted(set(planned) - set(baseline.cases))),
    )


def configuration_faults(
    manifest: Manifest, baseline: Baseline, pairing: Pairing
) -> Iterator[Fault]:
    """What makes a comparison meaningless and is known before the first call (exit code 4)."""
    if pairing.missing:
        yield Fault(
            "configuration",
            f"the baseline's {_cases(pairing.missing)} not in the run: restore them, or retire "
            "them in the case ledger (fineval lock retire ID --reason R) and sign a new baseline",
        )
    if pairing.changed:
        yield Fault(
            "configuration",
            f"{_cases(pairing.changed)} not what the baseline measured (the content changed): "
            "restore them, or record the change (fineval lock bump ID --reason R) and sign a "
            "new baseline",
        )
    planned = {case.id: case.scorer for case in manifest.planned}
    others = Counter(
        (baseline.cases[name].category, planned[name])
        for name in pairing.expected
        if name in planned
        and planned[name] not in baseline.policy.scorers[baseline.cases[name].category]
    )
    for (category, scorer), number in sorted(others.items()):
        yield _other_scorer(baseline, category, scorer, number)


NOT_MEASURED = frozenset({"not_run", "unchecked", "pending", "lost", "errored"})
"""Statuses of records without an answer that was scored."""


def measurement_faults(
    manifest: Manifest,
    records: Sequence[Record],
    lost: Sequence[Key],
    repeated: Sequence[Key],
    baseline: Baseline,
    pairing: Pairing,
) -> Iterator[Fault]:
    """Step 2: what was asked but not measured (exit code 1).

    Args:
        records: sorted by key. lost: planned and missing from them.
    """
    if repeated:
        twice = named(map(str, sorted(set(repeated))))
        yield measurement_fault(f"recorded more than once: {twice}", "rerun")
    if lost:
        yield measurement_fault(f"lost without a record: {named(map(str, lost))}", "rerun")
    foreign = _foreign(manifest, records)
    if foreign:
        yield measurement_fault(f"recorded but not planned: {named(foreign)}", "rerun")
    unmeasured = [record for record in records if record.status in NOT_MEASURED]
    confirming = {record.key for record in confirmations(manifest, unmeasured)}
    for status, words, remedy in (
        ("not_run", "not run (spend cap reached or breaker open)", "limits"),
        ("unchecked", "never checked (the test did not reach fineval.check())", "tests"),
        ("pending", "still waiting for a score", "rescore"),
        ("lost", "lost", "rerun"),
    ):
        found = [
            str(record.key)
            for record in unmeasured
            if record.status == status and not (status == "not_run" and record.key in confirming)
        ]
        if found:
            yield measurement_fault(f"{words}: {named(found)}", remedy)
    errored = [r for r in unmeasured if r.status == "errored" and r.key not in confirming]
    yield from _too_many_errors(manifest, errored, baseline.policy.max_error_share)
    yield from _rescored(manifest, records, baseline, pairing)


def _foreign(manifest: Manifest, records: Sequence[Record]) -> list[str]:
    """Records of what the manifest does not plan, or plans in another version."""
    digests = {case.id: case.digest for case in manifest.planned}
    models, samples = manifest.models, manifest.samples
    return [
        str(record.key)
        for record in records
        if digests.get(record.case.id) != record.case.digest
        or not (
            (record.model in models and record.sample < samples) or is_further(manifest, record)
        )
    ]


def pairs(
    manifest: Manifest, records: Sequence[Record], baseline: Baseline, pairing: Pairing
) -> list[Pair]:
    """The pairs of the planned samples, sorted by case id.

    Raises:
        ValueError: a score that is not finite or outside [0, 1]. No file can hold one; an object
            made by other means is refused here, before it can poison a mean.
    """
    first = _samples_of(manifest, records, range(manifest.samples))
    confirming = confirmations(manifest, records)
    further = _samples_of(manifest, confirming, confirmation_samples(manifest.samples))
    cases = baseline.cases
    return [
        Pair.of(name, cases[name], first[name], further.get(name, ())) for name in pairing.expected
    ]


def second_pairs(
    manifest: Manifest, records: Sequence[Record], baseline: Baseline, pairing: Pairing
) -> dict[str, Pair]:
    """The pairs of the second look by case id, of those cases that were asked again in full."""
    samples = second_look_samples(manifest.samples)
    fresh = _samples_of(manifest, records, samples)
    return {
        name: Pair.of(name, baseline.cases[name], fresh[name])
        for name in pairing.expected
        if len(fresh.get(name, ())) == len(samples)
    }


def _samples_of(
    manifest: Manifest, records: Iterable[Record], samples: Container[int]
) -> dict[str, list[Record]]:
    candidate = manifest.candidate
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.model == candidate and record.sample in samples:
            if not 0 <= record.value <= 1:
                raise ValueError(f"{record.key}: a score must lie in [0, 1], not {record.value}")
            found.setdefault(record.case.id, []).append(record)
    return found


def failures(manifest: Manifest, records: Iterable[Record]) -> dict[str, int]:
    """How many of the candidate's answers brought no (full) value, by kind."""
    kinds = Counter(_failure(record) for record in records if record.model == manifest.candidate)
    return dict(sorted((kind, number) for kind, number in kinds.items() if kind is not None))


def named(names: Iterable[str], most: int = 5) -> str:
    """Names in a sentence: the first few, and how many more."""
    listed = list(names)
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


def _mean(scores: Sequence[float]) -> float:
    return scores[0] if len(scores) == 1 else math.fsum(scores) / len(scores)


def mostly_right(scores: Sequence[float], pass_mark: float | None) -> bool:
    """Do most of a case's samples reach its pass mark (1 where it has none)?"""
    mark = 1.0 if pass_mark is None else pass_mark
    if len(scores) == 1:
        return scores[0] >= mark
    return 2 * sum(score >= mark for score in scores) > len(scores)


def _failure(record: Record) -> str | None:
    if record.answer is not None and record.answer.error is not None:
        return record.answer.error.kind
    if record.score is not None and record.score.failure is not None:
        return record.score.failure
    if record.answer is not None and record.answer.status != "ok":
        return record.answer.status
    return None if record.scored or record.status == "pending" else record.status


REMEDIES = {
    "rerun": "run the suite again (without reruns)",
    "limits": "raise --fineval-cap or mend the connection, then run again",
    "tests": "mend the test, then run again",
    "rescore": "install pytest-fineval[embeddings], then: fineval gate RUN --rescore",
    "provider": "see the errors in the records, then run again",
}


def measurement_fault(text: str, remedy: str) -> Fault:
    """A fault of what came back, with what to do about it (a key of `REMEDIES`)."""
    return Fault("measurement", f"{text}; {REMEDIES[remedy]}")


def _too_many_errors(
    manifest: Manifest, errored: Sequence[Record], share: float
) -> Iterator[Fault]:
    """Per model: one that hardly answered was not measured, however well another one did."""
    total = len(manifest.planned)
    most = max(1, math.floor(share * total + 1e-9))
    for model in sorted(manifest.models):
        cases = sorted({record.case.id for record in errored if record.model == model})
        if len(cases) > most:
            yield measurement_fault(
                f"client errors in {len(cases)} of {total} cases of {model} (allowed: {most}): "
                f"{named(cases)}",
                "provider",
            )


def _rescored(
    manifest: Manifest, records: Sequence[Record], baseline: Baseline, pairing: Pairing
) -> Iterator[Fault]:
    """Stored answers may have been scored by another version than the run planned."""
    expected = set(pairing.expected)
    others = Counter(
        (baseline.cases[r.case.id].category, r.score.scorer)
        for r in records
        if r.score is not None
        and r.score.scorer != r.case.scorer
        and r.model == manifest.candidate
        and r.case.id in expected
        and r.score.scorer not in baseline.policy.scorers[baseline.cases[r.case.id].category]
    )
    for (category, scorer), number in sorted(others.items()):
        yield _other_scorer(baseline, category, scorer, number)


def _other_scorer(baseline: Baseline, category: str, scorer: str, number: int) -> Fault:
    signed = ", ".join(baseline.policy.scorers[category])
    return Fault(
        "configuration",
        f"{number} {category} case{'s' * (number > 1)} scored by {scorer}, the baseline by "
        f"{signed}: bring it to the new version (fineval baseline rescore FILE) and sign it again",
    )


def _cases(names: Sequence[str]) -> str:
    return f"case {names[0]} is" if len(names) == 1 else f"cases {named(names)} are"

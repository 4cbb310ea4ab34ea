"""From runs to a baseline that a person can sign: what is refused, what is only warned of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from pytest_fineval.cases.lock import Ledger
from pytest_fineval.errors import InputError
from pytest_fineval.gate import ratchet
from pytest_fineval.gate.baseline import (
    Aggregate,
    Baseline,
    BaselineCase,
    StoredAnswer,
    labels,
    sha256,
)
from pytest_fineval.gate.pairing import named
from pytest_fineval.gate.policy import Policy, draft
from pytest_fineval.settings import Settings
from pytest_fineval.stats.intervals import wilson
from pytest_fineval.store.record import PlannedCase, Record
from pytest_fineval.store.run import Run, dumps

ADVISED_SAMPLES = 5
"""From 1 to 5 baseline samples a case: the largest cheap gain in power (GATE, Decision 7)."""


class Proposal(NamedTuple):
    """A baseline that waits for a signature, its raw answers, and what its signer should read."""

    baseline: Baseline
    companion: bytes | None
    warnings: tuple[str, ...]


def propose(
    runs: Sequence[Run],
    *,
    settings: Settings,
    reason: str,
    created_by: str,
    name: str = "main",
    predecessor: Path | None = None,
    now: datetime | None = None,
    keep_answers: bool = True,
    ledger: Ledger | None = None,
) -> Proposal:
    """Make a baseline of one or more whole runs of one plan; their samples add up.

    Args:
        runs: full, finished, without a client error; same cases, scorers and model.
        settings: whose `[tool.fineval.gate]` becomes the policy.
        reason: why there is a new baseline; shown to the signer and in reports.
        created_by: who proposes it.
        name: the file's name without its suffix.
        predecessor: the baseline file it replaces.
        now: when; the current time by default.
        keep_answers: False where a licence forbids to store them.
        ledger: the project's case ledger; it has to hold every case as it was measured.

    Raises:
        InputError: a run that may not become a baseline, and why.
    """
    if not runs:
        raise InputError("a baseline needs at least one run: fineval baseline propose RUN")
    if not reason.strip():
        raise InputError("a baseline needs a reason: --reason 'why it is replaced'")
    for run in runs:
        _refuse_unless_whole(run)
    for run in runs[1:]:
        _refuse_unless_same_plan(runs[0], run)
    for one, other in combinations(runs, 2):
        _refuse_the_same_answers(one, other)
    first = runs[0].manifest
    if ledger is not None:
        _refuse_unrecorded(first.planned, ledger)
    samples = _samples(runs)
    drafted = draft(settings)
    _refuse_gaps(first.planned, drafted, runs[0].folder)
    now = now or datetime.now(UTC)
    cases = {
        case.id: _case(case, [record.value for record in samples[case.id]])
        for case in first.planned
    }
    _refuse_a_failed_must_pass(cases, runs[0].folder)
    a_case = sum(run.manifest.samples for run in runs)
    policy = drafted.model_copy(
        update={
            "scorers": _scorers(first.planned),
            "samples": a_case,
            "lock": ledger and ledger.digest,
        }
    )
    companion = _companion(samples) if keep_answers else None
    earlier = None if predecessor is None else _predecessor(predecessor)
    history = ratchet.continued(earlier, predecessor) if earlier and predecessor else ()
    baseline = Baseline(
        format=1,
        name=name,
        model=first.candidate,
        identity=first.models[first.candidate],
        policy=policy,
        suite_digest=first.suite_digest,
        cases=cases,
        aggregates=aggregates(cases.values()),
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        created_by=created_by,
        reason=reason,
        predecessor=None if predecessor is None else sha256(_bytes_of(predecessor)),
        valid_until=(now.astimezone(UTC) + timedelta(days=policy.valid_days)).date(),
        answers=None if companion is None else sha256(companion),
        history=history,
    )
    warnings = [*_warnings(baseline), *ratchet.notes(baseline)]
    if earlier is not None:
        warnings += ratchet.loosened(policy, earlier.policy)
    return Proposal(baseline, companion, tuple(warnings))


def aggregates(cases: Iterable[BaselineCase]) -> dict[str, Aggregate]:
    """Figures by check name: each category and `overall`, apart by track and evidence."""
    cases = list(cases)
    found = {}
    for condition, label in labels(case.condition for case in cases).items():
        here = [case for case in cases if case.condition == condition]
        for category in sorted({case.category for case in here}):
            found[category + label] = _aggregate([c for c in here if c.category == category])
        found["overall" + label] = _aggregate(here)
    return found


def _aggregate(cases: Sequence[BaselineCase]) -> Aggregate:
    right = math.fsum(math.fsum(case.scores) / len(case.scores) for case in cases)
    samples = min(len(case.scores) for case in cases)
    interval = None
    if all(score in (0, 1) for case in cases for score in case.scores):
        bounds = wilson(right, len(cases))
        interval = (bounds.low, bounds.high)
    return Aggregate(
        n=len(cases),
        samples=samples,
        mean=right / len(cases),
        wilson95=interval,
        noise=_noise(cases) if samples > 1 else None,
    )


def _noise(cases: Sequence[BaselineCase]) -> float:
    shares = []
    for case in cases:
        pairs = list(combinations(case.scores, 2))
        shares.append(sum(abs(one - other) > 1e-9 for one, other in pairs) / len(pairs))
    return math.fsum(shares) / len(shares)


def _refuse_unless_whole(run: Run) -> None:
    manifest = run.manifest
    if manifest.part is not None:
        _refuse(run, f"is incomplete ({manifest.part}); run the whole suite without it")
    if manifest.finished is None:
        _refuse(run, "never finished; run the suite again")
    if manifest.split != "full":
        _refuse(run, f"holds the {manifest.split} split; run the full one: --fineval-split full")
    if run.lost:
        _refuse(run, f"lost {named(map(str, run.lost))}; run the suite again")
    if run.repeated:
        _refuse(run, f"holds {named(map(str, run.repeated))} twice; run without reruns")
    for status, remedy in {
        "errored": "a client error is no answer to measure by; run the suite again",
        "not_run": "raise the spend cap or mend the connection, and run again",
        "unchecked": "its test has to call fineval.check()",
        "pending": "install pytest-fineval[embeddings] and run the suite again",
        "lost": "run the suite again",
    }.items():
        found = [str(record.key) for record in _gated(run) if record.status == status]
        if found:
            _refuse(run, f"{named(found)}: {status}; {remedy}")


def _refuse_unless_same_plan(first: Run, run: Run) -> None:
    ours, theirs = first.manifest, run.manifest
    if theirs.run_id == ours.run_id:
        _refuse(run, "is given twice; samples have to be independent calls")
    if (
        theirs.candidate != ours.candidate
        or theirs.models[theirs.candidate] != ours.models[ours.candidate]
    ):
        _refuse(run, f"asked another model, prompt or decoding than {first.folder}")
    if sorted(theirs.planned, key=_id) != sorted(ours.planned, key=_id):
        _refuse(run, f"ran other cases or scorers than {first.folder}")


def _refuse_the_same_answers(one: Run, other: Run) -> None:
    # Replaying one recording twice would count each answer twice and show no noise at all.
    def replayed(run: Run) -> dict[tuple[str, int], str]:
        return {
            (record.case.id, record.sample): record.answer.text
            for record in _gated(run)
            if record.answer is not None and record.answer.source in {"recording", "cache"}
        }

    if replayed(one) and replayed(one) == replayed(other):
        _refuse(
            other,
            f"replays the same recorded answers as {one.folder}; samples have to be independent "
            "calls: record them with --fineval-repeat 5",
        )


def _refuse_gaps(planned: Sequence[PlannedCase], policy: Policy, folder: Path) -> None:
    present = {case.category for case in planned}
    missing = [name for name in policy.categories if name not in present]
    if missing:
        raise InputError(
            f"the configured category {named(missing)} has no case: add cases, or take it out "
            "of [tool.fineval] categories",
            path=folder,
        )
    unknown = sorted(present - set(policy.categories))
    if unknown:
        raise InputError(
            f"its cases name {named(unknown)}, which [tool.fineval] categories does not list",
            path=folder,
        )


def _refuse_a_failed_must_pass(cases: Mapping[str, BaselineCase], folder: Path) -> None:
    failed = [
        name
        for name, case in cases.items()
        if case.must_pass and min(case.scores) < (case.pass_mark or 1.0)
    ]
    if failed:
        raise InputError(
            f"must-pass but not right in every sample: {named(failed)}; a case may be declared "
            "must_pass only when the baseline always gets it right",
            path=folder,
        )


def _refuse_unrecorded(planned: Sequence[PlannedCase], ledger: Ledger) -> None:
    latest = ledger.latest
    unrecorded = [
        case.id
        for case in planned
        if case.id not in latest or latest[case.id].sha256 != case.digest
    ]
    if unrecorded:
        raise InputError(
            f"does not hold as they were measured: {named(unrecorded)}; fineval lock add (or bump "
            "ID --reason R), then run the suite again if they changed",
            path=ledger.path,
        )


def _refuse(run: Run, why: str) -> None:
    raise InputError(f"the run {run.manifest.run_id} {why}", path=run.folder)


def _gated(run: Run) -> list[Record]:
    # Confirmations and second looks were asked because of an answer: they would bias a baseline.
    manifest = run.manifest
    return [
        record
        for record in run.records
        if record.model == manifest.candidate and record.sample < manifest.samples
    ]


def _samples(runs: Sequence[Run]) -> dict[str, list[Record]]:
    """All gated records by case, run after run, sample after sample."""
    found: dict[str, list[Record]] = {}
    for run in runs:
        for record in sorted(_gated(run), key=lambda record: record.key):
            found.setdefault(record.case.id, []).append(record)
    return found


def _case(case: PlannedCase, scores: Sequence[float]) -> BaselineCase:
    return BaselineCase(
        **case.model_dump(include=set(BaselineCase.model_fields)), scores=tuple(scores)
    )


def _scorers(planned: Sequence[PlannedCase]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for case in planned:
        found.setdefault(case.category, set()).add(case.scorer)
    return {category: tuple(sorted(found[category])) for category in sorted(found)}


def _companion(samples: Mapping[str, Sequence[Record]]) -> bytes:
    lines = []
    for case in sorted(samples):
        for sample, record in enumerate(samples[case]):
            answer = record.answer
            line = StoredAnswer(
                case=case,
                sample=sample,
                text=answer.text if answer else "",
                status=answer.status if answer else "empty",
                score=record.value,
            )
            lines.append(dumps(line) + "\n")
    return "".join(lines).encode()


def _predecessor(path: Path) -> Baseline | None:
    """The baseline that is replaced; None when it was one of another format."""
    try:
        return Baseline.model_validate_json(_bytes_of(path))
    except ValidationError:
        return None


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the predecessor cannot be read ({error.strerror})", path=path) from error


def _warnings(baseline: Baseline) -> Iterable[str]:
    samples = baseline.policy.samples or 1
    if samples < ADVISED_SAMPLES:
        yield (
            f"{samples} sample{'s' * (samples > 1)} a case: {ADVISED_SAMPLES} are advised "
            "(--fineval-repeat 5, or more runs); with one, a 10-point drop in 40 cases is seen "
            "in 20 of 100 runs, with five in 60"
        )
        if any(case.must_pass for case in baseline.cases.values()):
            yield f"must-pass cases should have been right in {ADVISED_SAMPLES} samples each"
    for name, figures in baseline.aggregates.items():
        limit = baseline.policy.max_drop[name.partition("[")[0]]
        if figures.noise is not None and figures.noise > limit:
            yield (
                f"{name}: {figures.noise:.1%} of repeated answers differ, more than the allowed "
                f"drop of {limit:.1%}: add cases or samples, or widen the limit"
            )
    if (
        samples > 1
        and baseline.identity.decoding.get("temperature") == 0
        and all(len(set(case.scores)) == 1 for case in baseline.cases.values())
    ):
        yield (
            "all samples of every case score the same at temperature 0: this says nothing about "
            "drift at the provider; run the baseline's model beside the candidate"
        )


def _id(case: PlannedCase) -> str:
    return case.id

"""Figures of a run by track, as benchmarks publish them, never without what they depend on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError, nearest
from pytest_fineval.store.manifest import ModelIdentity
from pytest_fineval.store.record import PlannedCase, Record
from pytest_fineval.store.run import Run
from pytest_fineval.tracks.convfinqa import Accuracy, accuracy
from pytest_fineval.tracks.manifest import read_entry

SLICES = ("task", "language")
"""Tags by which figures are given apart."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean with its number of cases."""

    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class TrackFigures:
    """One track, evidence condition and scorer in one run, for one model.

    Attributes:
        source: what the manifests beside the case files say: revision, split, exclusions; empty
            for cases that were not imported.
        model: identity with decoding settings and prompt template.
        attempted: planned cases: the denominator of every mean.
        submitted, scored: answers that were not empty, and those a value was read from; of
            `samples` answers a case.
        failures: answers without a full value, by kind; lost ones included.
        score: mean over cases of the mean over samples.
        parts: the same of each partial figure (`em`, `execution`); 0 where an answer has none.
        slices: by tag and value.
        conversations: turn and conversation accuracy of the first sample, for conversations.
    """

    track: str
    evidence: str
    scorer: str
    source: Mapping[str, Any]
    model: ModelIdentity
    samples: int
    attempted: int
    submitted: int
    scored: int
    failures: Mapping[str, int]
    score: float
    parts: Mapping[str, float]
    slices: Mapping[str, Mapping[str, Figure]]
    conversations: Accuracy | None = None


def figures(run: Run, root: Path, model: str | None = None) -> list[TrackFigures]:
    """Figures of every track of a run; two tracks, conditions or scorers are never pooled.

    Args:
        run: with its manifest.
        root: the project's folder, where the case files of the run are.
        model: a model of the run; default: the gated one.

    Raises:
        InputError: the run did not ask this model, or an imported case file was changed.
    """
    name = model or run.manifest.candidate
    if name not in run.manifest.models:
        raise InputError(f'the run asked no model "{name}"; {nearest(name, run.manifest.models)}')
    cases, entries = _cases(run, root)
    groups: dict[tuple[str, str, str], list[PlannedCase]] = {}
    for planned in run.manifest.planned:
        groups.setdefault((planned.track, planned.evidence, planned.scorer), []).append(planned)
    answers: dict[str, list[Record]] = {}
    for record in run.records:
        if record.model == name and record.sample < run.manifest.samples:
            answers.setdefault(record.case.id, []).append(record)
    return [
        _figures(run, name, planned, answers, cases, entries)
        for _, planned in sorted(groups.items())
    ]


def _figures(
    run: Run,
    model: str,
    planned: Sequence[PlannedCase],
    answers: Mapping[str, list[Record]],
    cases: Mapping[str, Case],
    entries: Mapping[str, Mapping[str, Any]],
) -> TrackFigures:
    samples = run.manifest.samples
    mine = {case.id: answers.get(case.id, []) for case in planned}
    every = [record for records in mine.values() for record in records]
    means = {
        name: math.fsum(record.value for record in records) / samples
        for name, records in mine.items()
    }
    failures = Counter(kind for record in every if (kind := _failure(record)))
    lost = samples * len(planned) - len(every)
    if lost:
        failures["lost"] += lost
    names = sorted({part for record in every if record.score for part in record.score.parts})
    total = samples * len(planned)
    parts = {
        part: math.fsum(r.score.parts.get(part, 0.0) for r in every if r.score) / total
        for part in names
    }
    known = [cases[case.id] for case in planned if case.id in cases]
    turns = [case for case in known if "conversation" in case.tags]
    first = {r.case.id: r.value for r in every if r.sample == 0}
    sources = {case.id: entries[case.id] for case in planned if case.id in entries}
    return TrackFigures(
        track=planned[0].track,
        evidence=planned[0].evidence,
        scorer=planned[0].scorer,
        source=_one_source(list(sources.values())),
        model=run.manifest.models[model],
        samples=samples,
        attempted=len(planned),
        submitted=sum(record.submitted for record in every),
        scored=sum(record.scored for record in every),
        failures=dict(sorted(failures.items())),
        score=_mean(list(means.values())),
        parts=parts,
        slices={tag: found for tag in SLICES if (found := _slices(known, means, tag))},
        conversations=accuracy(turns, first) if turns and len(turns) == len(planned) else None,
    )


def _failure(record: Record) -> str | None:
    if record.answer is not None and record.answer.error is not None:
        return record.answer.error.kind
    if record.score is None:
        return record.status
    return record.score.failure


def _slices(cases: Sequence[Case], means: Mapping[str, float], tag: str) -> dict[str, Figure]:
    groups: dict[str, list[float]] = {}
    for case in cases:
        if tag in case.tags:
            groups.setdefault(case.tags[tag], []).append(means[case.id])
    return {value: Figure(len(group), _mean(group)) for value, group in sorted(groups.items())}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _one_source(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Revision, split and exclusions, each joined where several files make up a track."""
    if not entries:
        return {}
    joined = {}
    for field in ("revision", "split", "sha256"):
        joined[field] = " + ".join(sorted({str(entry.get(field)) for entry in entries}))
    lists = sorted({entry["excluded"]["list"] for entry in entries if entry.get("excluded")})
    if lists:
        joined["excluded"] = " + ".join(lists)
    return joined


def _cases(run: Run, root: Path) -> tuple[dict[str, Case], dict[str, Mapping[str, Any]]]:
    """Cases as they were measured and the entries of their files, both by id."""
    digests = {case.id: case.digest for case in run.manifest.planned}
    cases: dict[str, Case] = {}
    entries: dict[str, Mapping[str, Any]] = {}
    for name in sorted({file for files in run.manifest.suites.values() for file in files}):
        path = root / name
        if not path.exists():
            continue
        entry = read_entry(path)
        for line in path.read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            case = Case.model_validate_json(line)
            if digests.get(case.id) == case.digest:
                cases[case.id] = case
                if entry is not None:
                    entries[case.id] = entry
    return cases, entries


def as_json(found: TrackFigures) -> dict[str, Any]:
    """The figures as JSON values."""
    return {**asdict(found), "model": found.model.model_dump(mode="json")}


def lines(found: TrackFigures) -> list[str]:
    """The figures as text; what they depend on stands first."""
    model = found.model
    decoding = ", ".join(f"{name} {value}" for name, value in sorted(model.decoding.items()))
    source = found.source
    shown = [
        f"{found.track}: revision {source.get('revision', 'none (own cases)')}, "
        f"split {source.get('split', 'none')}, evidence {found.evidence}, scorer {found.scorer}"
        + (f", without {source['excluded']}" if "excluded" in source else ""),
        f"  model {model.model or model.client}, {decoding}, template {model.template}, "
        f"{found.samples} a case",
        f"  attempted {found.attempted} cases, submitted {found.submitted}, scored {found.scored}"
        + "".join(f", {kind} {count}" for kind, count in found.failures.items()),
        f"  score {found.score:.4f}"
        + "".join(f", {part} {value:.4f}" for part, value in found.parts.items()),
    ]
    for tag, values in found.slices.items():
        parts = [f"{value} {each.mean:.4f} (n={each.n})" for value, each in values.items()]
        shown.append(f"  by {tag}: " + ", ".join(parts))
    if found.conversations:
        pairs = found.conversations
        shown.append(
            f"  turns {pairs.turns[0]}/{pairs.turns[1]}, "
            f"conversations {pairs.conversations[0]}/{pairs.conversations[1]}; by turn "
            + ", ".join(f"{turn}: {right}/{n}" for turn, (right, n) in pairs.by_turn.items())
        )
    return shown

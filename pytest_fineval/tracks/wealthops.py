"""WealthOps: this project's own cases of household wealth operations, all of them invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

TASKS: Mapping[str, str] = {
    "numerical": "reasoning",
    "contradiction": "classification",
    "temporal-validity": "classification",
    "access-rule": "classification",
    "evidence-support": "classification",
}
"""Category of each task."""

REL_TOL = 0.005


def build(records: Sequence[Record]) -> list[Case]:
    """A case a record.

    Raises:
        InputError: a field is missing, an unknown task, or an id stands twice.
    """
    return build_all(_case, records)


def _case(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    task = record.need("task")
    if task not in TASKS:
        raise record.fault(f'unknown task "{task}"; known: {", ".join(TASKS)}')
    gold, scorer = _scoring(kept, task)
    return Case(
        id=record.need("id"),
        category=TASKS[task],
        candidate=Candidate(
            question=seen.need("question"),
            text="\n\n".join(seen.lines("documents")) or None,
            table=seen.table("table") if seen.has("table") else None,
            instructions=seen.need("instructions"),
        ),
        gold=gold,
        scorer=scorer,
        cluster=record.need("household"),
        track=TRACK.name,
        tags={"language": "en", "task": task},
    )


def _scoring(kept: Record, task: str) -> tuple[Gold, ScorerSpec]:
    if task == "numerical":
        gold = Gold(answer=kept.need("answer"), unit=kept.need("unit"))
        tolerance: dict[str, Any] = {"rel_tol": REL_TOL}
        if gold.unit in {"days", "count"}:
            tolerance = {"abs_tol": 0}
        return gold, ScorerSpec(name="numeric", **tolerance)
    labels = tuple(kept.lines("labels"))
    return Gold(answer=kept.need("answer"), labels=labels), ScorerSpec(name="label")


TRACK = Track(
    name="wealthops",
    source="evals/wealthops of this project",
    revision="wealthops@1",
    licence=Licence("MIT", "the authors of pytest-fineval"),
    splits=("test",),
    candidate=("question", "documents", "table", "instructions"),
    gold=("answer", "unit", "labels"),
    official=None,
    strict=None,
    scorer="numeric, label",
    cluster="the household",
    build=build,
)

"""IndiaFinBench: questions on Indian financial regulation, and the published flags of 12 models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.scoring.official.indiafinbench import is_non_answer
from pytest_fineval.tracks.base import Licence, Record, Track, build_all
from pytest_fineval.tracks.faults import TAG
from pytest_fineval.tracks.predictions import Predicted

TASKS = {
    "regulatory_interpretation": "extraction",
    "numerical_reasoning": "reasoning",
    "temporal_reasoning": "reasoning",
    "contradiction_detection": "classification",
}
"""Category of each task type."""

INSTRUCTIONS = {
    "contradiction_detection": "Answer with one word, Yes or No.",
    "": "Answer in one short sentence or phrase, without an explanation.",
}
FLAG = {True: "correct", False: "wrong"}
"""What stands for an answer where only its published flag is known."""


def build(records: Sequence[Record]) -> list[Case]:
    """Cases from the raw layout or from that of the hub.

    Raises:
        InputError: a field is missing, an unknown task type, an id stands twice, or the rows hold
            flags instead of questions.
    """
    if is_flag_row(records[0]):
        raise records[0].fault(f"holds published flags: import it as {FLAGS.name}")
    return build_all(_question, records)


def build_flags(records: Sequence[Record]) -> list[Case]:
    """Cases without a question, for rows of published flags.

    Raises:
        InputError: a field is missing, an unknown task type, or an id stands twice.
    """
    return build_all(_flags, records)


def is_flag_row(record: Record) -> bool:
    """Whether a record holds the flags of models instead of a question."""
    return "correct" in record.fields


def _question(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    task = _task(kept)
    if seen.has("context_a"):
        passages = {"A": seen.need("context_a"), "B": seen.need("context_b")}
        text = "\n\n".join(f"Passage {name}:\n{passage}" for name, passage in passages.items())
    else:
        text = seen.need("context")
    document = next(
        (record.need(name) for name in ("document", "source_document") if record.has(name)),
        record.fields.get("document_a"),
    )
    reference = kept.need("answer" if kept.has("answer") else "reference_answer")
    tags = {"language": "en", "task": task, "difficulty": kept.need("difficulty")}
    if is_non_answer(reference):
        tags[TAG] = "the scorers take the reference itself for a refusal"
    return Case(
        id=record.need("id"),
        category=TASKS[task],
        candidate=Candidate(
            question=seen.need("question"),
            text=text,
            # The task type is gold; the form of a yes/no question is not.
            instructions=INSTRUCTIONS.get(task, INSTRUCTIONS[""]),
        ),
        gold=Gold(answer=reference),
        scorer=ScorerSpec(name=TRACK.scorer, task_type=task),
        cluster=document,
        track=TRACK.name,
        tags=tags,
    )


def _flags(record: Record) -> Case:
    task = _task(record)
    return Case(
        id=record.need("id"),
        category=TASKS[task],
        candidate=Candidate(absent=f"IndiaFinBench flags hold no question: {record.need('id')}"),
        gold=Gold(answer=FLAG[True]),
        scorer=ScorerSpec(name=FLAGS.scorer),
        track=FLAGS.name,
        tags={"language": "en", "task": task, "difficulty": record.need("difficulty")},
    )


def _task(record: Record) -> str:
    task: str = record.need("task_type")
    if task not in TASKS:
        raise record.fault(f'unknown task type "{task}"; known: {", ".join(TASKS)}')
    return task


def flags(record: Record) -> Mapping[str, bool]:
    """Published flag by model of one row."""
    found = record.need("correct", dict)
    if not all(value in (0, 1) for value in found.values()):
        raise record.fault('"correct" has to hold 0 or 1 for each model')
    return {model: bool(value) for model, value in found.items()}


def predictions(rows: Sequence[Record]) -> list[Predicted] | None:
    """The flags of every model as its answers; None for rows of real answers."""
    if not is_flag_row(rows[0]) or "predicted" in rows[0].fields:
        return None
    return [
        Predicted(model, row.need("id"), FLAG[flag], row)
        for row in rows
        for model, flag in flags(row).items()
    ]


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """How often two models were right on the same items."""

    n: int
    both: int
    a_only: int
    b_only: int
    neither: int

    @property
    def p(self) -> float:
        """Two-sided p-value of McNemar's exact test; 1 without a discordant pair."""
        from pytest_fineval.stats.paired import mcnemar

        return mcnemar(self.a_only, self.b_only).exact_two_sided


def paired_counts(rows: Sequence[Record], a: str, b: str, task: str | None = None) -> PairedCounts:
    """Counts of two models over rows of flags.

    Args:
        rows: one an item.
        a, b: models.
        task: only this task type; None for all.
    """
    pairs = [
        (flags(row)[a], flags(row)[b])
        for row in rows
        if task is None or row.need("task_type") == task
    ]
    return PairedCounts(
        len(pairs),
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
    )


TRACK = Track(
    name="indiafinbench",
    source="https://github.com/Rajveer-code/IndiaFinBench",
    revision="a8c394bfcf5846abb2aeea560f02beea1e1f2d7e",
    licence=Licence("CC-BY-4.0", "the IndiaFinBench author, arXiv 2604.19298"),
    splits=("dev", "test", "all"),
    candidate=("question", "context", "context_a", "context_b"),
    gold=("answer", "reference_answer", "task_type", "difficulty"),
    official="indiafinbench/official",
    strict="indiafinbench/strict",
    scorer="indiafinbench/strict",
    cluster="the regulation's document",
    build=build,
)

FLAGS = replace(
    TRACK,
    name="indiafinbench-flags",
    candidate=(),
    gold=("task_type", "difficulty", "correct"),
    official=None,
    strict=None,
    scorer="exact",
    cluster="none: rows of flags name no document",
    build=build_flags,
)
"""Outcomes as published. They were not all made by one scorer: outcomes, not scorer truth."""

"""FinanceReasoning: computed answers to questions with a context, within 0.2 percent."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

INSTRUCTIONS = "End with one line 'Answer: ' and the number alone, without units, or True or False."


def build(records: Sequence[Record]) -> list[Case]:
    """A case a record. Reference code (`function`, `python_solution`) is not read at all.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    return build_all(_case, records)


def _case(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    tags = {"language": "en"}
    if record.has("level"):
        tags["difficulty"] = record.need("level")
    return Case(
        id=record.need("question_id"),
        category="reasoning",
        candidate=Candidate(
            question=seen.need("question"),
            text="\n".join(seen.lines("context")) if seen.has("context") else None,
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(answer=kept.need("ground_truth", (int, float, bool))),
        scorer=ScorerSpec(name=TRACK.scorer),
        cluster=record.need("function_id") if record.has("function_id") else None,
        track=TRACK.name,
        tags=tags,
    )


TRACK = Track(
    name="financereasoning",
    source="https://github.com/BUPT-Reasoning-Lab/FinanceReasoning",
    revision="b0fe6455396f831955e4eb988472b4a563403bc5",
    licence=Licence("CC-BY-4.0", "the FinanceReasoning authors (the copy on the hub is labelled)"),
    splits=("easy", "medium", "hard"),
    candidate=("question", "context"),
    gold=("ground_truth",),
    official="financereasoning/official",
    strict="financereasoning/strict",
    scorer="financereasoning/strict",
    cluster="the reference function, where a record names one (function_id)",
    build=build,
)

"""FinQA: questions over a report page with a table, answered in free form or by a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Record, Track, build_case, unique

INSTRUCTIONS = (
    "End with one line 'Answer: ' and the number alone, or yes or no. "
    "Write a share or a percentage with a percent sign or as a fraction."
)
"""The strict rule reads 14.5% and 0.145 as one value, and 14.5 as another."""

PROGRAM_INSTRUCTIONS = (
    "Answer with a program alone: calls separated by ', ', each of two arguments, from add, "
    "subtract, multiply, divide, exp, greater, table_max, table_min, table_sum, table_average. "
    "#0 is the result of the first call; table calls take a row name and none; constants are "
    "written const_100 or const_m1. Example: subtract(12, 10), divide(#0, 10)"
)
"""What a model has to know of the program language; the official scorer takes nothing else."""


def build(records: Sequence[Record]) -> list[Case]:
    """Cases from the records of one split.

    Evidence that the annotators or a retriever marked (`gold_inds`, `model_input`, `*_retrieved*`)
    is read neither into the candidate nor into the gold.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    return unique([_case(record, programs=False) for record in records], records)


def build_programs(records: Sequence[Record]) -> list[Case]:
    """The same cases, answered by programs and scored as published.

    The table stands in the scorer's options, too: table operations need it.
    """
    return unique([_case(record, programs=True) for record in records], records)


def _case(record: Record, *, programs: bool) -> Case:
    track = PROGRAMS if programs else TRACK
    table = record.table("table")
    options = {"table": table} if programs else {}
    passage = [*record.lines("pre_text"), *record.lines("post_text")]
    return build_case(
        record,
        id=record.need("id"),
        category="reasoning",
        candidate=Candidate(
            question=record.need("qa.question"),
            text="\n".join(passage),
            table=table,
            instructions=PROGRAM_INSTRUCTIONS if programs else INSTRUCTIONS,
        ),
        gold=Gold(
            answer=record.need("qa.exe_ans", (int, float, str)),
            program=record.need("qa.program"),
        ),
        scorer=ScorerSpec(name=track.scorer, **options),
        cluster=record.need("filename"),
        track=track.name,
        tags={"language": "en"},
    )


TRACK = Track(
    name="finqa",
    source="https://github.com/czyssrs/FinQA",
    revision="0f16e2867befa6840783e58be38c9efb9229d742",
    licence="MIT, copyright 2021 the FinQA author",
    splits=("train", "dev", "test"),
    candidate=("qa.question", "table", "pre_text", "post_text"),
    gold=("qa.exe_ans", "qa.program"),
    scorer="finqa/strict",
    build=build,
)

PROGRAMS = replace(TRACK, name="finqa-programs", scorer="finqa/official", build=build_programs)
"""Another protocol, so another track: its figures are not comparable with free answers."""

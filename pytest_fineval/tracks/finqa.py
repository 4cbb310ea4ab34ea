"""FinQA: questions over a report page with a table, answered in free form."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Record, Track, build_case, unique

INSTRUCTIONS = (
    "End with one line 'Answer: ' and the number alone, or yes or no. "
    "Write a share or a percentage with a percent sign or as a fraction."
)
"""The strict rule reads 14.5% and 0.145 as one value, and 14.5 as another."""


def build(records: Sequence[Record]) -> list[Case]:
    """Cases from the records of one split.

    Evidence that the annotators or a retriever marked (`gold_inds`, `model_input`, `*_retrieved*`)
    is read neither into the candidate nor into the gold.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    return unique([_case(record) for record in records], records)


def _case(record: Record) -> Case:
    passage = [*record.lines("pre_text"), *record.lines("post_text")]
    return build_case(
        record,
        id=record.need("id"),
        category="reasoning",
        candidate=Candidate(
            question=record.need("qa.question"),
            text="\n".join(passage),
            table=record.table("table"),
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(
            answer=record.need("qa.exe_ans", (int, float, str)),
            program=record.need("qa.program"),
        ),
        scorer=ScorerSpec(name=TRACK.scorer),
        cluster=record.need("filename"),
        track=TRACK.name,
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

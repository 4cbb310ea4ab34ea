"""FinanceMath: computed answers to textbook questions, some with tables."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

INSTRUCTIONS = "End with one line 'Answer: ' and the number alone, to three decimals."


def build(records: Sequence[Record]) -> list[Case]:
    """A case a record. The reference code (`python_solution`) is not read at all.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    return build_all(_case, records)


def _case(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    tags = {"language": "en"}
    if record.has("topic"):
        tags["task"] = record.need("topic")
    return Case(
        id=record.need("question_id"),
        category="reasoning",
        candidate=Candidate(
            question=seen.need("question"),
            text="\n\n".join(seen.lines("tables")) or None,
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(answer=kept.need("ground_truth", (int, float))),
        scorer=ScorerSpec(name=TRACK.scorer),
        track=TRACK.name,
        tags=tags,
    )


TRACK = Track(
    name="financemath",
    source="https://github.com/yale-nlp/FinanceMath",
    revision="bdddc58655947475da852e241b96a7dbd1478742",
    licence=Licence(
        "MIT", "the FinanceMath authors, arXiv 2311.09797 (the copy on the hub is labelled)"
    ),
    splits=("validation",),
    candidate=("question", "tables"),
    gold=("ground_truth",),
    official="financemath/official",
    strict="financemath/strict",
    scorer="financemath/strict",
    cluster="none: each question stands for itself",
    build=build,
)

"""TAT-QA: questions over a table with paragraphs; the scale is part of the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all
from pytest_fineval.tracks.predictions import Predicted, by_key

INSTRUCTIONS = (
    'Answer with JSON alone: {"answer": ..., "scale": ...}. The answer is a number, a text copied '
    "from the passage or the table, or a list of such texts. The scale is thousand, million, "
    'billion, percent or empty ("").'
)


def questions(record: Record) -> list[Record]:
    """The questions of a context as records: its table and paragraphs with one `question` each."""
    paragraphs = record.need("paragraphs", list)
    if not all(
        isinstance(item, dict)
        and isinstance(item.get("order"), int)
        and isinstance(item.get("text"), str)
        for item in paragraphs
    ):
        raise record.fault('each of "paragraphs" has to hold an "order" and a "text"')
    ordered = sorted(paragraphs, key=lambda item: item["order"])
    context = {
        "table": record.need("table.table", list),
        "paragraphs": [item["text"] for item in ordered],
        "context": record.need("table.uid"),
    }
    asked = record.need("questions", list)
    if not all(isinstance(question, dict) for question in asked):
        raise record.fault('"questions" has to be a list of objects')
    return [Record(record.path, record.number, {**question, **context}) for question in asked]


def build(records: Sequence[Record]) -> list[Case]:
    """A case a question, in the order of the file.

    Raises:
        InputError: a field is missing, or a question stands twice.
    """
    found = [question for record in records for question in questions(record)]
    return build_all(_case, found)


def _case(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    answer_type = kept.need("answer_type")
    return Case(
        id=record.need("uid"),
        category="reasoning" if answer_type in {"arithmetic", "count"} else "extraction",
        candidate=Candidate(
            question=seen.need("question"),
            text="\n".join(seen.lines("paragraphs")),
            table=seen.table("table"),
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(answer=kept.need("answer", (list, int, float, str))),
        scorer=ScorerSpec(name=TRACK.scorer, answer_type=answer_type, scale=kept.need("scale")),
        cluster=record.need("context"),
        track=TRACK.name,
        tags={"language": "en", "task": answer_type},
    )


def predictions(rows: Sequence[Record]) -> list[Predicted] | None:
    """Answers of a prediction file: one object `{uid: [answer, scale]}`."""
    return by_key(rows, _prediction)


def _prediction(value: object) -> str | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    return json.dumps({"answer": value[0], "scale": value[1]}, ensure_ascii=False)


TRACK = Track(
    name="tatqa",
    source="https://github.com/NExTplusplus/TAT-QA",
    revision="870accc41953dcde885aabeb963d94aabdc0fbc3",
    licence=Licence("CC-BY-4.0", "the TAT-QA authors, doi 10.18653/v1/2021.acl-long.254"),
    splits=("train", "dev", "test_gold"),
    candidate=("question", "table", "paragraphs"),
    gold=("answer", "answer_type", "scale"),
    official="tatqa/official",
    strict="tatqa/strict",
    scorer="tatqa/official",
    cluster="the context (uid of its table)",
    build=build,
)

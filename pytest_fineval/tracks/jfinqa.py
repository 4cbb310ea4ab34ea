"""jfinqa: Japanese financial questions, and rows of model runs without their questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Record, Track, build_case, unique

INSTRUCTIONS = "計算過程は書かず、答えだけを単位を付けて書いてください。"
"""The official match reads the whole output, so the answer has to come alone."""

RUN_ROW = ("run", "id", "subtask", "predicted", "gold")
"""Fields of a row of a model run; it has no question, so its case has no candidate."""


def build(records: Sequence[Record]) -> list[Case]:
    """Cases from question records (of the repository or of its flat copy) or from run rows.

    Raises:
        InputError: a field is missing, an id stands twice among questions, or the rows of one id
            disagree about its gold (both lines are named).
    """
    if is_run_row(records[0]):
        return _from_runs(records)
    return unique([_question(record) for record in records], records)


def is_run_row(record: Record) -> bool:
    """Whether a record is an answer of a model run instead of a question."""
    return "predicted" in record.fields


def _question(record: Record) -> Case:
    nested = "qa" in record.fields
    prefix = "qa." if nested else ""
    if nested:
        headers, rows = record.need("table.headers", list), record.table("table.rows")
    else:
        headers, rows = record.need("table_headers", list), record.table("table_rows")
    notes = [*record.lines("pre_text"), *record.lines("post_text")]
    if "scale" in record.fields:
        notes.append(f"単位: {record.need('scale')}")
    program: Any = None
    if "program" in (record.fields["qa"] if nested else record.fields):
        program = tuple(record.lines(prefix + "program"))
    return build_case(
        record,
        candidate=Candidate(
            question=record.need(prefix + "question"),
            text="\n".join(notes),
            table=(tuple(map(str, headers)), *rows),
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(answer=record.need(prefix + "answer"), program=program),
        cluster=record.need("source_doc_id") if "source_doc_id" in record.fields else None,
        **_common(record),
    )


def _from_runs(records: Sequence[Record]) -> list[Case]:
    cases: dict[str, Case] = {}
    first: dict[str, Record] = {}
    for record in records:
        name, gold = record.need("id"), record.need("gold")
        if name not in first:
            first[name] = record
            cases[name] = build_case(
                record,
                candidate=Candidate(absent=f"jfinqa legacy run rows hold no question: {name}"),
                gold=Gold(answer=gold),
                **_common(record),
            )
        elif cases[name].gold.answer != gold:
            raise record.fault(
                f'the gold of "{name}" is "{gold}" here and "{cases[name].gold.answer}" in line '
                f"{first[name].number}: one file cannot hold both"
            )
    return list(cases.values())


def _common(record: Record) -> dict[str, Any]:
    return {
        "id": record.need("id"),
        "category": "reasoning",
        "track": TRACK.name,
        "scorer": ScorerSpec(name=TRACK.scorer),
        "tags": {"language": "ja", "subtask": record.need("subtask")},
    }


TRACK = Track(
    name="jfinqa",
    source="https://github.com/ajtgjmdjp/jfinqa",
    revision="04831da9a5cdf1d1399c8adcc499faed25adb41a",
    licence=(
        "Apache-2.0, copyright 2025 ajtgjmdjp; source documents from the EDINET API of the "
        "Financial Services Agency of Japan under the Public Data License 1.0"
    ),
    splits=("test",),
    candidate=(
        "pre_text",
        "post_text",
        "scale",
        "table.headers",
        "table.rows",
        "qa.question",
        "table_headers",
        "table_rows",
        "question",
    ),
    gold=("qa.answer", "qa.program", "answer", "program", "gold"),
    scorer="jfinqa/official",
    build=build,
)

"""jfinqa: Japanese financial questions, and rows of model runs without their questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

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
    return build_all(_question, records)


def is_run_row(record: Record) -> bool:
    """Whether a record is an answer of a model run instead of a question."""
    return "predicted" in record.fields


def _question(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    nested = "qa" in record.fields
    prefix = "qa." if nested else ""
    if nested:
        headers, rows = seen.need("table.headers", list), seen.table("table.rows")
    else:
        headers, rows = seen.need("table_headers", list), seen.table("table_rows")
    notes = [*seen.lines("pre_text"), *seen.lines("post_text")]
    if seen.has("scale"):
        notes.append(f"単位: {seen.need('scale')}")
    program: Any = None
    if "program" in (kept.fields.get("qa", {}) if nested else kept.fields):
        program = tuple(kept.lines(prefix + "program"))
    return Case(
        candidate=Candidate(
            question=seen.need(prefix + "question"),
            text="\n".join(notes),
            table=(tuple(map(str, headers)), *rows),
            instructions=INSTRUCTIONS,
        ),
        gold=Gold(answer=kept.need(prefix + "answer"), program=program),
        cluster=record.need("source_doc_id") if record.has("source_doc_id") else None,
        **_common(record),
    )


def _from_runs(records: Sequence[Record]) -> list[Case]:
    first: dict[str, Record] = {}
    for record in records:
        name, gold = record.need("id"), record.need("gold")
        earlier = first.setdefault(name, record)
        if earlier.fields["gold"] != gold:
            raise record.fault(
                f'the gold of "{name}" is "{gold}" here and "{earlier.fields["gold"]}" in line '
                f"{earlier.number}: one file cannot hold both"
            )
    return build_all(_answered, list(first.values()))


def _answered(record: Record) -> Case:
    absent = f"jfinqa legacy run rows hold no question: {record.need('id')}"
    return Case(
        candidate=Candidate(absent=absent),
        gold=Gold(answer=record.need("gold")),
        **_common(record),
    )


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
    licence=Licence(
        "Apache-2.0",
        "copyright 2025 ajtgjmdjp; source documents from the EDINET API of the Financial Services "
        "Agency of Japan under the Public Data License 1.0",
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
    official="jfinqa/official",
    strict="jfinqa/strict",
    scorer="jfinqa/official",
    cluster="the filing (source_doc_id); run rows know none",
    build=build,
)

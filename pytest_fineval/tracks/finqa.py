"""FinQA: questions over a report page with a table, answered in free form or by a program."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all
from pytest_fineval.tracks.faults import TAG

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
    return build_all(partial(_case, programs=False), records)


def build_programs(records: Sequence[Record]) -> list[Case]:
    """The same cases, answered by programs and scored as published.

    The table stands in the scorer's options, too: table operations need it.
    """
    return build_all(partial(_case, programs=True), records)


def document(record: Record) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Text and table of a report page, as FinQA and ConvFinQA have them."""
    passage = [*record.lines("pre_text"), *record.lines("post_text")]
    return "\n".join(passage), record.table("table")


def _case(record: Record, *, programs: bool) -> Case:
    track = PROGRAMS if programs else TRACK
    seen, kept = record.only(track.candidate), record.only(track.gold)
    text, table = document(seen)
    options = {"table": table} if programs else {}
    answer = kept.need("qa.exe_ans", (int, float, str))
    tags = {"language": "en"}
    fault = display_fault(kept.fields["qa"].get("answer"), answer)
    if fault:
        tags[TAG] = fault
    return Case(
        id=record.need("id"),
        category="reasoning",
        candidate=Candidate(
            question=seen.need("qa.question"),
            text=text,
            table=table,
            instructions=PROGRAM_INSTRUCTIONS if programs else INSTRUCTIONS,
        ),
        gold=Gold(answer=answer, program=kept.need("qa.program")),
        scorer=ScorerSpec(name=track.scorer, **options),
        cluster=record.need("filename"),
        track=track.name,
        tags=tags,
    )


_DISPLAYED = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+")
_ROUNDING = 0.02
"""Within two percent a display answer is taken for a rounded or cut one."""


def display_fault(display: object, exe_ans: float | str) -> str | None:
    """Why the display answer of a record casts doubt on its exe_ans; None where it does not.

    Fractions shown as percent, percent stored as percent, and rounding are no faults. A record
    without a display answer field says nothing.
    """
    if not isinstance(display, str):
        return None
    if not display.strip():
        return "the display answer is empty"
    if isinstance(exe_ans, str):
        same = display.strip().lower() == exe_ans
        return None if same else f'the display answer is "{display[:60]}"'
    found = _DISPLAYED.search(display.replace("- ", "-"))
    if found is None:
        return f'the display answer is "{display[:60]}"'
    shown = float(found[0].replace(",", ""))
    if any(_about(shown, exe_ans * factor) for factor in (1, 100)):
        return None
    if any(_about(-shown, exe_ans * factor) for factor in (1, 100)):
        return "the display answer has the other sign"
    # A figure rounded to its last written digit: 8% for 0.0757.
    half = 0.5 * 10.0 ** -len(found[0].partition(".")[2])
    if any(abs(shown - exe_ans * factor) <= half * 1.001 for factor in (1, 100)):
        return None
    return f'the display answer is "{display[:60]}"'


def _about(shown: float, value: float) -> bool:
    return math.isclose(shown, value, rel_tol=_ROUNDING, abs_tol=1e-9)


TRACK = Track(
    name="finqa",
    source="https://github.com/czyssrs/FinQA",
    revision="0f16e2867befa6840783e58be38c9efb9229d742",
    licence=Licence("MIT", "copyright 2021 the FinQA author"),
    splits=("train", "dev", "test"),
    candidate=("qa.question", "table", "pre_text", "post_text"),
    gold=("qa.exe_ans", "qa.program", "qa.answer"),
    official=None,
    strict="finqa/strict",
    scorer="finqa/strict",
    cluster="the report page (filename)",
    build=build,
)

PROGRAMS = replace(
    TRACK,
    name="finqa-programs",
    official="finqa/official",
    strict=None,
    scorer="finqa/official",
    tools=("the program executor of the scorer",),
    build=build_programs,
)
"""Another protocol, so another track: its figures are not comparable with free answers."""

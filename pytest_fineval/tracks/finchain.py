"""FinChain and RusFinChain: symbolic chains of financial calculations, in English and Russian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_case, unique

SYSTEM = {
    "en": (
        "You are a financial analyst. Solve the problem step by step. Write each step on a line "
        "of its own as 'Step N: description = value'. End with one line 'Answer: ' and the number."
    ),
    "ru": (
        "Вы финансовый аналитик. Решите задачу по шагам. Каждый шаг пишите отдельной строкой: "
        "'Шаг N: описание = значение'. В конце одна строка 'Ответ: ' и число."
    ),
}
"""The step format stands in the system prompt, as in the paper."""

SETTINGS = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 1024}

FINAL_TOL = 0.05
"""A final answer is right within five percent of the gold, as published."""


def build(records: Sequence[Record], *, track: str) -> list[Case]:
    """Cases of the records that have a final answer, in order.

    `python_computation`, `solution`, `details` and `formula_latex` are text that nobody needs to
    score a chain: they are not read.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    answered = [record for record in records if record.has("final_answer")]
    return unique([_case(record, TRACKS[track]) for record in answered], answered)


def left_out(records: Sequence[Record]) -> dict[str, int]:
    """Records that are no cases, by reason."""
    count = sum(not record.has("final_answer") for record in records)
    return {"the final answer is null": count} if count else {}


def _case(record: Record, track: Track) -> Case:
    seen, kept = record.only(track.candidate), record.only(track.gold)
    language = "ru" if track is TRACKS["rusfinchain"] else "en"
    return build_case(
        record,
        id=str(record.need("id", (str, int))),
        category="reasoning",
        candidate=Candidate(question=seen.need("question")),
        gold=Gold(
            answer=kept.need("final_answer", (int, float)),
            unit="number",
            steps=tuple(_step(record, step) for step in kept.need("steps", list)),
        ),
        scorer=ScorerSpec(name=track.scorer, rel_tol=FINAL_TOL, locale=language),
        cluster=f"{record.need('domain')}/{record.need('topic')}",
        track=track.name,
        tags={
            "language": language,
            "task": record.need("domain"),
            "difficulty": str(record.need("level", (str, int))),
            "seed": str(record.need("seed", (str, int))),
        },
    )


def _step(record: Record, step: Any) -> dict[str, Any]:
    if not isinstance(step, dict) or not isinstance(step.get("description"), str):
        raise record.fault('each of "steps" has to hold a "description"')
    value = step.get("value")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise record.fault('the "value" of a step has to be a number or null')
    return {"description": step["description"], "value": value}


TRACK = Track(
    name="finchain",
    source="the record schema of the FinChain paper; no revision of its data is pinned",
    revision="schema@1",
    licence=Licence("as the file's own", "whoever made the file says under which terms"),
    splits=("test",),
    candidate=("question",),
    gold=("final_answer", "steps"),
    official=None,
    strict="reasoning",
    scorer="reasoning",
    cluster="the template (domain and topic)",
    build=partial(build, track="finchain"),
    model={**SETTINGS, "system": SYSTEM["en"]},
)

TRACKS = {
    "finchain": TRACK,
    "rusfinchain": replace(
        TRACK,
        name="rusfinchain",
        source="the record schema of the RusFinChain paper; no revision of its data is pinned",
        build=partial(build, track="rusfinchain"),
        model={**SETTINGS, "system": SYSTEM["ru"]},
    ),
}
"""By name."""

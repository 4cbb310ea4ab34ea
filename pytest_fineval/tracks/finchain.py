"""FinChain and RusFinChain: symbolic chains of financial calculations, in English and Russian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks.base import Licence, Record, Track, build_all
from pytest_fineval.tracks.faults import TAG

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
    """A case a record, in order.

    `python_computation`, `solution`, `details` and `formula_latex` are text that nobody needs to
    score a chain: they are not read. A record without a final answer is flagged; a number is wrong
    there, whatever it is.

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    return build_all(partial(_case, track=TRACKS[track]), records)


def _case(record: Record, track: Track) -> Case:
    seen, kept = record.only(track.candidate), record.only(track.gold)
    language = "ru" if track is TRACKS["rusfinchain"] else "en"
    final = kept.need("final_answer", (int, float, type(None)))
    tags = {
        "language": language,
        "task": record.need("domain"),
        "difficulty": str(record.need("level", (str, int))),
        "seed": str(record.need("seed", (str, int))),
    }
    options: dict[str, Any] = {"rel_tol": FINAL_TOL, "locale": language}
    if final is None:
        tags[TAG] = "the final answer is null"
        options["unanswerable"] = True
    return Case(
        id=str(record.need("id", (str, int))),
        category="reasoning",
        candidate=Candidate(question=seen.need("question")),
        gold=Gold(
            answer=final,
            unit="number",
            steps=tuple(_step(record, step) for step in kept.need("steps", list)),
        ),
        scorer=ScorerSpec(name=track.scorer, **options),
        cluster=f"{record.need('domain')}/{record.need('topic')}",
        track=track.name,
        tags=tags,
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

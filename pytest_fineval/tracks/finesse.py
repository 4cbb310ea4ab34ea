"""FINESSE-Bench: multiple choice with letter answers.

No public repository was found. The layout is this project's own: `id`, `set`, `question`,
`options` (texts by letter, or a list that is lettered A, B, C, ...), `answer` (a letter), and
where a question has one, `context`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks import restricted
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

INSTRUCTIONS = {
    "en": "Answer with the letter of one option alone.",
    "ru": "Ответьте одной буквой выбранного варианта.",
}


def build(records: Sequence[Record]) -> list[Case]:
    """A case a record.

    Raises:
        InputError: a field is missing, the answer is no letter of an option, or an id stands
            twice.
    """
    return build_all(_case, records)


def _case(record: Record) -> Case:
    seen, kept = record.only(TRACK.candidate), record.only(TRACK.gold)
    options = _options(seen)
    answer = kept.need("answer").strip()
    if answer not in options:
        raise record.fault(f'"answer" is "{answer}", which is none of {", ".join(options)}')
    language = record.need("language") if record.has("language") else "en"
    listed = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    return Case(
        id=record.need("id"),
        category="classification",
        candidate=Candidate(
            question=f"{seen.need('question')}\n{listed}",
            text=seen.need("context") if seen.has("context") else None,
            instructions=INSTRUCTIONS.get(language, INSTRUCTIONS["en"]),
        ),
        gold=Gold(answer=answer, labels=tuple(options)),
        scorer=ScorerSpec(name=TRACK.scorer),
        track=TRACK.name,
        tags={
            "language": language,
            "task": record.need("set"),
            restricted.TAG: TRACK.licence.name,
        },
    )


def _options(record: Record) -> Mapping[str, str]:
    options = record.need("options", (list, dict))
    if isinstance(options, list):
        options = dict(zip(string.ascii_uppercase, options, strict=False))
    if not 2 <= len(options) <= len(string.ascii_uppercase) or not all(
        isinstance(text, str) and text.strip() for text in options.values()
    ):
        raise record.fault('"options" has to hold two to 26 texts')
    return {str(letter): text for letter, text in options.items()}


TRACK = Track(
    name="finesse",
    source="arXiv 2605.15482; no public repository was found",
    revision="layout@1",
    licence=Licence(
        "non-commercial-research",
        "the FINESSE-Bench authors; parts for non-commercial research only",
        non_commercial=True,
    ),
    splits=("test",),
    candidate=("question", "options", "context"),
    gold=("answer",),
    official=None,
    strict="label",
    scorer="label",
    cluster="none: each question stands for itself",
    build=build,
)

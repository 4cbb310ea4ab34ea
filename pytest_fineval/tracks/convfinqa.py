"""ConvFinQA: conversations over a report page, one case a turn, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks import finqa
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

QUESTION = "Question {}: "
ANSWER = "Answer {}: "
"""How a turn and an earlier answer stand in the candidate, one line each."""

TURN_PROGRAM = (
    "A number that stands in the report is a program of its own: 60.94. The program must not refer "
    "to earlier turns."
)


def turns(record: Record, *, gold_history: bool) -> list[Record]:
    """The turns of a conversation as records of their own.

    A turn's record has the page, the questions up to the turn, with gold history the answers of
    earlier turns (`answers`), and apart from these its gold.

    Raises:
        InputError: questions, programs and answers are not equally many.
    """
    if "turn_ind" in record.need("annotation", dict) or "turn_ind" in record.fields:
        raise record.fault("holds a turn: import the file of whole conversations")
    questions = record.lines("annotation.dialogue_break")
    programs = record.need("annotation.turn_program", list)
    answers = record.need("annotation.exe_ans_list", list)
    if not questions or not len(questions) == len(programs) == len(answers):
        raise record.fault("dialogue_break, turn_program and exe_ans_list have to be of one length")
    made = []
    for turn, (program, answer) in enumerate(zip(programs, answers, strict=True)):
        fields = {name: record.need(name, list) for name in ("pre_text", "post_text", "table")}
        fields["questions"] = questions[: turn + 1]
        if gold_history:
            fields["answers"] = answers[:turn]
        gold = {"turn_program": program, "exe_ans": answer}
        names = {
            "id": f"{record.need('id')}#{turn}",
            "conversation": record.need("id"),
            "filename": record.need("filename"),
        }
        made.append(Record(record.path, record.number, {**fields, **gold, **names}))
    return made


def dialogue(questions: Sequence[str], answers: Sequence[object]) -> str:
    """Questions and, as far as there are any, answers to them: a line each."""
    lines = []
    for number, question in enumerate(questions, 1):
        lines.append(QUESTION.format(number) + " ".join(question.split()))
        if number <= len(answers):
            lines.append(ANSWER.format(number) + " ".join(str(answers[number - 1]).split()))
    return "\n".join(lines)


def build(records: Sequence[Record], *, track: str) -> list[Case]:
    """A case a turn, in order.

    Args:
        records: conversations.
        track: name of one of `TRACKS`.

    Raises:
        InputError: a field is missing, or a conversation stands twice.
    """
    protocol = TRACKS[track]
    found = [
        turn
        for record in records
        for turn in turns(record, gold_history="answers" in protocol.candidate)
    ]
    return build_all(partial(_case, track=protocol), found)


def _case(turn: Record, track: Track) -> Case:
    seen, kept = turn.only(track.candidate), turn.only(track.gold)
    programs = track.scorer == "convfinqa/official"
    text, table = finqa.document(seen)
    questions = seen.lines("questions")
    last = f"Answer question {len(questions)}. "
    how = f"{finqa.PROGRAM_INSTRUCTIONS} {TURN_PROGRAM}" if programs else finqa.INSTRUCTIONS
    return Case(
        id=turn.need("id"),
        category="reasoning",
        candidate=Candidate(
            question=dialogue(questions, seen.fields.get("answers", ())),
            text=text,
            table=table,
            instructions=last + how,
        ),
        gold=Gold(
            answer=kept.need("exe_ans", (int, float, str)), program=kept.need("turn_program")
        ),
        scorer=ScorerSpec(name=track.scorer, **({"table": table} if programs else {})),
        cluster=turn.need("filename"),
        track=track.name,
        tags={
            "language": "en",
            "conversation": turn.need("conversation"),
            "turn": str(len(questions)),
        },
    )


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Turn and conversation accuracy; each pair is (right, attempted).

    Attributes:
        turns: over all turns.
        conversations: a conversation is right when all of its turns are.
        by_turn: by place in the conversation, from 1. Later turns are fewer and harder.
    """

    turns: tuple[int, int]
    conversations: tuple[int, int]
    by_turn: Mapping[int, tuple[int, int]]


def accuracy(cases: Iterable[Case], scores: Mapping[str, float]) -> Accuracy:
    """What the scores of turns add up to.

    Args:
        cases: turns as this track builds them.
        scores: score by case id, right is 1; a turn without one counts as wrong.

    Returns:
        Counts. Turns of one conversation depend on each other: resample conversations (or
        reports, `Case.cluster`), not turns.
    """
    right: Counter[int] = Counter()
    attempted: Counter[int] = Counter()
    whole: dict[str, bool] = {}
    for case in cases:
        turn, conversation = int(case.tags["turn"]), case.tags["conversation"]
        correct = scores.get(case.id, 0.0) == 1
        attempted[turn] += 1
        right[turn] += correct
        whole[conversation] = whole.get(conversation, True) and correct
    return Accuracy(
        (right.total(), attempted.total()),
        (sum(whole.values()), len(whole)),
        {turn: (right[turn], attempted[turn]) for turn in sorted(attempted)},
    )


TRACK = Track(
    name="convfinqa",
    source="https://github.com/czyssrs/ConvFinQA",
    revision="cf3eed2d5984960bf06bb8145bcea5e80b0222a6",
    licence=Licence("MIT", "the ConvFinQA authors"),
    splits=("train", "dev"),
    candidate=("pre_text", "post_text", "table", "questions", "answers"),
    gold=("exe_ans", "turn_program"),
    official=None,
    strict="convfinqa/strict",
    scorer="convfinqa/strict",
    cluster="the report page (filename), which holds whole conversations",
    build=partial(build, track="convfinqa"),
)
"""Gold history: earlier turns carry their gold answers, never that of the turn asked."""


def _variant(name: str, *, own: bool, programs: bool) -> Track:
    candidate = tuple(field for field in TRACK.candidate if not own or field != "answers")
    changed = replace(TRACK, name=name, candidate=candidate, build=partial(build, track=name))
    if not programs:
        return changed
    return replace(
        changed,
        official="convfinqa/official",
        strict=None,
        scorer="convfinqa/official",
        tools=("the program executor of the scorer",),
    )


TRACKS = {
    track.name: track
    for track in (
        TRACK,
        _variant("convfinqa-programs", own=False, programs=True),
        _variant("convfinqa-own-history", own=True, programs=False),
        _variant("convfinqa-own-history-programs", own=True, programs=True),
    )
}
"""By name. With own history the questions come without answers; `own_history.client` adds the
model's own."""

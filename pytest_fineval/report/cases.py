"""The cases of a report: question, evidence, gold and the answers before and after, made safe."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_fineval.cases.model import Case, Gold
from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import Scored
from pytest_fineval.report.figures import CHANGED, gated
from pytest_fineval.report.material import Material
from pytest_fineval.report.text import clipped, shown
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.store.record import Record

LIMITS = (20_000, 6_000, 2_000, 800, 300, 120)
"""Characters that one text may keep; the first that lets the whole report fit its budget."""

BUDGET = 27_000_000
"""Bytes of all cases together: a report of 20,000 records stays under 30 MB."""

FRAME = 450
"""Bytes of a case beside its texts, about."""

MOST_READ_AGAIN = 500
"""Cases that moved whose baseline answer is read again, to mark the value in it; flips first."""

ORDER = ("lost", "gained", "worse", "better", "same", "new")
"""How a case moved, the first being what a reviewer reads first."""


@dataclass(frozen=True)
class AnswerView:
    """One answer.

    Attributes:
        text: (before the value, the value that was read, after it).
        parts: named partial scores. how: what the scorer says of its reading.
    """

    text: tuple[str, str, str]
    score: float
    status: str = ""
    read: str = ""
    failure: str = ""
    stage: str = ""
    error: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    how: tuple[tuple[str, str], ...] = ()
    cost_usd: float | None = None
    latency_s: float = 0.0


@dataclass(frozen=True)
class CaseView:
    """One case of the gated model.

    Attributes:
        change: one of `ORDER`. before, after: mean scores.
        told: the baseline's telling answer and the candidate's: for a lost case the best before
            beside the worst now. others: the candidate's further samples.
        evidence: passage and table rows the model was given; empty where the file is not here.
    """

    id: str
    category: str
    track: str
    language: str
    tags: tuple[str, ...]
    where: str
    change: str
    must_pass: bool
    status: str
    failure: str
    before: float | None
    after: float
    question: str
    instructions: str
    passage: str
    table: tuple[tuple[str, ...], ...]
    gold: tuple[tuple[str, str], ...]
    scorer: str
    told_before: AnswerView | None
    told_after: AnswerView
    others: tuple[AnswerView, ...]


def case_views(material: Material) -> tuple[list[CaseView], int]:
    """Every case of the gated model, lost first; and the characters that one text may keep."""
    groups: dict[str, list[Record]] = {}
    for record in gated(material):
        groups.setdefault(record.case.id, []).append(record)
    limit = _limit(material, groups)
    flips = {flip.case: flip.kind for flip in material.verdict.flips}
    moved = {name: _moved(material, group, flips.get(name)) for name, group in groups.items()}
    again = [n for n in groups if n in flips] + [n for n in groups if n not in flips]
    again = [name for name in again if moved[name] not in {"same", "new"}][:MOST_READ_AGAIN]
    read_again = set(again)
    views = [
        _view(material, group, moved[name], limit, read_again=name in read_again)
        for name, group in groups.items()
    ]
    return sorted(views, key=lambda v: (ORDER.index(v.change), v.category, v.id)), limit


def telling(
    group: Sequence[Record], before: Sequence[Scored], change: str | None
) -> tuple[Scored | None, Record]:
    """The two answers that tell why a case moved."""
    better, worse = (min, max) if change in ("gained", "better") else (max, min)
    earlier = better(before, key=lambda one: one[0]) if before else None
    return earlier, worse(group, key=lambda record: record.value)


def _view(
    material: Material,
    group: Sequence[Record],
    change: str,
    limit: int,
    *,
    read_again: bool,
) -> CaseView:
    planned = group[0].case
    located = material.cases.get(planned.id)
    case = located.case if located else None
    before, after = _means(material, group)
    earlier, telling_record = telling(group, material.before.get(planned.id, ()), change)
    told = answer_view(telling_record, limit)
    tags = dict(case.tags) if case else {}
    return CaseView(
        id=planned.id,
        category=planned.category,
        track=planned.track,
        language=shown(tags.get("language", "")),
        tags=tuple(shown(f"{name}={value}") for name, value in sorted(tags.items())),
        where=f"{located.path.as_posix()}:{located.line}" if located else "",
        change=change,
        must_pass=planned.must_pass,
        status=telling_record.status.replace("_", " "),
        failure=told.failure,
        before=before,
        after=after,
        question=_kept(case.candidate.question or case.candidate.absent, limit) if case else "",
        instructions=_kept(case.candidate.instructions, limit) if case else "",
        passage=_kept(case.candidate.text, limit) if case else "",
        table=_table(case, limit),
        gold=_gold(case.gold, limit) if case else (),
        scorer=_scorer(case) if case else planned.scorer,
        told_before=_earlier(earlier, case if read_again else None, limit),
        told_after=told,
        others=tuple(answer_view(record, limit) for record in group if record != telling_record),
    )


def answer_view(record: Record, limit: int) -> AnswerView:
    """One record's answer, model text made safe."""
    answer, score = record.answer, record.score
    error = ""
    if answer is None:
        error = shown(record.note or record.status.replace("_", " "))
    elif answer.error is not None:
        error = f"{answer.error.kind}: {_kept(answer.error.message, 500)}"
    failure = score.failure if score and score.failure else ""
    if answer is not None and answer.error is not None:
        failure = answer.error.kind
    return AnswerView(
        text=_marked(answer.text if answer else "", score.span if score else None, limit),
        score=record.value,
        status=record.status.replace("_", " "),
        read="" if score is None or score.parsed is None else _plain(score.parsed, 400),
        failure=failure.replace("_", " "),
        stage=score.stage or "" if score else "",
        error=error,
        parts=_named(score.parts) if score else (),
        how=_named(score.details) if score else (),
        cost_usd=answer.cost_usd if answer else None,
        latency_s=answer.latency_s if answer else 0.0,
    )


def _earlier(earlier: Scored | None, case: Case | None, limit: int) -> AnswerView | None:
    if earlier is None:
        return None
    score, text = earlier
    if case is not None:
        try:
            again = prepare(case.scorer, case.gold).score(text)
        except InputError:  # a scorer of another release: shown without the mark
            again = None
        if again is not None and again.span is not None:
            return AnswerView(
                _marked(text, again.span, limit), score, read=_plain(again.parsed, 400)
            )
    return AnswerView(_marked(text, None, limit), score)


def _limit(material: Material, groups: Mapping[str, Sequence[Record]]) -> int:
    texts: list[str] = []
    for name, group in groups.items():
        texts += [record.answer.text for record in group if record.answer]
        texts.append(max((text for _, text in material.before.get(name, ())), key=len, default=""))
        located = material.cases.get(name)
        if located is not None:
            candidate = located.case.candidate
            texts += [candidate.text or "", candidate.question, candidate.instructions or ""]
            texts.append('","'.join(cell for row in candidate.table or () for cell in row))
    sizes = [(len(text), _bytes_a_character(text)) for text in texts if text]
    left = BUDGET - FRAME * sum(map(len, groups.values()))
    for limit in LIMITS:
        if sum(min(length, limit) * width for length, width in sizes) <= left:
            return limit
    return LIMITS[-1]


def _bytes_a_character(text: str) -> float:
    return 1.0 if text.isascii() else len(text.encode()) / len(text)


def _means(material: Material, group: Sequence[Record]) -> tuple[float | None, float]:
    known = material.baseline.cases.get(group[0].case.id) if material.baseline else None
    before = math.fsum(known.scores) / len(known.scores) if known else None
    return before, math.fsum(record.value for record in group) / len(group)


def _moved(material: Material, group: Sequence[Record], flip: str | None) -> str:
    before, after = _means(material, group)
    if flip is not None:
        return flip
    if before is None:
        return "new"
    if abs(before - after) <= CHANGED:
        return "same"
    return "worse" if after < before else "better"


def _table(case: Case | None, limit: int) -> tuple[tuple[str, ...], ...]:
    rows: list[tuple[str, ...]] = []
    left = limit
    for row in (case.candidate.table or ()) if case else ():
        left -= sum(map(len, row))
        if left < 0:
            return (*rows, ("[further rows left out]",))
        rows.append(tuple(shown(cell) for cell in row))
    return tuple(rows)


def _gold(gold: Gold, limit: int) -> tuple[tuple[str, str], ...]:
    plain = gold.model_dump(mode="json", exclude_defaults=True)
    return tuple((name, _plain(value, limit)) for name, value in plain.items())


def _scorer(case: Case) -> str:
    options = " ".join(f"{name}={_plain(v, 60)}" for name, v in case.scorer.options.items())
    mark = f"pass mark {case.pass_mark:g}" if case.pass_mark is not None else ""
    return "  ".join(filter(None, (case.scorer.name, options, mark)))


def _named(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name.replace("_", " "), f"{v:.4g}" if isinstance(v, float) else _plain(v, 300))
        for name, v in values.items()
        if v is not None and v != []
    )


def _marked(text: str, span: tuple[int, int] | None, limit: int) -> tuple[str, str, str]:
    head, value, tail = clipped(text, limit, span)
    return shown(head), shown(value), shown(tail)


def _kept(text: str | None, limit: int) -> str:
    return shown(clipped(text or "", limit)[0])


def _plain(value: Any, limit: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _kept(text, limit)


def count(values: Iterable[str]) -> list[tuple[str, int]]:
    """Distinct values with their counts, most frequent first: the choices of a filter."""
    counted = Counter(value for value in values if value)
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))

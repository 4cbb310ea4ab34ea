"""The one view model: every figure that a report shows is made here, no renderer computes any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pytest_fineval.gate.checks import Check
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.report.text import visible
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import ItemStatus, Record

BaselineAnswers = Mapping[str, Sequence[tuple[float, str]]]
"""Case -> (score, raw answer) of each of the baseline's samples."""

FAILING = frozenset({"block", "invalid"})

NEXT = {
    "block": "compare the lost cases below; a change that is meant needs a new signed baseline "
    "(fineval baseline propose, then sign)",
    "inconclusive": "run the full suite (without --fineval-split smoke) or more samples "
    "(--fineval-repeat 5) to decide",
}
"""What to do next, by outcome."""


@dataclass(frozen=True)
class Row:
    """One gate row: a check, or the verdict as a whole where no check says it."""

    name: str
    outcome: str
    text: str
    fails: bool


@dataclass(frozen=True)
class Category:
    """One category of the gated model, counted over its records."""

    name: str
    n: int
    attempted: int
    submitted: int
    scored: int
    mean: float


@dataclass(frozen=True)
class Shown:
    """One case in the list under the table, model text already made safe."""

    case: str
    category: str
    label: str
    before: str | None
    after: str
    note: str


@dataclass(frozen=True)
class Summary:
    """All that a renderer needs."""

    verdict: Verdict
    categories: tuple[Category, ...]
    checks: tuple[Check, ...]
    shown: tuple[Shown, ...]
    wrong: tuple[Shown, ...]
    statuses: Mapping[str, int]
    cost_usd: float
    model: str
    split: str
    folder: Path | None
    notes: tuple[str, ...]


def rows(verdict: Verdict) -> list[Row]:
    """The verdict as rows for terminal and JUnit.

    Every check is a row; a verdict that no check explains (invalid, not judged, a must-pass case)
    is a row of its own. Some row fails exactly when the verdict's exit code is not 0.
    """
    must_not_pass = verdict.exit_code not in (0, None)
    listed = [
        Row(
            check.name,
            check.outcome,
            f"{check_line(check)}\n{NEXT.get(check.outcome, '')}".rstrip(),
            must_not_pass and _fails(check.outcome, verdict),
        )
        for check in verdict.checks
    ]
    explained = any(row.outcome == verdict.outcome for row in listed)
    if not explained or (must_not_pass and not any(row.fails for row in listed)):
        listed.append(Row("verdict", verdict.outcome, verdict.cause, must_not_pass))
    return listed


def _fails(outcome: str, verdict: Verdict) -> bool:
    return outcome in FAILING or (outcome == "inconclusive" and verdict.mode == "deploy")


def check_line(check: Check) -> str:
    """One check as a reviewer reads it (GATE, What a reviewer reads)."""
    if check.baseline is None or check.candidate is None or check.drop is None:
        return f"{check.name}  n={check.n}  {check.note}  {check.outcome.upper()}"
    parts = [
        check.name,
        f"n={check.n}",
        f"{_share(check.baseline)} -> {_share(check.candidate)}",
        f"drop {points(check.drop)} pts" + _allowed(check),
        f"lost {check.lost}, gained {check.gained}",
        f"p={p_value(check.p)}, Holm {p_value(check.p_holm)} "
        f"{'<=' if check.p_holm <= check.alpha else '>'} {check.alpha:g}",
        check.outcome.upper() + (f": {check.note}" if check.note else ""),
    ]
    return "  ".join(parts)


def check_cells(check: Check) -> tuple[str, ...]:
    """One check as the cells of a table: name, n, counts, means, drop, limit, flips, p, verdict."""
    allowed = points(check.max_drop) if check.max_drop is not None else "-"
    if check.floor is not None:
        allowed = f">= {check.floor:.3f}"
    return (
        check.name,
        str(check.n),
        f"{check.attempted}/{check.submitted}/{check.scored}",
        _share(check.baseline),
        _share(check.candidate),
        "-" if check.drop is None else f"{points(check.drop)} pts",
        allowed,
        f"{check.lost}/{check.gained}",
        p_value(check.p),
        f"{p_value(check.p_holm)} {'<=' if check.p_holm <= check.alpha else '>'} {check.alpha:g}",
        check.outcome.upper() + (" (proven)" if check.proven else ""),
    )


def _share(value: float | None) -> str:
    # A stored 0.4125 and the sum it was made of may lie to either side of the half.
    return "-" if value is None else f"{value + 1e-9:.3f}"


def _allowed(check: Check) -> str:
    if check.floor is not None:
        return f" (floor {check.floor:.3f})"
    return "" if check.max_drop is None else f" (allowed {points(check.max_drop)})"


def points(share: float) -> str:
    """A share of 1 in percentage points."""
    return f"{100 * share:.1f}".replace("-0.0", "0.0")


def p_value(p: float) -> str:
    """A p-value as it is printed: three decimals, never 0."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def summarize(
    verdict: Verdict,
    manifest: Manifest,
    records: Sequence[Record],
    before: BaselineAnswers,
    folder: Path | None,
    notices: Sequence[str] = (),
) -> Summary:
    """The view of one judged run.

    Args:
        records: of all models; the figures are of the gated one.
        before: the baseline's answers; empty when it kept none.
        notices: what the run has to say beside its verdict.
    """
    # Confirmations and second looks are paid for, but are no cases of their own.
    gated = [r for r in records if r.model == manifest.candidate and r.sample < manifest.samples]
    by_case: dict[str, list[Record]] = {}
    for record in sorted(gated, key=lambda r: r.key):
        by_case.setdefault(record.case.id, []).append(record)
    flipped = tuple(
        _shown(by_case[flip.case], before, flip.kind)
        for flip in verdict.flips
        if flip.case in by_case
    )
    wrong = tuple(
        _shown(group, before, group[0].status.replace("_", " "))
        for group in by_case.values()
        if any(record.status != "correct" for record in group)
    )
    counts = Counter(record.status for record in gated)
    return Summary(
        verdict=verdict,
        categories=_categories(gated),
        checks=verdict.checks,
        shown=flipped,
        wrong=wrong,
        statuses={status: counts[status] for status in get_args(ItemStatus) if counts[status]},
        cost_usd=sum(r.answer.cost_usd or 0.0 for r in records if r.answer),
        model=manifest.candidate,
        split=manifest.split,
        folder=folder,
        notes=(*verdict.notes, *notices),
    )


def _categories(records: Sequence[Record]) -> tuple[Category, ...]:
    names = list(dict.fromkeys(record.case.category for record in records))
    found = []
    for name in names:
        group = [record for record in records if record.case.category == name]
        found.append(
            Category(
                name=name,
                n=len(group),
                attempted=sum(r.attempted for r in group),
                submitted=sum(r.submitted for r in group),
                scored=sum(r.scored for r in group),
                mean=sum(r.value for r in group) / len(group),
            )
        )
    return tuple(found)


def _shown(group: Sequence[Record], before: BaselineAnswers, label: str) -> Shown:
    # A case of several samples is shown by the answers that tell why it moved: for a lost one the
    # baseline's best beside the candidate's worst.
    better, worse = (min, max) if label == "gained" else (max, min)
    after = worse(group, key=lambda record: record.value)
    earlier = before.get(after.case.id)
    return Shown(
        case=after.case.id,
        category=after.case.category,
        label=label,
        before=visible(better(earlier, key=lambda one: one[0])[1]) if earlier else None,
        after=_answer(after),
        note=_note(after),
    )


def _answer(record: Record) -> str:
    if record.answer is None:
        return f"no answer ({record.note or record.status})"
    if record.answer.error is not None:
        return f"no answer: {record.answer.error.kind}: {visible(record.answer.error.message, 300)}"
    return visible(record.answer.text)


def _note(record: Record) -> str:
    score = record.score
    if score is None:
        return record.status.replace("_", " ")
    if score.failure:
        return score.failure.replace("_", " ")
    read = "" if score.parsed is None else f"read {visible(str(score.parsed), 40)}, "
    return f"{read}score {score.value:.3g}"

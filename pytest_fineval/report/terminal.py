"""The `fineval` section of the terminal and its last line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TextIO

from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.report.summary import Category, Shown, Summary, check_cells

MOST_SHOWN = 10
"""Cases listed under the table; the rest is counted and stands in the run's folder."""

COLOUR = {
    "pass": {"green": True},
    "inconclusive": {"yellow": True},
    "not_judged": {"yellow": True},
    "block": {"red": True, "bold": True},
    "invalid": {"red": True, "bold": True},
}


class Writer(Protocol):
    """The part of pytest's terminal reporter that is used."""

    def write_sep(self, sep: str, title: str | None = None, **markup: bool) -> None: ...
    def write_line(self, line: str, **markup: bool) -> None: ...


class Plain:
    """A Writer on any text stream, without colours: for `fineval gate`."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write_sep(self, sep: str, title: str | None = None, **markup: bool) -> None:
        self.write_line(f" {title or ''} ".center(80, sep), **markup)

    def write_line(self, line: str, **markup: bool) -> None:  # noqa: ARG002 - no colours here
        self._stream.write(line + "\n")


def write(summary: Summary, out: Writer, show: Literal["lost", "wrong", "all"]) -> None:
    """The whole section: counts, table, cases, notes, folder."""
    out.write_sep("=", "fineval")
    counts = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in summary.statuses.items())
    out.write_line(f"model {summary.model}, split {summary.split}: {counts or 'no records'}")
    if summary.cost_usd:
        out.write_line(f"cost of this run: ${summary.cost_usd:.4f}")
    if summary.checks:
        _table(out, _HEAD, [check_cells(check) for check in summary.checks])
    elif summary.categories:
        _table(out, _HEAD_PLAIN, [_category_cells(item) for item in summary.categories])
    for check in summary.checks:
        if check.note:
            out.write_line(f"  {check.name}: {check.note}")
    _cases(out, summary, show)
    for note in summary.notes:
        out.write_line(f"note: {note}")
    if summary.folder is not None:
        out.write_line(f"records and verdict: {summary.folder}")


def write_verdict(verdict: Verdict, out: Writer) -> None:
    """The last line: the verdict and its cause."""
    word = verdict.outcome.replace("_", " ")
    cause = verdict.cause.removeprefix(f"{word}: ")
    out.write_line(f"fineval: {word.upper()}: {cause}", **COLOUR[verdict.outcome])


_HEAD = (
    "check", "n", "att/sub/scored", "baseline", "candidate", "drop", "allowed",
    "lost/gained", "p", "Holm p", "verdict",
)  # fmt: skip
_HEAD_PLAIN = ("category", "n", "att/sub/scored", "score")


def _category_cells(item: Category) -> tuple[str, ...]:
    counts = f"{item.attempted}/{item.submitted}/{item.scored}"
    return (item.name, str(item.n), counts, f"{item.mean:.3f}")


def _table(out: Writer, head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    for row in [head, *body]:
        cells = [
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        colour = COLOUR.get(row[-1].partition(" ")[0].lower(), {})
        out.write_line("  ".join(cells).rstrip(), **colour)


def _cases(out: Writer, summary: Summary, show: str) -> None:
    listed = list(summary.shown if show != "wrong" else summary.wrong)
    if show == "all":
        known = {item.case for item in listed}
        listed += [item for item in summary.wrong if item.case not in known]
    for item in listed[:MOST_SHOWN]:
        _case(out, item)
    if len(listed) > MOST_SHOWN:
        out.write_line(
            f"... and {len(listed) - MOST_SHOWN} more in {summary.folder or 'the records'}"
        )


def _case(out: Writer, item: Shown) -> None:
    out.write_line(f"{item.label.upper()} {item.case} ({item.category}): {item.note}")
    if item.before is not None:
        out.write_line(f"    before {item.before}")
    out.write_line(f"    after  {item.after}")

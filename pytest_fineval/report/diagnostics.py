"""What the reasoning chains of a run show, in lines; docs/steps.md tells how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_fineval.report.summary import p_value
from pytest_fineval.report.text import columns
from pytest_fineval.stats.chains import (
    GROUPS,
    HIGH,
    Correlation,
    Outcome,
    cause_shares,
    correlations,
    group_table,
    levels,
    reasoning_gap,
)


@dataclass(frozen=True)
class Part:
    """Outcomes that belong together: all of a rubric, or all of a gold chain.

    Attributes:
        title: what was compared.
        figure: the step figure that is held against the final answers.
        outcomes: one a record.
    """

    title: str
    figure: str
    outcomes: Sequence[Outcome]


def lines(part: Part) -> Iterator[str]:
    """The reasoning gap, tables by group, correlations, levels and causes of one part."""
    found = part.outcomes
    gap = reasoning_gap(found, part.figure)
    yield f"{part.title}: {gap.n} answers"
    yield (
        f"  {part.figure} {gap.steps:.3f}, final answers {gap.final:.3f}, gap {gap.gap:+.3f}; "
        f"good steps ({HIGH:g} or more) and a wrong answer: "
        f"{100 * gap.good_steps_wrong_answer:.0f} %, "
        f"poor steps and a right answer: {100 * gap.poor_steps_right_answer:.0f} %"
    )
    for group in GROUPS:
        # A table of one row says what the line above says.
        if len({getattr(outcome, group) for outcome in found}) > 1:
            rows = group_table(found, [group])
            yield from _indented(
                [
                    (group, "n", "final", *sorted(rows[0].figures)),
                    *(
                        (
                            row.group[0] or "(none)",
                            str(row.n),
                            f"{row.final:.3f}",
                            *(f"{row.figures[name]:.3f}" for name in sorted(row.figures)),
                        )
                        for row in rows
                    ),
                ]
            )
    yield from _indented(
        [("figure against final", "Spearman", "p", "Pearson", "p"), *map(_row, correlations(found))]
    )
    by_level = levels(found)
    if by_level.test is not None:
        yield f"  levels differ (analysis of variance): p {p_value(by_level.test.pvalue)}"
    shares = cause_shares(found)
    if shares:
        named = ", ".join(f"{cause} {100 * share:.0f} %" for cause, share in shares.items())
        yield f"  why answers are wrong: {named}"


def _row(found: Correlation) -> tuple[str, ...]:
    def shown(figure: float | None) -> str:
        return "-" if figure is None else f"{figure:.2f}"

    def shown_p(p: float | None) -> str:
        return "-" if p is None else p_value(p)

    return (
        found.figure,
        shown(found.spearman), shown_p(found.spearman_p),
        shown(found.pearson), shown_p(found.pearson_p),
    )  # fmt: skip


def _indented(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for line in columns(rows):
        yield f"  {line}"

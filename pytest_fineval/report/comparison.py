"""A comparison of models as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fineval.gate.compare import Comparison, Difference, Selection
from pytest_fineval.report.summary import p_value, points
from pytest_fineval.report.text import columns

MOST_NAMED = 5

_HEAD = ("model", "check", "n", "reference", "value", "drop", "95 % interval", "lost/gained", "p",
         "Holm p")  # fmt: skip


def lines(found: Comparison) -> list[str]:
    """The table, the flipped cases, and what choosing the best means."""
    text = [f"reference {found.reference}; drop = reference - model, in points, positive is worse"]
    text += [f"note: {note}" for note in found.allowed]
    text += [
        f"{one.model}  {one.check}  {one.mean:.3f} (95 % interval {one.interval95[0]:.3f} to "
        f"{one.interval95[1]:.3f}), {one.right} of {one.n} right"
        for one in found.standings
    ]
    text += columns([_HEAD, *(_cells(one) for one in found.differences)], left=2)
    for one in found.differences:
        if one.check.startswith("overall"):
            text += [
                f"{kind} with {one.model}: {_named(names)}"
                for kind, names in (("lost", one.lost), ("gained", one.gained))
                if names
            ]
    text += [_selected(one) for one in found.selection]
    return text


def brief(found: Comparison) -> list[str]:
    """One sentence a model: how it stands to the reference over all cases."""
    return [
        f"{one.check}: {one.model} {one.value:.3f} against {found.reference} {one.reference:.3f}, "
        f"drop {points(one.drop)} pts ({points(one.interval95[0])} to "
        f"{points(one.interval95[1])}), lost {len(one.lost)}, gained {len(one.gained)}, "
        f"Holm p={p_value(one.p_holm)}"
        for one in found.differences
        if one.check.startswith("overall")
    ]


def _cells(one: Difference) -> tuple[str, ...]:
    low, high = one.interval95
    return (
        one.model,
        one.check,
        str(one.n),
        f"{one.reference:.3f}",
        f"{one.value:.3f}",
        points(one.drop),
        f"{points(low)} to {points(high)}",
        f"{len(one.lost)}/{len(one.gained)}",
        p_value(one.p),
        p_value(one.p_holm),
    )


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + rest


def _selected(one: Selection) -> str:
    text = (
        f"best of {one.k} by {one.check}: {one.best} with {one.right} right; were all as good as "
        f"the reference, the best would be expected at {one.expected_best:.3f} and get this far "
        f"with p={p_value(one.p_best)}"
    )
    if one.pbo is None:
        return text
    return f"{text}; probability that the choice is overfitted (PBO): {one.pbo:.2f}"

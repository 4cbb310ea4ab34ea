"""Reasoning: a number that the document does not state, worked out from figures that it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from evals.build import words
from evals.build.documents import Document
from evals.build.questions.base import Input, Question, numeric, plain

# The final answer alone decides; the rubric says of a wrong one whether its operands were found.
SCORER = {"name": "steps", "rel_tol": 0.005}
# Half of the last digit that is asked for, so that correct rounding never costs the point.
HALF_DIGIT = {"percent": 0.05, "x": 0.005, "bps": 0.5, "per share": 0.005}


@dataclass(frozen=True)
class Formula:
    """A way to work a number out: its unit, and the function of the operands' whole values.

    Attributes:
        unit: what comes out; None where it is what goes in.
        work: the function of the operands, in the order in which a question lists them.
        trait: what of the suite's coverage it adds.
    """

    unit: str | None
    work: Callable[..., Decimal]
    trait: str | None = None


FORMULAS = {
    "total": Formula(None, lambda *parts: sum(parts, Decimal(0))),
    "difference": Formula(None, lambda more, less: more - less),
    "growth": Formula("percent", lambda new, old: 100 * (new - old) / abs(old)),
    "share": Formula("percent", lambda part, whole: 100 * part / whole),
    "margin": Formula("percent", lambda sales, *costs: 100 * (sales - sum(costs)) / sales),
    "combined": Formula("percent", lambda base, *costs: 100 * sum(costs) / base, "ratio"),
    "ratio": Formula("x", lambda over, under: over / under),
    "leverage": Formula("x", lambda debt, cash, *ebitda: (debt - cash) / sum(ebitda)),
    "points": Formula("bps", lambda new, old: 100 * (new - old)),
    "trailing": Formula(None, lambda year, now, then: year + now - then, "ttm"),
    "per_share": Formula("per share", lambda amount, shares: amount / shares),
    "payment": Formula("amount", lambda claim, deductible: max(claim - deductible, Decimal(0))),
}


def build(document: Document, asked: Input) -> Question:
    """The number that a formula gives for the figures `of`, and a rubric of those figures."""
    formula, figures = FORMULAS[asked["ask"]], asked["of"]
    value = formula.work(*(document.whole(figure) for figure in figures))
    unit = formula.unit or document.unit(figures[0])
    scorer = dict(SCORER)
    if unit in HALF_DIGIT:
        scorer["abs_tol"] = HALF_DIGIT[unit]
    found = numeric(document, asked, value, unit, scorer)
    steps = [_step(document, figure) for figure in dict.fromkeys(figures)]
    trait = (formula.trait,) if formula.trait and formula.trait not in found.traits else ()
    return replace(found, gold={**found.gold, "steps": steps}, traits=(*found.traits, *trait))


def _step(document: Document, figure: str) -> dict[str, object]:
    """A figure as a quantity that a worked answer should name."""
    unit = document.unit(figure)
    step: dict[str, object] = {
        "name": document.name(figure),
        "value": plain(document.value(figure)),
        "unit": {"amount": document.currency, "per share": f"{document.currency}/share"}.get(
            unit, unit
        ),
        "rel_tol": 0,
    }
    if unit == "amount":
        step["scale"] = words.SCALES[document.scale_of(figure)]
    return step


BUILDERS = dict.fromkeys(FORMULAS, build)

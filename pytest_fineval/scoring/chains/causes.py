"""Why a chain ends wrong: found by working out its shown arithmetic, not by a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_fineval.scoring.chains.arithmetic import Shown, slips
from pytest_fineval.scoring.chains.metrics import final_match
from pytest_fineval.scoring.chains.parse import Chain

Cause = Literal["missing_answer", "arithmetic_slip", "wrong_formula"]

VALUE_TOL = 0.005
"""A worked-out expression is the gold's within this relative difference."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong in one chain.

    Attributes:
        cause: None when the final answer is right. `missing_answer`: none is stated.
            `arithmetic_slip`: an expression is worth a gold value, and another result is written
            after it. `wrong_formula`: all else, as no shown expression explains the answer.
        step: number of the step of the slip, from 0.
        shown: the expression of the slip.
        slips: shown results that are not what their expressions are worth, gold or not.
    """

    cause: Cause | None
    step: int | None = None
    shown: Shown | None = None
    slips: int = 0


def diagnose(
    chain: Chain,
    gold_values: Sequence[float | None],
    gold_final: float | None,
    locale: str = "en",
    *,
    correct: bool | None = None,
) -> Diagnosis:
    """The cause of a wrong final answer.

    Args:
        chain: what the model wrote.
        gold_values, gold_final: values of the gold steps and of the gold answer.
        locale: of the chain's numbers.
        correct: whether the final answer is right, where a scorer has decided it; else it is right
            within 5 percent of the gold.
    """
    found = list(slips([step.text for step in chain.steps], locale))
    final = None if chain.final_answer is None else float(chain.final_answer)
    if correct is None:
        correct = bool(final_match(gold_final, final))
    if correct:
        return Diagnosis(None, slips=len(found))
    if final is None:
        return Diagnosis("missing_answer", slips=len(found))
    wanted = [value for value in (*gold_values, gold_final) if value is not None]
    for number, shown in found:
        right = any(final_match(value, shown.worked_out, VALUE_TOL) for value in wanted)
        if right and not any(final_match(value, shown.stated, VALUE_TOL) for value in wanted):
            return Diagnosis("arithmetic_slip", number, shown, len(found))
    return Diagnosis("wrong_formula", slips=len(found))

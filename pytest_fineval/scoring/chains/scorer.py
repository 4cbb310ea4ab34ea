"""The `steps` scorer: the final answer, and beside it the rubric of intermediate quantities."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.chains.causes import diagnose
from pytest_fineval.scoring.chains.parse import parse_chain
from pytest_fineval.scoring.chains.rubric import check_rubric, quantities
from pytest_fineval.scoring.extract import body
from pytest_fineval.scoring.numeric import NumericOptions, NumericScorer
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean


class StepsOptions(NumericOptions):
    """Options of `numeric`, and the share of the score that the rubric decides."""

    step_weight: float = Field(0.0, ge=0, le=1)


class StepsScorer(NumericScorer):
    """`steps`: the final number as `numeric` scores it, and the quantities that lead to it.

    `gold.steps` is the rubric: `{"name", "value"}` each, with `unit`, `scale`, `abs_tol`, `rel_tol`
    and `words` where they differ from the case's own. With `step_weight` 0, the default, the
    rubric is reported and the final answer alone decides. Without a final answer the score is 0.
    """

    Options = StepsOptions

    def __init__(self, identity: str, options: StepsOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if not gold.steps:
            raise gold_fault("steps", "a case scored by steps needs at least one quantity")
        self.rubric = quantities(
            gold.steps,
            gold.unit or "",
            gold.scale,
            options.locale,
            options.abs_tol,
            options.rel_tol,
        )

    def judge(self, text: str) -> Score:
        """The final answer, the rubric, and why a wrong answer is wrong."""
        final = super().judge(text)
        start, end, failure = body(text)
        if failure:
            return final
        result = check_rubric(clean(text, start, end).text, self.rubric)
        chain = parse_chain(text, self.options.locale)
        final_gold = None if self.expected is None else float(self.expected)
        diagnosis = diagnose(
            chain,
            self._amounts(),
            final_gold,
            self.options.locale,
            correct=final.value == 1.0,
        )
        weight = self.options.step_weight
        # A non-answer counts as 0, whatever the steps: the rubric grades answers only.
        value = 0.0 if final.failure else (1 - weight) * final.value + weight * result.share
        details = {
            **final.details,
            "quantities": dict(result.stated),
            "parse_status": chain.parse_status,
            "steps": len(chain.steps),
        }
        if diagnosis.cause is not None:
            details["chain_cause"] = "missing_answer" if final.failure else diagnosis.cause
        if diagnosis.shown is not None:
            details["slip"] = f"{diagnosis.shown.expression} = {diagnosis.shown.worked_out:.10g}"
        return replace(
            final,
            value=value,
            parts={
                **final.parts,
                "final": final.value,
                "steps": round(result.share, 6),
                "value_coverage": round(chain.value_coverage, 6),
            },
            details=details,
        )

    def _amounts(self) -> list[float]:
        """The gold quantities in every way that an expression may come to them."""
        golds = [(each.value, each.ask) for each in self.rubric]
        if self.expected is not None:
            golds.append((self.expected, self.ask))
        found = []
        for value, ask in golds:
            found += [float(value), float(value * ask.scale)]
            if ask.unit.kind in {"percent", "pp"}:
                found.append(float(value) / 100)
        return found

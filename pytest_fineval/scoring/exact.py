"""Exact text: the answer equals the gold once case, width, spaces and joints are made one."""

from __future__ import annotations

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, gold_fault
from pytest_fineval.scoring.extract import json_scalar, locate
from pytest_fineval.scoring.labels import LabelOptions, folded, non_answer
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean


class ExactScorer(AnswerScorer):
    """`exact`: the marked answer (else the whole text) equals the gold after normalisation."""

    Options = LabelOptions

    def __init__(self, identity: str, options: LabelOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if not isinstance(gold.answer, str) or not gold.answer.strip():
            raise gold_fault("answer", "an exact case needs the text that is right")
        names = options.aliases.get(gold.answer, ())
        self._right = {self._normal(name) for name in (gold.answer, *names)}

    def _normal(self, text: str) -> str:
        return folded(text, self.options.literal).strip(" .,;:!*\"'`()")

    def judge(self, text: str) -> Score:
        """Equality of the marked answer with the gold or one of its aliases."""
        located = locate(text, self.options, "label")
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        value = json_scalar(located.value) if located.from_json else located.text
        if value is None:
            return self.failed("no_answer", stage=located.stage)
        parsed = self._normal(clean(str(value)).text)
        right = parsed in self._right
        if not right and (said := non_answer(str(value))):
            return self.failed(said, stage=located.stage)
        span = located.raw_span or located.span(located.start, located.end)
        return Score(
            float(right), self.identity, parsed=parsed[:200], stage=located.stage, span=span
        )

"""FinQA and ConvFinQA: programs scored as published, and free answers under a declared rule."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.official.base import BenchmarkScorer, final_answer, plain_number
from pytest_fineval.scoring.program_equality import equal_programs
from pytest_fineval.scoring.programs import Outcome, Table, execute, tokenize
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

REVISION = "0f16e2867befa6840783e58be38c9efb9229d742"
"""Revision of github.com/czyssrs/FinQA whose evaluation the official scorer reproduces."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Both published verdicts on one predicted program.

    Attributes:
        outcome: what the program gave.
        execution: valid and exactly equal to the stored answer.
        program: symbolically equal to the gold program.
    """

    outcome: Outcome
    execution: bool
    program: bool

    @property
    def inconsistent(self) -> bool:
        """Symbolically equal, yet another value: here the published script stops."""
        return self.program and not self.execution


def score_program(
    answer: Sequence[str],
    gold: Sequence[str],
    exe_ans: float | str,
    table: Table = (),
    *,
    single_number: bool = False,
) -> ProgramResult:
    """Execution and program accuracy of one prediction.

    Args:
        answer: predicted tokens, `EOF` last.
        gold: tokens of the gold program, `EOF` last.
        exe_ans: the stored answer.
        table: rows of cells, the row's name first.
        single_number: ConvFinQA's addition: a program of one token is a number.
    """
    outcome = execute(answer, table, single_number=single_number)
    return ProgramResult(
        outcome,
        outcome.matches(exe_ans),
        equal_programs(gold, answer, single_number=single_number),
    )


def tokens_of(text: str) -> list[str]:
    """A predicted program as tokens: a JSON list of tokens as it is, else the string's tokens."""
    text = text.strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(token, str) for token in listed):
            return listed
    return tokenize(text)


class ProgramOptions(Frozen):
    """Options of the official scorers.

    Attributes:
        metric: which of the two published figures is the score; both are kept.
        table: the record's table, for programs with table operations.
    """

    metric: Literal["execution", "program"] = "execution"
    table: tuple[tuple[str, ...], ...] = ()


class OfficialScorer(BenchmarkScorer):
    """A predicted program, executed and compared as the FinQA script does."""

    Options = ProgramOptions
    single_number = False

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = stored_answer(gold)
        if not isinstance(gold.program, str):
            raise gold_fault("program", "has to be a FinQA program as one text")
        self.program = tokenize(gold.program)

    def judge(self, text: str) -> Score:
        result = score_program(
            tokens_of(text),
            self.program,
            self.wanted,
            self.options.table,
            single_number=self.single_number,
        )
        value = result.outcome.value
        return self.verdict(
            getattr(result, self.options.metric),
            value if value is None or isinstance(value, str) else plain_number(value),
            None if result.outcome.valid else "no_structured_answer",
            {"execution": float(result.execution), "program": float(result.program)},
            reason=result.outcome.reason,
            inconsistent=result.inconsistent,
        )


# --- free answers -------------------------------------------------------------------------------

REL_TOL = 0.005
"""Advised for reasoning; looser would accept other roundings than the report's own."""

ABS_TOL = 0.000005
"""The stored answer is rounded to five decimals, so no closer agreement can be asked for."""

MAX_FIGURES = 10
"""More are not told apart: two are ambiguous already."""

_FIGURE = re.compile(
    r"(?<![\w.,])([-+]?)\s?([$€£¥]?)\s?([-+]?)"
    r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(e[-+]?[0-9]{1,2})?"
    r"(?:\s?-?(%|percentage points?|percent|basis points?|bps|pp"
    r"|thousands?|millions?|billions?|trillions?|[kmb]n?))?(?!\w|[.,][0-9])",
    re.IGNORECASE,
)
_CALCULATION = re.compile(r"[0-9)]\s?[+*/×^]\s?[$€£¥(]?[0-9]|[0-9] [-x] [$€£¥(]?[0-9]")
_SHARES = {"%": 100, "percent": 100, "percentage point": 100, "pp": 100}
_SHARES |= {"bp": 10_000, "basis point": 10_000}
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALES |= {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_MINUS = str.maketrans(dict.fromkeys("−‐‑–—", "-"))
_YES_NO = re.compile(r"\W{0,3}(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a free answer.

    Attributes:
        written: its digits and sign alone.
        value: a percentage as a fraction, else as written.
        scaled: with its scale word applied, else `value`.
    """

    written: float
    value: float
    scaled: float


def figures(text: str) -> list[Figure]:
    """The distinct numbers in a line of text, in its order.

    What follows the last "=" or "≈" counts. A whole answer in parentheses is negative. Percent,
    percentage points and basis points are fractions of 1; a currency sign says nothing.
    """
    text = re.split(r"[=≈]", text)[-1]
    text = text.translate(_MINUS).strip()
    negative = text.startswith("(") and text.rstrip(".").endswith(")")
    found: list[Figure] = []
    for match in _FIGURE.finditer(text):
        sign = -1 if "-" in (match[1], match[3]) or negative else 1
        unit = (match[6] or "").lower().removesuffix("s")
        written = sign * float(match[4].replace(",", "") + (match[5] or ""))
        value = written / _SHARES.get(unit, 1)
        figure = Figure(written, value, value * _SCALES.get(unit, 1))
        if figure not in found:
            found.append(figure)
        if len(found) == MAX_FIGURES:
            break
    return found


def is_calculation(text: str) -> bool:
    """Whether an answer ends in a calculation that is not carried out."""
    return _CALCULATION.search(re.split(r"[=≈]", text)[-1].translate(_MINUS)) is not None


class StrictOptions(Frozen):
    """Options of the strict scorers: either tolerance may pass, inclusive."""

    rel_tol: float = Field(REL_TOL, ge=0, le=1)
    abs_tol: float = Field(ABS_TOL, ge=0)


class StrictScorer(BenchmarkScorer):
    """A free answer against exe_ans: one committed number, or yes or no.

    14.5% is 0.145 and 14.5 is not; a number with a scale word may be meant in the table's unit
    (as written) or in full; the sign counts; two different numbers are ambiguous.
    """

    Options = StrictOptions

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = stored_answer(gold)

    def judge(self, text: str) -> Score:
        said = final_answer(text).strip("*` ")
        if not said:
            return self.failed("empty")
        if isinstance(self.wanted, str):
            label = _YES_NO.match(said)
            if label is None:
                return self.failed("no_label")
            return self.verdict(label[1].lower() == self.wanted, label[1].lower())
        seen = figures(said)
        if not seen:
            return self.failed("no_number")
        if len(seen) > 1 or is_calculation(said):
            return self.failed("ambiguous")
        return self.verdict(
            any(self._close(value) for value in (seen[0].value, seen[0].scaled)),
            plain_number(seen[0].value),
        )

    def _close(self, value: float) -> bool:
        wanted = float(self.wanted)
        off = abs(value - wanted)
        return math.isfinite(value) and (
            off <= self.options.abs_tol or off <= self.options.rel_tol * abs(wanted)
        )


def stored_answer(gold: Gold) -> float | str:
    """exe_ans of a case: a finite number, "yes" or "no".

    Raises:
        InputError: anything else.
    """
    answer = gold.answer
    if isinstance(answer, str) and answer in {"yes", "no"}:
        return answer
    if isinstance(answer, int | float) and not isinstance(answer, bool) and abs(answer) < 1e300:
        return float(answer)
    raise gold_fault("answer", 'has to be a finite number, "yes" or "no" (exe_ans)')

"""What every scorer has in common: the protocol, shared options, client status, the safety net."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.score import Score, Status
from pytest_fineval.settings import Frozen


class Scorer(Protocol):
    """What `registry.prepare` returns: one scorer bound to the gold of one case."""

    @property
    def identity(self) -> str:
        """`name@version`."""
        ...

    def score(self, text: str, status: Status = "ok") -> Score:
        """Score one answer; never raises, value finite and in [0, 1]."""
        ...


class CommonOptions(Frozen):
    """Options that every scorer of model answers understands (ANSWERS, section 2)."""

    answer_format: Literal["number", "json", "label", "boolean", "ranking", "date", "free"] = "free"
    answer_key: str | None = None
    label: str | None = None
    locale: Literal["en", "de", "fr", "ru"] = "en"
    unanswerable: bool = False
    strict: bool = False


class Tolerances(Frozen):
    """Either may pass, inclusive; one that is not declared is 0, so neither means exact."""

    abs_tol: float = Field(0.0, ge=0)
    rel_tol: float = Field(0.0, ge=0)


class NoOptions(Frozen):
    """For a scorer that has nothing to set."""


STATUS_FAILURE: dict[Status, str] = {
    "error": "error",
    "truncated": "truncated",
    "empty": "empty",
    "filtered": "refusal",  # the provider refused in the model's place
}


class AnswerScorer(ABC):
    """Base of the scorers: decides by client status first, then asks `judge`.

    A subclass sets `Options` (a pydantic model; `registry.prepare` validates the case's options
    with it), is constructed as `cls(identity, options, gold)`, raises InputError there for a gold
    that it cannot use, and implements `judge(text) -> Score`.
    """

    Options: ClassVar[type[Frozen]] = NoOptions

    def __init__(self, identity: str, options: Any, gold: Gold):
        self.identity = identity
        self.options = options
        self.gold = gold

    @abstractmethod
    def judge(self, text: str) -> Score:
        """Score the verbatim text of an answer that the client calls complete."""

    def score(self, text: str, status: Status = "ok") -> Score:
        """Score one answer.

        Args:
            text: verbatim answer; any length (beyond 200,000 characters only head and tail count).
            status: how the client says it ended; only `ok` is read.

        Returns:
            A Score with a finite value in [0, 1]; a non-answer has value 0 and a failure kind.
        """
        if status != "ok":
            return self.failed(STATUS_FAILURE[status], stage="status")
        try:
            score = self.judge(text)
        except Exception as error:  # an answer must never end a run; `error` can void it
            return self.failed(
                "error", stage="scorer", exception=f"{type(error).__name__}: {error}"
            )
        if self.gold.answer is None and getattr(self.options, "unanswerable", False):
            # The value is missing and the answer says so: that is the right answer.
            credited = score.failure == "no_answer"
            score = replace(
                score, value=float(credited), failure=None if credited else score.failure
            )
        if not math.isfinite(score.value):
            return self.failed("error", stage="scorer", exception="score is not finite")
        return (
            score
            if 0 <= score.value <= 1
            else replace(score, value=min(1.0, max(0.0, score.value)))
        )

    def failed(self, failure: str, *, stage: str | None = None, **details: Any) -> Score:
        """A score of 0 with its failure kind; what else is known goes to `details`."""
        return Score(0.0, self.identity, failure=failure, stage=stage, details=details)


def gold_fault(field: str, fault: str) -> InputError:
    """The error for a gold that its scorer cannot use: names the field."""
    return InputError(f'"gold.{field}": {fault}')

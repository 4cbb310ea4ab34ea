"""Case, Candidate and Gold: one question, split into what a model may see and what it may not."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from pytest_fineval.settings import Frozen

SPLITS = ("smoke", "dev", "heldout")
EVIDENCE = ("supplied", "retrieval", "closed-book", "gold-evidence")

Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\s\[\]:]+$")
]


def _finite(value: Any) -> Any:
    """Strict JSON: Python's reader, and `1e999`, would let NaN and infinity in.

    Raises:
        ValueError: one of them stands somewhere in the value.
    """
    match value:
        case float() if not math.isfinite(value):
            raise ValueError("holds NaN or infinity, which is no JSON value")
        case list() | tuple():
            for part in value:
                _finite(part)
        case dict():
            for part in value.values():
                _finite(part)
    return value


Finite = Annotated[JsonValue, AfterValidator(_finite)]


class Candidate(Frozen):
    """All of a case that may reach a model.

    Attributes:
        question: what is asked; empty only when the candidate is absent.
        text: the passage the answer is to come from.
        table: rows of cells, the header row first.
        instructions: how to answer (form, unit), appended after the question.
        absent: why there is nothing to ask, with a reference that is unique to the case. Such a
            case can be answered only from a recording, never by a live model.
    """

    question: str = ""
    text: str | None = None
    table: tuple[tuple[str, ...], ...] | None = None
    instructions: str | None = None
    absent: str | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Candidate:
        if not self.question.strip() and not self.absent:
            raise ValueError("a candidate needs a question (or says in `absent` why it has none)")
        return self


class Gold(Frozen):
    """What only the scorer sees. Which fields are read depends on the scorer."""

    answer: Finite = None
    unit: str | None = None
    scale: float | None = Field(None, gt=0)
    units: dict[str, str] | None = None
    scales: dict[str, float] | None = None
    labels: tuple[str, ...] | None = None
    positive: str | None = None
    program: str | tuple[str, ...] | None = None
    steps: tuple[dict[str, Finite], ...] | None = None


class ScorerSpec(Frozen):
    """`{"name": "numeric", "rel_tol": 0.005}`: a scorer's name and, beside it, its options."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, Annotated[Any, AfterValidator(_finite)]]

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name; the scorer itself validates it."""
        return dict(self.model_extra or {})


class Case(Frozen):
    """One question with its gold, its scorer and its place in the suite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ignored_types=(cached_property,)
    )

    id: Identifier
    category: str
    candidate: Candidate
    gold: Gold
    scorer: ScorerSpec
    splits: tuple[Literal["smoke", "dev", "heldout"], ...] = ()
    cluster: str | None = None
    evidence: Literal["supplied", "retrieval", "closed-book", "gold-evidence"] = "supplied"
    track: str = "own"
    tags: dict[str, str] = {}
    must_pass: bool = False
    pass_mark: float | None = Field(None, gt=0, le=1)

    @property
    def unit_of_independence(self) -> str:
        """The cluster (a filing, a conversation) the outcome depends on, else the case's id."""
        return self.cluster or self.id

    @cached_property
    def digest(self) -> str:
        """sha256 of the canonical case; defaults are left out, so that new fields change none."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))


def json_line(value: Any) -> str:
    """A JSON value on one line: strict (no NaN), readable, nothing a line reader could split at."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def digest(value: Any) -> str:
    """sha256 (hex) of a JSON value in canonical form: sorted keys, no spaces, UTF-8, no NaN."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()

"""Record: one line of the run store, one case x model x sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from pytest_fineval.clients.base import Answer
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

ItemStatus = Literal[
    "correct",
    "partial",
    "wrong",
    "errored",
    "unscored",
    "pending",
    "not_run",
    "unchecked",
    "lost",
]
"""DESIGN section 7. `lost` never stands in a file: it is what a missing record is called."""


class Key(NamedTuple):
    """What identifies a record within a run."""

    case: str
    model: str
    sample: int

    def __str__(self) -> str:
        return f"{self.case} ({self.model}, sample {self.sample})"


class StoredScore(Frozen):
    """A Score as it stands in a file: JSON only, finite, in [0, 1]."""

    value: float = Field(ge=0, le=1)
    scorer: str
    parsed: JsonValue = None
    failure: str | None = None
    stage: str | None = None
    span: tuple[int, int] | None = None
    ambiguous: bool = False
    parts: dict[str, float] = {}
    details: dict[str, JsonValue] = {}
    pending: tuple[str, ...] = ()


class PlannedCase(Frozen):
    """What the controller and the gate need to know of a case: everything but its content.

    Attributes:
        digest: of the whole case; a changed gold changes it.
        suite: node id of the test function, relative to the root folder.
        scorer: `name@version`.
        positive: in a classification with a declared positive label: is the gold positive?
    """

    id: str
    digest: str
    category: str
    cluster: str
    track: str = "own"
    evidence: str = "supplied"
    suite: str
    scorer: str
    splits: tuple[str, ...] = ()
    must_pass: bool = False
    pass_mark: float | None = None
    positive: bool | None = None


class Record(Frozen):
    """One case x model x sample: what was answered, what it scored, what it cost.

    `score` is None when there was nothing to score (`not_run`, `unchecked`).
    """

    case: PlannedCase
    model: str
    sample: int = Field(ge=0)
    status: ItemStatus
    request: str | None = None
    answer: Answer | None = None
    score: StoredScore | None = None
    note: str | None = None

    @property
    def key(self) -> Key:
        return Key(self.case.id, self.model, self.sample)

    @property
    def value(self) -> float:
        """The score that counts: 0 for every non-answer."""
        return self.score.value if self.score else 0.0

    @property
    def attempted(self) -> bool:
        """The call was started."""
        return self.answer is not None and self.answer.attempts > 0

    @property
    def submitted(self) -> bool:
        """A non-empty answer came back."""
        return self.answer is not None and bool(self.answer.text.strip())

    @property
    def scored(self) -> bool:
        """A value was read from the answer."""
        return self.score is not None and self.status in {"correct", "partial", "wrong"}


def stored(score: Score) -> StoredScore:
    """The score as plain JSON values.

    Raises:
        ValueError: NaN, infinity or a value outside [0, 1]: refused where it enters, so that no
            aggregate can be poisoned by it later.
    """
    return StoredScore(
        value=score.value,
        scorer=score.scorer,
        parsed=_plain(score.parsed),
        failure=score.failure,
        stage=score.stage,
        span=score.span,
        ambiguous=score.ambiguous,
        parts=dict(score.parts),
        details={str(name): _plain(value) for name, value in score.details.items()},
        pending=score.pending,
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a numpy scalar; numpy need not be imported to know one
        return value.item()
    return str(value)  # Decimal, date


def status_of(score: StoredScore, pass_mark: float | None) -> ItemStatus:
    """Item status of a scored answer (DESIGN section 7)."""
    if score.pending:
        return "pending"
    if score.value >= (1.0 if pass_mark is None else pass_mark):
        return "correct"
    if score.value > 0:
        return "partial"
    # Failures that read a value are wrong answers; those that read none leave nothing to judge.
    return "unscored" if score.failure and score.parsed is None else "wrong"

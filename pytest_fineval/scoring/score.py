"""The result of scoring one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ok", "empty", "truncated", "filtered", "error"]
"""How the client says the answer ended; text is read only for `ok` (and kept for all)."""

FAILURES = (
    "error",
    "empty",
    "truncated",
    "refusal",
    "no_answer",
    "no_structured_answer",
    "no_number",
    "no_label",
    "invalid_label",
    "ambiguous",
    "range",
    "wrong_type",
    "non_finite",
    "out_of_range",
    "malformed_number",
    "unit_mismatch",
    "wrong_currency",
    "missing_items",
    "extra_items",
    "duplicate_items",
    "undefined",
    "ambiguous_date",
    "invalid_date",
    "too_coarse",
)
"""The failure kinds of ANSWERS section 5: why no value, or no full value, could be read."""


@dataclass(frozen=True, slots=True)
class Score:
    """One scorer's verdict on one answer.

    Attributes:
        value: in [0, 1]; 0 whenever there is a failure that leaves nothing to credit.
        scorer: `name@version` of what decided.
        parsed: the value read, in the unit and scale of the gold; None when nothing was read.
            Decimal values are kept as JSON numbers or decimal text.
        failure: one of FAILURES, or None.
        stage: which extraction stage found the value.
        span: start and end offset of the value in the raw answer text.
        ambiguous: more than one value could have been meant.
        parts: named partial figures in their own range (`rouge_l`, `cosine`, `spearman`).
        details: whatever a reader of the report wants to see (unit seen, tolerance that passed).
        pending: names of parts that are computed after the last item (`cosine`); `value` is then
            0 and not final.
    """

    value: float
    scorer: str
    parsed: Any = None
    failure: str | None = None
    stage: str | None = None
    span: tuple[int, int] | None = None
    ambiguous: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    pending: tuple[str, ...] = ()

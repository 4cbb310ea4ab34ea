"""The verdict: a pure function of (records, baseline, policy), in the order of the gate's rules."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pytest_fineval.gate.checks import Check, Outcome
from pytest_fineval.settings import Frozen

Mode = Literal["smoke", "full", "deploy", "off"]


class Flip(Frozen):
    """A case that was right before and is wrong now, or the reverse.

    Attributes:
        before, after: mean of the case's samples.
    """

    case: str
    category: str
    before: float
    after: float
    kind: Literal["lost", "gained"]


class Verdict(Frozen):
    """What the gate says about one run, complete enough to be rendered without the records.

    Attributes:
        model: name of the gated model in the settings.
        mode: the mode that was applied: a smoke gate on more than the smoke split is a full one.
        cause: one sentence; the last line of the terminal.
        exit_code: 0, 1 or 4; None (`not_judged`): pytest's own counts.
        comparison: whether candidate and baseline are one model.
        flips: lost first, then by category and case.
        must_pass_failed: must-pass cases that the candidate got wrong.
        lost: expected records that never came, in words.
        repeated: records that came more than once, in words.
        new_cases: in the run, not in the baseline: not gated.
        excluded: in the baseline, bumped or retired by the trusted ledger: not gated, in words.
        failures: the candidate's records that brought no (full) value, by kind.
        notes: whatever else a reader has to know, one sentence each.
    """

    format: int = 1
    run_id: str
    model: str
    split: str
    mode: Mode
    outcome: Outcome | Literal["not_judged"]
    cause: str
    exit_code: int | None
    comparison: Literal["same_model", "model_swap"] | None = None
    checks: tuple[Check, ...] = ()
    flips: tuple[Flip, ...] = ()
    must_pass_failed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    new_cases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    failures: dict[str, int] = {}
    policy_digest: str | None = None
    baseline_digest: str | None = None
    notes: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Strict JSON, the same bytes for the same verdict; floats rounded to 12 decimals."""
        plain = _rounded(self.model_dump(mode="json"))
        text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()

    @property
    def digest(self) -> str:
        """sha256 of `to_bytes`: what a waiver is bound to."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _rounded(value: Any) -> Any:
    # The last bits of a sum depend on the machine's vector width; twelve decimals do not.
    if isinstance(value, float):
        return round(value, 12) + 0.0
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value

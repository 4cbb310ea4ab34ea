"""The verdict: a pure function of (records, baseline, policy), in the order of the gate's rules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal

from pytest_fineval.gate import plan
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.checks import Check, Outcome
from pytest_fineval.gate.looks import Use, exit_code, look
from pytest_fineval.gate.pairing import (
    Fault,
    Pair,
    Pairing,
    Recorded,
    configuration_faults,
    failures,
    measurement_fault,
    measurement_faults,
    named,
    pair,
    pairs,
    second_pairs,
)
from pytest_fineval.gate.policy import Policy
from pytest_fineval.memory import no_collection
from pytest_fineval.settings import Frozen
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Key, Record

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
        must_pass_failed: must-pass cases that the candidate got wrong in most of their samples.
        lost: expected records that never came, in words.
        repeated: records that came more than once, in words.
        new_cases: in the run, not in the baseline: not gated.
        excluded: in the baseline, bumped or retired by the trusted ledger: not gated, in words.
        failures: the candidate's records that brought no (full) value, by kind.
        second_look_due: cases that a deploy gate wants asked again before it decides.
        notes: whatever else a reader has to know, one sentence each.
    """

    format: int = 1
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
    second_look_due: tuple[str, ...] = ()
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


@no_collection()
def judge(
    manifest: Manifest,
    records: Sequence[Record],
    repeated: Sequence[Key],
    baseline: Baseline | None,
    mode: Mode,
    *,
    recorded: Recorded | None = None,
) -> Verdict:
    """Judge one run. No clock, no file, no dependence on the order of its arguments' items.

    Args:
        manifest: what was planned; a shard, or `incomplete` set, means not judged.
        records: of all models, in any order.
        repeated: keys that were recorded more than once.
        baseline: the verified baseline (`preflight`); None: not judged.
        mode: how the outcome is used; a smoke gate on more than the smoke split is a full one,
            because an option can only tighten.
        recorded: bumps and retirements in the trusted ref's case ledger.

    Raises:
        ValueError: a score outside [0, 1], which no run's file can hold.
    """
    if mode == "smoke" and manifest.split != "smoke":
        mode = "full"
    ordered = sorted(records, key=attrgetter("case.id", "model", "sample"))
    base = Verdict(
        model=manifest.candidate,
        split=manifest.split,
        mode=mode,
        outcome="not_judged",
        cause=_why_not_judged(manifest, baseline, mode) or "",
        exit_code=1 if mode == "deploy" and manifest.shard is None else None,
        failures=failures(manifest, ordered),
        repeated=tuple(str(key) for key in sorted(set(repeated))),
        notes=tuple(plan.notes(manifest, baseline)),
    )
    if base.cause or baseline is None or mode == "off":
        return base
    pairing = pair(manifest, baseline, recorded or {})
    same_model, notes = _comparison(manifest, baseline)
    lost = manifest.lost(ordered)
    base = base.model_copy(
        update={
            "comparison": "same_model" if same_model else "model_swap",
            "lost": tuple(str(key) for key in lost),
            "new_cases": pairing.new,
            "excluded": pairing.excluded,
            "policy_digest": baseline.policy.digest,
            "baseline_digest": baseline.digest,
            "notes": (*base.notes, *notes, *_about_cases(manifest, pairing, mode)),
        }
    )
    faults = [
        *configuration_faults(manifest, baseline, pairing),
        *measurement_faults(manifest, ordered, lost, repeated, baseline, pairing),
    ]
    if not faults and not pairing.expected:
        faults = [_no_pairs(manifest)]
    if faults:
        return _invalid(base, faults)
    first = pairs(manifest, ordered, baseline, pairing)
    fresh = second_pairs(manifest, ordered, baseline, pairing) if mode == "deploy" else {}
    return _compare(base, first, fresh, baseline.policy, mode)


def _why_not_judged(manifest: Manifest, baseline: Baseline | None, mode: Mode) -> str | None:
    if manifest.shard is not None:
        return f"not judged: {manifest.part}"
    if mode == "off":
        return "not judged: the gate is off"
    if manifest.incomplete is not None:
        return f"not judged: the selected split is incomplete by choice ({manifest.incomplete})"
    if baseline is None:
        return "not judged: there is no baseline"
    return None


def _comparison(manifest: Manifest, baseline: Baseline) -> tuple[bool, list[str]]:
    """Whether candidate and baseline are one model, and what a reader should know of it."""
    ours, theirs = manifest.models[manifest.candidate], baseline.identity
    same = ours.weights == theirs.weights
    asked = baseline.policy.comparison
    notes = []
    if asked != "auto" and same != (asked == "same_model"):
        notes.append(
            f"the signed policy compares as {asked}, though {ours.model} "
            f"{'is' if same else 'is not'} the baseline's model ({theirs.model})"
        )
    differing = [
        name
        for name in ("decoding", "system", "template")
        if getattr(ours, name) != getattr(theirs, name)
    ]
    if differing:
        notes.append(f"differs from the baseline in: {', '.join(differing)}")
    return same if asked == "auto" else asked == "same_model", notes


def _about_cases(manifest: Manifest, pairing: Pairing, mode: Mode) -> list[str]:
    notes = []
    if mode == "deploy" and manifest.split != "full":
        notes.append(f"judged for a deployment on the {manifest.split} split alone")
    if pairing.new:
        notes.append(f"new, not gated until the next baseline: {named(pairing.new)}")
    if pairing.excluded:
        notes.append(f"excluded by the case ledger: {named(pairing.excluded)}")
    return notes


def _no_pairs(manifest: Manifest) -> Fault:
    return Fault(
        "measurement",
        f"no pairs: the baseline holds no case of the {manifest.split} split; propose and sign "
        "one that does",
    )


def _invalid(base: Verdict, faults: Sequence[Fault]) -> Verdict:
    """Configuration comes first: it is mended before anything is measured again."""
    ordered = sorted(faults, key=lambda fault: fault.kind != "configuration")
    return base.model_copy(
        update={
            "outcome": "invalid",
            "cause": f"invalid: {ordered[0].text}",
            "exit_code": 4 if ordered[0].kind == "configuration" else 1,
            "notes": (*(f"also invalid: {fault.text}" for fault in ordered[1:]), *base.notes),
        }
    )


def _compare(
    base: Verdict,
    paired: Sequence[Pair],
    fresh: Mapping[str, Pair],
    policy: Policy,
    use: Use,
) -> Verdict:
    """Steps 3 to 6 over whole pairs; `fresh` are those of a deploy's second look."""
    same_model = base.comparison == "same_model"
    looked = look(paired, policy, use, same_model=same_model, fresh=fresh)
    if looked.missing:
        text = f"the second look lacks {named(looked.missing)}"
        return _invalid(base, [measurement_fault(text, "rerun")])
    outcome, checks = looked.outcome, looked.checks
    notes = list(base.notes)
    if looked.pooled:
        notes += [_limit(check) for check in checks if check.kind == "smoke"]
    if use == "deploy" and outcome == "inconclusive":
        notes.append(_way_out(checks, looked.due))
    return base.model_copy(
        update={
            "outcome": outcome,
            "cause": _cause(outcome, checks, looked.must_pass_failed),
            "exit_code": exit_code(outcome, use),
            "checks": checks,
            "flips": _flips(paired),
            "must_pass_failed": looked.must_pass_failed,
            "second_look_due": looked.due,
            "notes": tuple(notes),
        }
    )


def _way_out(checks: Sequence[Check], due: Sequence[str]) -> str:
    """What is left to do before a deployment whose verdict is still open."""
    if due:
        return f"the second look was not taken: {len(due)} cases would have to be asked again"
    looked = " after the second look" if any(check.look == 2 for check in checks) else ""
    return f"still inconclusive{looked}: a signed waiver is the way out"


def _limit(check: Check) -> str:
    """What a smoke run cannot see, in words."""
    if not check.can_block:
        return (
            f"{check.name}: with {check.n} cases no loss can block "
            f"({check.needs} one-way flips are needed): run the full suite"
        )
    share = 100 * check.needs / check.units
    return (
        f"{check.name}: with {check.n} cases only losses of about {share:.0f} points and more "
        "block; run the full suite to see smaller ones"
    )


def _flips(paired: Sequence[Pair]) -> tuple[Flip, ...]:
    found = [
        Flip(
            case=one.id,
            category=one.case.category,
            before=one.before,
            after=one.after,
            kind="lost" if one.was_right else "gained",
        )
        for one in paired
        if one.was_right != one.is_right
    ]
    return tuple(sorted(found, key=lambda flip: (flip.kind != "lost", flip.category, flip.case)))


def _cause(outcome: Outcome, checks: Sequence[Check], failed: Sequence[str]) -> str:
    if outcome == "pass":
        return _why_pass(checks)
    because = [_why(check) for check in checks if check.outcome == outcome]
    if failed and outcome == "block":
        because.insert(0, f"must-pass and wrong: {named(failed)}")
    return f"{outcome}: {'; '.join(because)}"


def _why_pass(checks: Sequence[Check]) -> str:
    on_drop = [check for check in checks if check.floor is None]
    proven = sum(check.proven for check in on_drop)
    return f"pass: no check is over its limit ({proven} of {len(on_drop)} proven to lie within it)"


def _why(check: Check) -> str:
    if check.outcome == "invalid" or check.drop is None or check.candidate is None:
        return f"{check.name}: {check.note}"
    compared = (
        f"Holm p {check.p_holm:.2g} {'<=' if check.p_holm <= check.alpha else '>'} {check.alpha:g}"
    )
    if check.floor is not None:
        return f"{check.name}: {check.candidate:.3f} is below {check.floor:.3f} ({compared})"
    return (
        f"{check.name} dropped {100 * check.drop:.1f} points, allowed "
        f"{100 * (check.max_drop or 0.0):.1f} ({compared})"
    )

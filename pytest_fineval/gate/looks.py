"""Steps 3 to 6 over whole pairs: one look, and before a deployment a second one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_fineval.gate.checks import Check, Outcome
from pytest_fineval.gate.configured import configured, look_again, pooled, rule, undecided
from pytest_fineval.gate.decide import worst
from pytest_fineval.gate.further import LOOKS
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.gate.policy import Policy

Use = Literal["smoke", "full", "deploy"]


@dataclass(frozen=True)
class Looked:
    """What the pairs of one run amount to.

    Attributes:
        must_pass_failed: must-pass cases that are wrong in most of their samples.
        due: cases that a second look has to ask again; empty once it was taken.
        missing: cases that a second look left out: it cannot be ruled on.
        pooled: the smoke cases were pooled, because a category alone is too small to block.
    """

    checks: tuple[Check, ...]
    must_pass_failed: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    pooled: bool = False

    @property
    def outcome(self) -> Outcome:
        """The worst of all checks; a must-pass case that fails blocks."""
        worst_check = worst(check.outcome for check in self.checks)
        return worst([worst_check, "block" if self.must_pass_failed else "pass"])


def look(
    paired: Sequence[Pair],
    policy: Policy,
    use: Use,
    *,
    same_model: bool,
    fresh: Mapping[str, Pair] | None = None,
    bounded: bool = True,
) -> Looked:
    """Rule on all configured checks of a run.

    Args:
        paired: every pair of the run, sorted by case id.
        policy: the signed one.
        use: smoke pools where a category cannot block; deploy looks twice where the policy lets
            it, with half of alpha each time.
        same_model: whether samples of both sides are exchangeable under no change.
        fresh: pairs of a second look by case id; empty where none was taken.
        bounded: give the upper bounds of the drops too (`measure`).
    """
    alpha = policy.alpha_smoke if use == "smoke" else policy.alpha
    twice = use == "deploy" and policy.second_look
    if twice:
        alpha /= LOOKS
    asked = configured(paired, policy)
    checks = rule(asked, policy, alpha, same_model=same_model, bounded=bounded)
    too_small = any(check.kind == "category" and not check.can_block for check in checks)
    if use == "smoke" and too_small:
        asked = pooled(paired, policy)
        checks = rule(asked, policy, alpha, same_model=same_model, bounded=bounded)
    due = undecided(asked, checks) if twice else []
    missing: list[str] = []
    if due and fresh:
        missing = [name for name in due if name not in fresh]
        if not missing:
            checks = look_again(
                asked, checks, fresh, policy, alpha, same_model=same_model, bounded=bounded
            )
            due = []
    return Looked(
        checks=tuple(checks),
        must_pass_failed=tuple(one.id for one in paired if one.fails_must_pass),
        due=tuple(due),
        missing=tuple(missing),
        pooled=use == "smoke" and too_small,
    )


def exit_code(outcome: Outcome, use: Use) -> int:
    """Exit code of a measured outcome: inconclusive asks for a closer look; only before a
    deployment does it stop anything."""
    if outcome == "inconclusive":
        return 1 if use == "deploy" else 0
    return 0 if outcome == "pass" else 1

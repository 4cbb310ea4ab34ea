"""What creeps in slowly: baselines that slide, results that outgrew theirs, cases worn out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from pytest_fineval.gate.baseline import Baseline, Step, sha256
from pytest_fineval.gate.policy import Policy
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.store.run import VERDICT

MOST_STEPS = 50
"""How far back a baseline remembers: years of monthly ones."""

MOST_COMPARISONS = 10
"""Different results that are compared on the same cases before a warning."""

LOWER_BY = 1e-9


def continued(earlier: Baseline, path: Path) -> tuple[Step, ...]:
    """The history of a baseline that replaces `earlier`, which lies at `path`."""
    step = Step(
        sha256=sha256(path.read_bytes()),
        created=earlier.created,
        created_by=earlier.created_by,
        reason=earlier.reason,
        means={name: figures.mean for name, figures in earlier.aggregates.items()},
        n={name: figures.n for name, figures in earlier.aggregates.items()},
    )
    return (*earlier.history, step)[-MOST_STEPS:]


def notes(baseline: Baseline) -> list[str]:
    """Where a baseline is lower than its predecessor, with all drops on the way there.

    Returns:
        One sentence a check; empty when nothing is lower, or there is no predecessor.
    """
    if not baseline.history:
        return []
    found = []
    last = baseline.history[-1]
    for name, figures in baseline.aggregates.items():
        before = last.means.get(name)
        if before is None or figures.mean >= before - LOWER_BY:
            continue
        steps = [step for step in baseline.history if name in step.means]
        means = [*(step.means[name] for step in steps), figures.mean]
        drops = sum(later < former - LOWER_BY for former, later in pairwise(means))
        trail = " -> ".join(
            [*(f"{step.means[name]:.3f} ({step.created[:10]})" for step in steps), "now"]
        )
        highest = max(means)
        found.append(
            f"{name}: {figures.mean:.3f} is lower than the baseline it replaces ({before:.3f}); "
            f"history {trail}: {drops} drop{'s' * (drops > 1)}, "
            f"{100 * (highest - figures.mean):.1f} points below the highest"
        )
    return found


def loosened(policy: Policy, earlier: Policy) -> list[str]:
    """Where a policy allows more than the one it replaces, one clause each."""
    found = [
        f"max_drop.{name}: {earlier.max_drop[name]:g} -> {limit:g}"
        for name, limit in policy.max_drop.items()
        if name in earlier.max_drop and limit > earlier.max_drop[name]
    ]
    found += [
        f"floor.{name}: {floor:g} -> {policy.floor.get(name, 'none')}"
        for name, floor in earlier.floor.items()
        if policy.floor.get(name, 0.0) < floor
    ]
    gone = [name for name in earlier.categories if name not in policy.categories]
    found += [f"category {name} is no longer gated" for name in gone]
    for name in ("max_error_share", "valid_days"):
        ours, theirs = getattr(policy, name), getattr(earlier, name)
        if ours > theirs:
            found.append(f"{name}: {theirs:g} -> {ours:g}")
    for name in ("alpha", "alpha_smoke", "signatures"):
        ours, theirs = getattr(policy, name), getattr(earlier, name)
        if ours < theirs:
            found.append(f"{name}: {theirs:g} -> {ours:g}")
    if policy.proposer_may_sign and not earlier.proposer_may_sign:
        found.append("the proposer may sign")
    if earlier.lock is not None and policy.lock is None:
        found.append("the case ledger is no longer signed")
    return [f"the policy is looser than before: {clause}" for clause in found]


def slack(verdict: Verdict) -> list[str]:
    """Checks whose results sit clearly above the baseline: it would let as much be lost again.

    Returns:
        One sentence a check that gained more than its limit, beyond what chance explains at the
        check's own alpha shared over all checks.
    """
    checks = [check for check in verdict.checks if check.kind in {"category", "overall", "smoke"}]
    clear = [check for check in checks if _is_clear(check.drop, check.max_drop)]
    return [
        f"{check.name}: {100 * -(check.drop or 0):.1f} points above the baseline: as much could be "
        "lost again unseen; propose a new one (fineval baseline propose)"
        for check in clear
        if 1 - check.p <= check.alpha / len(checks)
    ]


def worn(runs: Path, verdict: Verdict, most: int = MOST_COMPARISONS) -> list[str]:
    """Whether so many results were compared on these cases that the best of them is flattered.

    Args:
        runs: the folder of earlier runs. The same answers give the same verdict and count once.
        verdict: of the run that was just judged.
        most: how many different results one set of cases may choose between.

    Returns:
        One sentence, or nothing.
    """
    if verdict.split not in {"full", "dev"} or verdict.outcome in {"invalid", "not_judged"}:
        return []
    seen = {verdict.digest}
    for path in runs.glob(f"*/{VERDICT}"):
        try:
            other = Verdict.model_validate_json(path.read_bytes())
        except (OSError, ValueError):
            continue
        if (
            other.split == verdict.split
            and other.baseline_digest == verdict.baseline_digest
            and other.outcome not in {"invalid", "not_judged"}
        ):
            seen.add(other.digest)
    if len(seen) <= most:
        return []
    return [
        f"{len(seen)} different results were compared with this baseline on the {verdict.split} "
        "split: the best of many on the same cases looks better than it is; add fresh cases, or "
        "judge the choice on held-out ones (fineval heldout open)"
    ]


def _is_clear(drop: float | None, limit: float | None) -> bool:
    return drop is not None and limit is not None and -drop > limit

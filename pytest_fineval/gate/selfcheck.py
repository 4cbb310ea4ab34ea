"""A/A check: a run's own repeated samples, split in two, judged against each other.

Nothing differs between the two halves but chance. How often the gate would have blocked is how
often it would block a change that changes nothing, on these cases and with this model's noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import BaselineCase
from pytest_fineval.gate.checks import Outcome
from pytest_fineval.gate.looks import Use, exit_code, look
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.gate.policy import Policy
from pytest_fineval.settings import Frozen
from pytest_fineval.stats.bootstrap import seed_from
from pytest_fineval.stats.intervals import wilson
from pytest_fineval.store.record import PlannedCase, Record
from pytest_fineval.store.run import Run

SPLITS = 200
"""Random splits: enough to tell 1 % from 5 %, in seconds."""


class SelfCheck(Frozen):
    """What the gate made of splits in which nothing had changed.

    Attributes:
        cases, samples: of the gated model; a split puts half of the samples on each side.
        noise: share of a case's pairs of samples whose scores differ.
        use: the rules that were applied: `smoke` for the smoke split, else `full`.
        blocked, inconclusive, stopped: splits with that outcome; with an exit code other than 0.
        blocked_share95: Wilson's interval of the share of blocked splits. The splits share their
            answers, so it is narrower than what other answers would show.
        by_check: how often each check blocked; those that never did are left out.
    """

    cases: int
    samples: int
    noise: float
    use: Use
    splits: int
    blocked: int
    inconclusive: int
    stopped: int
    blocked_share95: tuple[float, float]
    by_check: dict[str, int]

    def sentences(self) -> list[str]:
        """The same in words, for a terminal."""
        each = self.samples // 2
        low, high = (100 * end for end in self.blocked_share95)
        lines = [
            f"{self.cases} cases, {self.samples} samples each, {100 * self.noise:.1f} % of the "
            "pairs of samples differ (noise f)",
            f"{self.splits} random splits of {each} against {each} samples, {self.use} rules: "
            f"{self.blocked} blocked ({100 * self.blocked / self.splits:.1f} %, 95 % interval "
            f"{low:.1f} to {high:.1f}), {self.inconclusive} inconclusive",
        ]
        lines += [f"  {name}: blocked {times}" for name, times in self.by_check.items()]
        return lines


def self_check(run: Run, policy: Policy, *, splits: int = SPLITS) -> SelfCheck:
    """Judge random halves of the gated model's samples against each other.

    Args:
        run: whole, with at least two samples a case.
        policy: whose limits and levels apply; categories that the run has not are left out.
        splits: random splits, >= 1; the same for the same cases.

    Raises:
        InputError: fewer than two samples a case, or records that are missing.
    """
    if run.manifest.shard is not None:
        raise InputError(f"is not a whole run: {run.manifest.part}", path=run.folder)
    groups = _samples(run)
    samples = run.manifest.samples
    if samples < 2:
        raise InputError(
            "a self-check splits repeated samples: run with --fineval-repeat 2 or more",
            path=run.folder,
        )
    if not groups or any(len(group) != samples for _, group in groups):
        raise InputError("records are missing: only a whole run can be split", path=run.folder)
    present = {case.category for case, _ in groups}
    kept = tuple(name for name in policy.categories if name in present)
    if not kept:
        raise InputError("no case of this run is in a category of the policy", path=run.folder)
    policy = policy.model_copy(
        update={
            "categories": kept,
            "max_drop": {name: policy.max_drop[name] for name in (*kept, "overall")},
            "floor": {},
        }
    )
    groups = [(case, group) for case, group in groups if case.category in kept]
    use: Use = "smoke" if run.manifest.split == "smoke" else "full"
    rng = np.random.default_rng(seed_from(run.manifest.suite_digest, "self-check"))
    outcomes: Counter[Outcome] = Counter()
    by_check: Counter[str] = Counter()
    for _ in range(splits):
        order = rng.permuted(np.tile(np.arange(samples), (len(groups), 1)), axis=1)
        halves = [
            _halves(case, group, row)
            for (case, group), row in zip(groups, order.tolist(), strict=True)
        ]
        looked = look(halves, policy, use, same_model=True, bounded=False)
        outcomes[looked.outcome] += 1
        by_check.update(check.name for check in looked.checks if check.outcome == "block")
    blocked = wilson(outcomes["block"], splits)
    return SelfCheck(
        cases=len(groups),
        samples=samples,
        noise=_noise([group for _, group in groups]),
        use=use,
        splits=splits,
        blocked=outcomes["block"],
        inconclusive=outcomes["inconclusive"],
        stopped=sum(number for outcome, number in outcomes.items() if exit_code(outcome, use)),
        blocked_share95=(blocked.low, blocked.high),
        by_check=dict(sorted(by_check.items())),
    )


def _samples(run: Run) -> list[tuple[PlannedCase, list[Record]]]:
    found: dict[str, list[Record]] = {case.id: [] for case in run.manifest.planned}
    for record in run.records:
        if record.model == run.manifest.candidate and record.sample < run.manifest.samples:
            found[record.case.id].append(record)
    planned = sorted(run.manifest.planned, key=lambda case: case.id)
    return [(case, found[case.id]) for case in planned]


def _halves(case: PlannedCase, group: Sequence[Record], order: Sequence[int]) -> Pair:
    half = len(group) // 2
    before = BaselineCase(
        digest=case.digest,
        category=case.category,
        cluster=case.cluster,
        track=case.track,
        evidence=case.evidence,
        suite=case.suite,
        splits=case.splits,
        positive=case.positive,
        pass_mark=case.pass_mark,
        scores=tuple(group[k].value for k in order[:half]),
    )
    return Pair.of(case.id, before, tuple(group[k] for k in order[half : 2 * half]))


def _noise(groups: Sequence[Sequence[Record]]) -> float:
    """Share of pairs of a case's samples that differ."""
    pairs = [one.value != other.value for group in groups for one, other in combinations(group, 2)]
    return sum(pairs) / len(pairs)

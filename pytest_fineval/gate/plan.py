"""Pre-registration: what will be measured, written down before it is, and each deviation named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from pytest_fineval.cases.model import Case, digest
from pytest_fineval.cases.splits import Split, selects
from pytest_fineval.errors import InputError, faults
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.pairing import named
from pytest_fineval.gate.policy import Policy, differences
from pytest_fineval.settings import Frozen
from pytest_fineval.store.manifest import Manifest, ModelIdentity


class Plan(Frozen):
    """A registered plan.

    Attributes:
        hypothesis: what is expected, in words.
        models: those that will be asked; `candidate` is the one that is judged.
        gate: how it will be judged; `samples`: answers a case.
        policy: checks and thresholds.
        cases: digest by case id; their number by category is `n`.
    """

    format: int = 1
    hypothesis: str = Field(min_length=1)
    created: str
    created_by: str
    models: dict[str, ModelIdentity]
    candidate: str
    split: str
    gate: str
    samples: int = Field(ge=1)
    policy: Policy
    n: dict[str, int]
    cases: dict[str, str]

    @property
    def digest(self) -> str:
        """sha256 of the canonical plan."""
        return digest(self.model_dump(mode="json"))

    def to_text(self) -> str:
        """The file's text."""
        plain = self.model_dump(mode="json")
        return json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def register(
    cases: Sequence[Case],
    *,
    hypothesis: str,
    models: Mapping[str, ModelIdentity],
    candidate: str,
    split: Split,
    gate: str,
    samples: int,
    policy: Policy,
    created_by: str,
    now: datetime | None = None,
) -> Plan:
    """The plan for a split of these cases.

    Raises:
        InputError: no hypothesis, or the split takes no case.
    """
    if not hypothesis.strip():
        raise InputError("a plan needs a hypothesis: --hypothesis 'what is expected'")
    selected = [case for case in cases if selects(split, case.splits)]
    if not selected:
        raise InputError(f"the {split} split takes none of these cases")
    return Plan(
        hypothesis=hypothesis.strip(),
        created=(now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        created_by=created_by,
        models=dict(models),
        candidate=candidate,
        split=split,
        gate=gate,
        samples=samples,
        policy=policy,
        n=dict(sorted(Counter(case.category for case in selected).items())),
        cases={case.id: case.digest for case in sorted(selected, key=lambda case: case.id)},
    )


def read(path: Path) -> Plan:
    """Read a plan.

    Raises:
        InputError: unreadable, or a field at fault.
    """
    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"no plan can be read here ({error.strerror}); write one first: fineval plan "
            f"--hypothesis H -o {path}",
            path=path,
        ) from error
    except ValidationError as error:
        raise InputError("; ".join(faults(error, Plan)), path=path) from error


def notes(manifest: Manifest, baseline: Baseline | None) -> list[str]:
    """What a verdict says of the plan that its run was held to; empty without a plan."""
    if manifest.plan is None:
        return []
    plan = Plan.model_validate(manifest.plan)
    found = list(deviations(plan, manifest, baseline))
    name = f"plan {plan.digest[:12]} ({plan.hypothesis})"
    if not found:
        return [f"{name}: followed"]
    return [f"deviates from {name}: {clause}" for clause in found]


def deviations(plan: Plan, manifest: Manifest, baseline: Baseline | None) -> Iterator[str]:
    """Each way in which a run is not what was planned, one clause each."""
    for name, planned, ran in (
        ("split", plan.split, manifest.split),
        ("gate", plan.gate, manifest.gate),
        ("samples a case", plan.samples, manifest.samples),
        ("judged model", plan.candidate, manifest.candidate),
    ):
        if planned != ran:
            yield f"{name}: planned {planned}, ran {ran}"
    for name in sorted({*plan.models, *manifest.models}):
        before, now = plan.models.get(name), manifest.models.get(name)
        if before is None or now is None:
            yield f"model {name} was {'not planned' if before is None else 'not asked'}"
        elif before != now:
            fields = [
                f for f in ModelIdentity.model_fields if getattr(before, f) != getattr(now, f)
            ]
            yield f"model {name} differs in {', '.join(fields)}"
    ran_cases = {case.id: case.digest for case in manifest.planned}
    for words, names in (
        ("not asked", [name for name in plan.cases if name not in ran_cases]),
        ("not planned", [name for name in ran_cases if name not in plan.cases]),
        (
            "changed since",
            [n for n, d in plan.cases.items() if n in ran_cases and ran_cases[n] != d],
        ),
    ):
        if names:
            yield f"{len(names)} cases {words}: {named(names)}"
    if baseline is not None:
        for clause in differences(baseline.policy, plan.policy):
            yield f"{clause.replace('settings', 'planned')}"


def as_json(plan: Plan) -> JsonValue:
    """The plan as a run's manifest keeps it."""
    plain: JsonValue = plan.model_dump(mode="json")
    return plain

"""Small invented runs and signed baselines for the tests of the gate."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_fineval.cases.model import digest
from pytest_fineval.clients.base import Answer, ClientError
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.propose import Proposal, propose
from pytest_fineval.settings import CATEGORIES, GateSettings, ModelSettings, Settings
from pytest_fineval.store.manifest import Manifest, identity
from pytest_fineval.store.record import PlannedCase, Record, StoredScore, status_of
from pytest_fineval.store.run import Run

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OLD = ModelSettings(client="recording", model="old-1", temperature=0)
NEW = ModelSettings(client="recording", model="new-1", temperature=0)

Scores = Mapping[str, Sequence[Sequence[float]]]
"""By category, per case, one score a sample."""


def settings(categories: Sequence[str] = CATEGORIES, **gate: Any) -> Settings:
    return Settings(root=Path(), categories=tuple(categories), gate=GateSettings(**gate))


def planned(name: str, category: str, **fields: Any) -> PlannedCase:
    values: dict[str, Any] = {
        "id": name,
        "digest": digest(name),
        "category": category,
        "cluster": name,
        "suite": f"evals/test_{category}.py::test_{category}",
        "scorer": "numeric@1",
        **fields,
    }
    return PlannedCase(**values)


def record(case: PlannedCase, value: float, sample: int = 0, model: str = "new") -> Record:
    score = StoredScore(value=value, scorer=case.scorer, parsed=value)
    return Record(
        case=case,
        model=model,
        sample=sample,
        status=status_of(score, case.pass_mark),
        answer=Answer(text=f"{case.id} says {value} ({sample})"),
        score=score,
    )


def errored(case: PlannedCase, sample: int = 0, model: str = "new") -> Record:
    return Record(
        case=case,
        model=model,
        sample=sample,
        status="errored",
        answer=Answer(status="error", error=ClientError(kind="timeout", message="no answer")),
    )


def run(
    scores: Scores,
    *,
    model: ModelSettings = OLD,
    name: str = "new",
    run_id: str = "run-1",
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    **manifest: Any,
) -> Run:
    """A whole run; case `extraction-00` has the first scores of that category, and so on."""
    cases, records = [], []
    samples = 1
    for category, rows in scores.items():
        for number, row in enumerate(rows):
            case_id = f"{category}-{number:02}"
            case = planned(case_id, category, **(fields or {}).get(case_id, {}))
            cases.append(case)
            samples = len(row)
            records += [record(case, value, k, name) for k, value in enumerate(row)]
    values: dict[str, Any] = {
        "run_id": run_id,
        "started": "2026-03-01T10:00:00+00:00",
        "finished": "2026-03-01T10:01:00+00:00",
        "command": ("pytest",),
        "versions": {},
        "models": {name: identity(model)},
        "candidate": name,
        "samples": samples,
        "settings_digest": "0" * 64,
        "planned": tuple(cases),
        **manifest,
    }
    records.sort(key=lambda record: record.key)
    return Run(Path("runs") / run_id, Manifest(**values), tuple(records))


def ones(n: int, categories: Sequence[str] = CATEGORIES, *, wrong: int = 0) -> dict[str, Any]:
    """`n` cases a category with one sample each, all right but the first `wrong`."""
    return {name: [[0.0]] * wrong + [[1.0]] * (n - wrong) for name in categories}


def proposal(*runs: Run, categories: Sequence[str] = CATEGORIES, **options: Any) -> Proposal:
    gate = options.pop("gate", {})
    values: dict[str, Any] = {
        "settings": settings(categories, **gate),
        "reason": "first",
        "created_by": "ann",
        "now": NOW,
        **options,
    }
    return propose(runs, **values)


def baseline(*runs: Run, **options: Any) -> Baseline:
    return proposal(*runs, **options).baseline


def make_key(folder: Path, name: str) -> Path:
    """A fresh private key without a passphrase."""
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True
    )
    return path


def allow(folder: Path, key: Path, principal: str, options: str = "") -> Path:
    """An allowed_signers file with one line."""
    kind, blob = key.with_name(key.name + ".pub").read_text().split()[:2]
    path = folder / "allowed_signers"
    path.write_text(f"{principal} {options} {kind} {blob}\n".replace("  ", " "))
    return path

"""Time of one verdict over 100,000 records in 20 categories: `python benchmarks/verdict_speed.py`.

Not a test: it prints seconds. The goal is 2 s for right and wrong answers.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pytest_fineval.clients.base import Answer
from pytest_fineval.gate import baseline as baselines
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.propose import propose
from pytest_fineval.gate.verdict import judge
from pytest_fineval.settings import ModelSettings, Settings
from pytest_fineval.store.manifest import Manifest, identity
from pytest_fineval.store.record import PlannedCase, Record, StoredScore
from pytest_fineval.store.run import Run

CASES, CATEGORIES = 100_000, 20


def made(scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]], run_id: str) -> Run:
    """A whole run with these scores, one answer a case."""
    names = tuple(f"category-{k:02}" for k in range(CATEGORIES))
    cases = tuple(
        PlannedCase(
            id=f"case-{i:06}",
            digest=f"{i:064x}",
            category=names[i % CATEGORIES],
            cluster=f"case-{i:06}",
            suite="evals/test_x.py::test_x",
            scorer="numeric@1",
        )
        for i in range(scores.size)
    )
    records = tuple(
        Record(
            case=case,
            model="new",
            sample=0,
            status="correct" if value == 1 else "wrong",
            answer=Answer(text=f"{run_id} {case.id}"),
            score=StoredScore(value=value, scorer="numeric@1", parsed=value),
        )
        for case, value in zip(cases, scores.tolist(), strict=True)
    )
    manifest = Manifest(
        run_id=run_id,
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:01:00+00:00",
        command=(),
        versions={},
        models={"new": identity(ModelSettings(model="new"))},
        candidate="new",
        settings_digest="0" * 64,
        planned=cases,
    )
    return Run(Path(run_id), manifest, records)


def signed(run: Run) -> Baseline:
    """The run as a baseline, read back from its file; no signature is needed to judge."""
    names = tuple(f"category-{k:02}" for k in range(CATEGORIES))
    settings = Settings(root=Path(), categories=names)
    made = propose([run], settings=settings, reason="speed", created_by="speed")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "speed.json"
        baselines.write(made.baseline, made.companion, path)
        return baselines.load(path)


def main() -> None:
    """Print one line for each kind of score."""
    rng = np.random.default_rng(20_240_601)
    right = (rng.random(CASES) < 0.8).astype(np.float64)
    flipped = np.where(rng.random(CASES) < 0.05, 1 - right, right)
    graded = rng.beta(4, 2, CASES)
    moved = np.clip(graded + rng.normal(0, 0.1, CASES), 0, 1)
    for kind, before, after in (("0/1", right, flipped), ("graded", graded, moved)):
        baseline, run = signed(made(before, "old")), made(after, "new")
        start = time.perf_counter()
        verdict = judge(run.manifest, run.records, (), baseline, "full")
        seconds = time.perf_counter() - start
        print(f"verdict, {CASES} {kind} records, {CATEGORIES} categories: {seconds:.2f} s "
              f"({verdict.outcome})")  # fmt: skip


if __name__ == "__main__":
    main()

"""A whole invented project on disk for the tests of reports: cases, runs, baseline, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pytest_fineval.cases import files
from pytest_fineval.cases.model import Case
from pytest_fineval.clients.base import Answer, Usage
from pytest_fineval.gate import baseline as baselines
from pytest_fineval.gate.propose import propose
from pytest_fineval.gate.verdict import Verdict, judge
from pytest_fineval.settings import ModelSettings, Settings
from pytest_fineval.store.manifest import Manifest, identity
from pytest_fineval.store.record import PlannedCase, Record, StoredScore, status_of
from pytest_fineval.store.run import VERDICT, Run, RunWriter, read


@dataclass(frozen=True)
class World:
    root: Path
    folder: Path
    verdict: Verdict


def world(
    root: Path,
    answers: Sequence[str],
    *,
    lost: int = 0,
    samples: int = 1,
    passage: str = "",
    question: str = "What was revenue in 2024?",
    name: str = "new",
) -> World:
    """Cases with the gold 100, answered "100" before and by `answers` now; the first `lost` wrong.

    The files are the real ones; only the calls are invented.
    """
    cases = [
        Case.model_validate(
            {
                "id": f"case-{i:05}",
                "category": ("extraction", "reasoning")[i % 2],
                "candidate": {"question": f"{question} ({i})", "text": passage or None},
                "gold": {"answer": 100, "unit": "USD"},
                "scorer": {"name": "numeric", "abs_tol": 0.5},
                "tags": {"language": ("en", "ja")[i % 3 == 0], "sector": "energy"},
            }
        )
        for i in range(len(answers))
    ]
    files.write(root / "evals" / "cases" / "all.jsonl", cases)
    settings = Settings(root=root, categories=("extraction", "reasoning"))
    before = _run(root / "runs" / "old", "old", cases, ["It was 100 USD."] * len(cases), 0, samples)
    proposal = propose([before], settings=settings, reason="test", created_by="t", name="main")
    path = root / "baselines" / "main.json"
    baselines.write(proposal.baseline, proposal.companion, path)
    after = _run(root / "runs" / name, name, cases, answers, lost, samples)
    verdict = judge(after.manifest, after.records, (), proposal.baseline, "full")
    (after.folder / VERDICT).write_bytes(verdict.to_bytes())
    assert proposal.baseline.valid_until > date(2020, 1, 1)
    return World(root, after.folder, verdict)


def _run(
    folder: Path, model: str, cases: Sequence[Case], texts: Sequence[str], lost: int, samples: int
) -> Run:
    planned = [
        PlannedCase(
            id=case.id,
            digest=case.digest,
            category=case.category,
            cluster=case.id,
            suite="evals/test_all.py::test_all",
            scorer="numeric@1",
        )
        for case in cases
    ]
    manifest = Manifest(
        run_id=f"run-{model}",
        started="2026-03-01T12:00:00+00:00",
        finished="2026-03-01T12:01:00+00:00",
        command=("evals",),
        versions={"pytest-fineval": "0.1.0"},
        models={model: identity(ModelSettings(client="recording", model=model))},
        candidate=model,
        samples=samples,
        baseline="baselines/main.json",
        settings_digest="0" * 64,
        planned=tuple(planned),
        suites={"evals/test_all.py::test_all": ("evals/cases/all.jsonl",)},
    )
    writer = RunWriter(folder)
    writer.manifest(manifest)
    for i, case in enumerate(planned):
        for sample in range(samples):
            value = 0.0 if i < lost else 1.0
            at = texts[i].find("100")
            score = StoredScore(
                value=value,
                scorer="numeric@1",
                parsed=100 if value else 7,
                stage="only_number",
                span=(at, at + 3) if at >= 0 else None,
            )
            writer.append(
                Record(
                    case=case,
                    model=model,
                    sample=sample,
                    status=status_of(score, None),
                    answer=Answer(
                        text=f"{texts[i]}{'' if not sample else f' ({sample})'}",
                        usage=Usage(input_tokens=50, output_tokens=5),
                        cost_usd=0.0001,
                        latency_s=0.5,
                    ),
                    score=score,
                )
            )
    writer.close()
    return read(folder)

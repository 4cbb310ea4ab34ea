"""Rows of chain_metrics.jsonl: similarities and values of a chain's steps in, step metrics out."""

from __future__ import annotations

from typing import Any

from pytest_fineval.scoring.chains.align import Alignment
from pytest_fineval.scoring.chains.metrics import Profile, StepMetrics, step_metrics
from pytest_fineval.scoring.text import rouge_l
from tests.vectors.schemas import Row, Schema
from tests.vectors.statistics import differences

TOLERANCE = 1e-6


def _alignment(found: Alignment) -> dict[str, Any]:
    return {
        "norm": found.norm,
        "cost": found.cost,
        "length": found.length,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "path": [list(pair) for pair in found.path],
    }


def _profile(found: StepMetrics) -> dict[str, Any]:
    return {
        "hard_recall": found.hard.recall,
        "hard_precision": found.hard.precision,
        "hard_f1": found.hard.f1,
        "dtw_gate": _alignment(found.dtw_gate),
        "dtw_bonus": _alignment(found.dtw_bonus),
    }


def figures(row: Row) -> dict[str, Any]:
    """All figures of a row in the shape of its `expected`."""

    def metrics(profile: Profile) -> StepMetrics:
        return step_metrics(
            row["ss"],
            row["gold_values"],
            row["pred_values"],
            row["gold_final"],
            row["pred_final"],
            profile,
        )

    paper, lenient = metrics("paper"), metrics("lenient")
    found: dict[str, Any] = {
        "paper": _profile(paper),
        "lenient": _profile(lenient),
        "fuzzy_recall": paper.fuzzy.recall,
        "fuzzy_precision": paper.fuzzy.precision,
        "fuzzy_f1": paper.fuzzy.f1,
        "soft_recall": paper.soft.recall,
        "soft_precision": paper.soft.precision,
        "soft_f1": paper.soft.f1,
        "soft_score": paper.soft_score,
        "fam": paper.fam,
        "fuzzy_fas": paper.fuzzy_fas,
    }
    if "gold_steps" in row:
        rouge = rouge_l("\n".join(row["pred_steps"]), "\n".join(row["gold_steps"]))
        found["rouge_l"] = rouge._asdict()
    return found


def check(row: Row) -> list[str]:
    """Fields of the row in which the metrics differ."""
    return differences(figures(row), row["expected"], TOLERANCE)


SCHEMAS = [
    Schema(
        name="chain_metrics",
        matches=lambda row: (
            {"ss", "gold_values", "pred_values", "gold_final", "pred_final", "expected"}
            <= row.keys()
        ),
        check=check,
    )
]

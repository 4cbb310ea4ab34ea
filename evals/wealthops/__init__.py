"""WealthOps as code: invented households, one case of each task, gold computed where it can be.

`python -m evals.wealthops` writes `records.jsonl`, the same bytes every time; `fineval import
wealthops evals/wealthops/records.jsonl -o FILE` makes cases of it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from evals.wealthops.figures import ASKS

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "records.jsonl"

LABELS = {
    "contradiction": ("consistent", "contradictory"),
    "temporal-validity": ("in force", "expired", "not yet in force"),
    "access-rule": ("permitted", "not permitted"),
    "evidence-support": ("supported", "contradicted", "not stated"),
}
NUMBER = "End with one line 'Answer: ' and the number with its unit."
WORD = "Answer with one of these alone: {}."


def records() -> list[dict[str, Any]]:
    """Every case as a record of the `wealthops` track, household by household."""
    found = []
    for household in tomllib.loads((HERE / "households.toml").read_text("utf-8"))["household"]:
        found += [
            _numerical(household),
            _labelled(household, "contradiction", household["contradiction"]),
            _labelled(household, "temporal-validity", household["temporal"]),
            _labelled(household, "access-rule", household["access"]),
            _labelled(household, "evidence-support", household["evidence"]),
        ]
    return found


def write(path: Path = RECORDS) -> Path:
    """Write the records, one a line."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records()]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def state(start: date, end: date, on: date) -> str:
    """Whether something that holds from a day to a day, both included, holds on a day."""
    if on < start:
        return "not yet in force"
    return "expired" if on > end else "in force"


def _numerical(household: Mapping[str, Any]) -> dict[str, Any]:
    case = household["numerical"]
    answer, unit = ASKS[case["ask"]](household, case)
    return {
        **_common(household, "numerical", case),
        "table": household["table"],
        "instructions": NUMBER,
        "answer": str(answer),
        "unit": case.get("unit", unit),
    }


def _labelled(household: Mapping[str, Any], task: str, case: Mapping[str, Any]) -> dict[str, Any]:
    if task == "temporal-validity":
        answer = state(case["from"], case["until"], household["as_of"])
    else:
        answer = case["answer"]
    record = {
        **_common(household, task, case),
        "instructions": WORD.format(", ".join(LABELS[task])),
        "answer": answer,
        "labels": list(LABELS[task]),
    }
    if task == "evidence-support":
        record["table"] = household["table"]
    return record


def _common(household: Mapping[str, Any], task: str, case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"wo-{household['id']}-{task}",
        "household": household["id"],
        "task": task,
        "question": case["question"],
        # A task of its own documents is not helped, nor hindered, by those of the household.
        "documents": case.get("documents", household["documents"]),
    }

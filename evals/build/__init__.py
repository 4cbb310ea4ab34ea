"""The project's own suite as code: fictional documents with their figures, and gold computed
from them. `python -m evals.build` writes `evals/cases/*.jsonl`, the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evals.build.figures import Document, documents
from evals.build.questions import BUILDERS, Input

CASES = Path(__file__).resolve().parents[1] / "cases"
CATEGORIES = ("extraction", "summarization", "ranking", "reasoning", "classification")


def suite() -> dict[str, list[dict[str, Any]]]:
    """All cases by category, in document order.

    Raises:
        ValueError: a document has two cases of one category, or two smoke cases.
    """
    found: dict[str, list[dict[str, Any]]] = {category: [] for category in CATEGORIES}
    for document in documents():
        built = [(entry["category"], _case(document, entry)) for entry in document.cases]
        names = [name for name, _ in built]
        if len(set(names)) != len(names):
            raise ValueError(f"{document.id}: two cases of one category share a cluster")
        if sum("smoke" in case["splits"] for _, case in built) > 1:
            raise ValueError(f"{document.id}: two smoke cases share a cluster")
        for name, case in built:
            found[name].append(case)
    return found


def write(folder: Path = CASES) -> list[Path]:
    """Write one JSONL file a category into `folder` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for category, cases in suite().items():
        path = folder / f"{category}.jsonl"
        lines = [json.dumps(case, ensure_ascii=False, allow_nan=False) + "\n" for case in cases]
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _case(document: Document, entry: Input) -> dict[str, Any]:
    built = BUILDERS[entry["ask"]](document, entry)
    parts = {
        "question": built.question,
        "text": document.text(),
        "table": document.table(),
        "instructions": built.instructions,
    }
    case: dict[str, Any] = {
        # One case a category and document: an id that no later document can shift.
        "id": f"{entry['category']}-{document.id}",
        "category": entry["category"],
        "candidate": {name: part for name, part in parts.items() if part is not None},
        "gold": built.gold,
        "scorer": built.scorer,
        "splits": entry.get("splits", []),
        "cluster": document.id,
        "evidence": "supplied",
        "tags": {
            "language": "en",
            "difficulty": entry["difficulty"],
            "document": document.kind,
            "ask": entry["ask"],
            **built.tags,
        },
    }
    if built.pass_mark is not None:
        case["pass_mark"] = built.pass_mark
    return case

"""The project's own suite as code: fictional documents with their figures, and gold computed
from them. `python -m evals.build` writes `evals/cases/*.jsonl`, the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.build.documents import CATEGORIES, Document, documents
from evals.build.questions import BUILDERS
from evals.build.words import SCALES

CASES = Path(__file__).resolve().parents[1] / "cases"
DIFFICULTIES = ("easy", "medium", "hard", "expert")


def suite(found: list[Document] | None = None) -> dict[str, list[dict[str, Any]]]:
    """All cases by category, in document order: one of each category a document."""
    found = documents() if found is None else found
    return {name: [_case(document, name) for document in found] for name in CATEGORIES}


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


def _case(document: Document, category: str) -> dict[str, Any]:
    """One case.

    Raises:
        ValueError: the difficulty is unknown.
    """
    asked = document.ask[category]
    built = BUILDERS[category][asked.get("ask", "reference")](document, asked)
    if asked["difficulty"] not in DIFFICULTIES:
        raise ValueError(f"{document.id}: difficulty is one of {', '.join(DIFFICULTIES)}")
    parts = {
        "question": document.fill(asked["q"]),
        "text": document.text(),
        "table": document.table(),
        "instructions": built.instructions,
    }
    case: dict[str, Any] = {
        # One case a category and document: an id that no later document can shift.
        "id": f"{category}-{document.id}",
        "category": category,
        "candidate": {name: part for name, part in parts.items() if part is not None},
        "gold": built.gold,
        "scorer": built.scorer,
        "splits": _splits(document, category),
        "cluster": document.id,
        "evidence": "supplied",
        "tags": {
            "language": document.language,
            "difficulty": asked["difficulty"],
            "document": document.kind,
            "ask": asked.get("ask", "reference"),
            "traits": " ".join(sorted({*_shown(document), *built.traits, *_asked(asked)})),
        },
    }
    if built.pass_mark is not None:
        case["pass_mark"] = built.pass_mark
    return case


def _splits(document: Document, category: str) -> list[str]:
    if document.heldout:
        return ["heldout"]
    return ["smoke"] if document.smoke == category else ["dev"]


def _asked(asked: Mapping[str, Any]) -> set[str]:
    """What a question itself says that it covers."""
    return set(asked.get("traits", ()))


def _shown(document: Document) -> set[str]:
    """What of the suite's coverage the document itself shows."""
    traits = set(document.traits) | {document.currency}
    scales = {document.scale, *document.scales.values()} - {"units"}
    traits |= scales & SCALES.keys()
    if document.show != "passage":
        traits.add("table")
        if document.scale != "units":
            traits.add("scale-in-header")
        if any(value < 0 for row in document.figures.values() for value in row):
            traits.add("minus-sign" if document.language == "de" else "accounting-negative")
    if document.currency == "INR":
        traits.add("indian-format")
    if document.language in ("de", "ru"):
        traits.add("decimal-comma")
    return traits

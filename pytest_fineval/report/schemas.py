"""JSON Schema of what a run leaves behind, for readers in other languages."""

from __future__ import annotations

import json

from pydantic import BaseModel

from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Record

MODELS: dict[str, type[BaseModel]] = {"manifest": Manifest, "record": Record, "verdict": Verdict}


def schema(name: str) -> str:
    """JSON Schema (2020-12) of manifest.json, of one line of records.jsonl, or of verdict.json.

    Args:
        name: `manifest`, `record` or `verdict`.
    """
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[name].model_json_schema(mode="serialization"),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"

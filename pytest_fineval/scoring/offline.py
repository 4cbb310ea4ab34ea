"""Scoring without a run: one line of JSON in, one line out (`fineval score`)."""

from __future__ import annotations

from typing import Any, cast, get_args

from pydantic import ValidationError

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError, faults, nearest
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.scoring.score import Status

FIELDS = ("id", "scorer", "gold", "output", "status")


def score_line(line: dict[str, Any]) -> dict[str, Any]:
    """Score one stored answer.

    Args:
        line: `{"id", "scorer": {"name": ...}, "gold": {...}, "output": "..."}`; `status` (how the
            client said the answer ended) may stand beside it, default `ok`.

    Returns:
        `{"id", "score", "parsed", "failure", "stage", "span"}`, ready for strict JSON.

    Raises:
        InputError: a field is missing, unknown or of the wrong kind, or the scorer cannot use it.
    """
    for key in line:
        if key not in FIELDS:
            raise InputError(f'unknown key "{key}" ({nearest(key, FIELDS)})')
    for key in ("id", "scorer", "gold", "output"):
        if key not in line:
            raise InputError(f'missing key "{key}"')
    if not isinstance(line["output"], str):
        raise InputError('"output": the verbatim text of the answer is needed')
    status = line.get("status", "ok")
    if status not in get_args(Status):
        raise InputError(f'"status": unknown "{status}" ({nearest(str(status), get_args(Status))})')
    spec = _model(ScorerSpec, line["scorer"], "scorer")
    gold = _model(Gold, line["gold"], "gold")
    score = prepare(spec, gold).score(line["output"], cast(Status, status))
    return {
        "id": line["id"],
        "score": score.value,
        "parsed": score.parsed,
        "failure": score.failure,
        "stage": score.stage,
        "span": None if score.span is None else list(score.span),
    }


def _model(model: Any, value: Any, field: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        listed = "; ".join(faults(error, model))
        raise InputError(f'"{field}": {listed}') from error

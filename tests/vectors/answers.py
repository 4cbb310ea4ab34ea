"""Rows of answers_public.jsonl: model text in, parsed value, score and failure out."""

from __future__ import annotations

from typing import Any

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.registry import prepare
from tests.vectors.schemas import Row, Schema, same_number

GOLD_FIELDS = ("unit", "scale", "units", "scales", "labels")


def split_options(row: Row) -> tuple[ScorerSpec, Gold]:
    """A row's `options` and `expected` as the scorer and the gold of a case."""
    options = dict(row["options"])
    gold = {field: options.pop(field) for field in GOLD_FIELDS if field in options}
    return ScorerSpec(name=row["kind"], **options), Gold(answer=row["expected"], **gold)


def same_parsed(row: Row, got: Any) -> bool:
    """Numbers as numbers, sets as sets, the rest by equality."""
    return _same(got, row["parsed"], unordered=row["options"].get("item_kind") == "label")


def _same(got: Any, expected: Any, *, unordered: bool) -> bool:
    if isinstance(expected, list) and isinstance(got, list):
        if unordered and not any(isinstance(item, list | dict) for item in [*got, *expected]):
            return sorted(map(str, got)) == sorted(map(str, expected))
        pairs = zip(got, expected, strict=False)
        return len(got) == len(expected) and all(_same(g, e, unordered=unordered) for g, e in pairs)
    if isinstance(expected, dict) and isinstance(got, dict):
        return got.keys() == expected.keys() and all(
            _same(got[key], expected[key], unordered=unordered) for key in expected
        )
    return same_number(got, expected)


def check(row: Row) -> list[str]:
    """Fields of the row in which the scorer differs."""
    spec, gold = split_options(row)
    score = prepare(spec, gold).score(row["output"])
    differs = []
    if not same_parsed(row, score.parsed):
        differs.append(f"parsed {score.parsed!r}, not {row['parsed']!r}")
    if abs(score.value - row["score"]) > 1e-6:
        differs.append(f"score {score.value}, not {row['score']}")
    if score.failure != row["failure"]:
        differs.append(f"failure {score.failure}, not {row['failure']}")
    return differs


SCHEMAS = [
    Schema(
        name="answers",
        matches=lambda row: (
            {"kind", "output", "expected", "options", "parsed", "score"} <= row.keys()
        ),
        check=check,
    )
]

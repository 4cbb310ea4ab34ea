"""Rows of step_parsing.jsonl: model text in, step values and final answer out."""

from __future__ import annotations

import math
from decimal import Decimal

from pytest_fineval.scoring.chains.parse import parse_chain
from tests.vectors.schemas import Row, Schema


def same_value(got: Decimal | None, expected: float | None) -> bool:
    """Both missing, or equal to nine digits."""
    if got is None or expected is None:
        return got is None and expected is None
    return math.isclose(float(got), expected, rel_tol=1e-9, abs_tol=1e-12)


def check(row: Row) -> list[str]:
    """Fields of the row in which the parser differs."""
    chain = parse_chain(row["text"], row["lang"])
    differs = []
    if len(chain.steps) != row["n_steps"]:
        differs.append(f"n_steps {len(chain.steps)}, not {row['n_steps']}")
    values = list(map(str, chain.values))
    if len(values) != len(row["values"]) or not all(map(same_value, chain.values, row["values"])):
        differs.append(f"values {values}, not {row['values']}")
    if not same_value(chain.final_answer, row["final_answer"]):
        differs.append(f"final_answer {chain.final_answer}, not {row['final_answer']}")
    if chain.final_source != row["final_source"]:
        differs.append(f"final_source {chain.final_source}, not {row['final_source']}")
    return differs


SCHEMAS = [
    Schema(
        name="step_parsing",
        matches=lambda row: (
            {"text", "lang", "n_steps", "values", "final_answer", "final_source"} <= row.keys()
        ),
        check=check,
    )
]

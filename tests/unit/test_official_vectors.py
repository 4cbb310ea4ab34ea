"""The recorded outputs of the published scorers: every row, odd ones included."""

from pathlib import Path

import pytest

from tests.shared import shared
from tests.vectors.__main__ import check_file
from tests.vectors.schemas import schemas

COMMITTED = Path(__file__).parents[1] / "vectors"
FILES = {
    "finqa_programs.jsonl": 496,
    "finqa_program_pairs.jsonl": 96,
    "convfinqa_turns.jsonl": 456,
    "tatqa_metric.jsonl": 276,
    "tatqa_normalize.jsonl": 27,
    "jfinqa_metric.jsonl": 65,
    "tolerance_scorers.jsonl": 97,
    "indiafinbench_scorer.jsonl": 167,
}


@pytest.mark.parametrize("name", FILES)
def test_every_recorded_row_is_reproduced(name):
    total, differing = check_file(shared(f"reference/{name}"), schemas())
    assert differing == []
    assert total == FILES[name]


@pytest.mark.parametrize("name", [name for name in FILES if (COMMITTED / name).exists()])
def test_the_hand_made_rows_stand_in_the_repository_and_are_reproduced(name):
    _, differing = check_file(COMMITTED / name, schemas())
    assert differing == []


def test_a_row_that_differs_is_reported_with_both_values():
    [schema] = [schema for schema in schemas() if schema.name == "tatqa_normalize"]
    row = {"text": "5%", "is_number": True, "to_number": 5, "normalized": "0.05"}
    assert schema.check(row) == ["to_number 0.05, not 5"]

"""The statistics agree with the reference rows, and the checker notices when they do not."""

import json
from pathlib import Path

import pytest

from tests.shared import shared
from tests.vectors.schemas import recognise, rows, schemas
from tests.vectors.statistics import (
    SCHEMAS,
    check_paired_counts,
    check_statistic,
    differences,
)

VECTORS = Path(__file__).parents[1] / "vectors" / "statistics.jsonl"
ROWS = list(rows(VECTORS))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']}-{row['function']}")
def test_a_statistic_agrees_with_its_reference(row):
    assert check_statistic(row) == []


def test_every_row_is_recognised_by_exactly_one_family():
    known = schemas()
    for row in ROWS:
        schema = recognise(row, known)
        assert schema is not None
        assert schema.name == "statistics"
        assert [other.name for other in known if other.matches(row)] == ["statistics"]


def test_mcnemar_agrees_on_the_counts_of_a_published_comparison():
    path = shared("reference/indiafinbench_paired_counts.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert recognise(row, SCHEMAS).name == "paired counts"
        assert check_paired_counts(row) == [], row


def test_a_value_beyond_the_tolerance_is_named():
    row = {
        "function": "mcnemar",
        "inputs": {"b": 5, "c": 0},
        "expected": {"exact_drop": 0.03125, "midp_drop": 0.03125},
        "tolerance": 1e-9,
    }
    assert check_statistic(row) == ["midp_drop 0.015625, not 0.03125"]


def test_counts_that_do_not_add_up_are_named():
    row = {"n": 4, "both": 1, "a_only": 1, "b_only": 0, "neither": 1}
    assert check_paired_counts({**row, "mcnemar_exact_two_sided_p": 1.0}) == [
        "n 4, but the counts add up to 3"
    ]


@pytest.mark.parametrize(
    ("got", "expected"),
    [(0.5, None), (None, 0.5), (True, 1.0), ([1.0], [1.0, 2.0]), ({"a": 1.0}, {"b": 1.0})],
)
def test_another_kind_of_result_never_agrees(got, expected):
    assert differences(got, expected, 10.0) != []


def test_an_undefined_reference_agrees_with_none_alone():
    assert differences(None, float("nan"), 1e-9) == []
    assert differences(0.0, float("nan"), 1e-9) != []

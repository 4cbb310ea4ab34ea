"""Several values: named, listed, or a set of labels."""

import pytest

from pytest_fineval.errors import InputError
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check

SALES = {"north": 12, "south": 30}
RISKS = ["credit", "market", "liquidity"]
LABELS = {"item_kind": "label", "metric": "set_exact"}


@pytest.mark.parametrize("row", of_kind("multi"))
def test_a_recorded_answer_gets_its_values_score_and_failure(row):
    assert check(row) == []


def test_a_part_is_credited_only_where_the_metric_says_so():
    text = "North: $12 million"
    gold = {"unit": "USD", "scale": 1e6}
    every = scored("multi", text, SALES, **gold)
    assert (every.value, every.failure) == (0, "missing_items")
    part = scored("multi", text, SALES, options={"metric": "fraction"}, **gold)
    assert (part.value, part.failure) == (0.5, "missing_items")


def test_each_item_may_have_its_own_unit_and_scale():
    gold = {"units": {"sales": "USD", "margin": "percent"}, "scales": {"sales": 1e6}}
    answer = {"sales": 12, "margin": 4.5}
    score = scored("multi", "Sales: $12 million; margin: 4.5%", answer, **gold)
    assert score.value == 1


def test_a_set_of_labels_has_no_order_and_folds_duplicates():
    text = "market, credit, market"
    score = scored("multi", text, ["credit", "market"], labels=RISKS, options=LABELS)
    assert score.value == 1
    assert sorted(score.parsed) == ["credit", "market"]


def test_an_object_of_flags_lists_the_labels_that_apply():
    text = '{"credit": true, "market": true, "liquidity": false}'
    assert scored("multi", text, ["credit", "market"], labels=RISKS, options=LABELS).value == 1


@pytest.mark.parametrize(
    ("gold", "fields", "named"),
    [
        (5, {"unit": "USD"}, "gold.answer"),
        ({"a": "many"}, {"unit": "USD"}, "gold.answer.a"),
        ({"a": 1}, {}, "gold.unit"),
        ({"a": 1}, {"unit": "USD", "units": {"b": "USD"}}, "gold.units"),
        ({"a": 1.5}, {"unit": "count"}, "gold.answer.a"),
    ],
)
def test_a_gold_that_cannot_be_right_is_refused_by_field(gold, fields, named):
    with pytest.raises(InputError, match=named):
        scorer("multi", gold, **fields)


def test_a_label_outside_the_set_is_refused_as_gold():
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("multi", ["weather"], labels=RISKS, options=LABELS)

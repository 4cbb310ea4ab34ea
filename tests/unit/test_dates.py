"""Dates: as fine as asked, never rolled over, the order of day and month never guessed."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.errors import InputError
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check


@pytest.mark.parametrize("row", of_kind("date"))
def test_a_recorded_answer_gets_its_date_score_and_failure(row):
    assert check(row) == []


@given(
    st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)),
    st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y", "%Y/%m/%d", "%Y%m%d"]),
)
def test_a_written_date_is_read_back(day, form):
    score = scored("date", f"The date is {day.strftime(form)}.", day.isoformat())
    assert score.parsed == day.isoformat()


def test_a_date_with_both_orders_needs_a_declaration():
    assert scored("date", "05/06/2024", "2024-06-05").failure == "ambiguous_date"
    declared = scored("date", "05/06/2024", "2024-06-05", options={"day_first": True})
    assert declared.value == 1


def test_two_days_offered_are_ambiguous():
    assert scored("date", "May 4 or 5, 2024", "2024-05-04").failure == "ambiguous"
    assert scored("date", "4 or 5 May 2024", "2024-05-04").failure == "ambiguous"


def test_no_fifth_quarter():
    options = {"granularity": "quarter"}
    assert scored("date", "Q5 2024", "2024-Q4", options=options).failure == "invalid_date"


def test_the_span_is_the_date():
    text = "Effective **April 1, 2024** for all"
    start, end = scored("date", text, "2024-04-01").span
    assert text[start:end] == "April 1, 2024"


@pytest.mark.parametrize(
    "gold", ["2024-02-30", "soon", "2024", "", None, "2024-01-01 or 2024-01-02"]
)
def test_a_gold_that_is_no_day_is_refused(gold):
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("date", gold)

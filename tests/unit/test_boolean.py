"""Yes or no: a word of its own, never inferred from a sentence."""

import pytest

from pytest_fineval.errors import InputError
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check


@pytest.mark.parametrize("row", of_kind("boolean"))
def test_a_recorded_answer_gets_its_meaning_score_and_failure(row):
    assert check(row) == []


def test_a_leading_yes_against_a_closing_no_is_ambiguous():
    assert scored("boolean", "Yes. It was filed late. No.", True).failure == "ambiguous"
    assert scored("boolean", "Yes. It was filed late. Yes.", True).value == 1


def test_a_later_no_in_the_explanation_does_not_count():
    assert scored("boolean", "Yes, as no limit applies.", True).value == 1


def test_the_span_is_the_word():
    text = "<think>no?</think> **Answer:** Yes, it did."
    start, end = scored("boolean", text, True).span
    assert text[start:end] == "Yes"


@pytest.mark.parametrize("gold", [True, "yes", "True", "y"])
def test_the_gold_may_be_a_boolean_or_its_word(gold):
    assert scored("boolean", "Yes", gold).value == 1


@pytest.mark.parametrize("gold", ["maybe", None, 3, ""])
def test_a_gold_that_is_neither_is_refused(gold):
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("boolean", gold)

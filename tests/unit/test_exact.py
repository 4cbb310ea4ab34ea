"""Exact text: equal once case, width, spaces and joints are one."""

import pytest

from pytest_fineval.errors import InputError
from tests.unit.answer_rows import scored, scorer


@pytest.mark.parametrize(
    "text",
    ["Harbor Ridge", "harbor ridge.", "**Harbor Ridge**", "Answer: Harbor-Ridge", "harbor_ridge"],
)
def test_the_same_name_is_right(text):
    assert scored("exact", text, "Harbor Ridge").value == 1


@pytest.mark.parametrize("text", ["Harbor", "Harbor Ridge Ltd", "It is Harbor Ridge, I think"])
def test_another_text_is_wrong(text):
    score = scored("exact", text, "Harbor Ridge")
    assert (score.value, score.failure) == (0, None)


def test_an_alias_of_the_gold_is_right():
    options = {"aliases": {"Harbor Ridge": ["HRG"]}}
    assert scored("exact", "HRG", "Harbor Ridge", options=options).value == 1


def test_an_invented_word_for_nothing_is_no_answer():
    assert scored("exact", "N/A", "Harbor Ridge").failure == "no_answer"
    assert scored("exact", "", "Harbor Ridge").failure == "empty"


@pytest.mark.parametrize("gold", ["", "  ", None, 5])
def test_a_gold_that_is_no_text_is_refused(gold):
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("exact", gold)

"""FinQA and ConvFinQA as scorers: programs as published, free answers under the strict rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.official.finqa import score_program, tokens_of
from pytest_fineval.scoring.programs import tokenize
from pytest_fineval.scoring.registry import prepare

PROGRAM = "subtract(120, 100), divide(#0, 100)"


def official(text: str, gold: Gold, name: str = "finqa/official", **options: object):
    return prepare(ScorerSpec(name=name, **options), gold).score(text)


def strict(text: str, answer: float | str, **options: float):
    return prepare(ScorerSpec(name="finqa/strict", **options), Gold(answer=answer)).score(text)


def test_the_score_is_execution_accuracy_unless_program_accuracy_is_asked_for():
    gold = Gold(answer=0.2, program=PROGRAM)
    other = "divide(120, 100), subtract(#0, const_1)"
    assert official(other, gold).value == 1
    assert official(other, gold, metric="program").value == 0
    assert official(PROGRAM, gold, metric="program").value == 1


def test_a_prediction_may_be_the_token_list_of_the_published_files():
    assert tokens_of('["add(", "1", "2", ")", "EOF"]') == ["add(", "1", "2", ")", "EOF"]
    assert tokens_of("[add(1, 2)") == ["[add(", "1", "2", ")", "EOF"]
    gold = Gold(answer=3.0, program="add(1, 2)")
    assert official('["add(", "2", "1", ")", "EOF"]', gold).value == 1


def test_an_equal_program_with_another_value_is_counted_instead_of_stopping():
    result = score_program(tokenize(PROGRAM), tokenize(PROGRAM), 0.21)
    assert result.program
    assert not result.execution
    assert result.inconsistent
    assert official(PROGRAM, Gold(answer=0.21, program=PROGRAM)).details["inconsistent"]


def test_a_turn_of_a_conversation_may_be_a_number():
    gold = Gold(answer=60.94, program="60.94")
    assert official("60.94", gold, "convfinqa/official").parts == {"execution": 1, "program": 1}
    assert official("60.94", gold).value == 0


def test_nan_equals_no_stored_answer():
    score = official("add(nan, 1)", Gold(answer=1.0, program="add(1, 0)"))
    assert (score.value, score.parsed) == (0, "nan")


@pytest.mark.parametrize("answer", [None, True, [1], "12%", float(10**308)])
def test_a_gold_that_is_no_stored_answer_is_named(answer):
    with pytest.raises(InputError, match=r"gold\.answer"):
        prepare(ScorerSpec(name="finqa/strict"), Gold(answer=answer))


def test_a_gold_without_program_is_named():
    with pytest.raises(InputError, match=r"gold\.program"):
        prepare(ScorerSpec(name="finqa/official"), Gold(answer=1.0))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: 14.5%", 0.145),
        ("The change is\nAnswer: 0.145", 0.145),
        ("14.5 percentage points", 0.145),
        ("145 basis points", 0.0145),
        ("(1,234)", -1234),
        ("−9.1%", -0.091),
        ("$193 million", 193),
        ("$0.193 billion", 193_000_000),
        ("**Answer:** 94", 94),
        ("120 - 100 = 20", 20),
        ("1.2e3", 1200),
        ("0.00000", 0.0000049),
        ("Yes, it was.", "yes"),
        ("no", "no"),
    ],
)
def test_a_right_free_answer_is_right(text, answer):
    assert strict(text, answer).value == 1


@pytest.mark.parametrize(
    ("text", "answer", "failure"),
    [
        ("14.5", 0.145, None),
        ("9.1%", -0.091, None),
        ("3.8%", 3.8, None),
        ("193", 85.0, None),
        ("0.001", 0.0, None),
        ("yes", 1.0, "no_number"),
        ("1.0", "yes", "no_label"),
        ("between 10 and 20", 10, "ambiguous"),
        ("2*50", 100, "ambiguous"),
        ("", 1.0, "empty"),
        ("12abc", 12, "no_number"),
        ("12,34", 12, "no_number"),
        ("no", "yes", None),
    ],
)
def test_a_wrong_free_answer_is_wrong_and_says_why(text, answer, failure):
    score = strict(text, answer)
    assert (score.value, score.failure) == (0, failure)


def test_the_tolerance_is_inclusive_and_may_be_set():
    assert strict("100.5", 100).value == 1
    assert strict("100.51", 100).value == 0
    assert strict("100.51", 100, rel_tol=0.01).value == 1


TEXTS = st.text(alphabet="0123456789.,-+%() $=eE\nyesno", max_size=60) | st.text(max_size=60)


@given(TEXTS, st.floats(-1e12, 1e12) | st.sampled_from(["yes", "no"]))
def test_no_text_raises_and_every_score_lies_between_0_and_1(text, answer):
    for name in ("finqa/strict", "convfinqa/strict", "finqa/official", "convfinqa/official"):
        gold = Gold(answer=answer, program=PROGRAM)
        score = prepare(ScorerSpec(name=name), gold).score(text)
        assert 0 <= score.value <= 1
        assert score.failure != "error", score.details


@pytest.mark.parametrize(
    "text", ["1" * 400_000, "1," * 200_000, "1 2 " * 100_000, "(" * 400_000, "add(1, 2, " * 40_000]
)
def test_a_very_long_answer_ends(text):
    gold = Gold(answer=1.0, program=PROGRAM)
    for name in ("finqa/strict", "finqa/official"):
        assert prepare(ScorerSpec(name=name), gold).score(text).value == 0

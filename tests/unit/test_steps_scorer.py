"""The rubric of named quantities and the `steps` scorer."""

import pytest

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.registry import prepare

STEPS = (
    {"name": "change", "value": 13.9, "unit": "USD", "scale": 1e6, "abs_tol": 0.05},
    {"name": "growth", "value": 10.04, "abs_tol": 0.05},
)


def score(text, steps=STEPS, status="ok", **options):
    options = {"rel_tol": 0.005, **options}
    gold = Gold(answer="10.04", unit="percent", steps=steps)
    return prepare(ScorerSpec(name="steps", **options), gold).score(text, status)


GOOD = (
    "The change is 152.4 - 138.5 = $13.9 million.\nGrowth = 13.9 / 138.5 = 10.04%.\nAnswer: 10.04%"
)


def test_a_chain_with_all_quantities_scores_full():
    found = score(GOOD, step_weight=0.5)
    assert found.value == 1.0
    assert found.parts["steps"] == 1.0
    assert found.details["quantities"] == {"change": True, "growth": True}
    assert "chain_cause" not in found.details


def test_the_order_of_the_quantities_does_not_matter():
    assert score("\n".join(reversed(GOOD.split("\n")))).parts["steps"] == 1.0


def test_a_quantity_may_be_written_in_full():
    assert score("Change: $13,900,000\nAnswer: 10.04%").details["quantities"]["change"]


def test_a_quantity_in_another_unit_does_not_count():
    assert not score("Change: 13.9%\nAnswer: 10.04%").details["quantities"]["change"]


def test_one_number_serves_one_quantity():
    steps = ({"name": "a", "value": 5}, {"name": "b", "value": 5})
    assert score("x is 5%\nAnswer: 10.04%", steps).parts["steps"] == 0.5
    assert score("x is 5%, y is 5%\nAnswer: 10.04%", steps).parts["steps"] == 1.0


def test_words_have_to_stand_in_the_line():
    steps = ({"name": "margin", "value": 5, "words": ["margin", "маржа"]},)
    assert score("The Margin is 5%\nAnswer: 10.04%", steps).parts["steps"] == 1.0
    assert score("The rate is 5%\nmargin\nAnswer: 10.04%", steps).parts["steps"] == 0.0


def test_without_weight_the_final_answer_alone_decides():
    wrong = "The change is $13.9 million.\nAnswer: 11%"
    assert score(wrong).value == 0.0
    assert score(wrong).parts == {"final": 0.0, "steps": 0.5, "value_coverage": 1.0}
    assert score(wrong, step_weight=0.4).value == pytest.approx(0.2)


def test_without_a_final_answer_the_steps_earn_nothing():
    found = score("The change is $13.9 million.\nAnswer: not enough information", step_weight=0.5)
    assert found.value == 0.0
    assert found.parts["steps"] == 0.5
    assert found.failure is not None


def test_a_wrong_answer_says_why():
    slip = score("Growth = 13.9 / 138.5 × 100 = 11.04%\nAnswer: 11.04%")
    assert slip.details["chain_cause"] == "arithmetic_slip"
    assert slip.details["slip"].startswith("13.9 / 138.5 × 100 = 10.036")
    assert score("Answer: unknown").details["chain_cause"] == "missing_answer"


def test_nothing_is_read_from_an_answer_that_is_cut_off():
    assert score("<think>change is $13.9 million").failure == "truncated"
    assert score(GOOD, status="truncated").value == 0.0
    assert score("").failure == "empty"


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        (None, "at least one quantity"),
        (({"nam": "a", "value": 5},), 'unknown key "nam"'),
        (({"name": "a", "value": "many"},), r"gold.steps\[0\].value"),
        (({"name": "a", "value": 5, "unit": "USX/share"},), r"gold.steps\[0\].unit"),
        (({"name": "a", "value": 5}, {"name": "a", "value": 6}), 'called "a"'),
    ],
)
def test_a_faulty_rubric_is_refused_with_its_field(steps, fault):
    with pytest.raises(InputError, match=fault):
        score("x", steps)

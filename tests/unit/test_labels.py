"""Labels: one of a closed set, negated and eliminated ones left out."""

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.scoring.labels import LabelSet, choose, folded
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check

TONES = ["positive", "negative", "neutral"]


@pytest.mark.parametrize("row", of_kind("label"))
def test_a_recorded_answer_gets_its_label_score_and_failure(row):
    assert check(row) == []


def test_the_longest_name_wins_over_the_one_inside_it():
    labels = LabelSet(["contradictory", "not_contradictory"], {})
    assert [m.label for m in labels.mentions("they are not contradictory")] == ["not_contradictory"]


def test_a_rejected_label_is_marked_and_not_chosen():
    labels = LabelSet(TONES, {})
    found = labels.mentions("It is neither positive nor negative but neutral.")
    assert [(m.label, m.rejected) for m in found] == [
        ("positive", True),
        ("negative", True),
        ("neutral", False),
    ]
    assert choose("It is not negative but positive.", labels).label == "positive"


def test_width_case_and_joints_are_one_unless_literal():
    assert folded("Ｎon-Compliant") == folded("non_compliant")
    assert folded("BBB-", literal=True) != folded("BBB", literal=True)


def test_the_span_is_the_label_in_the_raw_text():
    text = "**Sentiment:** *Neutral* as before"
    start, end = scored("label", text, "neutral", labels=TONES).span
    assert text[start:end] == "Neutral"


def test_the_positive_label_must_be_a_label():
    with pytest.raises(InputError, match=r"gold\.positive"):
        scorer("label", "neutral", labels=TONES, positive="bullish")


@pytest.mark.parametrize("gold", ["bullish", "", 3, None])
def test_a_gold_outside_the_labels_is_refused(gold):
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("label", gold, labels=TONES)


def test_aliases_of_an_unknown_label_are_refused():
    with pytest.raises(InputError, match="up"):
        scorer("label", "neutral", labels=TONES, options={"aliases": {"up": ["rise"]}})

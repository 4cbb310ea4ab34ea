"""Rankings: positions are correlated, never names; faults of the list are told apart."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.errors import InputError
from pytest_fineval.scoring.ranking import correlate, kendall, spearman, stated_order
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check

GOLD = ["Alder", "Birch", "Cedar", "Dogwood"]


@pytest.mark.parametrize("row", of_kind("ranking"))
def test_a_recorded_answer_gets_its_order_score_and_failure(row):
    assert check(row) == []


@given(st.permutations(GOLD), st.sampled_from([", ", " > ", "\n", "; ", " → "]))
def test_any_order_is_read_back(order, link):
    score = scored("ranking", link.join(order), GOLD)
    assert score.parsed == list(order)
    rho = correlate([[name] for name in GOLD], [[name] for name in order], "spearman")
    assert score.parts["spearman"] == pytest.approx(rho)


ranks = st.lists(st.integers(0, 5), min_size=2, max_size=12)


@settings(deadline=None)  # the first example imports scipy
@given(st.data())
def test_both_correlations_agree_with_scipy(data):
    stats = pytest.importorskip("scipy.stats")
    a = data.draw(ranks)
    b = data.draw(st.lists(st.integers(0, 5), min_size=len(a), max_size=len(a)))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert spearman(a, b) is None
        assert kendall(a, b) is None
        return
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


def test_the_raw_correlation_is_kept_where_the_score_is_clipped():
    score = scored("ranking", ", ".join(reversed(GOLD)), GOLD)
    assert score.value == 0
    assert score.parts["spearman"] == -1


def test_a_named_missing_item_may_share_the_last_place():
    options = {"on_missing": "tie_last"}
    score = scored("ranking", "Alder, Birch", GOLD, options=options)
    assert 0 < score.value < 1
    assert not math.isnan(score.value)


def test_ranks_in_lines_beat_the_order_of_lines():
    text = "Birch: 2\nAlder: 1\nDogwood: 4\nCedar: 3"
    assert scored("ranking", text, GOLD).parsed == GOLD


def test_values_in_lines_are_no_ranks():
    text = "Alder: 44\nBirch: 30\nCedar: 12\nDogwood: 3"
    assert scored("ranking", text, GOLD).parsed == GOLD


def test_a_stated_direction_counts_only_where_it_is_honoured():
    text = "In ascending order: Dogwood, Cedar, Birch, Alder"
    assert stated_order(text) == "ascending"
    assert scored("ranking", text, GOLD).value == 0
    assert scored("ranking", text, GOLD, options={"honour_stated_direction": True}).value == 1


@pytest.mark.parametrize("gold", [["Alder"], ["Alder", "alder"], "Alder, Birch", [1, 2], None, []])
def test_a_gold_that_is_no_ranking_is_refused(gold):
    with pytest.raises(InputError, match=r"gold\.answer"):
        scorer("ranking", gold)

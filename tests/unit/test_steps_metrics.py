"""Step metrics: what must hold beyond the reference rows."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.scoring.chains.align import align
from pytest_fineval.scoring.chains.metrics import (
    answer_matches,
    closeness,
    final_closeness,
    final_match,
    step_metrics,
)

VALUE = st.none() | st.floats(-1e6, 1e6)


@st.composite
def chains(draw):
    gold, predicted = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    unit = st.floats(-0.2, 1.0)
    ss = draw(
        st.lists(
            st.lists(unit, min_size=predicted, max_size=predicted), min_size=gold, max_size=gold
        )
    )
    values = (
        st.lists(VALUE, min_size=gold, max_size=gold),
        st.lists(VALUE, min_size=predicted, max_size=predicted),
    )
    return ss, draw(values[0]), draw(values[1]), draw(VALUE), draw(VALUE)


@given(chains())
@settings(max_examples=150, deadline=None)
def test_every_figure_lies_between_0_and_1(chain):
    for profile in ("paper", "lenient"):
        found = step_metrics(*chain, profile)
        figures = [*found.hard, *found.fuzzy, *found.soft, found.fam, found.fuzzy_fas]
        for alignment in (found.dtw_gate, found.dtw_bonus):
            figures += [alignment.norm, alignment.precision, alignment.recall, alignment.f1]
        assert all(-1e-12 <= figure <= 1 + 1e-12 for figure in figures)


@given(chains())
@settings(max_examples=100, deadline=None)
def test_lenient_never_scores_below_paper(chain):
    paper, lenient = step_metrics(*chain, "paper"), step_metrics(*chain, "lenient")
    assert lenient.hard.recall >= paper.hard.recall
    assert lenient.hard.precision >= paper.hard.precision
    assert lenient.fuzzy == paper.fuzzy


@given(chains(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_predicted_steps_matters_to_alignments_only(chain, random):
    ss, gold, predicted, gold_final, predicted_final = chain
    order = list(range(len(predicted)))
    random.shuffle(order)
    shuffled = [[row[k] for k in order] for row in ss]
    found = step_metrics(ss, gold, predicted, gold_final, predicted_final)
    other = step_metrics(shuffled, gold, [predicted[k] for k in order], gold_final, predicted_final)
    assert other.hard == pytest.approx(found.hard)
    assert other.fuzzy == pytest.approx(found.fuzzy)
    assert other.soft == pytest.approx(found.soft)


def brute_force(scores):
    gold, predicted = scores.shape

    def cheapest(row, column):
        if row == gold or column == predicted:
            return 0.25 * (gold - row + predicted - column)
        return min(
            1 - scores[row, column] + cheapest(row + 1, column + 1),
            0.25 + cheapest(row + 1, column),
            0.25 + cheapest(row, column + 1),
        )

    return cheapest(0, 0)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_alignment_is_the_cheapest_path(gold, predicted, seed):
    scores = np.random.default_rng(seed).uniform(0, 1, (gold, predicted))
    assert align(scores, 0.45).cost == pytest.approx(brute_force(scores))


def test_a_missing_value_agrees_with_a_missing_one_only():
    assert answer_matches([None, 5], [None, 5], "paper").tolist() == [[1, 0], [0, 1]]
    assert answer_matches([None, 5], [None, 6], "lenient").tolist() == [[1, 1], [1, 0]]
    assert closeness([None, 5], [5]).tolist() == [[0.5], [1.0]]


def test_a_zero_gold_agrees_with_zero_only():
    assert answer_matches([0], [0, 1e-300], "paper").tolist() == [[1, 0]]
    assert final_match(0, 0) == 1
    assert final_match(0, 1e-12) == 0
    assert final_closeness(0, 0) == 1.0


def test_what_is_not_finite_counts_as_missing():
    assert final_match(math.inf, math.inf) == 0
    assert final_closeness(1.0, math.nan) == 0.0
    assert closeness([math.inf], [1e308]).tolist() == [[0.5]]
    assert closeness([1e308], [-1e308])[0, 0] < 1e-20


def test_values_and_similarities_have_to_fit():
    with pytest.raises(ValueError, match="shape"):
        step_metrics([[1.0]], [1, 2], [1], None, None)
    with pytest.raises(ValueError, match="NaN"):
        step_metrics([[math.nan]], [1], [1], None, None)


def test_a_thousand_chains_take_less_than_a_second():
    rng = np.random.default_rng(0)
    made = [(rng.uniform(0, 1, (4, 4)), rng.uniform(1, 9, 4).tolist()) for _ in range(1000)]
    best = math.inf
    for _ in range(5):  # the machine is shared: the shortest time is the code's
        start = time.process_time()
        for ss, values in made:
            step_metrics(ss, values, values[::-1], 5.0, 5.0)
        best = min(best, time.process_time() - start)
    assert best < 1.0

"""The luck of the best of k, by simulation and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.stats.selection import (
    best_of_k_p_value,
    expected_best_accuracy,
    expected_best_accuracy_correlated,
    expected_max_normal,
    pbo_cscv,
)


def test_the_best_of_one_is_what_it_is():
    assert expected_best_accuracy(1, 50, 0.3) == pytest.approx(0.3)
    assert expected_best_accuracy_correlated(1, 50, 0.3, 0.0) == 0.3
    assert expected_max_normal(1).exact == 0.0


def test_the_expected_best_is_what_simulation_gives():
    rng = np.random.default_rng(1)
    best = rng.binomial(60, 0.7, (40_000, 8)).max(axis=1) / 60
    assert expected_best_accuracy(8, 60, 0.7) == pytest.approx(best.mean(), abs=0.001)


@pytest.mark.parametrize(
    ("k", "exact"), [(2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi))]
)
def test_the_expected_maximum_has_its_known_values(k, exact):
    assert expected_max_normal(k).exact == pytest.approx(exact, abs=1e-12)


def test_the_expected_maximum_grows_slowly_with_k():
    values = [expected_max_normal(k).exact for k in (1, 2, 5, 20, 100, 10_000, 1_000_000)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(4.8629, abs=1e-3)


def test_models_that_always_agree_have_no_best():
    assert expected_best_accuracy_correlated(20, 100, 0.8, 1.0) == 0.8


@given(k=st.integers(1, 30), n=st.integers(1, 60), data=st.data())
def test_best_of_k_p_values_are_probabilities_and_grow_with_k(k, n, data):
    best = data.draw(st.integers(0, n))
    p0 = data.draw(st.floats(0, 1))
    p = best_of_k_p_value(best, k, n, p0)
    assert 0 <= p <= 1
    assert best_of_k_p_value(best, k + 1, n, p0) >= p - 1e-12
    if best < n:
        assert best_of_k_p_value(best + 1, k, n, p0) <= p + 1e-12


def test_a_certain_or_impossible_best_has_p_of_one_or_zero():
    assert best_of_k_p_value(0, 5, 10, 0.3) == 1.0
    assert best_of_k_p_value(10, 5, 10, 1.0) == 1.0
    assert best_of_k_p_value(1, 5, 10, 0.0) == 0.0


def test_pure_luck_overfits_about_half_the_time():
    scores = np.random.default_rng(2).integers(0, 2, (400, 9))
    assert pbo_cscv(scores, 10).pbo == pytest.approx(0.5, abs=0.35)


def test_a_model_that_is_really_better_is_found_again():
    rng = np.random.default_rng(3)
    scores = np.column_stack([rng.random(200) < p for p in (0.9, 0.5, 0.5, 0.5)])
    assert pbo_cscv(scores, 8).pbo == 0.0


def test_equal_models_share_the_middle_rank():
    found = pbo_cscv([[1.0, 1.0]] * 6, 2)
    assert found.pbo == 1.0
    assert found.logits == (0.0, 0.0)


def test_uneven_blocks_keep_every_case():
    scores = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    assert len(pbo_cscv(scores, 4).logits) == 6


@pytest.mark.parametrize(
    ("scores", "blocks", "message"),
    [
        ([[1.0], [0.0]], 2, "at least 2 models"),
        ([1.0, 0.0], 2, "table"),
        ([[1.0, math.nan]] * 4, 2, "finite"),
        ([[1.0, 0.0]] * 4, 3, "even"),
        ([[1.0, 0.0]] * 4, 6, "from 2 to 4"),
        ([[1.0, 0.0]] * 40, 30, "at most 20"),
    ],
)
def test_a_table_that_cannot_be_cut_is_refused(scores, blocks, message):
    with pytest.raises(ValueError, match=message):
        pbo_cscv(scores, blocks)


def test_no_model_or_no_case_is_refused():
    with pytest.raises(ValueError, match="k must be at least 1"):
        expected_best_accuracy(0, 10, 0.5)
    with pytest.raises(ValueError, match="n must be at least 1"):
        expected_best_accuracy(2, 0, 0.5)
    with pytest.raises(ValueError, match="exceeds n"):
        best_of_k_p_value(11, 2, 10, 0.5)

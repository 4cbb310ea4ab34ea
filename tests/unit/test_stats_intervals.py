"""Closed-form intervals: they hold the estimate, narrow with n and survive the edges."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.stats.intervals import (
    agresti_coull,
    clopper_pearson,
    cluster_standard_error,
    cluster_sums,
    jeffreys,
    newcombe_paired,
    score_test_below,
    tango,
    tango_upper,
    tango_z,
    wilson,
    wilson_half_width_points,
)
from pytest_fineval.stats.multiplicity import benjamini_hochberg, bonferroni, holm, sidak

confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


@st.composite
def rates(draw):
    n = draw(st.integers(1, 400))
    return draw(st.integers(0, n)), n


@st.composite
def pairs(draw):
    n = draw(st.integers(1, 300))
    b = draw(st.integers(0, n))
    return n, b, draw(st.integers(0, n - b))


@given(rate=rates(), confidence=confidences)
def test_every_interval_of_a_rate_holds_the_rate(rate, confidence):
    k, n = rate
    for interval in (wilson, clopper_pearson, agresti_coull):
        found = interval(k, n, confidence)
        assert found.low - 1e-12 <= k / n <= found.high + 1e-12
    if 0 < k < n:
        found = jeffreys(k, n, confidence)
        assert found.low < k / n < found.high or confidence == 0.5


@given(rate=rates(), confidence=confidences)
def test_counting_wrong_instead_of_right_mirrors_the_interval(rate, confidence):
    k, n = rate
    for interval in (wilson, clopper_pearson, agresti_coull, jeffreys):
        one, other = interval(k, n, confidence), interval(n - k, n, confidence)
        assert one.low == pytest.approx(1 - other.high, abs=1e-10)


@given(rate=rates())
def test_more_confidence_is_a_wider_interval(rate):
    widths = [wilson(*rate, confidence).half_width for confidence in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)


@pytest.mark.parametrize(
    ("n", "points"), [(25, 15.1), (50, 10.9), (100, 7.8), (200, 5.5), (500, 3.5)]
)
def test_half_widths_at_four_fifths_are_the_documented_ones(n, points):
    assert round(wilson_half_width_points(n * 4 // 5, n), 1) == points


def test_no_cases_say_nothing():
    for interval in (wilson, clopper_pearson, agresti_coull):
        found = interval(0, 0)
        assert (found.low, found.high) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert (tango(0, 0, 0).low, tango(0, 0, 0).high) == (-1.0, 1.0)
    assert tango_upper(0, 0, 0) == 1.0
    assert (newcombe_paired(0, 0, 0, 0).low, newcombe_paired(0, 0, 0, 0).high) == (-1.0, 1.0)
    assert score_test_below(0, 0, 0.8) == 1.0


def test_wilson_ends_are_exact_at_no_and_all_successes():
    assert wilson(0, 20).low == 0.0
    assert wilson(20, 20).high == 1.0


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_counts_that_do_not_fit_are_refused(k, n):
    for interval in (wilson, clopper_pearson, agresti_coull, jeffreys):
        with pytest.raises(ValueError, match="must"):
            interval(k, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_a_confidence_outside_zero_to_one_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence)


@given(rate=rates(), floor=st.floats(0.05, 0.99), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_the_floor_test_rejects_exactly_when_wilsons_upper_end_is_below(rate, floor, alpha):
    k, n = rate
    upper = wilson(k, n, 1 - 2 * alpha).high
    if abs(upper - floor) > 1e-9:
        assert (score_test_below(k, n, floor) <= alpha) is (upper < floor)


def test_a_floor_of_one_is_missed_by_any_error():
    assert score_test_below(10, 10, 1.0) == 1.0
    assert 0 < score_test_below(9, 10, 1.0) < 1e-300


@given(pair=pairs(), confidence=confidences)
def test_tango_holds_the_drop_and_mirrors_when_the_models_swap(pair, confidence):
    n, b, c = pair
    found, swapped = tango(n, b, c, confidence), tango(n, c, b, confidence)
    assert -1 <= found.low <= (b - c) / n + 1e-12
    assert (b - c) / n - 1e-12 <= found.high <= 1
    assert found.low == pytest.approx(-swapped.high, abs=1e-12)


@given(pair=pairs(), confidence=confidences)
def test_tangos_ends_are_where_its_score_test_turns(pair, confidence):
    n, b, c = pair
    upper = tango_upper(n, b, c, confidence)
    for shift in (-1e-7, 1e-7):
        drop = upper + shift
        if abs(drop) < 1 and drop > (b - c) / n:
            p = 0.5 * math.erfc(-tango_z(n, b, c, drop) / math.sqrt(2))
            assert (p < 1 - confidence + 1e-12) is (shift > 0)


@given(pair=pairs())
def test_one_more_lost_case_raises_tangos_bound(pair):
    n, b, c = pair
    if b + c < n:
        assert tango_upper(n, b + 1, c) > tango_upper(n, b, c)


@given(pair=pairs())
def test_tangos_score_falls_as_the_tested_drop_grows(pair):
    scores = [tango_z(*pair, drop) for drop in np.linspace(-1, 1, 41)]
    assert all(after <= before + 1e-9 for before, after in pairwise(scores))


def test_little_confidence_bounds_below_the_estimate():
    assert tango_upper(40, 6, 1, 0.2) < 5 / 40 < tango_upper(40, 6, 1, 0.8)


def test_all_lost_leaves_only_the_lower_end_open():
    found = tango(5, 5, 0)
    assert found.high == 1.0
    assert 0 < found.low < 1


@pytest.mark.parametrize(("n", "b", "c"), [(3, 2, 2), (3, -1, 0), (-1, 0, 0)])
def test_more_flips_than_pairs_are_refused(n, b, c):
    for function in (tango, tango_upper):
        with pytest.raises(ValueError, match=r"do not fit|at least 0"):
            function(n, b, c)


@given(pair=pairs(), data=st.data(), confidence=confidences)
def test_newcombe_holds_the_difference_and_mirrors(pair, data, confidence):
    n, b, c = pair
    both = data.draw(st.integers(0, n - b - c))
    found = newcombe_paired(n, both, b, c, confidence)
    swapped = newcombe_paired(n, both, c, b, confidence)
    assert -1 <= found.low <= (b - c) / n + 1e-12
    assert (b - c) / n - 1e-12 <= found.high <= 1
    assert found.low == pytest.approx(-swapped.high, abs=1e-12)


def test_newcombe_refuses_more_pairs_than_n():
    with pytest.raises(ValueError, match="must not exceed n"):
        newcombe_paired(4, 3, 1, 1)


def test_newcombe_without_a_varying_side_is_finite():
    for counts in ((5, 5, 0, 0), (5, 0, 5, 0), (5, 0, 0, 0), (5, 0, 0, 5)):
        found = newcombe_paired(*counts)
        assert math.isfinite(found.low)
        assert found.low < found.high


@given(scores=st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_clusters_of_one_case_give_the_plain_standard_error(scores):
    found = cluster_standard_error(scores, range(len(scores)))
    plain = np.std(scores, ddof=1) / math.sqrt(len(scores))
    assert found.small_sample == pytest.approx(plain, abs=1e-12)


def test_a_single_cluster_has_no_standard_error():
    found = cluster_standard_error([1.0, 0.0, 1.0], ["a"] * 3)
    assert found.small_sample is None
    assert found.clusters == 1


def test_repeating_every_case_in_its_cluster_adds_no_certainty():
    once = cluster_standard_error([1, 0, 1, 1], [0, 1, 2, 3])
    thrice = cluster_standard_error([1, 0, 1, 1] * 3, [0, 1, 2, 3] * 3)
    assert thrice.small_sample == pytest.approx(once.small_sample)


def test_cluster_labels_of_any_kind_are_summed_in_order_of_appearance():
    sums, sizes = cluster_sums([1.0, 2.0, 4.0], ["b", None, "b"])
    assert sums.tolist() == [5.0, 2.0]
    assert sizes.tolist() == [2.0, 1.0]


def test_scores_without_labels_are_refused():
    with pytest.raises(ValueError, match="cluster labels"):
        cluster_sums([1.0], [])
    with pytest.raises(ValueError, match="at least one case"):
        cluster_standard_error([], [])


probabilities = st.lists(st.floats(0, 1), max_size=20)


@given(p=probabilities, order=st.randoms(use_true_random=False))
def test_corrections_follow_the_order_of_their_p_values(p, order):
    places = list(range(len(p)))
    order.shuffle(places)
    for correct in (holm, benjamini_hochberg, bonferroni, sidak):
        moved = correct([p[place] for place in places])
        assert moved == [correct(p)[place] for place in places]


@given(p=probabilities)
def test_corrections_never_lower_p_and_holm_lies_between(p):
    for plain, step, single, false in zip(
        p, holm(p), bonferroni(p), benjamini_hochberg(p), strict=True
    ):
        assert plain <= false + 1e-15
        assert false <= step + 1e-12
        assert plain <= step <= single <= 1


def test_a_check_that_cannot_block_still_counts_in_holm():
    assert holm([0.01, 1.0, 1.0, 1.0, 1.0])[0] == 0.05


def test_no_checks_have_no_corrected_p_values():
    assert holm([]) == bonferroni([]) == sidak([]) == benjamini_hochberg([]) == []


@pytest.mark.parametrize("bad", [[1.1], [-0.1], [math.nan], [[0.1]]])
def test_what_is_no_p_value_is_refused(bad):
    with pytest.raises(ValueError, match="p-values"):
        holm(bad)

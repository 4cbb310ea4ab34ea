"""Power and sample sizes against enumeration, and against each other."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.stats.paired import mcnemar
from pytest_fineval.stats.permutation import signflip
from pytest_fineval.stats.power import (
    cases_needed,
    flip_rates,
    mcnemar_power,
    mcnemar_sample_size,
    minimum_detectable_drop,
    minimum_detectable_mean_drop,
    signflip_min_n,
)


def brute_power(n, p10, p01, alpha, test, min_drop):
    """Sum of the trinomial law over the outcomes that block."""
    total = 0.0
    same = max(0.0, 1 - p10 - p01)
    for b in range(n + 1):
        for c in range(n + 1 - b):
            over = min_drop is None or (b - c) / n > min_drop + 1e-9
            if over and getattr(mcnemar(b, c), test) <= alpha:
                ways = math.comb(n, b) * math.comb(n - b, c)
                total += ways * p10**b * p01**c * same ** (n - b - c)
    return total


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 16),
    p10=st.floats(0, 0.6),
    p01=st.floats(0, 0.4),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
    test=st.sampled_from(["exact_drop", "midp_drop"]),
    min_drop=st.sampled_from([None, 0.0, 0.03, 0.25]),
)
def test_power_is_the_sum_over_all_outcomes(n, p10, p01, alpha, test, min_drop):
    expected = brute_power(n, p10, p01, alpha, test, min_drop)
    found = mcnemar_power(n, p10, p01, alpha, test, min_drop)
    assert found == pytest.approx(expected, abs=1e-11)
    assert 0 <= found <= 1


def test_nothing_that_flips_never_blocks():
    assert mcnemar_power(40, 0.0, 0.0, 0.05) == 0.0
    assert mcnemar_power(0, 0.1, 0.0, 0.05) == 0.0
    assert mcnemar_power(3, 1.0, 0.0, 0.05) == 0.0  # three flips do not reach 0.05
    assert mcnemar_power(4, 1.0, 0.0, 0.05) == 1.0


@pytest.mark.parametrize("n", [4, 20, 40, 100, 200])
@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1, 0.2])
def test_a_check_of_six_blocks_at_most_one_percent_when_nothing_changed(n, noise):
    assert mcnemar_power(n, noise / 2, noise / 2, 0.05 / 6, "midp_drop", 0.03) <= 0.012


def test_more_cases_see_more():
    rates = flip_rates(0.1, 0.1)
    power = [mcnemar_power(n, rates.p10, rates.p01, 0.01) for n in (40, 100, 200, 1000)]
    assert power == sorted(power)
    assert power[-1] > 0.999


@given(drop=st.floats(0, 1), noise=st.floats(0, 1))
def test_flip_rates_are_rates_and_differ_by_the_drop(drop, noise):
    rates = flip_rates(drop, noise)
    assert rates.p10 - rates.p01 == pytest.approx(drop)
    assert 0 <= rates.p01 <= rates.p10 <= rates.p10 + rates.p01 <= 1 + 1e-12


@given(
    n=st.integers(20, 5000),
    noise=st.floats(0, 0.3),
    alpha=st.sampled_from([0.01, 0.05]),
    sides=st.sampled_from([1, 2]),
)
def test_the_detectable_drop_is_the_one_that_needs_this_many_cases(n, noise, alpha, sides):
    drop = minimum_detectable_drop(n, noise, alpha, 0.8, sides)
    if 1e-6 < drop < 1:
        assert cases_needed(drop, noise, alpha, 0.8, sides) <= n
        assert cases_needed(drop * 0.999, noise, alpha, 0.8, sides) >= n


def test_what_no_number_of_losses_would_show_is_one():
    assert minimum_detectable_drop(0, 0.1) == 1.0
    assert minimum_detectable_drop(2, 0.1) == 1.0


@pytest.mark.parametrize("drop", [0.05, 0.1, 0.2])
def test_the_sample_size_has_about_the_power_it_promises(drop):
    rates = flip_rates(drop, 0.1)
    n = mcnemar_sample_size(rates.p10, rates.p01, 0.05, 0.8, 1)
    assert mcnemar_power(n, rates.p10, rates.p01, 0.05) == pytest.approx(0.8, abs=0.05)


def test_graded_scores_need_four_times_the_cases_for_half_the_drop():
    one = minimum_detectable_mean_drop(100, 0.2)
    assert minimum_detectable_mean_drop(400, 0.2) == pytest.approx(one / 2)
    assert minimum_detectable_mean_drop(100, 0.0) == 0.0


@pytest.mark.parametrize("alpha", [0.5, 0.25, 0.05, 0.05 / 6, 0.01 / 6, 1e-9])
def test_the_smallest_number_of_differences_is_the_first_that_can_reach_alpha(alpha):
    n = signflip_min_n(alpha)
    assert signflip([0.1] * n).pvalue <= alpha
    assert n == 1 or signflip([0.1] * (n - 1)).pvalue > alpha


def test_rates_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="exceeds 1"):
        mcnemar_power(10, 0.7, 0.5, 0.05)
    with pytest.raises(ValueError, match="must differ"):
        mcnemar_sample_size(0.05, 0.05)
    with pytest.raises(ValueError, match="sides"):
        mcnemar_sample_size(0.1, 0.05, sides=3)
    with pytest.raises(ValueError, match="test must be"):
        mcnemar_power(10, 0.1, 0.1, 0.05, "chi2")
    with pytest.raises(ValueError, match="discordance"):
        minimum_detectable_drop(10, 1.5)
    with pytest.raises(ValueError, match="n must be at least 1"):
        minimum_detectable_mean_drop(0, 0.1)

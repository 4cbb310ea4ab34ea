"""Bootstrap intervals: reproducible, bounded in memory, and honest where nothing varies."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.stats import bootstrap
from pytest_fineval.stats.bootstrap import (
    bca_acceleration,
    binary_law_interval,
    bootstrap_mean,
    resampled_means,
    seed_from,
)


def ends(found):
    return [found.low, found.high]


@settings(deadline=None)
@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
    method=st.sampled_from(["percentile", "bca"]),
)
def test_the_same_scores_in_any_order_give_the_same_interval(scores, order, method):
    shuffled = list(scores)
    order.shuffle(shuffled)
    one = bootstrap_mean(scores, resamples=200, seed=1, method=method)
    assert one == bootstrap_mean(shuffled, resamples=200, seed=1, method=method)
    assert min(scores) <= one.low <= one.high <= max(scores)


@pytest.mark.parametrize("size", [1.0, 1e-100, 2.3e-285])
def test_the_acceleration_does_not_depend_on_the_size_of_the_scores(size):
    expected = bca_acceleration([0.0, 0.0, 1.0])
    assert bca_acceleration([0.0, 0.0, size]) == pytest.approx(expected)


def test_another_seed_gives_another_interval_close_by():
    scores = np.random.default_rng(1).random(300)
    one, other = bootstrap_mean(scores, seed=1), bootstrap_mean(scores, seed=2)
    assert one != other
    assert ends(one) == pytest.approx(ends(other), abs=0.005)


def test_a_seed_comes_from_words_and_keeps_their_borders():
    assert seed_from("plan", "overall") == seed_from("plan", "overall")
    assert seed_from("ab", "c") != seed_from("a", "bc")
    assert seed_from("plan", "overall") < 2**128


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("score", [0.0, 1.0, 0.1])
def test_scores_that_do_not_vary_collapse_to_their_mean(score, method):
    found = bootstrap_mean([score] * 7, method=method)
    assert (found.low, found.estimate, found.high) == (score, score, score)
    assert bca_acceleration([score] * 7) == 0.0


def test_one_case_is_its_own_interval():
    found = bootstrap_mean([0.3])
    assert (found.low, found.high) == (0.3, 0.3)
    assert bca_acceleration([0.3]) == bca_acceleration([]) == 0.0


def test_verdicts_need_no_random_numbers():
    one, other = bootstrap_mean([1] * 16 + [0] * 4, seed=1), bootstrap_mean([1] * 16 + [0] * 4)
    law = binary_law_interval(16, 20)
    assert ends(one) == ends(other) == [law.low, law.high] == [0.6, 0.95]


def test_the_closed_law_is_what_many_resamples_give():
    scores = np.array([1] * 41 + [0] * 12)
    means = resampled_means(scores, 100_000, np.random.default_rng(2))
    law = binary_law_interval(41, 53)
    assert np.quantile(means, [0.025, 0.975]) == pytest.approx([law.low, law.high], abs=1e-9)


def test_tabled_and_indexed_resamples_have_the_same_law(monkeypatch):
    scores = np.random.default_rng(3).integers(0, 5, 60) / 4
    tabled = bootstrap_mean(scores, resamples=20_000)
    monkeypatch.setattr(bootstrap, "_TABLED_VALUES", 0)
    assert ends(bootstrap_mean(scores, resamples=20_000)) == pytest.approx(ends(tabled), abs=0.01)


def test_the_size_of_the_chunks_changes_nothing(monkeypatch):
    scores = np.random.default_rng(4).random(301)
    whole = bootstrap_mean(scores, resamples=500)
    monkeypatch.setattr(bootstrap, "_CHUNK", 1000)
    assert bootstrap_mean(scores, resamples=500) == whole
    monkeypatch.setattr(bootstrap, "_CHUNK", 1)
    assert bootstrap_mean(scores, resamples=500) == whole


def test_bca_leans_towards_the_long_tail():
    scores = np.random.default_rng(5).beta(5, 1, 40)  # a long tail of low scores
    plain = bootstrap_mean(scores, seed=1)
    leaning = bootstrap_mean(scores, seed=1, method="bca")
    assert bca_acceleration(scores) < 0
    assert leaning.low < plain.low


def test_bca_of_nearly_constant_scores_is_finite():
    found = bootstrap_mean([0.0] * 99 + [1.0], resamples=1000, method="bca")
    assert 0 <= found.low <= 0.01 <= found.high <= 1


def test_the_percentile_interval_covers_about_95_of_100_times():
    rng = np.random.default_rng(6)
    covered = 0
    for seed in range(300):
        found = bootstrap_mean(rng.beta(2, 2, 60), resamples=1000, seed=seed)
        covered += found.low <= 0.5 <= found.high
    assert 0.88 <= covered / 300 <= 0.99


def test_verdicts_of_ten_thousand_cases_take_ten_milliseconds():
    scores = np.random.default_rng(7).integers(0, 2, 10_000)
    bootstrap_mean(scores)
    start = time.process_time()
    for _ in range(5):
        bootstrap_mean(scores)
    assert (time.process_time() - start) / 5 < 0.03  # three times the goal: shared machines


def test_memory_does_not_grow_with_the_resamples():
    scores = np.random.default_rng(8).random(10_000)
    tracemalloc.start()
    try:
        bootstrap_mean(scores, resamples=1000)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


def test_nothing_to_resample_is_refused():
    with pytest.raises(ValueError, match="at least one case"):
        bootstrap_mean([])
    with pytest.raises(ValueError, match="one resample"):
        bootstrap_mean([0.1], resamples=0)
    with pytest.raises(ValueError, match="method"):
        bootstrap_mean([0.1], method="basic")
    with pytest.raises(ValueError, match="not a rate"):
        binary_law_interval(3, 2)

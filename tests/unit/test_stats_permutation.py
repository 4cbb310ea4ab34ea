"""Sign flips and within-case shuffles against full enumeration, and at the edges."""

import math
import time
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.stats import permutation
from pytest_fineval.stats.intervals import tango_upper
from pytest_fineval.stats.permutation import (
    RESAMPLES,
    signflip,
    signflip_upper,
    within_case_permutation,
)

steps = st.sampled_from([1, 2, 3, 4, 7, 12])
graded = st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), max_size=9)


def brute_signflip(differences):
    """p(greater), p(less) over all signs."""
    d = np.asarray(differences, dtype=float)
    sums = [float(np.dot(signs, d)) for signs in product([1, -1], repeat=d.size)]
    observed = float(d.sum())
    return (
        sum(total >= observed - 1e-8 for total in sums) / len(sums),
        sum(total <= observed + 1e-8 for total in sums) / len(sums),
    )


def brute_within_case(baseline, candidate):
    """Exact and mid-p over all ways to deal out the samples of each case."""
    totals = [0.0]
    for old, new in zip(baseline, candidate, strict=True):
        draws = [sum(drawn) for drawn in combinations([*old, *new], len(new))]
        totals = [total + draw for total in totals for draw in draws]
    observed = sum(map(sum, candidate))
    lower = sum(total < observed - 1e-8 for total in totals) / len(totals)
    equal = sum(abs(total - observed) <= 1e-8 for total in totals) / len(totals)
    return lower + equal, lower + equal / 2


@given(step=steps, data=st.data())
def test_signflip_on_a_lattice_agrees_with_all_sign_patterns(step, data):
    d = [k / step for k in data.draw(st.lists(st.integers(-step, step), max_size=9))]
    greater, less = brute_signflip(d)
    assert signflip(d).pvalue == pytest.approx(greater, rel=1e-12)
    assert signflip(d, "less").pvalue == pytest.approx(less, rel=1e-12)
    assert signflip(d, "two-sided").pvalue == pytest.approx(min(1, 2 * min(greater, less)))
    assert signflip(d).exact


@given(d=graded)
def test_signflip_of_graded_scores_agrees_with_all_sign_patterns(d):
    found = signflip(d)
    assert found.exact
    assert found.pvalue == pytest.approx(brute_signflip(d)[0], rel=1e-12)
    assert found.statistic == pytest.approx(np.mean(d) if d else 0.0, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(d=st.lists(st.floats(-1, 1), max_size=60), order=st.randoms(use_true_random=False))
def test_the_order_of_cases_changes_nothing(d, order):
    shuffled = list(d)
    order.shuffle(shuffled)
    assert signflip(d) == signflip(shuffled)
    assert signflip_upper(d) == signflip_upper(shuffled)


@given(d=st.lists(st.floats(-1, 1), max_size=30))
def test_p_is_a_probability_and_never_zero(d):
    for alternative in ("greater", "less", "two-sided"):
        assert 0 < signflip(d, alternative).pvalue <= 1


@given(d=st.lists(st.integers(-4, 4).map(lambda k: k / 4), min_size=1, max_size=30))
def test_a_lost_point_never_raises_p(d):
    worse = list(d)
    place = int(np.argmin(worse))
    # A sign turned to the worse: the magnitudes, and so the law, stay as they are.
    worse[place] = abs(worse[place])
    assert signflip(worse).pvalue <= signflip(d).pvalue


def test_no_difference_gives_p_of_one():
    for d in ([], [0.0] * 5, [1e-11, -1e-12]):
        found = signflip(d)
        assert (found.pvalue, found.exact, found.n) == (1.0, True, 0)


def test_thirds_are_tied_as_thirds_and_not_as_decimals():
    # 2/3 against 1/3 + 1/3: as nine decimals the sums would differ by one unit
    found = signflip([2 / 3, -1 / 3, -1 / 3])
    assert found.method == "lattice"
    assert found.pvalue == brute_signflip([2, -1, -1])[0]


def test_the_exact_methods_agree_where_both_apply(monkeypatch):
    d = np.random.default_rng(5).integers(-9, 10, 30) / 10
    by_lattice = signflip(d)
    monkeypatch.setattr(permutation, "_LATTICE_WORK", 0)
    by_enumeration = signflip(d)
    assert (by_lattice.method, by_enumeration.method) == ("lattice", "enumeration")
    assert by_lattice.pvalue == pytest.approx(by_enumeration.pvalue, rel=1e-12)
    monkeypatch.setattr(permutation, "_ENUMERATED_FLIPS", 0)
    sampled = signflip(d)
    assert sampled.method == "monte carlo"
    assert not sampled.exact
    assert sampled.pvalue == pytest.approx(by_lattice.pvalue, abs=0.01)


def test_a_sampled_p_is_never_zero_and_the_same_each_time():
    d = np.random.default_rng(6).uniform(0.1, 0.9, 80)
    first = signflip(d)
    assert first.method == "monte carlo"
    assert first.pvalue == 1 / (RESAMPLES + 1)
    assert signflip(d[::-1]) == first
    assert signflip(d, "less").pvalue == 1.0


def test_sampled_p_values_are_uniform_when_nothing_changed():
    rng = np.random.default_rng(7)
    p = np.array([signflip(rng.normal(0, 0.2, 50).clip(-1, 1)).pvalue for _ in range(400)])
    for level in (0.05, 0.2, 0.5):
        # four standard errors of a rate over 400 runs
        assert abs((p <= level).mean() - level) < 4 * math.sqrt(level * (1 - level) / 400)


def test_ten_thousand_cases_take_less_than_a_second():
    rng = np.random.default_rng(8)
    for d in (rng.normal(0, 0.2, 10_000).clip(-1, 1), rng.integers(-4, 5, 10_000) / 4):
        signflip(d[:100])
        start = time.process_time()
        signflip(d)
        # twice the goal: the machine may be shared
        assert time.process_time() - start < 2.0


def test_cases_of_one_cluster_flip_together():
    d = [1, 1, 1, 1, 1, 1]
    assert signflip(d).pvalue == 1 / 64
    found = signflip(d, clusters=["a", "a", "a", "b", "b", "b"])
    assert (found.pvalue, found.n, found.statistic) == (1 / 4, 2, 1.0)


@given(d=st.lists(st.integers(-3, 3).map(lambda k: k / 3), min_size=1, max_size=8), data=st.data())
def test_cluster_flips_are_flips_of_cluster_sums(d, data):
    clusters = data.draw(st.lists(st.integers(0, 3), min_size=len(d), max_size=len(d)))
    sums = [
        sum(x for x, own in zip(d, clusters, strict=True) if own == label)
        for label in set(clusters)
    ]
    assert signflip(d, clusters=clusters).pvalue == pytest.approx(brute_signflip(sums)[0])


def test_clusters_must_label_every_case():
    with pytest.raises(ValueError, match="2 values but 1 cluster"):
        signflip([0.1, 0.2], clusters=["a"])


def test_an_unknown_alternative_is_refused():
    with pytest.raises(ValueError, match="alternative"):
        signflip([1.0], "drop")


@given(d=st.lists(st.floats(-1, 1), min_size=6, max_size=12).filter(lambda d: all(d)))
def test_the_upper_bound_is_where_the_test_stops_rejecting(d):
    d = [round(x, 3) for x in d]
    if d.count(0.0) * 2 >= len(d):
        return
    bound = signflip_upper(d)
    for shift, rejected in ((bound - 1e-6, False), (bound + 1e-6, True)):
        moved = [x - shift for x in d]
        # all cases count, those that the shift brings to 0 included
        assert (brute_less(moved) <= 0.05) is rejected or bound in (-1.0, 1.0)


def brute_less(d):
    array = np.asarray(d)
    sums = np.array(list(product([1, -1], repeat=array.size))) @ array
    return float((sums <= array.sum() + 1e-12).mean())


@settings(deadline=None)
@given(
    d=st.lists(st.floats(-1, 1), max_size=60), confidence=st.sampled_from([0.5, 0.8, 0.95, 0.99])
)
def test_the_upper_bound_is_not_below_the_mean_and_grows_with_confidence(d, confidence):
    bound = signflip_upper(d, confidence)
    assert -1 <= bound <= 1
    assert bound >= (np.mean(d) if d else 0) - 1e-9
    assert signflip_upper(d, 0.999) >= bound


def test_too_few_cases_bound_nothing():
    assert signflip_upper([]) == 1.0
    assert signflip_upper([0.0, 0.1, -0.1, 0.2]) == 1.0


def test_unchanged_scores_prove_no_more_than_unchanged_verdicts():
    assert signflip_upper([0.0] * 40) == tango_upper(40, 0, 0)
    mostly_unchanged = [0.0] * 39 + [-0.2]
    assert signflip_upper(mostly_unchanged) == tango_upper(40, 0, 0)


def test_the_upper_bound_covers_the_true_mean_in_95_of_100_runs():
    rng = np.random.default_rng(9)
    covered = np.mean([signflip_upper(rng.normal(0.05, 0.2, 30)) >= 0.05 for _ in range(400)])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400)


def test_clusters_widen_the_upper_bound():
    rng = np.random.default_rng(10)
    clusters = np.repeat(np.arange(30), 4)
    d = np.repeat(rng.normal(0, 0.1, 30), 4)
    assert signflip_upper(d, clusters=clusters.tolist()) > 1.5 * signflip_upper(d)


def test_a_bound_of_anything_but_scores_is_refused():
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        signflip_upper([3.0, 0.5])


samples = st.lists(st.integers(0, 1), min_size=1, max_size=3)


@given(cases=st.lists(st.tuples(samples, samples), max_size=4))
def test_within_case_shuffles_agree_with_every_deal(cases):
    old, new = [case[0] for case in cases], [case[1] for case in cases]
    found = within_case_permutation(old, new)
    exact, midp = brute_within_case(old, new)
    assert found.enumerated
    assert found.exact == pytest.approx(exact, rel=1e-12)
    alive = any(len({*a, *b}) > 1 for a, b in cases)
    assert found.midp == pytest.approx(midp if alive else 1.0, rel=1e-12)


@given(
    cases=st.lists(
        st.tuples(
            st.lists(st.sampled_from([0, 1 / 3, 0.5, 1]), min_size=1, max_size=3),
            st.lists(st.sampled_from([0, 1 / 3, 0.5, 1]), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_graded_samples_are_shuffled_exactly_too(cases):
    old, new = [case[0] for case in cases], [case[1] for case in cases]
    found = within_case_permutation(old, new)
    assert found.exact == pytest.approx(brute_within_case(old, new)[0], rel=1e-12)


def test_one_sample_each_side_is_mcnemar_with_midp():
    found = within_case_permutation([[1]] * 6 + [[0]], [[0]] * 6 + [[1]])
    assert (found.exact, found.midp) == (0.0625, 0.03515625)


@pytest.mark.parametrize("size", [1000, 10_000])
def test_graded_samples_beyond_the_exact_law_are_sampled_within_seconds(size):
    rng = np.random.default_rng(14)
    scores = rng.integers(0, size + 1, (30, 12)) / size
    start = time.process_time()
    found = within_case_permutation(scores[:, :6].tolist(), scores[:, 6:].tolist())
    assert not found.enumerated
    assert time.process_time() - start < 10


def test_thousands_of_samples_of_one_case_are_exact():
    found = within_case_permutation([[1] * 1010 + [0] * 990], [[1] * 990 + [0] * 1010])
    assert found.enumerated
    # hypergeometric: ten below its mean with variance 250, half a case for continuity
    assert found.exact == pytest.approx(0.5 * math.erfc(9.5 / math.sqrt(250) / 2**0.5), abs=1e-4)


def test_samples_that_never_differ_give_p_of_one():
    for old, new in (([], []), ([[1, 1]], [[1]]), ([[0], [1]], [[0], [1]])):
        found = within_case_permutation(old, new)
        assert (found.exact, found.midp) == (1.0, 1.0)


def test_continuous_samples_are_sampled_alike_in_any_order():
    rng = np.random.default_rng(11)
    old, new = rng.random((12, 5)), rng.random((12, 2))
    found = within_case_permutation(old.tolist(), new.tolist())
    assert not found.enumerated
    order = rng.permutation(12)
    again = within_case_permutation(old[order, ::-1].tolist(), new[order].tolist())
    assert (again.exact, again.midp) == (found.exact, found.midp)
    assert 0 < found.midp < found.exact <= 1


def test_sampled_shuffles_agree_with_every_deal():
    rng = np.random.default_rng(12)
    old, new = rng.random((4, 4)).tolist(), rng.random((4, 2)).tolist()
    found = within_case_permutation(old, new)
    assert not found.enumerated
    assert found.exact == pytest.approx(brute_within_case(old, new)[0], abs=0.01)


def test_many_samples_a_case_are_dealt_by_shuffling(monkeypatch):
    rng = np.random.default_rng(13)
    old, new = rng.random((3, 4)).tolist(), rng.random((3, 3)).tolist()
    by_table = within_case_permutation(old, new)
    monkeypatch.setattr(permutation, "_ENUMERATED_DRAWS", 0)
    by_shuffle = within_case_permutation(old, new)
    assert by_shuffle.exact == pytest.approx(by_table.exact, abs=0.01)


def test_cases_must_match_and_have_samples():
    with pytest.raises(ValueError, match="1 baseline cases but 2"):
        within_case_permutation([[1]], [[1], [0]])
    with pytest.raises(ValueError, match="at least one sample"):
        within_case_permutation([[1]], [[]])
    with pytest.raises(ValueError, match="finite"):
        within_case_permutation([[1.0]], [[math.nan]])

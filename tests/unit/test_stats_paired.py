"""McNemar, Wilcoxon and the t tests against their definitions, and at the edges."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.stats.paired import (
    WILCOXON_EXACT_MAX,
    anova_oneway,
    binomial_upper,
    mcnemar,
    mcnemar_chi2,
    mcnemar_min_b,
    noninferiority_tango,
    ttest_paired,
    ttest_pooled,
    wilcoxon_asymptotic,
    wilcoxon_exact,
)
from pytest_fineval.stats.permutation import signflip
from pytest_fineval.stats.ranks import average_ranks

counts = st.integers(0, 80)
quarters = st.integers(-4, 4).map(lambda k: k / 4)


def brute_wilcoxon(differences, zero_method):
    """p(greater), p(less) over all signs of the ranks."""
    d = np.round(np.asarray(differences, dtype=float), 9)
    if zero_method == "wilcox":
        d = d[d != 0]
    ranks = average_ranks(np.abs(d))[d != 0]
    signs = np.sign(d[d != 0])
    observed = ranks[signs > 0].sum()
    sums = [ranks[np.array(plus, dtype=bool)].sum() for plus in product([0, 1], repeat=ranks.size)]
    return (
        sum(total >= observed for total in sums) / len(sums),
        sum(total <= observed for total in sums) / len(sums),
    )


@given(n=st.integers(0, 60), successes=st.integers(-2, 62))
def test_the_binomial_tail_is_correctly_rounded(n, successes):
    exact = Fraction(sum(math.comb(n, k) for k in range(max(successes, 0), n + 1)), 2**n)
    assert binomial_upper(successes, n) == float(exact)


def test_the_binomial_tail_is_continuous_where_its_method_changes():
    for successes in (0, 1, 700, 999, 1000, 1001, 1100, 1999, 2000):
        below = binomial_upper(successes, 2000)
        # P(X >= s) of n + 1 coins is the mean of two tails of n coins.
        mean = (below + binomial_upper(successes - 1, 2000)) / 2
        assert math.isclose(binomial_upper(successes, 2001), mean, rel_tol=1e-10)


def test_no_flips_give_p_of_one_everywhere():
    found = mcnemar(0, 0)
    assert (found.exact_two_sided, found.exact_drop, found.midp_drop, found.midp_two_sided) == (
        1.0,
        1.0,
        1.0,
        1.0,
    )
    assert mcnemar_chi2(0, 0).corrected == mcnemar_chi2(0, 0).uncorrected == 1.0


@given(b=counts, c=counts)
def test_mcnemar_p_values_are_probabilities_and_two_sided_ones_symmetric(b, c):
    one, other = mcnemar(b, c), mcnemar(c, b)
    for p in (one.exact_two_sided, one.exact_drop, one.midp_drop, one.midp_two_sided):
        assert 0 < p <= 1
    assert one.exact_two_sided == other.exact_two_sided
    assert one.midp_two_sided == other.midp_two_sided
    if b + c:
        assert math.isclose(one.midp_drop + other.midp_drop, 1.0, abs_tol=1e-12)


@given(b=counts, c=counts)
def test_more_lost_cases_never_raise_p_and_more_gained_never_lower_it(b, c):
    here = mcnemar(b, c)
    if b + c:
        assert mcnemar(b + 1, c).midp_drop <= here.midp_drop <= mcnemar(b, c + 1).midp_drop
    assert mcnemar(b + 1, c).exact_drop <= here.exact_drop <= mcnemar(b, c + 1).exact_drop


@given(b=st.integers(0, 25), c=st.integers(0, 25), same=st.integers(0, 5))
def test_signflip_of_verdicts_is_mcnemars_exact_test(b, c, same):
    found = signflip([1] * b + [-1] * c + [0] * same)
    assert found.exact
    assert math.isclose(found.pvalue, mcnemar(b, c).exact_drop, rel_tol=1e-12)


def test_thousands_of_one_way_flips_still_give_a_positive_p():
    assert 0 < mcnemar(0, 5000).exact_two_sided < 1e-300
    assert 0 < mcnemar(5000, 0).midp_drop < 1e-300


@pytest.mark.parametrize(
    ("alpha", "checks", "needed"), [(0.05, 1, 4), (0.05, 6, 6), (0.05, 18, 8), (0.01, 1, 6)]
)
def test_the_smallest_blocking_count_is_the_one_the_gate_documents(alpha, checks, needed):
    assert mcnemar_min_b(alpha / checks) == needed


def test_six_checks_at_one_percent_need_nine_flips():
    assert mcnemar_min_b(0.01 / 6) == 9


@given(
    alpha=st.floats(1e-6, 0.9),
    c=st.integers(0, 30),
    variant=st.sampled_from(["exact_drop", "midp_drop"]),
)
def test_the_smallest_blocking_count_reaches_alpha_and_one_less_does_not(alpha, c, variant):
    b = mcnemar_min_b(alpha, variant, c)
    assert getattr(mcnemar(b, c), variant) <= alpha
    assert b == 0 or getattr(mcnemar(b - 1, c), variant) > alpha


@pytest.mark.parametrize(("b", "c"), [(-1, 0), (0, -1)])
def test_a_negative_count_is_refused(b, c):
    with pytest.raises(ValueError, match="at least 0"):
        mcnemar(b, c)


def test_a_fraction_is_no_count():
    with pytest.raises(TypeError):
        mcnemar(1.5, 0)


@settings(deadline=None)
@given(d=st.lists(quarters, max_size=10), zero_method=st.sampled_from(["wilcox", "pratt"]))
def test_wilcoxon_agrees_with_all_sign_patterns_ties_and_zeros_included(d, zero_method):
    found = wilcoxon_exact(d, zero_method)
    greater, less = brute_wilcoxon(d, zero_method)
    assert math.isclose(found.p_greater, greater, rel_tol=1e-12)
    assert math.isclose(found.p_less, less, rel_tol=1e-12)
    assert found.p_two_sided == min(1.0, 2 * min(found.p_greater, found.p_less))


@given(d=st.lists(st.floats(-1, 1), max_size=60), order=st.randoms(use_true_random=False))
def test_wilcoxon_does_not_depend_on_the_order_of_cases(d, order):
    shuffled = list(d)
    order.shuffle(shuffled)
    assert wilcoxon_exact(d) == wilcoxon_exact(shuffled)


@given(d=st.lists(quarters, min_size=1, max_size=40))
def test_swapping_the_models_swaps_the_tails(d):
    one, other = wilcoxon_exact(d), wilcoxon_exact([-x for x in d])
    assert math.isclose(one.p_greater, other.p_less, rel_tol=1e-12)
    assert one.pvalue("two-sided") == pytest.approx(other.pvalue("two-sided"), rel=1e-12)


def test_float_subtraction_does_not_split_a_tie():
    # 0.9 - 0.8 and 0.8 - 0.7 differ in the last bit
    split = np.subtract([0.9, 0.8, 0.3], [0.8, 0.7, 0.4])
    assert wilcoxon_exact(split) == wilcoxon_exact([0.1, 0.1, -0.1])


def test_the_exact_law_handles_its_largest_size_and_refuses_the_next():
    d = np.arange(1, WILCOXON_EXACT_MAX + 1) / 1000
    assert 0 < wilcoxon_exact(d).p_greater < 1e-140
    assert wilcoxon_exact(np.concatenate([d, np.zeros(50)])).n == WILCOXON_EXACT_MAX
    with pytest.raises(ValueError, match="500 differences, not 501"):
        wilcoxon_exact(np.arange(1, 502) / 1000)


def test_exact_and_asymptotic_wilcoxon_meet_in_large_samples():
    d = np.random.default_rng(3).normal(0.02, 0.2, 400)
    exact = wilcoxon_exact(d)
    for alternative in ("greater", "less", "two-sided"):
        assert wilcoxon_asymptotic(d, alternative=alternative).pvalue == pytest.approx(
            exact.pvalue(alternative), abs=1e-3
        )


@pytest.mark.parametrize("zeros", [[], [0.0], [0.0, -0.0, 1e-12]])
def test_no_difference_gives_p_of_one(zeros):
    assert wilcoxon_exact(zeros).pvalue() == 1.0
    assert wilcoxon_exact(zeros, "pratt").pvalue("two-sided") == 1.0
    assert wilcoxon_asymptotic(zeros).pvalue == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_refused(bad):
    for test in (wilcoxon_exact, wilcoxon_asymptotic, signflip):
        with pytest.raises(ValueError, match="finite"):
            test([0.1, bad])


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="zero_method"):
        wilcoxon_exact([1.0], "drop")
    with pytest.raises(ValueError, match="alternative"):
        wilcoxon_asymptotic([1.0], alternative="worse")
    with pytest.raises(ValueError, match="variant"):
        mcnemar_min_b(0.05, "exact")


@given(n=st.integers(1, 200), data=st.data())
def test_a_wider_margin_is_easier_to_show(n, data):
    b = data.draw(st.integers(0, n))
    c = data.draw(st.integers(0, n - b))
    p = [noninferiority_tango(n, b, c, margin).pvalue for margin in (0.01, 0.05, 0.2, 0.6)]
    assert p == sorted(p, reverse=True)


def test_a_margin_without_pairs_is_refused():
    with pytest.raises(ValueError, match="without pairs"):
        noninferiority_tango(0, 0, 0, 0.05)


def test_t_tests_without_spread_say_so_instead_of_dividing_by_zero():
    assert ttest_paired([0.1] * 4, [0.1] * 4).pvalue == 1.0
    assert ttest_paired([0.3, 0.5], [0.2, 0.4]).pvalue == 0.0
    assert ttest_pooled([0.1, 0.1, 0.1], [0.1, 0.1]).pvalue == 1.0
    assert ttest_pooled([0.2, 0.2], [0.1, 0.1]).statistic == math.inf
    assert anova_oneway([[0.1] * 7, [0.1] * 3]).pvalue == 1.0
    assert anova_oneway([[0.1] * 3, [0.2] * 3]).statistic == math.inf


def test_two_groups_make_anova_the_square_of_t():
    a, b = [0.7, 0.6, 0.8, 0.9, 0.65], [0.4, 0.45, 0.6]
    t, f = ttest_pooled(a, b), anova_oneway([a, b])
    assert f.statistic == pytest.approx(t.statistic**2)
    assert f.pvalue == pytest.approx(t.pvalue)


def test_too_few_values_are_refused():
    with pytest.raises(ValueError, match="at least 2"):
        ttest_paired([1.0], [0.0])
    with pytest.raises(ValueError, match="at least 3"):
        ttest_pooled([1.0], [0.0])
    with pytest.raises(ValueError, match="at least 2 groups"):
        anova_oneway([[1.0, 2.0]])


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
def test_the_corrected_asymptotic_test_is_scipys(alternative, zero_method):
    from scipy.stats import wilcoxon

    d = [0.25, 0.25, -0.25, 0.5, 0.0, 0.75, -0.5, 0.25, 1.0, 0.0]
    theirs = wilcoxon(
        d, zero_method=zero_method, correction=True, alternative=alternative, method="asymptotic"
    )
    ours = wilcoxon_asymptotic(d, zero_method, alternative, correction=True)
    assert ours.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)

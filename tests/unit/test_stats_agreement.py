"""Agreement, rank correlation and pass@k: definitions, symmetry and what is undefined."""

import math
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.stats.agreement import (
    classification_report,
    cohen_kappa,
    krippendorff_alpha,
    pass_at_k,
)
from pytest_fineval.stats.ranks import (
    average_ranks,
    kendall_tau_b,
    rank_correlation,
    spearman,
    spearman_values_n,
)

small = st.integers(0, 8)
ranked = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def test_full_agreement_is_one_and_chance_is_zero():
    assert cohen_kappa([[5, 0], [0, 5]]).unweighted == 1.0
    assert cohen_kappa([[4, 4], [4, 4]]).unweighted == 0.0


def test_kappa_is_undefined_when_one_class_is_used_alone():
    for table in ([[10, 0], [0, 0]], [[0, 0], [0, 0]], [[3]], [[0]]):
        found = cohen_kappa(table)
        assert (found.unweighted, found.linear, found.quadratic) == (None, None, None)


@given(table=st.lists(st.lists(small, min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_does_not_depend_on_which_rater_is_first(table):
    one, other = (
        cohen_kappa(table),
        cohen_kappa([list(column) for column in zip(*table, strict=True)]),
    )
    assert one.unweighted == pytest.approx(other.unweighted)
    assert one.linear == pytest.approx(other.linear)
    assert one.quadratic is None or one.quadratic <= 1


def test_with_two_classes_all_weightings_are_one():
    found = cohen_kappa([[7, 2], [1, 4]])
    assert found.unweighted == pytest.approx(found.linear) == pytest.approx(found.quadratic)


@pytest.mark.parametrize("table", [[[1, 2]], [[1, -1], [0, 1]], [[1.0, math.nan], [0, 1]]])
def test_what_is_no_table_of_counts_is_refused(table):
    with pytest.raises(ValueError, match="kappa table"):
        cohen_kappa(table)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_one_for_agreement_and_undefined_without_variation(level):
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level) == 1.0
    for ratings in ([], [[]], [[None]], [[1, 1], [1, 1]], [[1, 2, 3]], [[1, None], [None, 2]]):
        assert krippendorff_alpha(ratings, level) is None


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(
    ratings=st.lists(
        st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=5, max_size=5),
        min_size=2,
        max_size=4,
    ),
    order=st.randoms(use_true_random=False),
)
def test_alpha_does_not_depend_on_the_order_of_raters_or_cases(level, ratings, order):
    cases = list(range(5))
    order.shuffle(cases)
    moved = [[row[case] for case in cases] for row in reversed(ratings)]
    one, other = krippendorff_alpha(ratings, level), krippendorff_alpha(moved, level)
    assert (one is None) is (other is None)
    assert one is None or (one == pytest.approx(other) and one <= 1)


def test_alpha_of_two_opposed_raters_is_the_textbook_value():
    # two cases, each rated 1 and 2: observed 1, expected 2/3
    assert krippendorff_alpha([[1, 2], [2, 1]]) == pytest.approx(-0.5)


def test_a_missing_rating_may_be_none_or_nan():
    assert krippendorff_alpha([[1, 2, None], [1, 2, 3]]) == krippendorff_alpha(
        [[1, 2, math.nan], [1, 2, 3]]
    )


def test_ratings_that_make_no_table_are_refused():
    with pytest.raises(ValueError, match="one entry per case"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(ValueError, match="finite or missing"):
        krippendorff_alpha([[1, math.inf], [1, 2]])
    with pytest.raises(ValueError, match="level"):
        krippendorff_alpha([[1, 2], [1, 2]], "ratio")


@given(tp=small, fp=small, fn=small, tn=small)
def test_a_confusion_table_gives_rates_within_their_intervals(tp, fp, fn, tn):
    found = classification_report(tp, fp, fn, tn)
    assert found.recall_interval.low <= found.recall <= found.recall_interval.high
    assert found.precision_interval.low <= found.precision <= found.precision_interval.high
    assert -1 <= found.mcc <= 1
    assert 0 <= found.f1 <= 1


def test_a_model_that_always_says_no_has_accuracy_but_no_recall():
    found = classification_report(tp=0, fp=0, fn=5, tn=95)
    assert (found.accuracy, found.recall, found.mcc) == (0.95, 0.0, 0.0)
    assert found.recall_interval.high < 0.5


def test_an_empty_table_is_all_zero_and_knows_nothing():
    found = classification_report(0, 0, 0, 0)
    assert (found.precision, found.recall, found.f1, found.mcc, found.accuracy) == (0,) * 5
    assert (found.recall_interval.low, found.recall_interval.high) == (0.0, 1.0)


@given(n=st.integers(1, 7), data=st.data())
def test_pass_at_k_counts_the_draws(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(combinations([1] * c + [0] * (n - c), k))
    found = pass_at_k(n, c, k)
    assert found.pass_at_k == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
    assert found.pass_all_k == pytest.approx(sum(all(draw) for draw in draws) / len(draws))


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, 2, 6), (5, 2, 0), (0, 0, 1)])
def test_draws_that_cannot_be_made_are_refused(n, c, k):
    with pytest.raises(ValueError, match="need 1 <= k <= n"):
        pass_at_k(n, c, k)


def test_ties_share_the_mean_of_their_places():
    assert average_ranks([30, 10, 20, 20]).tolist() == [4.0, 1.0, 2.5, 2.5]
    assert average_ranks([]).tolist() == []


@given(lists=ranked)
def test_rank_correlation_is_symmetric_and_turns_with_the_order(lists):
    a, b = lists
    one, other = rank_correlation(a, b), rank_correlation(b, a)
    turned = rank_correlation(a, [-x for x in b])
    for name in ("spearman", "kendall_tau_b"):
        value = getattr(one, name)
        if value is None:
            assert len(set(a)) == 1 or len(set(b)) == 1
            continue
        assert -1 <= value <= 1
        assert value == pytest.approx(getattr(other, name), abs=1e-12)
        assert value == pytest.approx(-getattr(turned, name), abs=1e-12)


def test_a_constant_side_has_no_rank_correlation():
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert kendall_tau_b([1], [1]) is None
    assert rank_correlation([], []).spearman is None


def test_sides_of_different_length_are_refused():
    with pytest.raises(ValueError, match="2 and 1 items"):
        spearman([1, 2], [1])


@pytest.mark.parametrize("n", range(8))
def test_the_values_of_rho_are_those_of_all_orders(n):
    if n < 2:
        assert spearman_values_n(n) == []
        return
    found = {round(spearman(range(n), order), 9) for order in permutations(range(n))}
    assert [round(value, 9) for value in spearman_values_n(n)] == sorted(found)

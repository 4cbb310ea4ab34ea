"""Diagnostics over many chains, and the completeness table of a run."""

import numpy as np
import pytest
from scipy import stats

from pytest_fineval.clients.base import Answer, ClientError
from pytest_fineval.report.completeness import completeness, completeness_lines
from pytest_fineval.stats.chains import (
    Outcome,
    cause_shares,
    correlations,
    group_table,
    levels,
    pearson,
    reasoning_gap,
)
from pytest_fineval.store.record import PlannedCase, Record

RNG = np.random.default_rng(5)
MANY = [
    Outcome(
        final=float(step > 0.6),
        figures={"fuzzy_f1": step, "hard_f1": round(step)},
        model="ab"[k % 2],
        domain=f"d{k % 3}",
        level=("basic", "advanced", "expert")[k % 3],
        cause=None if step > 0.6 else ("wrong_formula" if k % 4 else "arithmetic_slip"),
    )
    for k, step in enumerate(RNG.uniform(0, 1, 60).tolist())
]


def test_the_gap_tells_good_steps_with_wrong_answers():
    made = [(0.9, 0.0), (0.9, 1.0), (0.5, 1.0), (0.1, 0.0)]
    gap = reasoning_gap([Outcome(final, {"fuzzy_f1": step}) for step, final in made], "fuzzy_f1")
    assert gap.steps == pytest.approx(0.6)
    assert gap.final == 0.5
    assert gap.gap == pytest.approx(0.1)
    assert gap.good_steps_wrong_answer == gap.poor_steps_right_answer == 0.25


def test_correlations_agree_with_scipy():
    final = [outcome.final for outcome in MANY]
    for found in correlations(MANY):
        column = [outcome.figures[found.figure] for outcome in MANY]
        rho, r = stats.spearmanr(column, final), stats.pearsonr(column, final)
        assert (found.spearman, found.spearman_p) == pytest.approx((rho.statistic, rho.pvalue))
        assert (found.pearson, found.pearson_p) == pytest.approx((r.statistic, r.pvalue))


def test_a_constant_side_has_no_correlation():
    found = correlations([Outcome(1.0, {"x": 0.5}), Outcome(0.0, {"x": 0.5})])[0]
    assert (found.spearman, found.pearson, found.pearson_p) == (None, None, None)
    assert pearson([1.0], [2.0]) is None


def test_levels_agree_with_scipy_s_anova():
    found = levels(MANY, lambda outcome: outcome.figures["fuzzy_f1"])
    groups = [
        [o.figures["fuzzy_f1"] for o in MANY if o.level == level] for level in sorted(found.means)
    ]
    expected = stats.f_oneway(*groups)
    assert (found.test.statistic, found.test.pvalue) == pytest.approx(tuple(expected))
    assert sum(found.counts.values()) == 60
    assert levels(MANY[:1]).test is None


def test_tables_keep_every_chain():
    rows = group_table(MANY, ["model", "domain"])
    assert sum(row.n for row in rows) == 60
    assert [row.group for row in rows] == sorted(row.group for row in rows)
    total = sum(row.n * row.final for row in rows) / 60
    assert total == pytest.approx(np.mean([outcome.final for outcome in MANY]))


def test_causes_are_shares_of_the_wrong_chains():
    shares = cause_shares(MANY)
    assert sum(shares.values()) == pytest.approx(1)
    assert next(iter(shares)) == "wrong_formula"
    assert cause_shares([Outcome(1.0, {})]) == {}


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: reasoning_gap([], "x"), "no outcomes"),
        (lambda: reasoning_gap(MANY, "typo"), "typo"),
        (lambda: group_table(MANY, ["colour"]), "colour"),
        (lambda: pearson([1.0, 2.0], [1.0]), "against"),
    ],
)
def test_a_wrong_request_is_an_error(call, fault):
    with pytest.raises(ValueError, match=fault):
        call()


def record(model, number, text="", status="ok"):
    error = ClientError(kind="timeout", message="no reply") if status == "error" else None
    case = PlannedCase(
        id=f"c{number}",
        digest="0" * 64,
        category="reasoning",
        cluster="c",
        suite="s",
        scorer="steps@1",
    )
    answer = Answer(text=text, status=status, error=error, attempts=1)
    return Record(case=case, model=model, sample=0, status="wrong", answer=answer)


def test_the_completeness_table_counts_every_record():
    records = [
        record("b", 1, "Step 1: x = 5\nStep 2: list\nAnswer: 5"),
        record("b", 2, "Step 1: think"),
        record("b", 3, "x" * 9_000),
        record("a", 1, status="empty"),
        record("a", 2, status="error"),
        record("a", 3, "1. x = 5\n2. y = ", status="truncated"),
    ]
    first, second = completeness(records)
    assert (first.model, first.n, first.errors, first.empty, first.overlong) == ("a", 3, 1, 1, 1)
    assert (first.no_final, first.parsed) == (2, 1)
    assert (second.n, second.overlong, second.no_final, second.parsed) == (3, 1, 2, 2)
    assert second.step_parse_rate == pytest.approx(2 / 3)
    assert second.value_coverage == pytest.approx(0.25)
    assert second.mean_steps == 1.5
    lines = completeness_lines([first, second])
    assert len(lines) == 3
    assert lines[2].split() == ["b", "3", "0", "0", "1", "2", "67", "%", "25", "%"]

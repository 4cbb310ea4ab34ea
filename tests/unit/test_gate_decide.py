"""Holm over all checks, limits, and what can block: from counts, against the reference rows."""

import json

import pytest

from pytest_fineval.gate.decide import Evidence, decide, decide_counts, needed, needed_below, worst
from pytest_fineval.gate.measure import Measured, floor_pvalues, mcnemar_counts
from pytest_fineval.stats.intervals import wilson
from pytest_fineval.stats.paired import mcnemar_min_b
from tests.shared import shared


def counts(n, lost, gained, max_drop=0.03):
    return {"n": n, "b": lost, "c": gained, "max_drop": max_drop}


def test_the_reference_decisions_agree_field_by_field():
    lines = shared("reference/statistics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["function"] == "gate_decision"]
    assert rows
    for row in rows:
        given, expected = row["inputs"], row["expected"]
        outcome, checks = decide_counts(given["categories"], given["alpha"], given.get("overall"))
        assert outcome == expected["verdict"], row["id"]
        assert set(checks) == set(expected["checks"]), row["id"]
        for name, wanted in expected["checks"].items():
            evidence, ruling = checks[name]
            found = {
                "can_block": ruling.can_block,
                "drop": evidence.drop,
                "p": evidence.measured.p,
                "p_holm": ruling.p_holm,
                "outcome": ruling.outcome,
                "drop_upper95": evidence.measured.upper,
                "proven": ruling.proven,
            }
            for field, value in wanted.items():
                if isinstance(value, float):
                    value = pytest.approx(value, abs=row["tolerance"])
                assert found[field] == value, (row["id"], name, field)


@pytest.mark.parametrize(
    ("alpha", "checks", "flips"),
    [(0.05, 1, 4), (0.05, 6, 6), (0.05, 18, 8), (0.01, 1, 6), (0.01, 6, 9)],
)
def test_the_smallest_number_of_flips_that_blocks_is_the_documented_one(alpha, checks, flips):
    measured = mcnemar_counts(40, 0, 0)
    assert needed(measured, alpha / checks) == flips == mcnemar_min_b(alpha / checks)


def test_clusters_need_more_units_than_cases_because_their_p_is_no_mid_p():
    by_cluster = Measured("signflip_clusters", 1.0, 40, 40)
    assert needed(by_cluster, 0.05 / 6) == 7 == mcnemar_min_b(0.05 / 6, "exact_drop")


def test_more_samples_a_case_need_fewer_cases():
    assert needed(Measured("within_case_permutation", 1.0, 9, 9, ways=6, halved=True), 0.01) == 3


def test_checks_that_cannot_block_still_count_among_the_corrected():
    alone, _ = decide_counts({"a": counts(40, 5, 0)}, 0.05)
    beside = {"a": counts(40, 5, 0), **{f"x{k}": counts(2, 0, 0) for k in range(5)}}
    outcome, checks = decide_counts(beside, 0.05)
    assert alone == "block"
    assert outcome == "inconclusive"
    assert checks["a"][1].p_holm == pytest.approx(6 / 64)


def test_a_check_too_small_to_block_says_so():
    _, checks = decide_counts({"a": counts(3, 3, 0)}, 0.05)
    ruling = checks["a"][1]
    assert (ruling.can_block, ruling.outcome) == (False, "inconclusive")
    assert "cannot block by itself: needs at least 4 one-way flips, has 3" in ruling.note


def test_a_significant_drop_within_the_limit_passes_with_a_note():
    outcome, checks = decide_counts({"a": counts(1000, 20, 2)}, 0.05)
    assert outcome == "pass"
    assert "a significant drop, within the limit" in checks["a"][1].note


def test_a_drop_equal_to_the_limit_passes_whatever_the_last_bit():
    lost, n = 7, 100
    measured = mcnemar_counts(n, lost, 0)
    given = Evidence(measured, drop=0.07000000000000006, max_drop=0.07)
    assert decide([given], 0.05)[0].outcome == "pass"
    over = Evidence(measured, drop=0.0701, max_drop=0.07)
    assert decide([over], 0.05)[0].outcome == "block"


def test_no_pairs_are_invalid_and_zero_checks_decide_nothing():
    assert decide([Evidence(None, max_drop=0.03)], 0.05)[0].outcome == "invalid"
    assert decide_counts({"a": counts(0, 0, 0)}, 0.05)[0] == "invalid"
    assert decide([], 0.05) == []


def test_positives_that_are_not_there_cannot_be_told_rather_than_pass():
    ruling = decide([Evidence(None, max_drop=0.03, required=False)], 0.05)[0]
    assert (ruling.outcome, ruling.can_block) == ("inconclusive", False)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan")])
def test_an_alpha_that_is_no_level_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        decide([], alpha)


@pytest.mark.parametrize("bad", [counts(4, 5, 0), counts(4, -1, 0), counts(float("nan"), 0, 0)])
def test_counts_that_do_not_fit_are_refused(bad):
    with pytest.raises(ValueError):  # noqa: PT011 - which count is wrong is the statistics' text
        decide_counts({"a": bad}, 0.05)


def test_the_worst_outcome_wins():
    assert worst(["pass", "block", "inconclusive"]) == "block"
    assert worst(["invalid", "block"]) == "invalid"
    assert worst([]) == "pass"


@pytest.mark.parametrize("floor", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_floor_blocks_only_when_wilsons_bound_lies_below_it(floor, alpha):
    n = 60
    for right in range(n + 1):
        wilson_p, exact_p = floor_pvalues(right, n, floor, right)
        if max(wilson_p, exact_p) <= alpha:
            assert wilson(right, n, 1 - 2 * alpha).high <= floor + 1e-12


def test_a_floor_of_zero_cannot_be_missed_and_one_of_one_is_missed_by_any_error():
    assert floor_pvalues(0, 10, 0.0, 0) == (1.0, 1.0)
    assert max(floor_pvalues(9, 10, 1.0, 9)) < 1e-9
    assert floor_pvalues(10, 10, 1.0, 10)[0] == 1.0


def test_the_cases_a_floor_needs_are_enough_and_one_fewer_is_not():
    for floor in (0.1, 0.5, 0.8, 0.95):
        needs = needed_below(floor, 0.01)
        assert max(floor_pvalues(0, needs, floor, 0)) <= 0.01
        if needs > 1:
            assert max(floor_pvalues(0, needs - 1, floor, 0)) > 0.01


def test_a_check_that_blocks_only_beside_others_does_not_say_that_it_cannot():
    tables = {
        "a": {"n": 40, "b": 20, "c": 0, "max_drop": 0.03},
        "b": {"n": 5, "b": 5, "c": 0, "max_drop": 0.03},
        "c": {"n": 40, "b": 0, "c": 0, "max_drop": 0.03},
        "d": {"n": 40, "b": 0, "c": 0, "max_drop": 0.03},
    }
    ruling = decide_counts(tables, 0.05)[1]["b"][1]
    assert (ruling.outcome, ruling.can_block, ruling.needs) == ("block", False, 6)
    assert ruling.note == "blocks together with the other checks: alone it could not"

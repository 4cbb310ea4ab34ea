"""The verdict over whole runs: every outcome, its cause and its exit code."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.gate.verdict import judge
from pytest_fineval.settings import CATEGORIES
from tests.unit.gate_world import NEW, OLD, baseline, errored, ones, planned, record, run

ONE = ("reasoning",)


def candidate(scores, **options):
    return run(scores, model=NEW, run_id="candidate", **options)


def verdict(one, base, mode="full", **options):
    return judge(one.manifest, one.records, one.repeated, base, mode, **options)


def check(found, name):
    return next(c for c in found.checks if c.name == name)


def right(n, wrong=0):
    return [[0.0]] * wrong + [[1.0]] * (n - wrong)


def test_a_run_held_against_itself_passes_without_a_flip():
    scores = {**ones(40, wrong=5), "ranking": [[k / 40] for k in range(40)]}
    one = run(scores)
    found = verdict(one, baseline(one))
    assert (found.outcome, found.exit_code, found.flips) == ("pass", 0, ())
    assert {c.name for c in found.checks} == {*CATEGORIES, "overall"}
    assert all(c.drop == 0 and c.p == 1 for c in found.checks)
    assert found.comparison == "same_model"


def test_a_category_that_breaks_blocks_and_names_the_lost_cases():
    found = verdict(candidate({**ones(40), "reasoning": right(40, 9)}), baseline(run(ones(40))))
    assert (found.outcome, found.exit_code) == ("block", 1)
    assert found.cause.startswith("block: reasoning dropped 22.5 points, allowed 3.0 (Holm p")
    line = check(found, "reasoning")
    assert (line.n, line.lost, line.gained, line.needs, line.can_block) == (40, 9, 0, 6, True)
    assert line.p == pytest.approx(0.5**10)
    assert line.p_holm == pytest.approx(6 * 0.5**10)
    assert [flip.case for flip in found.flips] == [f"reasoning-{k:02}" for k in range(9)]
    assert {(flip.before, flip.after, flip.kind) for flip in found.flips} == {(1.0, 0.0, "lost")}
    assert found.comparison == "model_swap"


def test_one_flip_of_forty_is_inconclusive_and_does_not_stop_a_pull_request():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 2)})
    found = verdict(one, base)
    assert (found.outcome, found.exit_code) == ("inconclusive", 0)
    assert "needs at least 6 one-way flips" in check(found, "reasoning").note
    assert verdict(one, base, "deploy").exit_code == 1


def test_gained_cases_are_listed_after_lost_ones():
    base = baseline(run({**ones(10), "extraction": right(10, 1)}))
    found = verdict(candidate({**ones(10), "reasoning": right(10, 1)}), base)
    assert [(flip.case, flip.kind) for flip in found.flips] == [
        ("reasoning-00", "lost"),
        ("extraction-00", "gained"),
    ]


def test_a_pass_says_how_many_checks_are_proven():
    found = verdict(candidate(ones(200)), baseline(run(ones(200))))
    assert found.outcome == "pass"
    assert found.cause == "pass: no check is over its limit (6 of 6 proven to lie within it)"


# -- what was asked wrongly: exit code 4


def test_a_case_that_was_removed_is_invalid_and_names_the_remedy():
    found = verdict(candidate({**ones(40), "ranking": right(39)}), baseline(run(ones(40))))
    assert (found.outcome, found.exit_code, found.checks) == ("invalid", 4, ())
    assert "case ranking-39 is not in the run" in found.cause
    assert "fineval lock retire" in found.cause


def test_a_case_whose_content_changed_is_invalid():
    one = candidate(ones(4), fields={"ranking-01": {"digest": "f" * 64}})
    found = verdict(one, baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 4)
    assert "case ranking-01 is not what the baseline measured" in found.cause
    assert "fineval lock bump" in found.cause


def test_what_the_trusted_ledger_records_is_excluded_and_listed():
    base = baseline(run(ones(4)))
    removed = candidate({**ones(4), "ranking": right(3)})
    found = verdict(removed, base, recorded={"ranking-03": None})
    assert (found.outcome, found.excluded) == ("pass", ("ranking-03 (retired)",))
    assert check(found, "ranking").n == 3
    changed = candidate(ones(4), fields={"ranking-01": {"digest": "f" * 64}})
    found = verdict(changed, base, recorded={"ranking-01": "f" * 64})
    assert (found.outcome, found.excluded) == ("pass", ("ranking-01 (bumped)",))


def test_a_ledger_entry_for_another_version_excuses_nothing():
    base = baseline(run(ones(4)))
    changed = candidate(ones(4), fields={"ranking-01": {"digest": "f" * 64}})
    for entry in ("e" * 64, None):
        assert verdict(changed, base, recorded={"ranking-01": entry}).exit_code == 4
    removed = candidate({**ones(4), "ranking": right(3)})
    assert verdict(removed, base, recorded={"ranking-03": "f" * 64}).exit_code == 4


def test_a_scorer_of_another_version_is_invalid_and_names_the_remedy():
    fields = {f"ranking-{k:02}": {"scorer": "numeric@2"} for k in range(4)}
    found = verdict(candidate(ones(4), fields=fields), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 4)
    assert "4 ranking cases scored by numeric@2, the baseline by numeric@1" in found.cause
    assert "fineval baseline rescore" in found.cause


def test_answers_scored_by_another_version_than_planned_are_invalid():
    one = candidate(ones(4))
    score = one.records[0].score.model_copy(update={"scorer": "numeric@2"})
    bad = (one.records[0].model_copy(update={"score": score}), *one.records[1:])
    found = verdict(replace(one, records=bad), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 4)


# -- what was not measured: exit code 1


def test_a_lost_record_is_invalid_and_names_the_case():
    one = candidate(ones(4))
    found = verdict(replace(one, records=one.records[1:]), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert found.lost == ("classification-00 (new, sample 0)",)
    assert "classification-00" in found.cause


def test_a_lost_record_of_a_model_run_beside_is_lost_too():
    one = candidate(ones(4))
    models = {**one.manifest.models, "beside": one.manifest.models["new"]}
    both = replace(one, manifest=one.manifest.model_copy(update={"models": models}))
    assert len(verdict(both, baseline(run(ones(4)))).lost) == 20


def test_a_record_that_came_twice_is_invalid():
    one = candidate(ones(4))
    found = verdict(replace(one, repeated=(one.records[0].key,)), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert found.repeated == ("classification-00 (new, sample 0)",)


def test_a_record_that_nobody_planned_is_invalid():
    one = candidate(ones(4))
    stray = record(planned("stray", "ranking"), 1.0)
    found = verdict(replace(one, records=(*one.records, stray)), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert "not planned: stray" in found.cause


def test_a_record_of_another_version_of_a_case_is_invalid():
    one = candidate(ones(4))
    older = one.records[0].case.model_copy(update={"digest": "e" * 64})
    bad = (one.records[0].model_copy(update={"case": older}), *one.records[1:])
    found = verdict(replace(one, records=bad), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert "not planned: classification-00" in found.cause


@pytest.mark.parametrize(
    ("status", "words"),
    [("not_run", "spend cap"), ("unchecked", "never checked"), ("pending", "gate RUN --rescore")],
)
def test_what_was_not_measured_makes_the_run_invalid(status, words):
    one = candidate(ones(4))
    changed = one.records[0].model_copy(update={"status": status})
    found = verdict(replace(one, records=(changed, *one.records[1:])), baseline(run(ones(4))))
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert words in found.cause


def with_errors(one, number):
    bad = tuple(errored(r.case) if k < number else r for k, r in enumerate(one.records))
    return replace(one, records=bad)


@pytest.mark.parametrize(
    ("cases", "errors", "invalid"), [(2, 1, False), (2, 2, True), (40, 10, False), (40, 11, True)]
)
def test_more_client_errors_than_one_case_or_five_percent_are_invalid(cases, errors, invalid):
    one = with_errors(candidate(ones(cases)), errors)
    found = verdict(one, baseline(run(ones(cases))))
    assert (found.outcome == "invalid") is invalid
    assert found.failures == {"timeout": errors}
    if invalid:
        assert found.exit_code == 1
        assert f"client errors in {errors} of {5 * cases} cases" in found.cause


def test_an_error_within_the_limit_counts_as_wrong_in_the_denominator():
    one = with_errors(candidate(ones(40)), 1)
    line = check(verdict(one, baseline(run(ones(40)))), "classification")
    assert (line.n, line.records, line.submitted, line.scored) == (40, 40, 39, 39)
    assert line.candidate == pytest.approx(39 / 40)


def test_a_configuration_fault_is_named_before_a_measurement_fault():
    one = candidate({**ones(4), "ranking": right(3)})
    found = verdict(replace(one, records=one.records[1:]), baseline(run(ones(4))))
    assert found.exit_code == 4
    assert any(note.startswith("also invalid: lost") for note in found.notes)


def test_another_scorer_found_in_the_records_is_named_before_a_lost_record():
    one = candidate(ones(4))
    score = one.records[5].score.model_copy(update={"scorer": "numeric@2"})
    bad = one.records[5].model_copy(update={"score": score})
    found = verdict(
        replace(one, records=(*one.records[1:5], bad, *one.records[6:])), baseline(run(ones(4)))
    )
    assert found.exit_code == 4
    assert "numeric@2" in found.cause
    assert any(note.startswith("also invalid: lost") for note in found.notes)


def test_a_split_without_a_baseline_case_is_invalid():
    one = candidate(ones(4), split="smoke")
    found = verdict(one, baseline(run(ones(4))), "smoke")
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert "no pairs" in found.cause


def test_a_configured_category_without_pairs_is_invalid():
    base = baseline(run(ones(4)))
    gone = {f"ranking-{k:02}": None for k in range(4)}
    scores = {name: rows for name, rows in ones(4).items() if name != "ranking"}
    found = verdict(candidate(scores), base, recorded=gone)
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert "ranking: no pairs" in found.cause


def test_a_score_that_is_not_a_number_is_refused():
    one = candidate(ones(4))
    score = one.records[0].score.model_copy(update={"value": math.nan})
    bad = (one.records[0].model_copy(update={"score": score}), *one.records[1:])
    with pytest.raises(ValueError, match="must lie in"):
        verdict(replace(one, records=bad), baseline(run(ones(4))))


# -- what is not judged


@pytest.mark.parametrize(
    ("mode", "incomplete", "with_baseline", "words"),
    [
        ("off", None, True, "the gate is off"),
        ("full", None, False, "no baseline"),
        ("full", "-k extraction", True, r"incomplete by choice (-k extraction)"),
    ],
)
def test_what_is_not_judged_says_why_and_leaves_pytest_its_exit_code(
    mode, incomplete, with_baseline, words
):
    one = candidate(ones(4, wrong=2), incomplete=incomplete)
    found = verdict(one, baseline(run(ones(4))) if with_baseline else None, mode)
    assert (found.outcome, found.exit_code, found.checks) == ("not_judged", None, ())
    assert words in found.cause


def test_a_deployment_is_never_waved_through_unjudged():
    assert verdict(candidate(ones(4)), None, "deploy").exit_code == 1


def test_failures_are_counted_by_kind_without_a_baseline_too():
    one = candidate(ones(4))
    refused = one.records[0].score.model_copy(update={"value": 0.0, "failure": "refusal"})
    first = one.records[0].model_copy(update={"status": "unscored", "score": refused})
    found = verdict(replace(one, records=(first, *one.records[1:])), None)
    assert found.failures == {"refusal": 1}


# -- splits and modes

SMOKE = {f"{c}-{k:02}": {"splits": ("smoke",)} for c in CATEGORIES for k in range(4)}


def smoke_pair(wrong, total=4, **gate):
    base = baseline(run(ones(10), fields=SMOKE), gate=gate)
    scores = ones(total)
    for category, number in wrong.items():
        scores[category] = right(total, number)
    return candidate(scores, split="smoke", fields=SMOKE), base


def test_a_small_smoke_run_is_pooled_into_one_check():
    one, base = smoke_pair({"reasoning": 1})
    found = verdict(one, base, "smoke")
    assert [c.name for c in found.checks] == ["smoke"]
    line = found.checks[0]
    assert (line.n, line.max_drop, line.alpha, line.needs) == (20, 0.02, 0.01, 6)
    assert (found.outcome, found.exit_code) == ("inconclusive", 0)
    assert any("only losses of about 30 points and more block" in note for note in found.notes)


def test_six_losses_of_twenty_block_a_smoke_run_and_five_do_not():
    one, base = smoke_pair({"reasoning": 3, "ranking": 3})
    assert verdict(one, base, "smoke").exit_code == 1
    one, base = smoke_pair({"reasoning": 3, "ranking": 2})
    assert verdict(one, base, "smoke").outcome == "inconclusive"


def test_a_pooled_smoke_run_is_held_to_the_overall_floor():
    one, base = smoke_pair({"reasoning": 1}, floor={"overall": 0.99, "ranking": 0.9})
    found = verdict(one, base, "smoke")
    assert [c.name for c in found.checks] == ["smoke", "smoke floor"]
    assert check(found, "smoke floor").outcome == "inconclusive"


def test_a_smoke_run_whose_categories_can_all_block_is_not_pooled():
    fields = {name: {"splits": ("smoke",)} for name in (f"reasoning-{k:02}" for k in range(20))}
    base = baseline(run(ones(20, ONE), fields=fields), categories=ONE)
    found = verdict(candidate(ones(20, ONE), split="smoke", fields=fields), base, "smoke")
    assert [(c.name, c.alpha) for c in found.checks] == [("reasoning", 0.01), ("overall", 0.01)]


def test_a_smoke_gate_on_the_full_split_does_not_loosen_it():
    found = verdict(candidate(ones(4)), baseline(run(ones(4))), "smoke")
    assert found.mode == "full"
    assert {c.alpha for c in found.checks} == {0.05}


def test_the_full_split_is_every_case_that_is_not_held_out():
    fields = {"ranking-00": {"splits": ("heldout",)}, "ranking-01": {"splits": ("smoke",)}}
    base = baseline(run(ones(4), fields=fields))
    scores = candidate(ones(4), fields=fields)
    manifest = scores.manifest.model_copy(
        update={"planned": tuple(c for c in scores.manifest.planned if c.id != "ranking-00")}
    )
    kept = tuple(r for r in scores.records if r.case.id != "ranking-00")
    found = verdict(replace(scores, manifest=manifest, records=kept), base)
    assert (found.outcome, check(found, "ranking").n) == ("pass", 3)


def test_new_cases_are_reported_and_not_gated():
    scores = {**ones(4), "ranking": right(4) + [[0.0]] * 6}
    found = verdict(candidate(scores), baseline(run(ones(4))))
    assert found.outcome == "pass"
    assert found.new_cases == tuple(f"ranking-{k:02}" for k in range(4, 10))


def test_must_pass_blocks_by_name_though_no_check_does():
    fields = {"ranking-00": {"must_pass": True}}
    base = baseline(run(ones(40), fields=fields))
    found = verdict(candidate({**ones(40), "ranking": right(40, 1)}, fields=fields), base)
    assert (found.outcome, found.exit_code) == ("block", 1)
    assert found.must_pass_failed == ("ranking-00",)
    assert found.cause == "block: must-pass and wrong: ranking-00"
    assert check(found, "ranking").outcome == "pass"


# -- tests by kind of score


def test_cases_of_one_cluster_are_one_observation():
    fields = {f"reasoning-{k:02}": {"cluster": f"filing-{k // 10}"} for k in range(40)}
    base = baseline(run(ones(40, ONE), fields=fields), categories=ONE)
    found = verdict(candidate({"reasoning": right(40, 20)}, fields=fields), base)
    line = check(found, "reasoning")
    assert (line.test, line.units, line.n) == ("signflip_clusters", 4, 40)
    assert line.p == pytest.approx(0.25)
    assert not line.can_block
    assert "clusters" in line.note
    assert found.outcome == "inconclusive"


def test_scores_between_0_and_1_get_sign_flip_with_wilcoxon_beside_it():
    before = {"summarization": [[0.9]] * 12}
    after = {"summarization": [[0.9 - 0.01 * (k + 6)] for k in range(12)]}
    kinds = ("summarization",)
    line = check(
        verdict(candidate(after), baseline(run(before), categories=kinds)), "summarization"
    )
    assert (line.test, line.other) == ("signflip", "Wilcoxon")
    assert line.p == line.p_other == pytest.approx(0.5**12)
    assert (line.lower, line.higher, line.outcome) == (12, 0, "block")
    chosen = baseline(run(before), categories=kinds, gate={"test": "wilcoxon"})
    assert check(verdict(candidate(after), chosen), "summarization").test == "wilcoxon"
    assert check(verdict(candidate(after), chosen), "overall").test == "signflip"


def test_samples_of_the_same_model_are_shuffled_within_their_case():
    base = baseline(run({"reasoning": [[1.0] * 5] * 10}), categories=ONE)
    one = run({"reasoning": right(10, 4)}, model=OLD, run_id="again")
    line = check(verdict(one, base), "reasoning")
    assert (line.test, line.samples) == ("within_case_permutation", (5, 1))
    assert line.p == pytest.approx(0.5 * 6.0**-4)
    assert line.needs == 2


def test_samples_of_another_model_are_compared_by_case_means():
    base = baseline(run({"reasoning": [[1.0] * 5] * 10}), categories=ONE)
    line = check(verdict(candidate({"reasoning": right(10, 4)}), base), "reasoning")
    assert (line.test, line.samples) == ("signflip", (5, 1))
    assert line.p == pytest.approx(0.5**4)


def test_a_policy_that_fixes_the_comparison_wins_and_says_so():
    gate = {"comparison": "same_model"}
    base = baseline(run({"reasoning": [[1.0] * 5] * 10}), categories=ONE, gate=gate)
    found = verdict(candidate({"reasoning": right(10)}), base)
    assert found.comparison == "same_model"
    assert any("though new-1 is not the baseline's model (old-1)" in note for note in found.notes)


def test_another_prompt_of_the_same_model_is_said():
    base = baseline(run(ones(4)))
    one = run(ones(4), model=OLD.model_copy(update={"system": "Be brief."}), run_id="again")
    found = verdict(one, base)
    assert found.comparison == "same_model"
    assert "differs from the baseline in: system" in found.notes


def test_a_flip_needs_the_majority_of_the_samples():
    base = baseline(run({"reasoning": [[1.0, 1.0, 0.0]] * 3}), categories=ONE)
    after = {"reasoning": [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]}
    found = verdict(candidate(after), base)
    assert [(flip.case, flip.kind) for flip in found.flips] == [("reasoning-00", "lost")]


def test_half_of_the_samples_right_is_not_right():
    base = baseline(run({"reasoning": [[1.0, 1.0]] * 3}), categories=ONE)
    after = {"reasoning": [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]}
    found = verdict(candidate(after), base)
    assert [(flip.case, flip.after) for flip in found.flips] == [("reasoning-00", 0.5)]


def test_a_pass_mark_decides_what_counts_as_right():
    fields = {f"reasoning-{k:02}": {"pass_mark": 0.7} for k in range(3)}
    base = baseline(run({"reasoning": [[0.9], [0.8], [0.2]]}, fields=fields), categories=ONE)
    found = verdict(candidate({"reasoning": [[0.6], [0.7], [0.7]]}, fields=fields), base)
    assert [(flip.case, flip.kind) for flip in found.flips] == [
        ("reasoning-00", "lost"),
        ("reasoning-02", "gained"),
    ]


# -- recall, floors, tracks


def positives(number, n=40):
    return {f"classification-{k:02}": {"positive": k < number} for k in range(n)}


def test_a_model_that_always_says_no_is_caught_by_recall():
    kinds, fields = ("classification",), positives(8, 400)
    base = baseline(run({"classification": right(400)}, fields=fields), categories=kinds)
    found = verdict(candidate({"classification": right(400, 8)}, fields=fields), base)
    assert check(found, "classification").outcome == "pass"
    line = check(found, "classification recall")
    assert (line.n, line.lost, line.outcome) == (8, 8, "block")


def test_too_few_positives_to_block_say_so():
    kinds, fields = ("classification",), positives(3)
    base = baseline(run({"classification": right(40)}, fields=fields), categories=kinds)
    found = verdict(candidate({"classification": right(40)}, fields=fields), base)
    line = check(found, "classification recall")
    assert (line.can_block, line.needs) == (False, 5)
    assert "cannot block by itself" in line.note


def test_a_suite_without_a_positive_cannot_tell_recall():
    kinds, fields = ("classification",), positives(0)
    base = baseline(run({"classification": right(40)}, fields=fields), categories=kinds)
    found = verdict(candidate({"classification": right(40)}, fields=fields), base)
    assert found.outcome == "inconclusive"
    assert "no positive case" in check(found, "classification recall").note


def test_a_mean_far_below_the_floor_blocks_though_nothing_dropped():
    base = baseline(
        run({"reasoning": right(40, 20)}), categories=ONE, gate={"floor": {"reasoning": 0.9}}
    )
    found = verdict(candidate({"reasoning": right(40, 20)}), base)
    assert (found.outcome, check(found, "reasoning").outcome) == ("block", "pass")
    line = check(found, "reasoning floor")
    assert (line.kind, line.test, line.floor, line.other) == ("floor", "wilson", 0.9, "Wilson")
    assert "reasoning floor: 0.500 is below 0.900" in found.cause


def test_a_mean_equal_to_the_floor_is_not_below_it_whatever_the_last_bit():
    gate = {"floor": {"reasoning": 0.1 + 0.2}}
    base = baseline(run({"reasoning": right(10, 7)}), categories=ONE, gate=gate)
    line = check(verdict(candidate({"reasoning": right(10, 7)}), base), "reasoning floor")
    assert (line.candidate < line.floor, line.outcome) == (True, "pass")


def test_a_mean_just_below_the_floor_is_inconclusive():
    base = baseline(
        run({"reasoning": right(40, 5)}), categories=ONE, gate={"floor": {"reasoning": 0.9}}
    )
    found = verdict(candidate({"reasoning": right(40, 5)}), base)
    assert check(found, "reasoning floor").outcome == "inconclusive"


def test_a_floor_takes_the_cases_of_one_cluster_as_one():
    fields = {f"reasoning-{k:02}": {"cluster": f"filing-{k // 20}"} for k in range(40)}
    gate = {"floor": {"reasoning": 0.9}}
    one = run({"reasoning": right(40, 20)}, fields=fields)
    found = verdict(one, baseline(one, categories=ONE, gate=gate))
    line = check(found, "reasoning floor")
    assert (line.units, line.outcome) == (2, "inconclusive")


def test_tracks_are_never_pooled():
    fields = {f"{c}-{k:02}": {"track": "finqa"} for c in CATEGORIES for k in range(5)}
    found = verdict(candidate(ones(10), fields=fields), baseline(run(ones(10), fields=fields)))
    names = {c.name for c in found.checks}
    assert {"overall[finqa]", "overall[own]", "ranking[finqa]", "ranking[own]"} <= names
    assert len(names) == 12
    assert check(found, "overall[own]").n == 25


def test_a_category_that_only_one_track_has_is_gated_there():
    fields = {f"ranking-{k:02}": {"track": "finqa"} for k in range(10)}
    found = verdict(candidate(ones(10), fields=fields), baseline(run(ones(10), fields=fields)))
    assert found.outcome == "pass"
    assert {c.name for c in found.checks} == {
        "ranking[finqa]",
        "overall[finqa]",
        "overall[own]",
        *(f"{c}[own]" for c in CATEGORIES if c != "ranking"),
    }


# -- bytes


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_the_bytes_do_not_depend_on_any_order(random, values):
    base_run = run({**ones(6), "summarization": [[0.8]] * 6})
    one = candidate({**ones(6, wrong=2), "summarization": [[value] for value in values]})
    base = baseline(base_run)
    expected = verdict(one, base).to_bytes()
    records, cases = list(one.records), list(one.manifest.planned)
    random.shuffle(records)
    random.shuffle(cases)
    other = replace(
        one,
        records=tuple(records),
        manifest=one.manifest.model_copy(update={"planned": tuple(cases)}),
    )
    names = list(base.cases)
    random.shuffle(names)
    shuffled = base.model_copy(update={"cases": {name: base.cases[name] for name in names}})
    assert verdict(other, shuffled).to_bytes() == expected


def test_the_bytes_of_an_invalid_run_do_not_depend_on_the_order_of_its_records():
    one = candidate(ones(4))
    bad = tuple(record.model_copy(update={"status": "not_run"}) for record in one.records)
    base = baseline(run(ones(4)))
    forward = verdict(replace(one, records=bad), base)
    backward = verdict(replace(one, records=bad[::-1]), base)
    assert forward.outcome == "invalid"
    assert forward.to_bytes() == backward.to_bytes()


@settings(max_examples=20, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(CATEGORIES),
        st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=2),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
    )
)
def test_any_run_held_against_itself_passes(scores):
    one = run(scores)
    found = verdict(one, baseline(one, categories=tuple(scores)))
    assert (found.outcome, found.flips) == ("pass", ())
    assert all(c.drop == 0 for c in found.checks)


def test_the_bytes_are_strict_json_with_every_field_and_no_negative_zero():
    found = verdict(candidate({**ones(4), "ranking": right(4, 1)}), baseline(run(ones(4))))
    text = found.to_bytes().decode()
    data = json.loads(text, parse_constant=pytest.fail)
    assert "-0.0" not in text
    assert data["checks"][0]["name"] == "extraction"
    assert data["policy_digest"] == baseline(run(ones(4))).policy.digest
    assert len(found.digest) == 64


def test_several_graded_samples_of_one_model_are_shuffled_within_their_case():
    graded = {"reasoning": [[0.2, 0.4, 0.6]] * 12}
    worse = {"reasoning": [[0.1, 0.1, 0.3]] * 12}
    base = baseline(run(graded), categories=ONE)
    same = verdict(run(worse, model=OLD), base)
    swap = verdict(candidate(worse), base)
    assert check(same, "reasoning").test == "within_case_permutation"
    assert check(swap, "reasoning").test == "signflip"
    # Summaries and verdicts together are of several kinds: the overall check compares means.
    assert check(same, "overall").test == "signflip"


def more(one, cases, values, start):
    """The run with further samples of these cases, from index `start` on."""
    planned_cases = {case.id: case for case in one.manifest.planned}
    extra = [
        record(planned_cases[name], value, start + k)
        for name in cases
        for k, value in enumerate(values(name))
    ]
    return replace(one, records=(*one.records, *extra))


def test_a_deploy_asks_all_cases_of_an_open_check_again_at_half_of_alpha():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 2)})
    found = verdict(one, base, "deploy")
    assert (found.outcome, found.exit_code) == ("inconclusive", 1)
    assert found.second_look_due == tuple(f"reasoning-{k:02}" for k in range(40))
    assert check(found, "reasoning").alpha == 0.025
    assert any("second look was not taken: 40 cases" in note for note in found.notes)
    assert verdict(one, base, "full").second_look_due == ()


def test_a_policy_may_have_a_deployment_decided_at_one_look():
    base = baseline(run(ones(40)), gate={"second_look": False})
    one = candidate({**ones(40), "reasoning": right(40, 2)})
    found = verdict(one, base, "deploy")
    assert (found.outcome, found.exit_code, found.second_look_due) == ("inconclusive", 1, ())
    assert check(found, "reasoning").alpha == 0.05
    assert any("waiver is the way out" in note for note in found.notes)
    # Who asks again all the same has asked for nothing: the policy was signed for one look.
    names = [f"reasoning-{k:02}" for k in range(40)]
    assert verdict(more(one, names, lambda _: [1.0] * 3, 3), base, "deploy") == found


def test_a_second_look_that_finds_no_drop_lets_the_deployment_pass():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 2)})
    one = more(one, verdict(one, base, "deploy").second_look_due, lambda _: [1.0] * 3, 3)
    found = verdict(one, base, "deploy")
    assert (found.outcome, found.exit_code, found.second_look_due) == ("pass", 0, ())
    line = check(found, "reasoning")
    assert (line.look, line.samples, line.drop) == (2, (1, 3), 0.0)
    assert "the first: drop 5.0 pts" in line.note
    assert check(found, "extraction").look == 1
    # A pull request's gate takes no second look: its verdict stays what it was.
    assert verdict(one, base, "full").outcome == "inconclusive"


def test_a_second_look_that_finds_the_drop_again_blocks():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 5)})
    assert verdict(one, base, "deploy").outcome == "inconclusive"
    due = verdict(one, base, "deploy").second_look_due
    broken = {f"reasoning-{k:02}" for k in range(12)}
    one = more(one, due, lambda name: [0.0 if name in broken else 1.0] * 3, 3)
    assert verdict(one, base, "deploy").outcome == "block"


def test_what_the_second_look_cannot_tell_is_left_to_a_person():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 3)})
    due = verdict(one, base, "deploy").second_look_due
    lost = {f"reasoning-{k:02}" for k in range(3)}
    one = more(one, due, lambda name: [0.0 if name in lost else 1.0] * 3, 3)
    found = verdict(one, base, "deploy")
    assert (found.outcome, found.exit_code) == ("inconclusive", 1)
    assert any("waiver" in note for note in found.notes)


def test_half_a_second_look_is_invalid():
    base = baseline(run(ones(40)))
    one = candidate({**ones(40), "reasoning": right(40, 2)})
    due = verdict(one, base, "deploy").second_look_due
    found = verdict(more(one, due[:-1], lambda _: [1.0] * 3, 3), base, "deploy")
    assert (found.outcome, found.exit_code) == ("invalid", 1)
    assert "reasoning-39" in found.cause


@pytest.mark.parametrize(("again", "fails"), [((1.0, 1.0), False), ((0.0, 1.0), True), ((), True)])
def test_a_must_pass_failure_is_confirmed_by_the_majority_of_three(again, fails):
    fields = {"ranking-00": {"must_pass": True}}
    base = baseline(run(ones(40), fields=fields))
    one = candidate({**ones(40), "ranking": right(40, 1)}, fields=fields)
    found = verdict(more(one, ["ranking-00"], lambda _: again, 1), base)
    assert (found.must_pass_failed == ("ranking-00",)) is fails
    assert (found.outcome == "block") is fails
    # The answers that were asked because one was wrong are no part of the category's mean.
    assert check(found, "ranking").samples == (1, 1)
    assert check(found, "ranking").lost == 1


def test_a_confirmation_that_could_not_be_asked_confirms_nothing():
    fields = {"ranking-00": {"must_pass": True}}
    base = baseline(run(ones(40), fields=fields))
    one = candidate({**ones(40), "ranking": right(40, 1)}, fields=fields)
    case = next(case for case in one.manifest.planned if case.id == "ranking-00")
    one = replace(one, records=(*one.records, errored(case, 1), record(case, 1.0, 2)))
    assert verdict(one, base).must_pass_failed == ("ranking-00",)


def test_only_must_pass_cases_may_bring_confirming_answers():
    base = baseline(run(ones(40)))
    found = verdict(more(candidate(ones(40)), ["ranking-00"], lambda _: [1.0], 1), base)
    assert found.outcome == "invalid"
    assert "recorded but not planned" in found.cause

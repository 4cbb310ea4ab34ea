"""Baselines that slide, baselines that are too easy, and baselines brought to new scorers."""

import dataclasses
import json

import pytest

from pytest_fineval.cases.lock import Entry, Ledger
from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError
from pytest_fineval.gate import ratchet
from pytest_fineval.gate.baseline import companion_path, ledger_copy_path, load, write
from pytest_fineval.gate.policy import draft
from pytest_fineval.gate.propose import propose
from pytest_fineval.gate.rescore import rescore, rescore_run
from pytest_fineval.gate.verdict import judge
from pytest_fineval.settings import Settings
from tests.unit.gate_world import NEW, NOW, baseline, errored, ones, proposal, run, settings

ONE = ("extraction",)


def slid(tmp_path, *wrong):
    """Baselines at one path, each replacing the one before; so many of 20 cases wrong."""
    path = tmp_path / "main.json"
    for number, count in enumerate(wrong):
        scores = ones(20, ONE, wrong=count)
        made = proposal(
            run(scores, run_id=f"r{number}"),
            categories=ONE,
            predecessor=path if number else None,
            reason=f"step {number}",
        )
        write(made.baseline, made.companion, path)
    return made


def test_a_lower_proposal_says_so_with_the_history_of_drops(tmp_path):
    made = slid(tmp_path, 0, 1, 3)
    (note,) = [text for text in made.warnings if text.startswith("extraction")]
    assert "0.850 is lower than the baseline it replaces (0.950)" in note
    assert "1.000 (2026-03-01) -> 0.950 (2026-03-01) -> now: 2 drops" in note
    assert "15.0 points below the highest" in note
    assert [step.reason for step in made.baseline.history] == ["step 0", "step 1"]


def test_a_higher_proposal_says_nothing_though_it_remembers(tmp_path):
    made = slid(tmp_path, 3, 1)
    assert not ratchet.notes(made.baseline)
    assert made.baseline.history[0].means["extraction"] == pytest.approx(0.85)


def test_the_history_stands_in_the_file(tmp_path):
    slid(tmp_path, 0, 1)
    assert ratchet.notes(load(tmp_path / "main.json"))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({}, {"max_drop": {"reasoning": 0.5}}, "max_drop.reasoning: 0.03 -> 0.5"),
        ({"floor": {"reasoning": 0.8}}, {}, "floor.reasoning: 0.8 -> none"),
        ({}, {"alpha": 0.01}, "alpha: 0.05 -> 0.01"),
        ({"signatures": 2}, {}, "signatures: 2 -> 1"),
        ({"proposer_may_sign": False}, {}, "the proposer may sign"),
        ({}, {"valid_days": 3000}, "valid_days: 180 -> 3000"),
    ],
)
def test_a_looser_policy_is_named(before, after, words):
    earlier, later = draft(settings(**before)), draft(settings(**after))
    assert [words in text for text in ratchet.loosened(later, earlier)] == [True]
    assert not ratchet.loosened(earlier, later)


def test_a_category_that_is_no_longer_gated_is_named():
    found = ratchet.loosened(draft(settings(ONE)), draft(settings()))
    assert any("reasoning is no longer gated" in text for text in found)


def judged(wrong_before, wrong_now):
    before = baseline(run(ones(40, ONE, wrong=wrong_before)), categories=ONE)
    now = run(ones(40, ONE, wrong=wrong_now), model=NEW, run_id="now")
    return judge(now.manifest, now.records, (), before, "full")


def test_results_clearly_above_the_baseline_ask_for_a_new_one():
    found = ratchet.slack(judged(12, 0))
    assert any("extraction: 30.0 points above the baseline" in text for text in found)


@pytest.mark.parametrize(("before", "now"), [(2, 0), (5, 5), (0, 12)])
def test_chance_and_losses_are_no_slack(before, now):
    assert not ratchet.slack(judged(before, now))


def judged_runs(tmp_path, *wrong):
    for number, count in enumerate(wrong):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "verdict.json").write_bytes(judged(0, count).to_bytes())
    return tmp_path


def test_many_different_results_on_the_same_cases_ask_for_fresh_ones(tmp_path):
    runs = judged_runs(tmp_path, *range(10))
    assert not ratchet.worn(runs, judged(0, 9))
    (note,) = ratchet.worn(runs, judged(0, 10))
    assert "11 different results were compared with this baseline on the full split" in note


def test_the_same_answers_again_are_no_new_comparison(tmp_path):
    runs = judged_runs(tmp_path, *([3] * 12))
    (runs / "torn").mkdir()
    (runs / "torn" / "verdict.json").write_text("{")
    assert not ratchet.worn(runs, judged(0, 3))
    assert not ratchet.worn(tmp_path / "none", judged(0, 3))


# The ledger in the signed bytes.


def ledger_of(one, path):
    return Ledger(
        path,
        tuple(
            Entry(id=c.id, version=1, sha256=c.digest, asks="0" * 16, file="a.jsonl")
            for c in one.manifest.planned
        ),
    )


def proposed(one, ledger):
    return propose(
        [one], settings=settings(ONE), reason="r", created_by="ann", now=NOW, ledger=ledger
    )


def test_the_ledger_is_signed_with_the_baseline(tmp_path):
    one = run(ones(4, ONE))
    ledger = ledger_of(one, tmp_path / "cases.lock")
    made = proposed(one, ledger)
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path, ledger)
    assert load(path).policy.lock == ledger.digest
    copy = ledger_copy_path(path)
    copy.write_text("".join(copy.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match="altered since it was signed"):
        load(path)
    with pytest.raises(InputError, match="not the baseline's own"):
        write(made.baseline, made.companion, path)


def test_a_case_that_the_ledger_does_not_hold_cannot_be_proposed(tmp_path):
    one = run(ones(4, ONE))
    whole = ledger_of(one, tmp_path / "cases.lock")
    with pytest.raises(InputError, match="extraction-00; fineval lock add"):
        proposed(one, Ledger(whole.path, whole.entries[1:]))


# New scorers on old answers.


@pytest.fixture
def scored(tmp_path):
    """A baseline of two cases whose answers an exact scorer had read otherwise."""
    cases = [
        Case.model_validate(
            {
                "id": f"extraction-{n:02}",
                "category": "extraction",
                "candidate": {"question": f"q{n}"},
                "gold": {"answer": answer},
                "scorer": {"name": "exact"},
            }
        )
        for n, answer in enumerate(["extraction-00 says 0.0 (0)", "something else"])
    ]
    fields = {c.id: {"digest": c.digest, "scorer": "exact@0"} for c in cases}
    made = proposal(run({"extraction": [[0.0], [1.0]]}, fields=fields), categories=ONE)
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    return path, cases


def test_rescoring_gives_new_scores_to_the_old_answers(scored, tmp_path):
    path, cases = scored
    old = load(path)
    made, moved = rescore(path, cases, created_by="bob", settings=Settings(root=tmp_path))
    assert {(m.case, m.before, m.after) for m in moved} == {
        ("extraction-00", 0.0, 1.0),
        ("extraction-01", 1.0, 0.0),
    }
    assert made.baseline.policy.scorers == {"extraction": ("exact@1",)}
    assert made.baseline.reason == "rescored: exact@0 -> exact@1 (extraction)"
    assert made.baseline.valid_until == old.valid_until
    assert made.baseline.policy.max_drop == old.policy.max_drop
    write(made.baseline, made.companion, path)
    again = load(path)
    assert again.history[-1].sha256 == again.predecessor
    texts = [json.loads(line)["text"] for line in companion_path(path).read_text().splitlines()]
    assert texts == ["extraction-00 says 0.0 (0)", "extraction-01 says 1.0 (0)"]


def test_rescoring_needs_the_same_cases(scored, tmp_path):
    path, cases = scored
    with pytest.raises(InputError, match="in no case file: extraction-01"):
        rescore(path, cases[:1], created_by="bob", settings=Settings(root=tmp_path))
    other = cases[1].model_copy(update={"pass_mark": 0.5})
    other.__dict__.pop("digest", None)
    with pytest.raises(InputError, match="changed since: extraction-01"):
        rescore(path, [cases[0], other], created_by="bob", settings=Settings(root=tmp_path))


def test_rescoring_needs_the_raw_answers(tmp_path):
    made = proposal(run(ones(2, ONE)), categories=ONE, keep_answers=False)
    write(made.baseline, made.companion, tmp_path / "main.json")
    with pytest.raises(InputError, match="keeps no raw answers"):
        rescore(tmp_path / "main.json", [], created_by="bob", settings=Settings(root=tmp_path))


# A run's answers scored anew.


def test_forged_scores_of_a_run_are_replaced_by_what_its_answers_are_worth(scored, tmp_path):
    _, cases = scored
    fields = {c.id: {"digest": c.digest, "scorer": "exact@1"} for c in cases}
    forged = run({"extraction": [[1.0], [1.0]]}, fields=fields)
    honest = rescore_run(forged, cases, settings=Settings(root=tmp_path))
    assert [record.value for record in forged.records] == [1.0, 1.0]
    assert [record.value for record in honest.records] == [0.0, 0.0]
    assert {record.status for record in honest.records} == {"wrong"}


def test_a_record_without_an_answer_is_not_made_right_by_rescoring(scored, tmp_path):
    _, cases = scored
    fields = {c.id: {"digest": c.digest} for c in cases}
    whole = run({"extraction": [[1.0], [1.0]]}, fields=fields)
    failed = errored(whole.records[0].case, model="new")
    skipped = whole.records[1].model_copy(update={"status": "unchecked", "answer": None})
    run_ = dataclasses.replace(whole, records=(failed, skipped))
    again = rescore_run(run_, cases, settings=Settings(root=tmp_path))
    assert [record.status for record in again.records] == ["errored", "unchecked"]
    assert again.records[0].value == 0


def test_a_run_of_other_cases_cannot_be_rescored(scored, tmp_path):
    _, cases = scored
    other = run({"extraction": [[1.0], [1.0]]})
    with pytest.raises(InputError, match="is another version in the case files"):
        rescore_run(other, cases, settings=Settings(root=tmp_path))
    with pytest.raises(InputError, match="is in no case file"):
        rescore_run(other, [], settings=Settings(root=tmp_path))

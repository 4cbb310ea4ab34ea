"""Baseline files: what may become one, and what is refused when it is read back."""

import hashlib
import json
from dataclasses import replace

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import answers, companion_path, labels, load, write
from tests.unit.gate_world import NEW, errored, ones, proposal, record, run

CATS = ("extraction", "reasoning")


def whole(**options):
    return run(ones(4, CATS, wrong=1), **options)


def make(*runs, **options):
    return proposal(*(runs or (whole(),)), categories=CATS, **options)


def test_a_baseline_holds_scores_identity_policy_and_reason():
    made = make().baseline
    assert made.cases["reasoning-00"].scores == (0.0,)
    assert made.cases["reasoning-01"].scores == (1.0,)
    assert made.identity.model == "old-1"
    assert made.policy.scorers == {"extraction": ("numeric@1",), "reasoning": ("numeric@1",)}
    assert (made.reason, made.created_by, made.policy.samples) == ("first", "ann", 1)
    assert made.valid_until.isoformat() == "2026-08-28"


def test_what_is_written_is_read_back_the_same(tmp_path):
    made = make()
    path = tmp_path / "base lines" / "main.json"
    write(made.baseline, made.companion, path)
    assert load(path) == made.baseline
    assert made.baseline.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_is_that_of_the_file_and_a_changed_copy_has_its_own(tmp_path):
    made = make()
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    # As another version may have written it: the same content in other bytes.
    path.write_bytes(path.read_bytes() + b"\n")
    loaded = load(path)
    assert loaded.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    changed = loaded.model_copy(update={"reason": "second"})
    assert changed.digest == hashlib.sha256(changed.to_bytes()).hexdigest()


def test_the_file_is_the_same_bytes_whatever_the_order_of_the_cases():
    one = whole()
    manifest = one.manifest.model_copy(update={"planned": one.manifest.planned[::-1]})
    other = replace(one, manifest=manifest, records=one.records[::-1])
    assert make(one).baseline.to_bytes() == make(other).baseline.to_bytes()
    assert make(one).companion == make(other).companion


def test_every_case_stands_on_its_own_line(tmp_path):
    lines = make().baseline.to_bytes().decode().splitlines()
    assert sum(line.startswith('  "extraction-') for line in lines) == 4


def test_the_raw_answers_lie_beside_it_and_are_found_by_case_and_sample(tmp_path):
    made = make(whole(), whole(run_id="run-2"))
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    assert companion_path(path).name == "main.answers.jsonl"
    found = answers(path)
    assert len(found) == 16
    assert found["reasoning-01", 1].text == "reasoning-01 says 1.0 (0)"
    assert found["reasoning-00", 0].score == 0


def test_an_answer_with_odd_line_breaks_stays_one_line(tmp_path):
    one = whole()
    answer = one.records[0].answer.model_copy(update={"text": "a\u2028b\x85c\nd"})
    records = (one.records[0].model_copy(update={"answer": answer}), *one.records[1:])
    made = make(replace(one, records=records))
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    assert answers(path)["extraction-00", 0].text == "a\u2028b\x85c\nd"


def test_answers_that_a_licence_forbids_to_keep_are_left_out(tmp_path):
    made = make(keep_answers=False)
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    assert made.companion is None
    assert load(path).answers is None
    assert answers(path) == {}


def test_altered_answers_are_refused(tmp_path):
    made = make()
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    companion_path(path).write_bytes(made.companion.replace(b"says 1.0", b"says 9.0"))
    with pytest.raises(InputError, match="raw answers were altered"):
        load(path)


def test_missing_answers_are_refused(tmp_path):
    made = make()
    path = tmp_path / "main.json"
    write(made.baseline, made.companion, path)
    companion_path(path).unlink()
    with pytest.raises(InputError, match=r"raw answers of main\.json cannot be read"):
        load(path)


def test_answers_of_another_baseline_are_not_written(tmp_path):
    with pytest.raises(InputError, match="not the baseline's own"):
        write(make().baseline, b"{}\n", tmp_path / "main.json")


def test_writing_over_a_signed_baseline_removes_the_old_signature(tmp_path):
    made = make()
    path = tmp_path / "main.json"
    (tmp_path / "main.json.sig").write_text("old")
    write(made.baseline, made.companion, path)
    assert not (tmp_path / "main.json.sig").exists()


def test_a_baseline_that_does_not_exist_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(InputError, match="fineval baseline propose RUN"):
        load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda data: data.pop("valid_until"), 'missing key "valid_until"'),
        (lambda data: data["cases"]["reasoning-00"].update(scores=[1.5]), "scores"),
        (lambda data: data["cases"]["reasoning-00"].update(scores=[]), "scores"),
        (lambda data: data["cases"]["reasoning-00"].update(category="typo"), "typo"),
        (lambda data: data.update(cases={}), "cases"),
        (lambda data: data.update(format=7), "format 7"),
        (lambda data: data.update(extra=1), "extra"),
        (lambda data: data["policy"].pop("alpha"), r"policy\.alpha"),
        (lambda data: data.update(predecessor="abc"), "predecessor"),
    ],
)
def test_a_field_at_fault_is_named(tmp_path, change, fault):
    data = json.loads(make().baseline.to_bytes())
    change(data)
    path = tmp_path / "main.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=fault) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "nothing", '{"format": 1, "format": 1}', "[1]", "\xff"])
def test_a_file_that_is_no_baseline_is_refused(tmp_path, text):
    path = tmp_path / "main.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"main\.json"):
        load(path)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    text = make().baseline.to_bytes().decode()
    path = tmp_path / "main.json"
    path.write_text(text.replace('"reason": "first"', '"reason": "first", "reason": "second"'))
    with pytest.raises(InputError, match='"reason" stands in it twice'):
        load(path)


def test_nan_is_no_score(tmp_path):
    text = make().baseline.to_bytes().decode()
    path = tmp_path / "main.json"
    path.write_text(text.replace('"scores": [0.0]', '"scores": [NaN]'))
    with pytest.raises(InputError, match="scores"):
        load(path)


def test_samples_of_several_runs_add_up():
    made = make(*(whole(run_id=f"run-{k}") for k in range(5)))
    assert made.baseline.policy.samples == 5
    assert made.baseline.cases["reasoning-01"].scores == (1.0,) * 5
    assert not any("are advised" in text for text in made.warnings)


def test_fewer_than_five_samples_are_warned_of():
    assert any("5 are advised" in text for text in make().warnings)


def test_noise_is_the_share_of_pairs_of_samples_that_differ():
    one = run(
        {"extraction": [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], "reasoning": [[1.0, 1.0, 1.0]] * 2}
    )
    figures = make(one).baseline.aggregates
    assert figures["extraction"].noise == pytest.approx(1 / 3)
    assert figures["overall"].noise == pytest.approx(1 / 6)
    assert figures["overall"].mean == pytest.approx(11 / 12)
    assert any(text.startswith("extraction: 33.3%") for text in make(one).warnings)


def test_wilson_is_given_for_scores_of_0_and_1_only():
    one = run({"extraction": [[1.0]] * 20, "reasoning": [[0.5]] * 2})
    figures = make(one).baseline.aggregates
    assert figures["extraction"].wilson95 == pytest.approx((0.8388748419471806, 1.0))
    assert figures["reasoning"].wilson95 is None


def test_identical_samples_at_temperature_0_are_warned_of():
    made = make(whole(), whole(run_id="run-2"))
    assert any("drift at the provider" in text for text in made.warnings)


def test_the_predecessor_is_named_by_the_digest_of_its_bytes(tmp_path):
    old = tmp_path / "old.json"
    old.write_bytes(b"old bytes")
    expected = hashlib.sha256(b"old bytes").hexdigest()
    assert make(predecessor=old).baseline.predecessor == expected
    with pytest.raises(InputError, match="predecessor cannot be read"):
        make(predecessor=tmp_path / "gone.json")


def change(one, **fields):
    records = (one.records[0].model_copy(update=fields), *one.records[1:])
    return replace(one, records=records)


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (whole(incomplete="-k extraction"), r"incomplete \(-k extraction\)"),
        (whole(finished=None), "never finished"),
        (whole(split="smoke"), "the smoke split"),
        (replace(whole(), records=whole().records[1:]), r"lost extraction-00 \(new, sample 0\)"),
        (replace(whole(), repeated=(whole().records[0].key,)), "twice"),
        (change(whole(), status="pending"), r"\[embeddings\]"),
        (change(whole(), status="not_run", score=None), "not_run"),
        (change(whole(), status="unchecked", score=None), "unchecked"),
        (run(ones(4, ("extraction",))), "category reasoning has no case"),
        (run(ones(4, (*CATS, "typo"))), "typo"),
    ],
)
def test_a_run_that_measured_less_than_the_whole_cannot_be_proposed(bad, fault):
    with pytest.raises(InputError, match=fault):
        make(bad)


def test_a_run_with_a_client_error_cannot_be_proposed():
    one = whole()
    bad = replace(one, records=(errored(one.records[0].case), *one.records[1:]))
    with pytest.raises(InputError, match=r"extraction-00 .*: errored"):
        make(bad)


def test_no_run_and_no_reason_are_refused():
    with pytest.raises(InputError, match="at least one run"):
        proposal(categories=CATS)
    with pytest.raises(InputError, match="needs a reason"):
        make(reason=" ")


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (whole(), "given twice"),
        (whole(run_id="run-2", model=NEW), "another model"),
        (run(ones(5, CATS, wrong=1), run_id="run-2"), "other cases"),
        (whole(run_id="run-2", fields={"reasoning-00": {"scorer": "numeric@2"}}), "scorers"),
    ],
)
def test_runs_of_different_plans_do_not_add_up(other, fault):
    with pytest.raises(InputError, match=fault):
        make(whole(), other)


def test_one_recording_replayed_twice_is_not_two_samples():
    def replayed(run_id):
        one = whole(run_id=run_id)
        records = tuple(
            r.model_copy(update={"answer": r.answer.model_copy(update={"source": "recording"})})
            for r in one.records
        )
        return replace(one, records=records)

    with pytest.raises(InputError, match="replays the same recorded answers"):
        make(replayed("run-1"), replayed("run-2"))


def test_a_must_pass_case_has_to_be_right_in_every_sample():
    scores = {"extraction": [[1.0, 1.0]], "reasoning": [[1.0, 0.0]]}
    one = run(scores, fields={"reasoning-00": {"must_pass": True}})
    with pytest.raises(InputError, match="must-pass but not right in every sample: reasoning-00"):
        make(one)


def test_records_of_a_model_run_beside_are_not_taken():
    one = whole()
    beside = tuple(record(case, 0.0, model="beside") for case in one.manifest.planned)
    models = {**one.manifest.models, "beside": one.manifest.models["new"]}
    manifest = one.manifest.model_copy(update={"models": models})
    both = replace(one, manifest=manifest, records=(*one.records, *beside))
    assert make(both).baseline.cases == make(one).baseline.cases


def test_tracks_and_evidence_are_told_apart_only_where_there_are_several():
    assert labels([("own", "supplied")] * 3) == {("own", "supplied"): ""}
    assert labels([("own", "supplied"), ("finqa", "supplied"), ("finqa", "retrieval")]) == {
        ("own", "supplied"): "[own]",
        ("finqa", "supplied"): "[finqa, supplied]",
        ("finqa", "retrieval"): "[finqa, retrieval]",
    }


def test_aggregates_never_pool_two_tracks():
    fields = {f"reasoning-{k:02}": {"track": "finqa"} for k in range(2)}
    figures = make(run(ones(4, CATS, wrong=1), fields=fields)).baseline.aggregates
    assert {name: figure.n for name, figure in figures.items()} == {
        "reasoning[finqa]": 2,
        "overall[finqa]": 2,
        "extraction[own]": 4,
        "reasoning[own]": 2,
        "overall[own]": 6,
    }


def test_samples_asked_because_of_an_answer_stay_out_of_a_baseline():
    one = whole()
    wrong = one.records[0]
    further = wrong.model_copy(update={"sample": 3, "score": one.records[1].score})
    made = make(replace(one, records=(*one.records, further))).baseline
    assert made.cases[wrong.case.id].scores == make(one).baseline.cases[wrong.case.id].scores

"""Importing FinQA: what a model may see, and how both protocols score."""

import json

import pytest

from pytest_fineval.cases.files import read
from pytest_fineval.clients.base import build_request
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks import finqa
from pytest_fineval.tracks.base import read_records
from pytest_fineval.tracks.importing import import_track
from tests.shared import shared

RECORD = {
    "id": "AB/2001/page_1.pdf-1",
    "filename": "AB/2001/page_1.pdf",
    "pre_text": ["before ."],
    "post_text": ["after ."],
    "table": [["", "2001"], ["revenue", "$ 120"]],
    "qa": {
        "question": "what was the growth?",
        "answer": "20%",
        "exe_ans": 0.2,
        "program": "subtract(120, 100), divide(#0, 100)",
        "gold_inds": {"table_1": "gold evidence sentence"},
        "model_input": [["table_1", "retrieved evidence"]],
        "explanation": "an explanation",
    },
    "text_retrieved": [{"ind": "text_1"}],
}
SAMPLES = ["dev_sample.jsonl", "train_sample.jsonl"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([RECORD]), encoding="utf-8")
    return path


def cases_of(path):
    return [located.case for located in read(path, ["reasoning"])]


def test_a_json_list_is_imported_as_free_answers_scored_strictly(source, tmp_path):
    done = import_track("finqa", source, tmp_path / "cases.jsonl")
    [case] = cases_of(done.written[0])
    assert case.cluster == RECORD["filename"]
    assert case.gold.answer == 0.2
    scorer = prepare(case.scorer, case.gold)
    assert scorer.identity == "finqa/strict@1"
    assert scorer.score("It rose.\nAnswer: 20%").value == 1
    assert scorer.score("Answer: 20").value == 0


def test_the_program_protocol_is_another_track_scored_as_published(source, tmp_path):
    done = import_track("finqa-programs", source, tmp_path / "cases.jsonl")
    [case] = cases_of(done.written[0])
    assert (done.track.name, case.track) == ("finqa-programs", "finqa-programs")
    scorer = prepare(case.scorer, case.gold)
    assert scorer.identity == "finqa/official@0f16e286"
    score = scorer.score("divide(120, 100), subtract(#0, const_1)")
    assert score.parts == {"execution": 1.0, "program": 0.0}
    assert scorer.score("table_max(revenue, none), subtract(#0, 100), divide(#1, 100)").value == 1
    assert scorer.score("20%").failure == "no_structured_answer"


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_gold_only_text_reaches_any_candidate_or_request(name, programs):
    records = read_records(shared(f"data/finqa/{name}"))
    cases = (finqa.build_programs if programs else finqa.build)(records)
    for record, case in zip(records, cases, strict=True):
        qa = record.fields["qa"]
        request = build_request(case.candidate, ModelSettings(model="m")).model_dump_json()
        seen = case.candidate.model_dump_json() + request
        # The table is serialised with its own escapes: compare with what a model reads.
        shown = " ".join([*record.fields["pre_text"], *record.fields["post_text"]])
        for secret in (qa["program"], qa.get("program_re"), qa.get("explanation"), case.id):
            assert not secret or secret not in seen or secret in shown, (case.id, secret)
        for evidence, text in qa["model_input"]:
            assert evidence not in seen
            # A table row as a sentence exists only in the retrieved and the gold evidence.
            if evidence.startswith("table"):
                assert text not in seen
        for key in ("gold_inds", "model_input", "tfidftopn", "exe_ans", "retrieved", "steps"):
            assert f'"{key}' not in seen


@pytest.mark.parametrize("name", SAMPLES)
def test_gold_programs_as_answers_reach_execution_accuracy_one(name):
    for case in finqa.build_programs(read_records(shared(f"data/finqa/{name}"))):
        score = prepare(case.scorer, case.gold).score(case.gold.program)
        assert score.parts == {"execution": 1.0, "program": 1.0}, case.id


@pytest.mark.parametrize("name", SAMPLES)
def test_the_stored_answer_written_out_is_right_under_the_strict_rule(name):
    for case in finqa.build(read_records(shared(f"data/finqa/{name}"))):
        answer = case.gold.answer
        text = answer if isinstance(answer, str) else f"{answer:,.5f}"
        assert prepare(case.scorer, case.gold).score(f"Answer: {text}").value == 1, case.id


def test_a_record_without_its_question_is_named(tmp_path):
    path = tmp_path / "dev.jsonl"
    broken = RECORD | {"qa": {"exe_ans": 1.0, "program": "add(1, 0)"}}
    path.write_text(f"{json.dumps(RECORD)}\n{json.dumps(broken)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r'dev\.jsonl:2: missing key "qa\.question"'):
        import_track("finqa", path, tmp_path / "cases.jsonl")


@pytest.mark.parametrize("text", ["", "not json", "[1, 2]", '{"a": ', "5"])
def test_a_file_that_holds_no_records_is_refused(tmp_path, text):
    path = tmp_path / "dev.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"dev\.json"):
        import_track("finqa", path, tmp_path / "cases.jsonl")

"""What the real samples give: gold programs, published predictions, published flags."""

import json

import pytest

from pytest_fineval.cases.files import read
from pytest_fineval.clients.base import build_request
from pytest_fineval.clients.recording import Recordings
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.settings import CATEGORIES, ModelSettings
from pytest_fineval.tracks import catalogue, convfinqa, indiafinbench
from pytest_fineval.tracks.base import read_records
from pytest_fineval.tracks.faults import TAG
from pytest_fineval.tracks.importing import How, import_track
from tests.shared import shared

FILES = {
    "finqa": "finqa/dev_sample.jsonl",
    "finqa-programs": "finqa/train_sample.jsonl",
    "convfinqa": "convfinqa/dev_conversations.jsonl",
    "convfinqa-programs": "convfinqa/dev_conversations.jsonl",
    "convfinqa-own-history": "convfinqa/dev_conversations.jsonl",
    "tatqa": "tatqa/dev_sample.jsonl",
    "jfinqa": "jfinqa/questions_sample.jsonl",
    "indiafinbench": "indiafinbench/raw_sample.jsonl",
    "indiafinbench-flags": "indiafinbench/model_item_correct.jsonl",
    "financereasoning": "financereasoning/sample.jsonl",
    "financemath": "financemath/validation_sample.jsonl",
}


def data(name):
    return shared(f"data/{FILES[name]}")


def cases_of(path):
    return [located.case for located in read(path, CATEGORIES)]


def scored(case, text):
    return prepare(case.scorer, case.gold).score(text)


def built(name):
    return catalogue.find(name).track.build(read_records(data(name)))


@pytest.mark.parametrize("name", FILES)
def test_every_sample_imports_into_cases_that_can_be_scored(tmp_path, name):
    done = import_track(name, data(name), tmp_path / "cases.jsonl")
    cases = cases_of(done.written[0])
    assert len(cases) == done.cases > 0
    assert {case.track for case in cases} == {name}
    for case in cases:
        prepare(case.scorer, case.gold)


@pytest.mark.parametrize("file", ["dev_sample.jsonl", "train_sample.jsonl"])
def test_gold_programs_give_execution_accuracy_one_on_all_finqa_records(file):
    records = read_records(shared(f"data/finqa/{file}"))
    for case in catalogue.find("finqa-programs").track.build(records):
        assert scored(case, case.gold.program).parts == {"execution": 1.0, "program": 1.0}, case.id


@pytest.mark.parametrize("name", ["convfinqa-programs", "convfinqa-own-history-programs"])
def test_gold_programs_give_execution_accuracy_one_on_all_convfinqa_turns(name):
    records = read_records(data("convfinqa"))
    cases = catalogue.find(name).track.build(records)
    scores = {case.id: scored(case, case.gold.program).value for case in cases}
    assert set(scores.values()) == {1.0}
    turns = sum(len(record.fields["annotation"]["turn_program"]) for record in records)
    found = convfinqa.accuracy(cases, scores)
    assert found.turns == (turns, turns)
    assert found.conversations == (len(records), len(records))


def test_stored_answers_are_right_under_the_strict_rule_on_all_convfinqa_turns():
    for case in built("convfinqa"):
        answer = case.gold.answer
        text = answer if isinstance(answer, str) else f"{answer:,.5f}"
        assert scored(case, f"Answer: {text}").value == 1, case.id


def test_the_tatqa_sample_predictions_give_the_published_figures(tmp_path):
    predictions = shared("data/tatqa/sample_prediction_dev.json")
    done = import_track("tatqa", data("tatqa"), tmp_path / "c.jsonl", How(predictions=predictions))
    assert done.runs == {"sample_prediction_dev": 1248}
    model = ModelSettings(client="recording", model="sample_prediction_dev")
    recordings = Recordings.load(done.written[1])
    parts = []
    for case in cases_of(done.written[0]):
        answer = recordings.get(build_request(case.candidate, model).digest, 0)
        parts.append(prepare(case.scorer, case.gold).score(answer.text, answer.status).parts)
    means = {key: sum(part[key] for part in parts) / len(parts) for key in ("em", "f1", "scale")}
    expected = json.loads(shared("reference/aggregates.json").read_text())
    figures = expected["tatqa_sample_predictions_shared_subset"]
    assert len(parts) == figures["n"]
    for key, value in means.items():
        assert value == pytest.approx(figures[key], abs=1e-12), key


def test_the_indiafinbench_matrix_gives_the_recorded_paired_counts():
    rows = read_records(data("indiafinbench-flags"))
    expected = [
        json.loads(line)
        for line in shared("reference/indiafinbench_paired_counts.jsonl").read_text().splitlines()
    ]
    assert len(expected) > 200
    for row in expected:
        task = None if row["category"] == "ALL" else row["category"]
        found = indiafinbench.paired_counts(rows, row["a"], row["b"], task)
        for field in ("n", "both", "a_only", "b_only", "neither"):
            assert getattr(found, field) == row[field], row
        assert found.p == pytest.approx(row["mcnemar_exact_two_sided_p"], rel=1e-9)


def test_the_indiafinbench_flags_come_back_from_recorded_answers(tmp_path):
    source = data("indiafinbench-flags")
    few = tmp_path / "few.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()[:40]
    few.write_text("\n".join(lines), encoding="utf-8")
    done = import_track("indiafinbench-flags", few, tmp_path / "c.jsonl", How(predictions=few))
    cases = cases_of(done.written[0])
    for run, path in zip(done.runs, done.written[1:-1], strict=True):
        recordings = Recordings.load(path)
        model = ModelSettings(client="recording", model=run)
        right = [
            scored(case, recordings.get(build_request(case.candidate, model).digest, 0).text).value
            for case in cases
        ]
        assert right == [json.loads(line)["correct"][run] for line in lines]


@pytest.mark.parametrize("name", ["financereasoning", "financemath"])
@pytest.mark.parametrize("scorer", ["official", "strict"])
def test_ground_truths_written_out_are_right(name, scorer):
    track = catalogue.find(name).track.with_scorer(scorer)
    for case in track.build(read_records(data(name))):
        text = str(case.gold.answer)
        said = text if scorer == "official" else f"Some steps.\nAnswer: {text}"
        assert scored(case, said).value == 1, case.id


@pytest.mark.parametrize("scorer", ["official", "strict"])
def test_an_indiafinbench_reference_is_right_unless_it_is_flagged(scorer):
    track = catalogue.find("indiafinbench").track.with_scorer(scorer)
    for case in track.build(read_records(data("indiafinbench"))):
        assert scored(case, case.gold.answer).value == (TAG not in case.tags), case.id


def test_a_contradiction_item_shows_both_passages_and_the_other_layout_gives_the_same_gold():
    records = read_records(data("indiafinbench"))
    raw = next(r for r in records if r.fields["task_type"] == "contradiction_detection")
    [case] = indiafinbench.build([raw])
    assert raw.fields["context_a"] in case.candidate.text
    assert raw.fields["context_b"] in case.candidate.text
    flat = {
        "id": raw.fields["id"],
        "task_type": raw.fields["task_type"],
        "difficulty": raw.fields["difficulty"],
        "source": raw.fields["source"],
        "context": case.candidate.text,
        "question": raw.fields["question"],
        "reference_answer": raw.fields["answer"],
        "source_document": raw.fields["document_a"],
    }
    [other] = indiafinbench.build([type(raw)(raw.path, 1, flat)])
    assert other == case

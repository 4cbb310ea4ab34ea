"""Importing jfinqa: what the candidate holds, what is recorded, which faults are named."""

import json
from pathlib import Path

import pytest

from pytest_fineval.cases.files import read
from pytest_fineval.clients.base import build_request
from pytest_fineval.clients.recording import Recordings
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks import jfinqa
from pytest_fineval.tracks.base import Record, read_records
from pytest_fineval.tracks.importing import How, import_track
from tests.shared import shared

QUESTION = {
    "id": "nr_1",
    "subtask": "numerical_reasoning",
    "source_doc_id": "S1",
    "scale": "百万円",
    "pre_text": ["前文"],
    "post_text": ["後文"],
    "table": {"headers": ["項目", "金額"], "rows": [["売上高", "1,000"]]},
    "qa": {
        "question": "売上高は?",
        "answer": "1,000百万円",
        "program": ["add(1000.0, 0)"],
        "gold_evidence": [0],
    },
}
ROW = {"run": "m/1", "id": "nr_1", "subtask": "s", "predicted": "5%", "gold": "5%", "correct": True}


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def cases_of(path: Path):
    return [located.case for located in read(path, ["reasoning"])]


def test_the_candidate_holds_only_what_the_track_allows():
    [case] = jfinqa.build(records(QUESTION | {"notes_of_a_new_release": "secret 9,999"}))
    seen = case.candidate.model_dump_json()
    assert "9,999" not in seen
    assert "add(" not in seen
    assert "百万円" in seen
    assert case.gold.answer == "1,000百万円"
    assert case.cluster == "S1"


def records(*rows):
    return [Record(Path("x.jsonl"), n, row) for n, row in enumerate(rows, 1)]


def test_the_flat_layout_gives_the_same_case():
    flat = {key: value for key, value in QUESTION.items() if key not in {"qa", "table"}}
    flat |= {"table_headers": ["項目", "金額"], "table_rows": [["売上高", "1,000"]]}
    flat |= {"question": "売上高は?", "answer": "1,000百万円", "program": ["add(1000.0, 0)"]}
    assert jfinqa.build(records(flat)) == jfinqa.build(records(QUESTION))


def test_no_gold_only_text_reaches_a_real_candidate():
    for record in read_records(shared("data/jfinqa/questions_sample.jsonl")):
        [case] = jfinqa.build([record])
        seen = case.candidate.model_dump_json()
        for step in record.fields["qa"]["program"]:
            assert step not in seen
        for word in ("program", "gold", "answer", "evidence", record.fields["id"]):
            assert word not in seen


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (
            "model_runs_legacy1000.jsonl",
            {
                "gpt-4o": 870,
                "gpt-4o-mini": 677,
                "gemini-2.0-flash": 804,
                "qwen2.5-3b-instruct": 396,
            },
        ),
        (
            "model_runs.jsonl",
            {
                "gemini-2.5-flash__R0": 132,
                "gemini-2.5-flash__R1": 128,
                "gpt-5.4-mini__R0": 138,
                "gpt-5.4-mini__R1": 137,
            },
        ),
    ],
)
def test_recorded_runs_give_their_published_accuracies(tmp_path, name, right):
    source = shared(f"data/jfinqa/{name}")
    done = import_track("jfinqa", source, tmp_path / "cases.jsonl", How(predictions=source))
    cases = cases_of(done.written[0])
    got = {}
    for run in done.runs:
        recordings = Recordings.load(tmp_path / "recordings" / f"{run}.jsonl")
        model = ModelSettings(client="recording", model=run)
        got[run] = 0
        for case in cases:
            answer = recordings.get(build_request(case.candidate, model).digest, 0)
            got[run] += prepare(case.scorer, case.gold).score(answer.text, answer.status).value
    assert got == right


def test_a_run_name_becomes_a_safe_file_name(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW)
    done = import_track("jfinqa", source, tmp_path / "out" / "c.jsonl", How(predictions=source))
    assert done.written[1] == tmp_path / "out" / "recordings" / "m_1.jsonl"
    assert done.runs == {"m/1": 1}


def test_two_runs_that_would_share_a_file_are_refused(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW, ROW | {"run": "m:1"})
    with pytest.raises(InputError, match="would share the file"):
        import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=source))


def test_an_import_repeated_gives_the_same_bytes(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW, ROW | {"id": "nr_2", "predicted": " "})
    first = import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=source))
    before = [path.read_bytes() for path in first.written]
    again = import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=source))
    assert [path.read_bytes() for path in again.written] == before


def test_a_blank_prediction_is_an_empty_answer_and_counts_as_wrong(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW | {"predicted": " "})
    import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=source))
    [case] = cases_of(tmp_path / "c.jsonl")
    model = ModelSettings(client="recording", model="m/1")
    recordings = Recordings.load(tmp_path / "recordings" / "m_1.jsonl")
    assert recordings.get(build_request(case.candidate, model).digest, 0).status == "empty"


def test_rows_that_disagree_about_a_gold_are_refused_with_both_lines(tmp_path):
    other = ROW | {"run": "m2", "gold": "6%"}
    source = lines(tmp_path / "runs.jsonl", ROW, other)
    with pytest.raises(InputError, match=r"runs\.jsonl:2: .*line 1"):
        import_track("jfinqa", source, tmp_path / "c.jsonl")
    assert not (tmp_path / "c.jsonl").exists()


def test_predictions_of_another_release_are_refused_with_both_lines(tmp_path):
    questions = lines(tmp_path / "q.jsonl", QUESTION)
    runs = lines(tmp_path / "runs.jsonl", ROW)
    with pytest.raises(InputError, match=r"runs\.jsonl:1: .*line 1 of the cases' source"):
        import_track("jfinqa", questions, tmp_path / "c.jsonl", How(predictions=runs))


def test_a_prediction_without_a_case_and_a_double_prediction_are_refused(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW)
    stray = lines(tmp_path / "stray.jsonl", ROW | {"id": "nr_9"})
    with pytest.raises(InputError, match="not among the cases"):
        import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=stray))
    twice = lines(tmp_path / "twice.jsonl", ROW, ROW)
    with pytest.raises(InputError, match="already in line 1"):
        import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=twice))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qa": {"question": "q"}}, 'missing key "qa.answer"'),
        ({"subtask": 5}, '"subtask" has to be str, not int'),
        ({"table": {"headers": ["a"], "rows": ["x"]}}, '"table.rows" has to be a list of rows'),
        ({"id": "has space"}, '"id"'),
    ],
)
def test_a_broken_record_is_named_with_its_line(tmp_path, change, message):
    source = lines(tmp_path / "q.jsonl", QUESTION, QUESTION | {"id": "nr_2"} | change)
    with pytest.raises(InputError, match=message) as caught:
        import_track("jfinqa", source, tmp_path / "c.jsonl")
    assert caught.value.line == 2


def test_the_manifest_names_source_revision_digest_and_counts(tmp_path):
    source = lines(tmp_path / "runs.jsonl", ROW)
    import_track("jfinqa", source, tmp_path / "c.jsonl", How(predictions=source))
    entry = json.loads((tmp_path / "SOURCE.json").read_text())["c.jsonl"]
    assert entry["track"] == "jfinqa"
    assert entry["revision"].startswith("04831da9")
    assert len(entry["sha256"]) == 64
    assert entry["counts"] == {"records": 1, "cases": 1, "recorded_answers": {"m/1": 1}}

"""Imported tracks in a real run: what is asked, and how tracks stand beside each other."""

import json

import pytest

from pytest_fineval.cli import main
from pytest_fineval.errors import InputError
from pytest_fineval.store import run as runs
from pytest_fineval.tracks.figures import figures
from pytest_fineval.tracks.importing import How, import_track
from tests.http_server import ScriptedServer, error, ok

MATH = [
    {
        "question_id": f"validation-{n}",
        "question": f"What do {n} bonds cost at 1.5 each?",
        "tables": [],
        "python_solution": f"def solution():\n    return {n} * 1.5",
        "ground_truth": n * 1.5 + 0.25,
        "topic": "secret topic",
    }
    for n in (3, 4)
]
CONVERSATION = {
    "id": "Single_AB/2001/page_1.pdf-1",
    "filename": "AB/2001/page_1.pdf",
    "pre_text": ["the report ."],
    "post_text": ["its end ."],
    "table": [["", "2001", "2000"], ["revenue", "$ 120", "$ 96.5"]],
    "annotation": {
        "dialogue_break": ["revenue in 2001?", "and before?", "the change?"],
        "turn_program": ["120", "96.5", "subtract(120, 96.5)"],
        "exe_ans_list": [120.0, 96.5, 23.5],
    },
}


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def tracks(pytester):
    """A folder with two tracks imported and a test module each."""
    evals = pytester.path / "evals"
    evals.mkdir()
    for name, rows in (("financemath", MATH), ("convfinqa-own-history", [CONVERSATION])):
        source = lines(pytester.path / f"{name}.jsonl", rows)
        import_track(name, source, evals / "cases" / f"{name}.jsonl")
        function = name.replace("-", "_")
        (evals / f"test_{function}.py").write_text(
            f'import pytest\n\n\n@pytest.mark.fineval("cases/{name}.jsonl")\n'
            f"def test_{function}(fineval):\n    fineval.check()\n",
            encoding="utf-8",
        )
    return pytester


def asked_live(pytester, client, answer):
    with ScriptedServer(answer) as server:
        (pytester.path / "pyproject.toml").write_text(
            f'[tool.fineval]\ncandidate = "new"\n[tool.fineval.models.new]\nclient = "{client}"\n'
            f'base_url = "{server.url}"\nmodel = "m"\n',
            encoding="utf-8",
        )
        folder = pytester.path / "run"
        done = pytester.runpytest_inprocess(
            "evals", "-p", "no:randomly", "--fineval-live", "--fineval-gate", "off",
            "--fineval-run", str(folder),
        )  # fmt: skip
    return done, server.seen, runs.read(folder)


def test_a_live_run_sends_neither_gold_nor_ids_nor_tags(tracks):
    done, seen, run = asked_live(tracks, "openai-compatible", [ok("Answer: 7")])
    assert done.ret == 0
    assert len(seen) == len(run.records) == 5
    wire = json.dumps([[request.body, request.headers] for request in seen])
    for secret in ("4.75", "6.25", "23.5", "subtract(", "def solution", "secret topic"):
        assert secret not in wire
    for record in run.records:
        assert record.key.case not in wire
    assert "AB/2001" not in wire


def test_own_history_asks_every_turn_once_with_the_models_own_answers(tracks):
    client = "pytest_fineval.tracks.own_history:client"
    _, seen, run = asked_live(tracks, client, [ok("Answer: 120")])
    prompts = [request.body["messages"][-1]["content"] for request in seen]
    turns = [prompt for prompt in prompts if "Question 1: " in prompt]
    assert sorted(prompt.count("Answer 1: 120\n") for prompt in turns) == [0, 1, 1]
    assert sorted(prompt.count("Answer 2: 120\n") for prompt in turns) == [0, 0, 1]
    right = {record.key.case.split("#")[-1]: record.score.value for record in run.records}
    assert right["0"] == 1
    assert right["1"] == right["2"] == 0


def test_tracks_are_planned_apart_with_their_evidence(tracks):
    _, _, run = asked_live(tracks, "openai-compatible", [ok("Answer: 7")])
    planned = {(case.track, case.evidence, case.scorer) for case in run.manifest.planned}
    assert planned == {
        ("financemath", "supplied", "financemath/strict@1"),
        ("convfinqa-own-history", "supplied", "convfinqa/strict@1"),
    }
    sources = run.manifest.sources
    assert sources["evals/cases/financemath.jsonl"]["split"] == "validation"
    talk = sources["evals/cases/convfinqa-own-history.jsonl"]
    assert talk["revision"].startswith("cf3eed2d")


def test_a_case_file_changed_after_its_import_is_asked_nothing(tracks):
    path = tracks.path / "evals" / "cases" / "financemath.jsonl"
    path.write_text(path.read_text().replace("4.75", "4.76"))
    with ScriptedServer([ok("Answer: 7")]) as server:
        (tracks.path / "pyproject.toml").write_text(
            '[tool.fineval]\ncandidate = "new"\n[tool.fineval.models.new]\n'
            f'client = "openai-compatible"\nbase_url = "{server.url}"\nmodel = "m"\n',
            encoding="utf-8",
        )
        done = tracks.runpytest_inprocess("evals", "--fineval-live")
        assert server.seen == []
    assert done.ret == 4
    assert "was changed after its import" in done.stderr.str()


def test_figures_stand_with_everything_that_they_depend_on(tracks, capsys, monkeypatch):
    _, _, run = asked_live(tracks, "openai-compatible", [ok("Answer: 120")])
    monkeypatch.chdir(tracks.path)
    capsys.readouterr()
    assert main(["figures", str(run.folder), "--json"]) == 0
    talk, maths = map(json.loads, capsys.readouterr().out.splitlines())
    assert (talk["track"], maths["track"]) == ("convfinqa-own-history", "financemath")
    assert talk["source"]["revision"].startswith("cf3eed2d")
    assert maths["source"]["split"] == "validation"
    assert talk["evidence"] == "supplied"
    assert talk["scorer"] == "convfinqa/strict@1"
    assert talk["model"]["decoding"] == {"max_tokens": 256}
    assert talk["model"]["template"]
    assert (talk["attempted"], talk["submitted"], talk["scored"]) == (3, 3, 3)
    assert talk["score"] == pytest.approx(1 / 3)
    assert talk["conversations"]["turns"] == [1, 3]
    assert talk["conversations"]["conversations"] == [0, 1]
    assert maths["slices"]["language"] == {"en": {"n": 2, "mean": 0.0}}
    assert maths["conversations"] is None
    assert main(["figures", str(run.folder)]) == 0
    text = capsys.readouterr().out
    for words in (
        "revision cf3eed2d", "split", "attempted 3", "evidence supplied", "model m",
        "max_tokens 256", "scorer convfinqa/strict@1", "turns 1/3", "by language",
    ):  # fmt: skip
        assert words in text


def test_answers_that_never_came_count_as_zero_by_their_kind(tracks):
    _, _, run = asked_live(tracks, "openai-compatible", [error(400, "no such model")])
    found = figures(run, tracks.path)
    assert [each.score for each in found] == [0.0, 0.0]
    assert [sum(each.failures.values()) for each in found] == [3, 2]
    assert all(each.submitted == 0 for each in found)


def test_a_case_file_changed_after_its_import_gives_no_figures(tracks):
    _, _, run = asked_live(tracks, "openai-compatible", [ok("Answer: 120")])
    path = tracks.path / "evals" / "cases" / "financemath.jsonl"
    path.write_text(path.read_text().replace("4.75", "4.76"))
    with pytest.raises(InputError, match="was changed after its import"):
        figures(run, tracks.path)
    with pytest.raises(InputError, match='asked no model "other"'):
        figures(run, tracks.path, "other")


BENCH = {
    "financebench_id": "financebench_id_1",
    "doc_name": "X_2018_10K",
    "question_type": "metrics-generated",
    "question": "What is the peculiar expenditure (in USD millions)?",
    "answer": "$1577.31",
    "evidence": [{"evidence_text_full_page": "A restricted page about purchases."}],
}


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_no_text_of_a_restricted_benchmark_gets_into_a_report_or_a_run(pytester, suffix):
    root = pytester.path
    (root / "pyproject.toml").write_text(
        '[tool.fineval]\ncandidate = "new"\n'
        '[tool.fineval.licences]\nfinancebench = "CC-BY-NC-4.0"\n'
        '[tool.fineval.models.new]\nclient = "recording"\nmodel = "m"\n'
        'recordings = ".fineval/restricted/recordings/m.jsonl"\n',
        encoding="utf-8",
    )
    cases = root / ".fineval" / "restricted" / "cases.jsonl"
    answers = lines(root / "p.jsonl", [{"run": "m", "id": BENCH["financebench_id"],
                                        "predicted": "Answer: $12 million"}])  # fmt: skip
    import_track(
        "financebench-oracle", lines(root / "b.jsonl", [BENCH]), cases,
        How(predictions=answers), root=root,
    )  # fmt: skip
    (root / "evals").mkdir()
    (root / "evals" / "test_bench.py").write_text(
        'import pytest\n\n\n@pytest.mark.fineval("../.fineval/restricted/cases.jsonl")\n'
        "def test_bench(fineval):\n    fineval.check()\n",
        encoding="utf-8",
    )
    folder, report = root / "run", root / f"report.{suffix}"
    done = pytester.runpytest_inprocess(
        "evals", "-p", "no:randomly", "--fineval-gate", "off", "--fineval-run", str(folder)
    )
    assert done.ret == 0
    assert runs.read(folder).records[0].status == "wrong"
    assert main(["report", str(folder), "-o", str(report)]) == 0
    written = [report, *(path for path in folder.rglob("*") if path.is_file())]
    for path in written:
        data = path.read_bytes()
        for text in (b"peculiar expenditure", b"1577.31", b"restricted page"):
            assert text not in data, (path, text)
    assert b"withheld" in report.read_bytes()

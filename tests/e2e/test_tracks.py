"""Imports as a user makes them: from a hub at a pinned revision, and through pytest to figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_fineval.report.summary
import pytest_fineval.scoring.official.tatqa
import pytest_fineval.session.session  # noqa: F401 - loaded once, before pytester's first run here
from pytest_fineval.store import run as runs
from tests.hub_stub import HubStub
from tests.project import Project
from tests.shared import shared

REPO = "Rajveer-code/IndiaFinBench"
REVISION = "716228cefa5d3282c01cc8f282f70d9325065751"
README = b"""---
configs:
- config_name: default
  data_files:
  - split: dev
    path: data/dev.jsonl
  - split: test
    path: data/test.jsonl
---
# Made for a test
"""


def item(number, **changes):
    return {
        "id": f"REG_{number:03}",
        "task_type": "regulatory_interpretation",
        "difficulty": "easy",
        "source": "SEBI",
        "context": f"An issuer shall wait {number} days.",
        "question": "How long shall an issuer wait?",
        "reference_answer": f"{number} days",
        "source_document": f"doc_{number % 2}",
        **changes,
    }


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def files(test_rows):
    return {
        "README.md": README,
        "data/dev.jsonl": jsonl(item(100)),
        "data/test.jsonl": jsonl(*test_rows),
    }


def fineval(folder, url, *arguments):
    environment = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DOWNLOAD_TIMEOUT": "5",
        "HF_HUB_ETAG_TIMEOUT": "5",
    }
    return subprocess.run(
        [str(Path(sys.executable).with_name("fineval")), "import", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def hub():
    pytest.importorskip("datasets", reason="needs the extra [datasets]")
    with HubStub({(REPO, REVISION): files([item(n) for n in (7, 30, 90)])}) as stub:
        yield stub


SOURCE = f"hub:{REPO}@{REVISION}"


def test_a_pinned_hub_revision_is_imported_with_its_digest(hub, tmp_path):
    done = fineval(tmp_path, hub.url, "indiafinbench", SOURCE, "--split", "test", "-o", "c.jsonl")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["REG_007", "REG_030", "REG_090"]
    assert rows[0]["gold"]["answer"] == "7 days"
    assert "gold" not in json.dumps(rows[0]["candidate"])
    entry = json.loads((tmp_path / "SOURCE.json").read_text())["c.jsonl"]
    assert entry["revision"] == REVISION
    assert entry["file"] == f"hub:{REPO}"
    assert entry["split"] == "test"
    assert len(entry["sha256"]) == 64
    assert any(REVISION in path for path in hub.seen)
    assert not any("/resolve/main/" in path for path in hub.seen)

    pinned = ("--sha256", entry["sha256"])
    again = fineval(
        tmp_path, hub.url, "indiafinbench", SOURCE, "--split", "test", "-o", "c.jsonl", *pinned
    )
    assert again.returncode == 0, again.stderr


def test_a_revision_whose_content_changed_is_refused(hub, tmp_path):
    arguments = ("indiafinbench", SOURCE, "--split", "test", "-o", str(tmp_path / "c.jsonl"))
    assert fineval(tmp_path, hub.url, *arguments).returncode == 0
    hub.files[REPO, REVISION] = files([item(7), item(31), item(90)])
    elsewhere = tmp_path / "other-cache"
    elsewhere.mkdir()
    done = fineval(elsewhere, hub.url, *arguments)
    assert done.returncode == 4
    assert "one revision cannot be two things" in done.stderr


def test_an_unknown_revision_is_refused_even_when_another_is_cached(hub, tmp_path):
    arguments = ("indiafinbench", SOURCE, "--split", "test", "-o", "c.jsonl")
    assert fineval(tmp_path, hub.url, *arguments).returncode == 0
    unknown = f"hub:{REPO}@{'0' * 40}"
    done = fineval(tmp_path, hub.url, "indiafinbench", unknown, "--split", "test", "-o", "d.jsonl")
    assert done.returncode == 4
    assert "cannot be had" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "d.jsonl").exists()


def test_a_hub_that_is_away_answers_for_no_other_revision(tmp_path):
    pytest.importorskip("datasets", reason="needs the extra [datasets]")
    with HubStub({(REPO, REVISION): files([item(7)])}) as hub:
        url = hub.url
        arguments = ("--split", "test", "-o", "c.jsonl")
        assert fineval(tmp_path, url, "indiafinbench", SOURCE, *arguments).returncode == 0
    other = f"hub:{REPO}@{'1' * 40}"
    done = fineval(tmp_path, url, "indiafinbench", other, "--split", "test", "-o", "d.jsonl")
    assert done.returncode == 4
    assert not (tmp_path / "d.jsonl").exists()


def test_a_split_that_the_hub_does_not_have_is_named(hub, tmp_path):
    hub.files[REPO, REVISION] = {"data/test.jsonl": jsonl(item(7))}
    done = fineval(tmp_path, hub.url, "indiafinbench", SOURCE, "--split", "dev", "-o", "c.jsonl")
    assert done.returncode == 4
    assert "split dev" in done.stderr


def test_a_loading_script_is_never_run_and_its_json_file_is_read(hub, tmp_path):
    marker = tmp_path / "ran"
    script = f"from pathlib import Path\nPath({str(marker)!r}).touch()\n".encode()
    record = {
        "id": "AB/2001/page_1.pdf-1", "filename": "AB/2001/page_1.pdf", "pre_text": [],
        "post_text": ["a"], "table": [["", "2001"]],
        "qa": {"question": "q?", "answer": "2", "exe_ans": 2.0, "program": "add(1, 1)"},
    }  # fmt: skip
    hub.files["ibm/finqa", REVISION] = {
        "finqa.py": script,
        "data/dev.json": json.dumps([record]).encode(),
        "data/train.json": json.dumps([record]).encode(),
    }
    done = fineval(
        tmp_path, hub.url, "finqa", f"hub:ibm/finqa@{REVISION}", "--split", "dev", "--programs",
        "-o", "c.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not marker.exists()
    [case] = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert case["track"] == "finqa-programs"


@pytest.fixture
def imported(pytester, request):
    """A project whose cases and recorded answers were imported by the command line."""
    track, source, predictions = request.param
    project = Project(pytester)
    project.fineval(
        "import", track, str(shared(source)), "-o", "evals/cases/imported.jsonl",
        "--predictions", str(shared(predictions)), "--recordings", "evals/recordings",
    )  # fmt: skip
    project.models = [path.stem for path in (project.root / "evals" / "recordings").glob("*.jsonl")]
    return project


def run(project, model):
    """The records of a run of everything that was imported."""
    (project.root / "pyproject.toml").write_text(
        f'[tool.fineval]\ncandidate = "{model}"\n'
        + "".join(
            f'[tool.fineval.models.{name}]\nclient = "recording"\nmodel = "{name}"\n'
            for name in project.models
        ),
        encoding="utf-8",
    )
    (project.root / "evals" / "test_imported.py").write_text(
        'import pytest\n\n\n@pytest.mark.fineval("cases/imported.jsonl")\n'
        "def test_imported(fineval):\n    fineval.check()\n"
    )
    folder = project.root / "runs" / model
    done = project.pytest(
        *("-p", "no:randomly", "-q", "--fineval-model", model, "--fineval-gate", "off"),
        *("--fineval-run", str(folder)),
    )
    assert done.ret == 0
    return runs.read(folder).records


TATQA = ("tatqa", "data/tatqa/dev_sample.jsonl", "data/tatqa/sample_prediction_dev.json")


@pytest.mark.parametrize("imported", [TATQA], indirect=True)
def test_a_run_of_the_tatqa_sample_predictions_gives_the_published_figures(imported):
    records = run(imported, "sample_prediction_dev")
    figures = json.loads(shared("reference/aggregates.json").read_text())
    expected = figures["tatqa_sample_predictions_shared_subset"]
    assert len(records) == expected["n"]
    for part in ("em", "f1", "scale"):
        mean = sum(record.score.parts.get(part, 0.0) for record in records) / len(records)
        assert mean == pytest.approx(expected[part], abs=1e-12)
    folder = imported.root / "runs" / "sample_prediction_dev"
    shown = json.loads(imported.fineval("figures", str(folder), "--json").stdout)
    assert shown["parts"] == pytest.approx({part: expected[part] for part in shown["parts"]})
    assert sum(each["n"] for each in shown["slices"]["task"].values()) == expected["n"]


FLAGS = ("indiafinbench-flags", *("data/indiafinbench/model_item_correct.jsonl",) * 2)


@pytest.mark.parametrize("imported", [FLAGS], indirect=True)
def test_runs_of_the_indiafinbench_flags_give_the_recorded_paired_counts(imported):
    a, b = "gemini", "qwen3_32b"
    first, second = (
        {record.key.case: record.score.value == 1 for record in run(imported, model)}
        for model in (a, b)
    )
    lines = shared("reference/indiafinbench_paired_counts.jsonl").read_text().splitlines()
    (row,) = [
        row
        for row in map(json.loads, lines)
        if (row["a"], row["b"], row["category"]) == (a, b, "ALL")
    ]
    pairs = [(first[case], second[case]) for case in first]
    assert len(pairs) == row["n"]
    assert pairs.count((True, True)) == row["both"]
    assert pairs.count((True, False)) == row["a_only"]
    assert pairs.count((False, True)) == row["b_only"]

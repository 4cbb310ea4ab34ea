"""Real answers of strong models: import, sign, gate. The data are not part of the repository."""

import json

import numpy as np  # noqa: F401 - loaded once, before pytester's first run in this process
import pytest

import pytest_fineval.report.summary
import pytest_fineval.scoring.official.jfinqa
import pytest_fineval.session.session  # noqa: F401 - as above
from tests.project import Project
from tests.shared import shared


@pytest.fixture
def jfinqa(pytester, request):
    """A project made by `fineval import` from a file of real runs, as its users would make it."""
    source = shared(request.param)
    project = Project(pytester)
    cases = project.root / "evals" / "cases" / "jfinqa.jsonl"
    project.fineval(
        "import", "jfinqa", str(source), "-o", str(cases), "--predictions", str(source),
        "--recordings", str(project.root / "evals" / "recordings"),
    )  # fmt: skip
    lines = source.read_text(encoding="utf-8").splitlines()
    runs = sorted({json.loads(line)["run"] for line in lines})
    tables = [
        f'[tool.fineval.models."{run}"]\nclient = "recording"\nmodel = "{run}"\n'
        f'recordings = "evals/recordings/{run}.jsonl"'
        for run in runs
    ]
    (project.root / "pyproject.toml").write_text(
        "[tool.fineval]\n"
        f'candidate = "{runs[0]}"\nbaseline = "baselines/main.json"\ncategories = ["reasoning"]\n'
        + "\n".join(tables)
        + '\n[tool.pytest.ini_options]\naddopts = "-p no:randomly -p no:cacheprovider -q"\n',
        encoding="utf-8",
    )
    (project.root / "evals" / "test_jfinqa.py").write_text(
        'import pytest\n\n\n@pytest.mark.fineval("cases/jfinqa.jsonl")\n'
        "def test_jfinqa(fineval):\n    fineval.check()\n"
    )
    return project


def judged(project, model):
    folder = project.root / "runs" / model
    done = project.pytest("--fineval-model", model, "--fineval-run", str(folder))
    return done, project.verdict(folder)


@pytest.mark.parametrize("jfinqa", ["data/jfinqa/model_runs_legacy1000.jsonl"], indirect=True)
def test_gpt_4o_mini_is_blocked_against_gpt_4o_and_gpt_4o_passes_against_itself(jfinqa):
    jfinqa.baseline("gpt-4o")
    done, verdict = judged(jfinqa, "gpt-4o-mini")
    assert done.ret == 1
    assert verdict["outcome"] == "block"
    (check,) = [check for check in verdict["checks"] if check["name"].startswith("reasoning")]
    assert (check["n"], check["baseline"], check["candidate"]) == (1000, 0.87, 0.677)
    done, verdict = judged(jfinqa, "gpt-4o")
    assert done.ret == 0
    assert verdict["outcome"] == "pass"
    assert verdict["flips"] == []


@pytest.mark.parametrize("jfinqa", ["data/jfinqa/model_runs.jsonl"], indirect=True)
def test_two_runs_of_one_model_do_not_block_each_other(jfinqa):
    jfinqa.baseline("gpt-5.4-mini__R0")
    done, verdict = judged(jfinqa, "gpt-5.4-mini__R1")
    assert verdict["outcome"] in ("pass", "inconclusive")
    assert done.ret == 0

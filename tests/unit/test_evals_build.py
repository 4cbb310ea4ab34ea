"""The own suite: committed files are what the code builds, and gold is what the figures say."""

import importlib
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Case
from pytest_fineval.clients.base import render
from pytest_fineval.scoring.registry import prepare

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def build():
    sys.path.insert(0, str(ROOT))
    try:
        yield importlib.import_module("evals.build")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def suite(build):
    return {
        category: [Case.model_validate(case) for case in cases]
        for category, cases in build.suite().items()
    }


@pytest.fixture(scope="module")
def cases(suite):
    return [case for group in suite.values() for case in group]


def test_the_committed_files_are_byte_for_byte_what_the_code_builds(build, tmp_path):
    for path in build.write(tmp_path):
        assert (build.CASES / path.name).read_bytes() == path.read_bytes(), path.name
    assert {p.name for p in build.CASES.glob("*.jsonl")} == {p.name for p in tmp_path.iterdir()}


def test_ids_are_unique_and_clusters_are_single_within_a_category(suite, cases):
    assert max(Counter(case.id for case in cases).values()) == 1
    for group in suite.values():
        assert max(Counter(case.cluster for case in group).values()) == 1


def test_the_smoke_split_holds_one_case_a_document_and_every_category_alike(cases):
    smoke = [case for case in cases if "smoke" in case.splits]
    assert len(smoke) == 20
    assert len({case.cluster for case in smoke}) == 20
    assert set(Counter(case.category for case in smoke).values()) == {4}
    for case in smoke:
        assert "dev" not in case.splits
    assert {case.tags["difficulty"] for case in smoke} == {"easy", "medium", "hard"}


def test_every_scorer_accepts_its_gold_and_gives_it_full_marks(cases):
    for case in cases:
        scorer = prepare(case.scorer, case.gold)
        answer = case.gold.answer
        text = ", ".join(answer) if isinstance(answer, list) else str(answer)
        score = scorer.score(text)
        if score.pending:
            assert score.parts["rouge_l"] == 1, case.id
        else:
            assert score.value == 1, (case.id, score)


def test_an_empty_answer_gets_nothing(cases):
    for case in cases:
        score = prepare(case.scorer, case.gold).score("", "empty")
        assert score.value == 0
        assert score.failure == "empty"


def test_every_number_has_a_unit_and_a_declared_tolerance(suite):
    for case in suite["extraction"] + suite["reasoning"]:
        assert case.gold.unit, case.id
        assert {"abs_tol", "rel_tol"} & case.scorer.options.keys(), case.id
        if case.gold.unit == "USD":
            assert case.gold.scale in {1, 1_000, 1_000_000}


def test_yes_and_no_both_occur_among_the_right_answers(suite):
    asked = [case for case in suite["classification"] if case.scorer.name == "boolean"]
    assert {case.gold.positive for case in asked} == {"yes"}
    counts = Counter(case.gold.answer for case in asked)
    assert min(counts["yes"], counts["no"]) >= 2


def test_prompts_are_short_enough_for_a_small_model(cases):
    # 350 tokens; a token of such text is about three characters, digits fewer.
    for case in cases:
        assert len(render(case.candidate)) < 350 * 2.5, case.id


def test_a_figure_that_is_asked_for_stands_in_the_prompt(suite):
    for case in suite["extraction"]:
        shown = render(case.candidate).replace(",", "")
        assert str(Decimal(case.gold.answer)) in shown, case.id


def test_reasoning_gold_agrees_with_the_figures_computed_another_way(build):
    """Reasoning gold is recomputed here from the figures, by another way than the builders'."""
    by_id = {document.id: document for document in build.documents()}
    checked = 0
    for raw in build.suite()["reasoning"]:
        document = by_id[raw["cluster"]]
        entry = next(e for e in document.cases if e["category"] == "reasoning")
        figures = {line: [float(v) for v in row] for line, row in document.figures.items()}
        expected = {
            "total": lambda e, f: sum(f[line][0] for line in e["lines"]),
            "difference": lambda e, f: f[e["line"]][0] - f[e["of"]][0],
            "growth": lambda e, f: 100 * (f[e["line"]][0] / f[e["line"]][1] - 1),
            "share": lambda e, f: 100 * f[e["line"]][0] / f[e["of"]][0],
        }[entry["ask"]](entry, figures)
        assert float(raw["gold"]["answer"]) == pytest.approx(expected, abs=0.005), raw["id"]
        checked += 1
    assert checked >= 8


def test_a_ranking_with_a_tie_is_refused(build):
    from dataclasses import replace

    from evals.build.questions import rank

    document = next(d for d in build.documents() if len(d.figures) > 1)
    tied = replace(document, figures=dict.fromkeys(document.figures, (Decimal(1),)))
    with pytest.raises(ValueError, match="tie"):
        rank(tied, {"measure": "revenue", "items": "segments"})


def test_a_movement_is_worded_by_its_figures(build):
    document = next(d for d in build.documents() if d.id == "quorrel-10k24-fleet")
    assert document.movement("Fuel costs", "2024", "2023").startswith("fell to $71.9 million")
    assert document.movement("Fuel costs", "2023", "2024").startswith("rose to $90.3 million")


def test_a_loss_is_set_in_brackets_in_a_table(build):
    document = next(d for d in build.documents() if d.id == "caldmoor-10k24-result")
    assert ["Net income", "(27.8)"] in document.table()

"""The step rubric on what three real models answered to the project's own reasoning cases."""

import json
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Case, ScorerSpec
from pytest_fineval.scoring.registry import prepare

EVALS = Path(__file__).resolve().parents[2] / "evals"
CASES = {
    case.id: case
    for line in (EVALS / "cases/reasoning.jsonl").read_text(encoding="utf-8").splitlines()
    for case in [Case.model_validate_json(line)]
}
OPEN = {one for one, case in CASES.items() if "heldout" not in case.splits}
"""The cases whose answers are in the repository: those held out are recorded outside of it."""


def answers(model):
    lines = (EVALS / "recordings" / f"{model}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["case"] in CASES]


def scored(row, weight=0.0):
    case = CASES[row["case"]]
    spec = ScorerSpec(**case.scorer.options, name="steps", step_weight=weight)
    return prepare(spec, case.gold).score(row["answer"]["text"])


def found(model, case, sample=0):
    row = next(r for r in answers(model) if r["case"] == case and r["sample"] == sample)
    return scored(row)


@pytest.mark.parametrize("model", ["base", "requantised", "damaged"])
def test_without_weight_every_verdict_is_that_of_the_final_answer(model):
    rows = answers(model)
    assert {row["case"] for row in rows} == OPEN
    for row in rows:
        case, ours = CASES[row["case"]], scored(row)
        plain = ScorerSpec(**case.scorer.options, name="reasoning")
        alone = prepare(plain, case.gold).score(row["answer"]["text"])
        assert (ours.value, ours.failure, ours.span) == (alone.value, alone.failure, alone.span)


def test_a_right_sum_states_both_of_its_parts():
    score = found("base", "reasoning-harborquill-10k24-payouts")
    assert score.value == 1.0
    assert score.details["quantities"] == {
        "Dividends (2024)": True,
        "Share buybacks (2024)": True,
    }
    assert "chain_cause" not in score.details


def test_one_part_alone_earns_half_of_the_rubric():
    score = found("base", "reasoning-zephrine-10k24-netdebt", sample=1)
    assert score.value == 0.0
    assert score.details["quantities"] == {"Total debt (2024)": True, "Cash (2024)": False}
    assert score.parts["steps"] == 0.5
    assert score.details["chain_cause"] == "wrong_formula"


def test_a_right_expression_with_a_wrong_result_is_a_slip():
    # What the model answered to an earlier question: it was asked for service and interest cost.
    text = "The service cost plus interest cost was $4,118 + $11,240 = $52,258."
    case = CASES["reasoning-caldmoor-10k24-pension"]
    gold = case.gold.model_copy(update={"answer": "15358", "steps": case.gold.steps[:2]})
    score = prepare(case.scorer, gold).score(text)
    assert score.details["chain_cause"] == "arithmetic_slip"
    assert score.parts["steps"] == 1.0


def test_a_chain_of_wrong_figures_is_a_wrong_formula():
    score = found("requantised", "reasoning-caldmoor-10k24-pension")
    assert score.details["chain_cause"] == "wrong_formula"

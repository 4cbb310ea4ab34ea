"""IndiaFinBench: the published verdicts, what they do not see, and the scorer that does."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.official import indiafinbench as bench
from pytest_fineval.scoring.registry import prepare
from tests.shared import shared

TASKS = [
    "regulatory_interpretation",
    "numerical_reasoning",
    "temporal_reasoning",
    "contradiction_detection",
]
STRICT_DEVIATIONS = {
    "ifb-004": "negation",
    "ifb-006": "months are not days",
    "ifb-012": "another amount",
    "ifb-027": "another number",
    "ifb-028": "months are not days",
    "ifb-030": "1,00,000 is 100000",
    "ifb-033": "crore are not lakh",
    "ifb-042": "a contradiction is answered by the word yes or no",
    "ifb-043": "a contradiction is answered by the word yes or no",
    "ifb-044": "a contradiction is answered by the word yes or no",
    "ifb-048": "Yesterday is not yes",
    "ifb-060": "three is not read as 3",
}


def sample() -> list[dict]:
    path = shared("data/indiafinbench/raw_sample.jsonl")
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def test_the_strict_scorer_departs_in_the_documented_hand_made_rows():
    differs = set()
    for line in shared("reference/indiafinbench_scorer.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        right, _ = bench.strictly_correct(row["reference"], row["pred"], row["task_type"])
        if row["source"] == "handmade" and right != bool(row["correct"]):
            differs.add(row["case_id"])
    assert differs == set(STRICT_DEVIATIONS)


def test_the_published_scorer_takes_a_negated_reference_and_the_strict_one_does_not():
    items = [item for item in sample() if item["task_type"] != bench.CONTRADICTION]
    negated = [("not " + item["answer"], item) for item in items]
    taken = sum(bench.correct(i["answer"], text, i["task_type"]) for text, i in negated)
    strictly = sum(bench.strictly_correct(i["answer"], t, i["task_type"])[0] for t, i in negated)
    assert taken >= 0.99 * len(items)
    assert strictly <= 0.02 * len(items)


def test_both_scorers_take_every_reference_that_answers():
    for item in sample():
        answers = not bench.is_non_answer(item["answer"])
        assert bench.correct(item["answer"], item["answer"], item["task_type"]) == answers
        right, _ = bench.strictly_correct(item["answer"], item["answer"], item["task_type"])
        assert right == answers


def test_the_whole_passage_as_the_answer_mostly_passes_only_the_published_scorer():
    items = [item for item in sample() if item["task_type"] != bench.CONTRADICTION]
    published = sum(bench.correct(i["answer"], i["context"], i["task_type"]) for i in items)
    strict = sum(
        bench.strictly_correct(i["answer"], i["context"], i["task_type"])[0] for i in items
    )
    assert published > 0.75 * len(items)
    assert strict < 0.3 * len(items)


def test_the_published_flags_give_the_recorded_paired_counts():
    path = shared("data/indiafinbench/model_item_correct.jsonl")
    items = [json.loads(line) for line in path.open(encoding="utf-8")]
    rows = 0
    for line in shared("reference/indiafinbench_paired_counts.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        counts = Counter(
            (item["correct"][row["a"]], item["correct"][row["b"]])
            for item in items
            if row["category"] in {"ALL", item["task_type"]}
        )
        got = (counts[1, 1], counts[1, 0], counts[0, 1], counts[0, 0])
        assert got == (row["both"], row["a_only"], row["b_only"], row["neither"])
        rows += 1
    assert rows == 248


@pytest.mark.parametrize(
    ("text", "failure"), [("", "empty"), ("FAIL: timeout", "no_answer"), ("days", None)]
)
def test_a_non_answer_is_named(text, failure):
    spec = ScorerSpec(name="indiafinbench/official", task_type="temporal_reasoning")
    score = prepare(spec, Gold(answer="Within 30 days")).score(text)
    assert score.failure == failure


@given(
    st.text(alphabet="yesno 0123456789.,()%cratdymlkh'-:", max_size=60) | st.text(max_size=40),
    st.text(max_size=30),
    st.sampled_from(TASKS),
    st.sampled_from(["official", "strict"]),
)
def test_no_text_raises_and_every_score_lies_between_0_and_1(text, reference, task, name):
    spec = ScorerSpec(name=f"indiafinbench/{name}", task_type=task)
    score = prepare(spec, Gold(answer=reference)).score(text)
    assert 0 <= score.value <= 1
    assert score.failure != "error", score.details


@pytest.mark.parametrize("text", ["1(a)" * 100_000, "section " * 60_000, "1" * 400_000])
def test_a_very_long_answer_ends(text):
    for name in ("official", "strict"):
        spec = ScorerSpec(name=f"indiafinbench/{name}", task_type=TASKS[0])
        assert prepare(spec, Gold(answer="Within 30 days")).score(text).value == 0

"""TAT-QA: the published figures, and the strict reading of accounting numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.official import tatqa
from pytest_fineval.scoring.registry import prepare
from tests.shared import shared

STRICT_DEVIATIONS = {
    "tq-029": "(12.5%) is negative",
    "tq-039": "the number 0 is an answer",
    "tq-048": "the number 0 is an answer, wrong here (scale score)",
    "tq-049": "the number 0 is an answer, wrong here (scale score)",
    "tq-057": "($300) is negative",
    "tq-080": "a count may be written 3.0; the published scorer stops",
    "tq-100": "(1,234) is negative, also in the gold",
    "tq-152": "None answers nothing",
    "tq-154": "Million is no scale of the data set",
    "tq-156": "a scale of None is none; the published scorer stops",
    "tq-157": "a scale of None is none (scale score)",
}


def score(text: str, answer: object, scale: str = "", kind: str = "arithmetic", name="official"):
    spec = ScorerSpec(name=f"tatqa/{name}", answer_type=kind, scale=scale)
    return prepare(spec, Gold(answer=answer)).score(text)


def test_the_published_sample_predictions_give_the_published_figures():
    predictions = json.loads(shared("data/tatqa/sample_prediction_dev.json").read_text("utf-8"))
    totals, n = [0.0, 0.0, 0.0], 0
    for line in shared("data/tatqa/dev_sample.jsonl").open(encoding="utf-8"):
        for question in json.loads(line)["questions"]:
            answer, scale = predictions[question["uid"]]
            got = tatqa.score(
                question["answer_type"], question["answer"], question["scale"], answer, scale
            )
            assert got.error is None
            totals = [a + b for a, b in zip(totals, (got.em, got.f1, got.scale), strict=True)]
            n += 1
    assert n == 1248
    assert [round(total / n, 6) for total in totals] == [0.451122, 0.579391, 0.904647]


def test_the_strict_metric_departs_in_the_documented_rows_and_no_others():
    differs = set()
    for line in shared("reference/tatqa_metric.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        gold = row["gold"]
        strict = tatqa.strict_score(
            gold["answer_type"], gold["answer"], gold["scale"], row["pred"], row["pred_scale"]
        )
        if (strict.em, strict.f1, strict.scale) != (row["em"], row["f1"], row["scale_score"]):
            differs.add(row["case_id"])
    assert differs == set(STRICT_DEVIATIONS)


def test_a_prediction_is_an_answer_with_a_scale():
    assert tatqa.prediction('[123.4, "million"]') == (123.4, "million")
    assert tatqa.prediction('{"answer": ["a", "b"], "scale": ""}') == (["a", "b"], "")
    assert tatqa.prediction("So it is\nAnswer: 12.5%") == ("12.5%", "")
    assert tatqa.prediction('["china", "usa"]') == ('["china", "usa"]', "")


def test_scale_and_number_count_together():
    assert score('[123.4, "million"]', 123.4, "million").value == 1
    assert score("123400000", 123.4, "million").value == 1
    assert score("123.4", 123.4, "million").value == 0
    assert score("0.125", 12.5, "percent").value == 1


def test_f1_may_be_the_score():
    spec = ScorerSpec(name="tatqa/official", answer_type="span", metric="f1")
    got = prepare(spec, Gold(answer=["net income"])).score("income")
    assert got.value == 0.67
    assert got.parts == {"em": 0.0, "f1": 0.67, "scale": 1.0}


def test_zero_is_an_answer_only_under_the_strict_scorer():
    assert score('[0, ""]', 0).value == 0
    assert score('[0, ""]', 0, name="strict").value == 1
    assert score('[0, "million"]', 0.001, "million", name="strict").value == 0


def test_what_the_published_scorer_stops_at_scores_0_and_says_so():
    got = score('{"answer": 5, "scale": null}', 5, "million")
    assert (got.value, got.details["raised"]) == (0, "AttributeError")


@pytest.mark.parametrize(
    ("kind", "answer"), [("span", "x"), ("arithmetic", ["x"]), ("count", None)]
)
def test_a_gold_of_the_wrong_kind_is_named(kind, answer):
    with pytest.raises(InputError, match=r"gold\.answer"):
        score("x", answer, kind=kind)


VALUES = (
    st.text(alphabet="0123456789.,-+%() $eEmilonthe\n", max_size=30)
    | st.text(max_size=20)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.none()
)


@given(
    VALUES | st.lists(VALUES, max_size=4),
    st.sampled_from([*tatqa.SCALES, "Million", "%", None]),
    st.sampled_from(["official", "strict"]),
)
def test_no_prediction_raises_and_every_score_lies_between_0_and_1(answer, scale, name):
    text = json.dumps({"answer": answer, "scale": scale})
    for kind, gold in (("arithmetic", -12.5), ("span", ["net income"]), ("count", 3)):
        got = score(text, gold, "percent", kind, name)
        assert 0 <= got.value <= 1
        assert got.failure != "error", got.details


@pytest.mark.parametrize("text", ["1" * 300_000, "1." * 150_000, "( " * 150_000, "a 1 " * 75_000])
def test_a_very_long_answer_ends(text):
    assert score(text, 12.5).value == 0
    assert score(text, 12.5, name="strict").value == 0

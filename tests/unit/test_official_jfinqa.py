"""jfinqa: the published metric row by row, and where the strict one parts from it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.official import jfinqa
from pytest_fineval.scoring.registry import prepare
from tests.shared import shared

STRICT_DEVIATIONS = {
    "jf-030": "a closing full stop changes no answer",
    "jf-035": "another fiscal year is another answer",
    "jf-039": "an empty output answers nothing",
    "jf-051": "points are no plain number",
    "jf-052": "basis points are no plain number",
    "jf-053": "dollars are not yen",
    "jf-054": "dollars are not yen",
    "jf-066": "accounting parentheses are negative",
    "jf-067": "accounting parentheses are negative",
    "jf-073": "a sentence around the number is not the number alone",
    "jf-079": "a Unicode minus is a minus",
    "jf-084": "thousand yen are not million yen",
    "jf-085": "mixed multipliers add up",
}


def score(name: str, text: str, gold: str, **fields: float) -> float:
    return prepare(ScorerSpec(name=f"jfinqa/{name}"), Gold(answer=gold, **fields)).score(text).value


def test_the_official_match_equals_the_published_flag_in_all_4600_rows():
    seen = 0
    for name in ("model_runs.jsonl", "model_runs_legacy1000.jsonl"):
        for line in shared(f"data/jfinqa/{name}").open(encoding="utf-8"):
            row = json.loads(line)
            scorer = prepare(ScorerSpec(name="jfinqa/official"), Gold(answer=row["gold"]))
            assert scorer.score(row["predicted"]).value == row["correct"], row
            seen += 1
    assert seen == 4600


def test_the_strict_match_departs_in_the_documented_rows_and_no_others():
    differs = set()
    for line in shared("reference/jfinqa_metric.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        if score("strict", row["pred"], row["gold"]) != row["numerical_match_1pct"]:
            differs.add(row["case_id"])
    assert differs == set(STRICT_DEVIATIONS)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("△1.2%", "-1.2%"),
        ("1.2%減少", "-1.2%"),
        ("答え: 42.5%", "42.5%"),
        ("50億円", "5,000百万円"),
        ("５０", "50%"),
        ("増収しました。", "増収"),
    ],
)
def test_strict_accepts_the_same_value_written_otherwise(answer, gold):
    assert score("strict", answer, gold) == 1


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("1.2%", "-1.2%"),
        ("-1.2%減少", "-1.2%"),
        ("0.425", "42.5%"),
        ("42.5ポイント", "42.5%"),
        ("50億円", "50百万円"),
        ("12,34", "1234"),
        ("2023年3月期", "2024年3月期"),
        ("減収", "増収"),
    ],
)
def test_strict_rejects_a_lost_sign_unit_scale_or_period(answer, gold):
    assert score("strict", answer, gold) == 0


def test_a_declared_scale_decides_what_an_amount_without_unit_means():
    assert score("strict", "24,956百万円", "24956", scale=1e6) == 1
    assert score("strict", "24,956千円", "24956", scale=1e6) == 0
    assert score("strict", "24,956千円", "24956") == 1


def test_the_official_scorer_is_named_after_the_revision_it_reproduces():
    scorer = prepare(ScorerSpec(name="jfinqa/official"), Gold(answer="1"))
    assert scorer.identity == f"jfinqa/official@{jfinqa.REVISION[:8]}"


def test_a_gold_that_is_no_text_is_named():
    with pytest.raises(InputError, match=r"gold\.answer"):
        prepare(ScorerSpec(name="jfinqa/official"), Gold(answer=5))


PIECES = st.text(alphabet="0123456789.,-+%△−()年月期百万千億兆円増減¥$約答: \n", max_size=40)


@given(PIECES | st.text(max_size=60), PIECES, st.sampled_from(["official", "strict"]))
def test_no_text_raises_and_every_score_lies_between_0_and_1(answer, gold, name):
    result = prepare(ScorerSpec(name=f"jfinqa/{name}"), Gold(answer=gold)).score(answer)
    assert 0 <= result.value <= 1
    assert result.failure != "error"


def test_a_very_long_answer_is_scored_in_bounded_time():
    for answer in ("1" * 3_000_000, "1億" * 500_000, "(" * 1_000_000, "答え:" * 300_000):
        assert score("official", answer, "10%") == 0
        assert score("strict", answer, "10%") == 0

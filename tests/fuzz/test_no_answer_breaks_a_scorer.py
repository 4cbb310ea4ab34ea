"""No text makes a scorer raise, hang or score outside [0, 1]."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.registry import SCORERS, prepare
from pytest_fineval.scoring.score import FAILURES
from tests.fuzz.budget import tried
from tests.fuzz.texts import anything

USD = {"unit": "USD", "scale": 1e6}
ORDER = ["Alder", "Birch", "Cedar"]
TONES = ["positive", "negative", "neutral"]
RISKS = ["credit", "market", "liquidity"]
PROGRAM = "subtract(5, 3), divide(#0, 3)"
RUBRIC = [
    {"name": "net", "value": 5, "words": ["net"]},
    {"name": "rate", "value": 2, "unit": "percent", "abs_tol": 0.5},
]
GENEROUS = {
    "accept_bare_ratio": True,
    "accept_base_units": True,
    "accept_rounding": True,
    "dash_is_zero": True,
    "trailing_minus": True,
    "sign": "direction",
    "rel_tol": 0.005,
}


def bound(name, answer, options=None, **gold):
    """A scorer bound to a gold."""
    return prepare(ScorerSpec(name=name, **(options or {})), Gold(answer=answer, **gold))


CHAIN = [
    {"description": "Revenue grew by the difference", "value": 4},
    {"description": "Add the base", "value": 12},
]
OWN = [
    bound("numeric", 12, GENEROUS, **USD),
    bound("numeric", 12.5, {"locale": "de", "label": "Revenue"}, unit="EUR"),
    bound("numeric", 12.5, {"locale": "ru", "sign": "magnitude"}, unit="percent"),
    bound("numeric", 1.5, GENEROUS, unit="percent"),
    bound("numeric", 1.5, {"strict": True}, unit="x"),
    bound("numeric", 12, {"answer_format": "json"}, unit="count"),
    bound("numeric", 2024, unit="year"),
    bound("numeric", 3, unit="rank"),
    bound("numeric", 30, unit="MW"),
    bound("numeric", 30, unit="days"),
    bound("numeric", 1.2, unit="USD/share"),
    bound("numeric", None, {"unanswerable": True}, unit="INR", scale=1e7),
    bound("reasoning", 12, unit="bps"),
    bound("steps", 12, {"step_weight": 0.5, "rel_tol": 0.005}, steps=RUBRIC, **USD),
    bound("steps", 12.5, {"locale": "ru"}, steps=RUBRIC, unit="percent"),
    bound("chain", 12, {"metric": "fuzzy_f1"}, steps=CHAIN, **USD),
    bound("chain", 12.5, {"profile": "lenient", "locale": "ru"}, steps=CHAIN, unit="percent"),
    bound("label", "positive", labels=TONES),
    bound("label", "B", labels=["A", "B", "C"]),
    bound("label", "AA+", {"literal": True}, labels=["AAA", "AA+", "AA-"]),
    bound("exact", "Alder"),
    bound("boolean", True),
    bound("ranking", ORDER, {"honour_stated_direction": True}),
    bound(
        "ranking",
        ORDER,
        {
            "metric": "kendall",
            "on_missing": "tie_last",
            "on_extra": "ignore",
            "on_duplicate": "first",
        },
    ),
    bound("date", "2024-03-04"),
    bound("date", "2024", {"granularity": "fiscal_year", "fiscal_year_label": "end"}),
    bound("date", "2024-Q1", {"granularity": "quarter", "locale": "fr"}),
    bound("multi", {"revenue": 12, "net loss": 3}, {"metric": "fraction"}, **USD),
    bound("multi", [12, 13], {"ordered": True}, unit="percent"),
    bound("multi", ["credit"], {"item_kind": "label", "metric": "set_f1"}, labels=RISKS),
    bound("steps", 12, {"step_weight": 0.5}, unit="percent", steps=[{"name": "a", "value": 1.2}]),
    bound("summary", "Revenue fell by 12% to $1,234 million in FY2023."),
]

TABLE = {"table": [["row", "1", "2"]]}
RULES = {
    "regulatory_interpretation": "within 30 days of the order",
    "numerical_reasoning": "₹5 crore",
    "contradiction_detection": "Yes",
}
PUBLISHED = [
    bound("finqa/official", 0.66667, TABLE, program=PROGRAM),
    bound("convfinqa/official", 0.66667, TABLE, program=PROGRAM),
    bound("finqa/strict", 0.66667, program=PROGRAM),
    bound("convfinqa/strict", 0.66667, program=PROGRAM),
]
for form in ("official", "strict"):
    PUBLISHED += [
        bound(f"tatqa/{form}", "12", {"answer_type": "arithmetic", "scale": "percent"}),
        bound(f"tatqa/{form}", ["12", "credit"], {"answer_type": "multi-span", "scale": ""}),
        bound(f"jfinqa/{form}", "12.5%"),
        bound(f"jfinqa/{form}", "円"),
        bound(f"financereasoning/{form}", 12.5),
        bound(f"financemath/{form}", 12.5),
        *(bound(f"indiafinbench/{form}", gold, {"task_type": t}) for t, gold in RULES.items()),
    ]


def check(scorer, text):
    """The promises of a score, whatever the text."""
    score = scorer.score(text)
    assert "exception" not in score.details, (scorer.identity, score.details, text)
    assert math.isfinite(score.value), (scorer.identity, text)
    assert 0 <= score.value <= 1
    assert score.failure is None or score.failure in FAILURES
    if score.failure not in {None, "missing_items", "extra_items"}:
        assert score.value == 0
    if score.span is not None:
        assert 0 <= score.span[0] <= score.span[1] <= len(text)
    json.dumps([score.parsed, dict(score.parts), dict(score.details)], allow_nan=False)


def test_every_scorer_is_among_those_tried():
    tried_here = {scorer.identity.partition("@")[0] for scorer in [*OWN, *PUBLISHED]}
    assert tried_here == set(SCORERS)


@tried(500)
@given(st.sampled_from(OWN), anything)
def test_no_text_breaks_a_scorer(scorer, text):
    check(scorer, text)


@tried(300)
@given(st.sampled_from(PUBLISHED), anything)
def test_no_text_breaks_a_published_scorer_or_its_strict_form(scorer, text):
    check(scorer, text)


KEYS = ["answer", "label", "ranking", "unit", "scale", "currency", "revenue", "Alder"]
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), anything),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)


@tried(300)
@given(st.sampled_from(OWN), json_values, st.integers(0, 200))
def test_no_json_breaks_a_scorer_be_it_whole_or_cut_off(scorer, value, cut):
    text = json.dumps({"answer": value}) if cut % 2 else json.dumps(value)
    check(scorer, text[:cut] if cut > 100 else text)


@tried(40)
@given(st.sampled_from([*OWN, *PUBLISHED]), anything, st.integers(1, 3000))
def test_no_repetition_hangs_a_scorer(scorer, text, times):
    check(scorer, (text * times)[:60_000])


@pytest.mark.parametrize("scorer", [*OWN, *PUBLISHED], ids=lambda scorer: scorer.identity)
@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "{",
        "[",
        "1,",
        "9",
        "<think>",
        "\n1. ",
        "$",
        "or ",
        '{"a":',
        "<answer>",
        "\n" + " " * 3_998,
        "yes ",
    ],
)
def test_a_very_long_answer_is_read_to_its_end(scorer, unit):
    # Longer than the 4,300 digits that Python reads as an int.
    check(scorer, unit * (6_000 // len(unit)))

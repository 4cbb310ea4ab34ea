"""FinanceReasoning and FinanceMath: the published verdicts without evaluating text as code."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.official import financemath, financereasoning
from pytest_fineval.scoring.official.arithmetic import NoValueError, Opaque, read_expression
from pytest_fineval.scoring.registry import prepare
from tests.shared import shared

NAMES = [
    f"{name}/{kind}"
    for name in ("financereasoning", "financemath")
    for kind in ("official", "strict")
]

SHARED_DEVIATIONS = {
    "tol-036": "(100) is negative",
    "tol-040": "a calculation is not carried out",
    "tol-041": "a calculation is not carried out",
    "tol-042": "a calculation is not carried out",
    "tol-047": "two numbers are ambiguous",
    "tol-051": "words around a number do not hide it",
    "tol-065": "a calculation is not carried out",
    "tol-075": "0 is not false",
    "tol-076": "true is no number",
    "tol-100": "1_000 is no number outside of code",
    "tol-101": "0x64 is no number outside of code",
    "tol-103": "words around a number do not hide it",
}
STRICT_DEVIATIONS = {
    "financereasoning": SHARED_DEVIATIONS
    | dict.fromkeys(["tol-013", "tol-014"], "a scale word may be meant in full")
    | dict.fromkeys(["tol-017", "tol-021"], "12.5% may be meant as 0.125")
    | dict.fromkeys(["tol-079", "tol-080", "tol-081"], "two numbers are ambiguous"),
    "financemath": SHARED_DEVIATIONS
    | dict.fromkeys(
        ["tol-019", "tol-022", "tol-024", "tol-025", "tol-026", "tol-030", "tol-031"],
        "a factor of ten or a hundred is an error",
    )
    | dict.fromkeys(["tol-032", "tol-033"], "a lost sign is an error")
    | {
        "tol-056": "text without a number is not 0",
        "tol-064": "a calculation is not carried out",
        "tol-070": "Yes is yes in any casing",
        "tol-078": "True is no number",
    },
}


def score(name: str, text: str, gold: float | bool, **options: float):
    return prepare(ScorerSpec(name=name, **options), Gold(answer=gold)).score(text)


@pytest.mark.parametrize("bench", STRICT_DEVIATIONS)
def test_the_strict_scorer_departs_in_the_documented_rows_and_no_others(bench):
    key = {"financereasoning": "acc", "financemath": "acc_cot"}[bench]
    differs = set()
    for line in shared("reference/tolerance_scorers.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        if "pred_type" in row:
            continue
        if score(f"{bench}/strict", row["pred"], row["gold"]).value != row[bench][key]:
            differs.add(row["case_id"])
    assert differs == set(STRICT_DEVIATIONS[bench])


@pytest.mark.parametrize(
    ("folder", "bench"),
    [
        ("financereasoning/sample.jsonl", "financereasoning"),
        ("financemath/validation_sample.jsonl", "financemath"),
    ],
)
def test_every_ground_truth_is_right_when_it_is_given_back(folder, bench):
    for line in shared(f"data/{folder}").open(encoding="utf-8"):
        truth = json.loads(line)["ground_truth"]
        text = str(truth)
        assert score(f"{bench}/official", text, truth).value == 1, text
        assert score(f"{bench}/strict", f"So it is.\nAnswer: {text}", truth).value == 1, text


def test_the_published_tolerances_are_inclusive():
    assert score("financereasoning/strict", "100.2", 100).value == 1
    assert score("financereasoning/strict", "100.21", 100).value == 0
    assert score("financemath/strict", "100.15", 100).value == 1
    assert score("financemath/strict", "100.16", 100).value == 0
    assert score("financemath/strict", "100.16", 100, rel_tol=0.01).value == 1


def test_grouping_commas_are_right_under_the_strict_scorer_and_a_pair_under_the_published_one():
    assert score("financereasoning/official", "1,234.5", 1234.5).value == 0
    assert score("financereasoning/strict", "1,234.5", 1234.5).value == 1


def test_a_program_that_returned_nan_is_right_as_published():
    assert financemath.accurate_value(math.nan, 5.0)
    assert not financereasoning.accurate(math.nan, 5.0)


@pytest.mark.parametrize("gold", [None, "5", [5], 1e305])
def test_a_gold_that_is_no_number_or_bool_is_named(gold):
    for name in NAMES:
        with pytest.raises(InputError, match=r"gold\.answer"):
            score(name, "5", gold)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/3", 1 / 3),
        ("10^2", 8),
        ("-2**2", -4),
        ("1,234.5", (1, 234.5)),
        ("3 > 2", True),
        ("not 0", True),
        ("5 and 1,234", (1, 234)),
        ("0 or 7", 7),
        ("abs(-5)", 5),
        (" 5", 5),
        ("'a'", "a"),
        ("None", None),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text, expected):
    assert read_expression(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "1 << 100000",
        "'a' * 10",
        "[1] * 10",
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "open('x')",
        "().__class__",
        "[x for x in (1, 2)]",
        "f'{1}'",
        "x",
        "1/0",
        "1e400 - 'a'",
        "round('1')",
        "math.pow(10, 2)",
        "5 5",
        "(" * 250 + ")" * 250,
        "-" * 900 + "1",
        "1" * 2_000,
        "\x00",
    ],
)
def test_what_is_no_bounded_arithmetic_has_no_value(text):
    with pytest.raises(NoValueError):
        read_expression(text)


def test_the_name_of_a_function_is_a_thing_that_answers_nothing():
    assert isinstance(read_expression("max"), Opaque)
    assert score("financemath/official", "max", 0).value == 0
    assert read_expression("math.pow(10, 2)", with_math=True) == 100


TEXTS = st.text(alphabet="0123456789.,-+*/^%() []{}$=eExornTruefals\n'", max_size=40)


@given(TEXTS | st.text(max_size=40), st.floats(-1e9, 1e9) | st.booleans() | st.integers())
def test_no_text_raises_and_every_score_lies_between_0_and_1(text, gold):
    for name in NAMES:
        got = score(name, text, gold if abs(gold) < 1e300 else 0)
        assert 0 <= got.value <= 1
        assert got.failure != "error", got.details


@pytest.mark.parametrize("text", ["1" * 300_000, "1+" * 100_000, "(" * 300_000, "," * 900 + "x"])
def test_a_very_long_answer_ends(text):
    for name in NAMES:
        assert score(name, text, 12.5).value == 0

"""Shown arithmetic worked out again, and the causes of wrong chains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.scoring.chains.arithmetic import shown_arithmetic, slips
from pytest_fineval.scoring.chains.causes import diagnose
from pytest_fineval.scoring.chains.parse import parse_chain


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("Taxable income = 307,821 - 109,319 = 198,502.", "en"),
        ("Real return = 12.33% - 4.55% = 7.78%.", "en"),
        ("8% / 4 = 2%", "en"),
        ("1.02^12 = 1.2682", "en"),
        ("$5,000 × 1.2682 = $6,341.21", "en"),
        ("Margin = 300 / 900 = 33.33%", "en"),
        ("(12% − 3%)/15% = 0.6", "en"),
        ("(1.0744 - 1) × 100% = 7.44%", "en"),
        ("PV = 400⁄1.1 = 363.64", "en"),
        ("NPV = -700 + 363.64 + 413.22 = 76.86", "en"),
        ("max(0, 115.19-73.51) = 41.68", "en"),
        ("Loss = 100 - 150 = (50)", "en"),
        ("2 * (3 + 4)(5) = 70", "en"),
        ("НДС = 500 000 × 20% = 100 000", "ru"),
        ("EV = 2,5 млрд + 500 млн = 3 млрд руб.", "ru"),
        ("12 + 1 = 13", "en"),
    ],
)
def test_right_arithmetic_holds(text, locale):
    shown = shown_arithmetic(text, locale)
    assert len(shown) == 1
    assert shown[0].holds


@pytest.mark.parametrize(
    ("text", "locale", "worked_out"),
    [
        ("198,502 × 0.13 = 25,705.", "en", 25805.26),
        ("1,2 млн - 0,9 млн = 0,4 млн", "ru", 300000),
        ("12 + 1 = 14", "en", 13),
        ("100 - 150 = 50", "en", -50),
        ("1.5 x 4 = 7", "en", 6),
    ],
)
def test_a_slip_is_found_and_worked_out(text, locale, worked_out):
    shown = shown_arithmetic(text, locale)
    assert not shown[0].holds
    assert shown[0].worked_out == pytest.approx(worked_out)


@pytest.mark.parametrize(
    "text",
    [
        "Revenue = 500",
        "x = 100 × rate = 5",
        "1/0 = 5",
        "9^9^9^9 = 5",
        "(2 + 3 = 5",
        "a = b",
        "2 + 3",
    ],
)
def test_what_is_no_arithmetic_of_numbers_is_left_alone(text):
    assert shown_arithmetic(text) == []


@given(st.text(alphabet="0123456789+-*/^()=., %$maxsqrt×", max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_text_raises(text):
    list(slips([text]))


@given(st.integers(-999, 999), st.integers(-999, 999), st.integers(1, 999))
@settings(max_examples=100, deadline=None)
def test_every_true_sum_and_product_holds(a, b, c):
    for expression, value in (
        (f"{abs(a)} + {abs(b)}", abs(a) + abs(b)),
        (f"({a} - {abs(b)}) × {c}", (a - abs(b)) * c),
    ):
        shown = shown_arithmetic(f"x = {expression} = {value}")
        assert [each.holds for each in shown] == [True]


BASE = "Step 1: 307,821 - 109,319 = 198,502\n"
GOLD = ([198502.0, 25805.26], 25805.26)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            f"{BASE}Step 2: 198,502 × 0.13 = 25,805.26\nAnswer: 25,805.26",
            None,
        ),
        (
            "Step 1: 307,821 - 109,319 = 198,502\nStep 2: 198,502 × 0.13 = 27,805\nAnswer: 27,805",
            "arithmetic_slip",
        ),
        (
            f"{BASE}Step 2: 307,821 × 0.13 = 40,016.73\nAnswer: 40,016.73",
            "wrong_formula",
        ),
        ("Step 1: 307,821 × 0.13 = 41,016.73\nAnswer: 41,016.73", "wrong_formula"),
        ("Step 1: Find the income.\nStep 2: Multiply.", "missing_answer"),
        ("Step 1: 307,821 - 109,319 = 198,502\nAnswer: not enough information", "missing_answer"),
    ],
)
def test_the_cause_of_a_wrong_answer(text, cause):
    assert diagnose(parse_chain(text), *GOLD).cause == cause


def test_a_slip_is_shown_with_its_step():
    text = "Step 1: 307,821 - 109,319 = 198,502\nStep 2: 198,502 × 0.13 = 27,805\nAnswer: 27,805"
    found = diagnose(parse_chain(text), *GOLD)
    assert found.step == 1
    assert found.shown.expression == "198,502 × 0.13"
    assert found.slips == 1


def test_the_scorer_decides_what_is_right():
    chain = parse_chain("Step 1: x = 5\nAnswer: 26,000")
    assert diagnose(chain, *GOLD).cause is None
    assert diagnose(chain, *GOLD, correct=False).cause == "wrong_formula"

"""Numeric answers: the right number passes, a wrong one fails, and the record says why."""

from decimal import Decimal

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.scoring.number import decimal_of, plain_digits
from pytest_fineval.scoring.score import FAILURES
from tests.unit.answer_rows import of_kind, scored, scorer
from tests.vectors.answers import check


@pytest.mark.parametrize("row", of_kind("numeric"))
def test_a_recorded_answer_gets_its_value_score_and_failure(row):
    assert check(row) == []


def test_the_span_leads_back_to_the_raw_text():
    text = "<think>5?</think>\n**Answer:** $\\boxed{\\$7{,}250}$ in all"
    start, end = scored("numeric", text, 7250, unit="USD").span
    assert "7{,}250" in text[start:end]
    assert len(text[start:end]) <= len("\\$7{,}250")


def test_the_span_of_a_json_answer_is_its_object():
    text = 'Sure:\n```json\n{"answer": 12}\n```'
    start, end = scored("numeric", text, 12, unit="count").span
    assert text[start:end] == '{"answer": 12}'


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        ("error", "error"),
        ("truncated", "truncated"),
        ("empty", "empty"),
        ("filtered", "refusal"),
    ],
)
def test_the_status_of_the_client_comes_before_the_text(status, failure):
    score = scored("numeric", "Answer: 5", 5, unit="count", status=status)
    assert (score.value, score.failure, score.parsed) == (0, failure, None)


def test_a_second_value_is_flagged_and_fails_only_a_strict_case():
    text = "Sales were $5 million. Profit was $7 million."
    loose = scored("numeric", text, 7, unit="USD", scale=1e6)
    assert (loose.value, loose.ambiguous, loose.stage) == (1, True, "last_candidate")
    strict = scored("numeric", text, 7, unit="USD", scale=1e6, options={"strict": True})
    assert (strict.value, strict.failure) == (0, "ambiguous")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("-14.5%", "sign_flipped"),
        ("0.145%", "off_by_100"),
        ("1450%", "off_by_100"),
        ("145%", "off_by_10"),
        ("15%", None),
    ],
)
def test_a_likely_cause_is_reported_and_not_forgiven(text, cause):
    score = scored("numeric", text, 14.5, unit="percent")
    assert score.value == 0
    assert score.details.get("cause") == cause


def test_the_record_names_the_rule_that_passed():
    def passed(text, **options):
        return scored("numeric", text, 100, unit="USD", options=options).details["passed"]

    assert passed("100") == "exact"
    assert passed("100.4", abs_tol=0.5) == "abs"
    assert passed("100.4", rel_tol=0.005) == "rel"
    assert passed("100.4") is None


def test_no_tolerance_is_assumed():
    assert scored("numeric", "14.5001", 14.5, unit="percent").value == 0


def test_a_converted_duration_is_exact():
    assert scored("numeric", "18 months", 1.5, unit="years").value == 1
    assert scored("numeric", "7 quarters", 1.75, unit="years").value == 1


def test_the_candidates_are_kept_with_their_units():
    score = scored("numeric", "Sales rose 12% to $4.5 billion.", 12, unit="percent")
    kept = [(c["value"], c["unit"], c["problem"]) for c in score.details["candidates"]]
    assert ("12", "percent", None) in kept
    assert any(problem == "unit_mismatch" for _, _, problem in kept)


@pytest.mark.parametrize(
    ("gold", "fields", "named"),
    [
        ("plenty", {"unit": "USD"}, "gold.answer"),
        ("5 to 6", {"unit": "USD"}, "gold.answer"),
        (True, {"unit": "count"}, "gold.answer"),
        (None, {"unit": "USD"}, "gold.answer"),
        (2.5, {"unit": "count"}, "gold.answer"),
        (20, {"unit": "year"}, "gold.answer"),
        (0, {"unit": "rank"}, "gold.answer"),
        ("€5", {"unit": "USD"}, "gold.answer"),
        (5, {}, "gold.unit"),
        (5, {"unit": "XXQ/share"}, "gold.unit"),
    ],
)
def test_a_gold_that_cannot_be_right_is_refused_by_field(gold, fields, named):
    with pytest.raises(InputError, match=named):
        scorer("numeric", gold, **fields)


def test_a_gold_in_words_of_its_unit_is_read_as_an_answer_is():
    assert scored("numeric", "1,577", "$1.577 billion", unit="USD", scale=1e6).value == 1


@pytest.mark.parametrize(
    ("token", "locale", "plain"),
    [
        ("1,00,000", "en", "100000"),
        ("1.234,5", "en", "1234.5"),
        ("1.234", "de", "1234"),
        ("1.234", "en", "1.234"),
        ("1,234", "fr", "1.234"),
        ("0,123", "en", "0.123"),
        ("11,11.11", "en", None),
        ("1,2,3", "en", None),
        (".5", "en", "0.5"),
        ("1'234.5", "en", "1234.5"),
        ("0.145'10", "en", None),
        ("1'234.5_6", "de", None),
    ],
)
def test_digits_and_separators_become_a_plain_number(token, locale, plain):
    assert plain_digits(token, locale) == plain


def test_a_whole_text_is_a_number_or_none():
    assert decimal_of("(1,234.50)") == Decimal("-1234.50")
    assert decimal_of("12 apples") is None
    assert decimal_of("$12") is None
    assert decimal_of("") is None


def test_every_failure_of_the_rows_is_a_known_kind():
    seen = {row.values[0]["failure"] for row in of_kind("numeric")} - {None}
    assert seen <= set(FAILURES)
    assert {"range", "ambiguous", "wrong_currency", "malformed_number", "out_of_range"} <= seen


def test_a_currency_before_a_scale_word_is_looked_for_within_the_text_only():
    assert scored("numeric", "USD million 5", "5", unit="USD", scale=1e6).value == 1
    for text in (" million 1. $", "million 1. €"):
        found = scored("numeric", text, "5", unit="USD", scale=1e6)
        assert found.span is None or 0 <= found.span[0] <= found.span[1] <= len(text)

"""ROUGE-L and the summary scorer."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.scoring.embeddings import ENCODER, EmbeddingCache
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.text import complete, finish_pending, rouge_l, tokens

REFERENCE = "Revenue rose 6.3% to $412.6 million because of higher prices."
ASCII = st.text(st.characters(min_codepoint=9, max_codepoint=126), max_size=120)


def summary(reference=REFERENCE):
    return prepare(ScorerSpec(name="summary"), Gold(answer=reference))


def official(reference, answer):
    module = pytest.importorskip(
        "rouge_score.rouge_scorer", reason="rouge-score is a development dependency"
    )
    return module.RougeScorer(["rougeL"], use_stemmer=False).score(reference, answer)["rougeL"]


def same(reference, answer):
    ours, theirs = rouge_l(answer, reference), official(reference, answer)
    assert ours.precision == pytest.approx(theirs.precision, abs=1e-12)
    assert ours.recall == pytest.approx(theirs.recall, abs=1e-12)
    assert ours.f1 == pytest.approx(theirs.fmeasure, abs=1e-12)


def sentence(rng):
    subjects = ("Revenue", "Net income", "The provision for credit losses", "Free cash flow")
    verbs = ("rose", "fell", "was unchanged, moving", "climbed sharply")
    reasons = ("higher prices", "the year-ago divestiture", "weaker demand in Europe", "FX")
    return (
        f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.uniform(0, 40):.1f}% to "
        f"${rng.uniform(1, 9000):,.1f} million in Q{rng.randint(1, 4)} {rng.randint(2019, 2026)}"
        f"{rng.choice(('', ', the company said'))}, owing to {rng.choice(reasons)}."
    )


def test_rouge_l_equals_the_rouge_score_package_on_english_summaries():
    rng = random.Random(20261130)
    for _ in range(1_000):
        reference = " ".join(sentence(rng) for _ in range(rng.randint(1, 3)))
        words = sentence(rng).split() + reference.split()[: rng.randint(0, 12)]
        if rng.random() < 0.3:
            rng.shuffle(words)
        same(reference, " ".join(words))


@settings(deadline=None)  # the first example imports rouge-score
@given(ASCII, ASCII)
def test_rouge_l_equals_the_rouge_score_package_on_any_ascii_text(reference, answer):
    same(reference, answer)


def test_the_same_text_has_a_rouge_l_of_one_and_a_foreign_one_of_zero():
    assert rouge_l(REFERENCE, REFERENCE) == (1, 1, 1)
    assert rouge_l("nothing shared here", REFERENCE) == (0, 0, 0)


def test_precision_is_the_share_of_the_answer_and_recall_that_of_the_reference():
    figures = rouge_l("a b c d", "a c")
    assert (figures.precision, figures.recall) == (0.5, 1.0)
    assert figures.f1 == pytest.approx(2 / 3)


def test_the_order_of_words_counts():
    assert rouge_l("fell revenue", "revenue fell").f1 == 0.5


def test_texts_without_a_word_have_a_rouge_l_of_zero():
    assert rouge_l("", REFERENCE) == rouge_l("?!", REFERENCE) == rouge_l("x", "") == (0, 0, 0)


def test_russian_words_are_words():
    assert tokens("Выручка ВЫРОСЛА на 6,3 %") == ["выручка", "выросла", "на", "6", "3"]
    assert rouge_l("выручка упала", "Выручка выросла").f1 == 0.5


def test_hindi_words_are_not_split_at_vowel_signs():
    assert len(tokens("राजस्व बढ़ा")) == 2


def test_full_width_digits_and_ligatures_are_what_they_look_like():
    assert tokens("４１２ ﬁscal") == ["412", "fiscal"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_rouge_l_lies_between_zero_and_one_and_f1_is_symmetric(first, second):
    one, other = rouge_l(first, second), rouge_l(second, first)
    assert 0 <= one.f1 <= 1
    assert one.f1 == pytest.approx(other.f1)
    assert (one.precision, one.recall) == (other.recall, other.precision)


def test_a_very_long_answer_is_scored_in_bounded_time():
    assert rouge_l("revenue " * 500_000, REFERENCE).recall == pytest.approx(
        1 / len(tokens(REFERENCE))
    )


def test_the_scorers_identity_names_the_encoder():
    assert summary().identity == f"summary@1+{ENCODER}" == "summary@1+all-MiniLM-L6-v2-53aa5117"


def test_a_summary_waits_for_its_cosine():
    answer = "Revenue rose 6.3%."
    score = summary().score(answer)
    assert score.value == 0
    assert score.pending == ("cosine",)
    assert score.failure is None
    assert score.parts["rouge_l"] == pytest.approx(rouge_l(answer, REFERENCE).f1, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "status", "failure"),
    [
        ("", "empty", "empty"),
        (" \n", "ok", "empty"),
        ("", "error", "error"),
        (REFERENCE, "truncated", "truncated"),
        ("", "filtered", "refusal"),
    ],
)
def test_a_non_answer_fails_with_its_kind_and_waits_for_nothing(text, status, failure):
    score = summary().score(text, status)
    assert (score.value, score.failure, score.pending) == (0, failure, ())


@pytest.mark.parametrize("answer", [None, "", "  ", 5, ["a"]])
def test_a_summary_case_without_a_reference_text_is_refused(answer):
    with pytest.raises(InputError, match=r'"gold.answer"'):
        summary(answer)


def test_an_option_that_summary_does_not_have_is_refused():
    with pytest.raises(InputError, match="rel_tol"):
        prepare(ScorerSpec(name="summary", rel_tol=0.1), Gold(answer=REFERENCE))


def test_the_final_score_is_the_mean_of_both_parts():
    score = complete(summary().score(REFERENCE), 0.5)
    assert score.value == 0.75
    assert score.parts == {"rouge_l": 1.0, "cosine": 0.5}
    assert score.pending == ()


def test_a_negative_cosine_counts_as_zero_but_is_kept():
    score = complete(summary().score(REFERENCE), -0.2)
    assert score.value == 0.5
    assert score.parts["cosine"] == -0.2


def test_a_score_that_waits_for_nothing_stays_as_it_is():
    failed = Score(0.0, "summary@1", failure="empty")
    assert complete(failed, 0.9) is failed


def absent():
    raise MeasurementError("no encoder")


def test_cached_texts_need_no_encoder():
    cache = EmbeddingCache()
    cache.add("answer", [0.6, 0.8])
    cache.add("reference", [1.0, 0.0])
    assert finish_pending([("answer", "reference")], cache, absent) == [0.6]


def test_a_text_that_is_not_cached_without_an_encoder_is_an_error_not_a_zero():
    with pytest.raises(MeasurementError):
        finish_pending([("answer", "reference")], EmbeddingCache(), absent)


def test_without_pending_texts_no_encoder_is_made():
    assert finish_pending([], EmbeddingCache(), absent) == []

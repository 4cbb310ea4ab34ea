"""The own suite: committed files are what the code builds, and gold is what the figures say."""

import importlib
import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Case
from pytest_fineval.clients.base import render
from pytest_fineval.scoring.registry import prepare

ROOT = Path(__file__).resolve().parents[2]

# What the suite has to show, and in how many cases at least that are not held out, and over all.
COVERAGE = {
    "scale-in-header": (20, 40),
    "thousands": (5, 15),
    "millions": (60, 90),
    "lakh": (0, 5),
    "crore": (5, 5),
    "EUR": (10, 20),
    "INR": (5, 10),
    "RUB": (15, 25),
    "indian-format": (5, 10),
    "decimal-comma": (25, 40),
    "accounting-negative": (10, 20),
    "restatement": (5, 10),
    "fiscal-year": (10, 20),
    "per-share": (0, 2),
    "bps": (1, 2),
    "ratio": (4, 7),
    "ttm": (1, 2),
    "multi-document": (5, 10),
    "ties": (1, 3),
    "yes-no": (20, 28),
    "rare-positive": (2, 3),
    "unanswerable": (1, 2),
    "distractor": (25, 50),
    "growth-ranking": (2, 2),
}


@pytest.fixture(scope="module")
def build():
    sys.path.insert(0, str(ROOT))
    try:
        yield importlib.import_module("evals.build")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def words(build):
    return importlib.import_module("evals.build.words")


@pytest.fixture(scope="module")
def documents(build):
    return build.documents()


@pytest.fixture(scope="module")
def suite(build):
    return {
        category: [Case.model_validate(case) for case in cases]
        for category, cases in build.suite().items()
    }


@pytest.fixture(scope="module")
def cases(suite):
    return [case for group in suite.values() for case in group]


def traits(case):
    return case.tags["traits"].split()


def right(case):
    """The gold as a model would write it."""
    answer = case.gold.answer
    if answer is None:
        return "not stated"
    if isinstance(answer, list):
        return ", ".join(" = ".join(one) if isinstance(one, list) else one for one in answer)
    if case.scorer.name in ("numeric", "steps") and case.scorer.options.get("locale"):
        return answer.replace(".", ",")
    return str(answer)


def test_the_committed_files_are_byte_for_byte_what_the_code_builds(build, tmp_path):
    for path in build.write(tmp_path):
        assert (build.CASES / path.name).read_bytes() == path.read_bytes(), path.name
    assert {p.name for p in build.CASES.glob("*.jsonl")} == {p.name for p in tmp_path.iterdir()}


def test_there_are_two_hundred_cases_one_of_each_category_a_document(suite, cases, documents):
    assert len(cases) == 200
    assert len(documents) == 40
    for category, group in suite.items():
        assert [case.cluster for case in group] == [document.id for document in documents]
        assert [case.id for case in group] == [f"{category}-{d.id}" for d in documents]


def test_sixty_cases_are_held_out_by_document_twenty_are_smoke_and_the_rest_development(cases):
    splits = Counter(split for case in cases for split in case.splits)
    assert splits == {"heldout": 60, "smoke": 20, "dev": 120}
    assert all(len(case.splits) == 1 for case in cases)
    by_document = defaultdict(set)
    for case in cases:
        by_document[case.cluster].add("heldout" in case.splits)
    assert sum(held == {True} for held in by_document.values()) == 12
    assert all(len(held) == 1 for held in by_document.values())


def test_the_smoke_split_holds_one_case_a_document_and_every_category_alike(cases):
    smoke = [case for case in cases if "smoke" in case.splits]
    assert len({case.cluster for case in smoke}) == 20
    assert set(Counter(case.category for case in smoke).values()) == {4}
    assert {case.tags["difficulty"] for case in smoke} == {"easy", "medium", "hard"}


@pytest.mark.parametrize(("trait", "least"), COVERAGE.items())
def test_what_the_suite_has_to_show_is_in_it(cases, trait, least):
    showing = [case for case in cases if trait in traits(case)]
    open_ones = [case for case in showing if "heldout" not in case.splits]
    assert (len(open_ones), len(showing)) >= least
    assert len(showing) >= least[1]


def test_languages_kinds_of_document_and_difficulties_are_mixed(cases, documents):
    assert Counter(document.language for document in documents) == {"en": 32, "ru": 5, "de": 3}
    for word in ("income statement", "balance sheet", "10-K", "10-Q", "press release", "footnote",
                 "risk factors", "insurance", "household"):  # fmt: skip
        assert any(word in document.kind for document in documents), word
    levels = Counter(case.tags["difficulty"] for case in cases)
    assert levels.keys() == {"easy", "medium", "hard", "expert"}
    assert min(levels.values()) >= 10


def test_yes_is_rare_and_stands_in_every_split_that_is_judged(suite):
    asked = [case for case in suite["classification"] if case.scorer.name == "boolean"]
    assert {case.gold.positive for case in asked} == {"yes"}
    positives = [case for case in asked if case.gold.answer == "yes"]
    assert 0.05 <= len(positives) / len(asked) <= 0.10
    assert 0.05 <= len(positives) / len(suite["classification"]) <= 0.10
    assert {case.splits for case in positives} == {("smoke",), ("dev",), ("heldout",)}


def test_no_two_cases_ask_the_same(cases):
    assert max(Counter(render(case.candidate) for case in cases).values()) == 1
    bodies = defaultdict(set)
    for case in cases:
        bodies[case.candidate.text, case.candidate.table].add(case.cluster)
    assert all(len(clusters) == 1 for clusters in bodies.values())


def test_every_scorer_accepts_its_gold_and_gives_it_full_marks(cases):
    for case in cases:
        score = prepare(case.scorer, case.gold).score(right(case))
        if score.pending:
            assert score.parts["rouge_l"] == 1, case.id
        else:
            assert score.value == 1, (case.id, score)


def test_an_empty_answer_gets_nothing(cases):
    for case in cases:
        score = prepare(case.scorer, case.gold).score("", "empty")
        assert score.value == 0
        assert score.failure == "empty"


def test_a_plausible_wrong_answer_gets_less(suite):
    for case in suite["ranking"]:
        swapped = replace_first_two(case.gold.answer)
        score = prepare(case.scorer, case.gold).score(swapped)
        assert score.value < 1, case.id
    for case in suite["classification"]:
        if case.scorer.name == "boolean":
            other = "no" if case.gold.answer == "yes" else "yes"
        else:
            other = next(label for label in case.gold.labels if label != case.gold.answer)
        assert prepare(case.scorer, case.gold).score(other).value == 0, case.id


def replace_first_two(answer):
    names = [name for one in answer for name in (one if isinstance(one, list) else [one])]
    return ", ".join([names[-1], *names[1:-1], names[0]])


def test_every_number_has_a_unit_and_a_declared_tolerance(suite, words):
    for case in suite["extraction"] + suite["reasoning"]:
        if case.scorer.name not in ("numeric", "steps"):
            continue
        assert case.gold.unit, case.id
        assert {"abs_tol", "rel_tol"} & case.scorer.options.keys(), case.id
        if case.gold.unit in ("USD", "EUR", "INR", "RUB"):
            assert case.gold.scale in words.SCALES.values()


def test_prompts_are_short_enough_for_a_small_model(cases):
    for case in cases:
        assert len(render(case.candidate)) < 800, case.id


def shown(number, case):
    """Whether a number stands in what a model is given, in whatever format."""
    numbers = re.findall(r"\d[\d,.\u00a0]*", render(case.candidate))
    return abs(Decimal(number)) in {plain(one.rstrip(",.\u00a0")) for one in numbers}


def plain(number):
    """A number as any format writes it: a mark before the last one or two digits is its point."""
    point = re.fullmatch(r"(.*)[.,](\d{1,2})", number)
    whole, rest = point.groups() if point else (number, "0")
    return Decimal(re.sub(r"\D", "", whole) + "." + rest)


def test_a_figure_that_is_asked_for_stands_in_the_prompt(suite):
    for case in suite["extraction"]:
        if case.scorer.name == "numeric" and case.gold.answer is not None:
            assert shown(case.gold.answer, case), case.id


def test_a_figure_that_is_to_be_worked_out_does_not(suite):
    for case in suite["reasoning"]:
        # Two percentages of a hundred: what the smallest model can do.
        assert shown(case.gold.answer, case) == ("answer-in-text" in traits(case)), case.id


def test_no_summary_stands_in_its_text(suite):
    for case in suite["summarization"]:
        assert case.gold.answer.rstrip(".") not in render(case.candidate), case.id


def test_what_cannot_be_answered_has_no_gold_and_a_way_to_say_so(suite):
    asked = [case for case in suite["extraction"] if "unanswerable" in traits(case)]
    assert asked
    for case in asked:
        scorer = prepare(case.scorer, case.gold)
        assert "not stated" in case.candidate.instructions
        assert scorer.score("The text does not say.").value == 1
        assert scorer.score("$120 million").value == 0


def test_reasoning_gold_agrees_with_the_figures_computed_another_way(build, documents, words):
    """Reasoning gold is recomputed here in floats, by a way of its own."""
    other_way = {
        "total": lambda v: sum(v),
        "difference": lambda v: v[0] - v[1],
        "growth": lambda v: (v[0] / v[1] - 1) * 100,
        "share": lambda v: v[0] / v[1] * 100,
        "margin": lambda v: (1 - sum(v[1:]) / v[0]) * 100,
        "combined": lambda v: sum(v[1:]) / v[0] * 100,
        "ratio": lambda v: v[0] / v[1],
        "leverage": lambda v: (v[0] - v[1]) / (v[2] + v[3]),
        "points": lambda v: (v[0] - v[1]) * 100,
        "trailing": lambda v: v[0] - v[2] + v[1],
        "per_share": lambda v: v[0] / v[1],
        "payment": lambda v: v[0] - v[1],
    }
    by_id = {document.id: document for document in documents}
    used = set()
    for raw in build.suite()["reasoning"]:
        document = by_id[raw["cluster"]]
        asked = document.ask["reasoning"]
        values = []
        for figure in asked["of"]:
            line, _, column = figure.partition("@")
            value = float(
                document.figures[line][document.columns.index(column or document.columns[0])]
            )
            is_money = line not in document.units
            scale = document.scales.get(line, document.scale)
            values.append(value * words.SCALES[scale] if is_money else value)
        expected = other_way[asked["ask"]](values) / raw["gold"].get("scale", 1)
        assert float(raw["gold"]["answer"]) == pytest.approx(expected, abs=1e-4), raw["id"]
        used.add(asked["ask"])
    assert used == other_way.keys()


def test_no_formula_is_there_that_no_question_uses(build, documents):
    from evals.build.questions import BUILDERS

    for category, builders in BUILDERS.items():
        used = {document.ask[category].get("ask", "reference") for document in documents}
        assert used == builders.keys(), category


def test_equal_figures_share_a_place_and_all_equal_is_no_ranking(build, documents):
    from evals.build.questions.ranking import value

    document = next(d for d in documents if d.id == "vintholm-10k24-regions")
    asked = document.ask["ranking"]
    some = {**document.figures, "Europe": document.figures["Americas"]}
    found = value(replace(document, figures=some), asked)
    assert found.gold["answer"] == [["Americas", "Europe"], "Asia"]
    assert "ties" in found.traits
    assert "=" in found.instructions
    tied = dict.fromkeys(document.figures, (Decimal(1),))
    with pytest.raises(ValueError, match="all are equal"):
        value(replace(document, figures=tied), asked)


def test_amounts_of_several_scales_tie_by_what_they_are_worth(suite):
    case = next(c for c in suite["ranking"] if c.cluster == "peers-24-mills")
    assert case.gold.answer == [["Aldermill", "Brackwater"], "Corrigan"]
    assert "$0.24 billion" in case.candidate.text
    assert "$240 million" in case.candidate.text


def test_a_movement_is_worded_by_its_figures(documents):
    document = next(d for d in documents if d.id == "quorrel-10k24-fleet")
    assert document.fill("{Fuel costs@2024>2023}") == "fell to $71.9 million from $90.3 million"
    assert document.fill("{Fuel costs@2023>2024}").startswith("rose to $90.3 million")
    assert document.fill("{Fuel costs@2023>2024|stieg|sank}") == "stieg"
    with pytest.raises(ValueError, match="did not move"):
        document.fill("{Fuel costs@2024>2024}")


def test_a_sentence_follows_the_value_of_its_fact(documents):
    document = next(d for d in documents if d.id == "pellandine-10k24-going")
    assert "raises no doubt" not in document.text()
    other = {"doubt": {**document.facts["doubt"], "value": "no"}}
    assert "raises no doubt" in replace(document, facts=other).text()


def test_a_loss_is_set_in_brackets_and_in_german_with_a_minus_sign(documents):
    by_id = {document.id: document for document in documents}
    assert ["Net income", "(27.8)", "13.6"] in by_id["caldmoor-10k24-result"].table()
    assert ["Jahresergebnis", "-18,3", "24,9"] in by_id["falkenrieth-gb24-ergebnis"].table()


@pytest.mark.parametrize(
    ("value", "scale", "currency", "language", "worded"),
    [
        ("41.2", "millions", "USD", "en", "$41.2 million"),
        ("-1200", "units", "USD", "en", "-$1,200"),
        ("184562.5", "crore", "INR", "en", "₹1,84,562.5 crore"),
        ("118375", "lakh", "INR", "en", "₹1,18,375 lakh"),
        ("999", "lakh", "INR", "en", "₹999 lakh"),
        ("1284.6", "millions", "EUR", "de", "1.284,6 Mio. Euro"),
        ("48210", "thousands", "EUR", "de", "48.210 Tsd. Euro"),
        ("1250.4", "millions", "RUB", "ru", "1\u00a0250,4 млн руб."),
        ("14.2", "billions", "RUB", "ru", "14,2 млрд руб."),
    ],
)
def test_amounts_are_worded_as_their_language_and_currency_do(
    words, value, scale, currency, language, worded
):
    assert words.amount(Decimal(value), scale, currency, language) == worded


@pytest.mark.parametrize(
    ("value", "worded"),
    [
        (1, "1 магазин"), (2, "2 магазина"), (5, "5 магазинов"), (0, "0 магазинов"),
        (11, "11 магазинов"), (14, "14 магазинов"), (21, "21 магазин"), (22, "22 магазина"),
        (111, "111 магазинов"), (122, "122 магазина"), (1001, "1\u00a0001 магазин"),
    ],
)  # fmt: skip
def test_russian_nouns_stand_in_the_number_that_the_numeral_asks_for(words, value, worded):
    assert words.counted(Decimal(value), ("магазин", "магазина", "магазинов"), "ru") == worded


def test_other_nouns_have_two_forms_and_a_missing_form_is_refused(words):
    assert words.counted(Decimal(1), ("Filiale", "Filialen"), "de") == "1 Filiale"
    assert words.counted(Decimal(1240), ("truck", "trucks"), "en") == "1,240 trucks"
    with pytest.raises(ValueError, match="every form"):
        words.counted(Decimal(2), ("магазин", "магазинов"), "ru")


def test_dates_are_worded_as_their_language_does(words):
    day = date(2027, 3, 22)
    assert words.day(day, "en") == "March 22, 2027"
    assert words.day(day, "de") == "22. März 2027"
    assert words.day(day, "ru") == "22 марта 2027 года"


def test_a_document_that_is_not_whole_is_refused(build, tmp_path):
    source = ROOT / "evals/build/documents/india_europe.toml"
    whole = source.read_text(encoding="utf-8").split("[[document]]")[1]
    for change, fault in (
        (("currency =", "curency ="), "unknown curency"),
        (('["184562.5", "162240.0"]', '["184562.5"]'), "needs 2 figures"),
        (("ranking = ", "# ranking = "), "one question of each category"),
        (('"Revenue@FY2023-24"', '"Sales"'), "no figure 'Sales'"),
        (('difficulty = "hard"', 'difficulty = "harsh"'), "difficulty is one of"),
        (("show =", 'heldout = true\nsmoke = "ranking"\nshow ='), "not in the smoke split"),
    ):
        (tmp_path / "one.toml").write_text("[[document]]" + whole.replace(*change), "utf-8")
        with pytest.raises(ValueError, match=re.escape(fault)):
            build.suite(build.documents(tmp_path))

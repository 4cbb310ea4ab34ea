"""WealthOps: the committed records are what the code builds, balanced, and free of their gold."""

import importlib
import json
import sys
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_fineval.cases.files import read
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.settings import CATEGORIES
from pytest_fineval.tracks import wealthops
from pytest_fineval.tracks.base import Record
from pytest_fineval.tracks.importing import import_track

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "evals" / "wealthops" / "records.jsonl"


@pytest.fixture(scope="module")
def source():
    sys.path.insert(0, str(ROOT))
    try:
        yield importlib.import_module("evals.wealthops")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    out = tmp_path_factory.mktemp("wealthops") / "cases.jsonl"
    import_track("wealthops", RECORDS, out)
    return [located.case for located in read(out, CATEGORIES)]


def of(cases, task):
    return [case for case in cases if case.tags["task"] == task]


def test_the_committed_records_are_byte_for_byte_what_the_code_builds(source, tmp_path):
    assert source.write(tmp_path / "r.jsonl").read_bytes() == RECORDS.read_bytes()


def test_there_are_sixty_cases_of_five_tasks_a_household_each(cases):
    assert len(cases) == 60
    assert Counter(case.tags["task"] for case in cases) == dict.fromkeys(wealthops.TASKS, 12)
    assert set(Counter(case.cluster for case in cases).values()) == {5}


@pytest.mark.parametrize("task", [task for task in wealthops.TASKS if task != "numerical"])
def test_no_constant_answer_is_right_more_often_than_chance(cases, task):
    answers = Counter(case.gold.answer for case in of(cases, task))
    labels = of(cases, task)[0].gold.labels
    assert answers == dict.fromkeys(labels, 12 // len(labels))


def test_each_gold_is_right_and_each_other_label_is_wrong(cases):
    for case in cases:
        scorer = prepare(case.scorer, case.gold)
        for label in case.gold.labels or ():
            assert scorer.score(label).value == (label == case.gold.answer), (case.id, label)


def test_numbers_need_their_value_their_sign_and_their_unit(cases):
    words = {"percent": "%", "days": " days", "months": " months", "years": " years"}
    for case in of(cases, "numerical"):
        scorer = prepare(case.scorer, case.gold)
        unit = words.get(case.gold.unit, f" {case.gold.unit}")
        value = Decimal(case.gold.answer)
        assert scorer.score(f"Answer: {value}{unit}").value == 1, case.id
        assert scorer.score(f"Answer: {-value}{unit}").value == 0, case.id
        assert scorer.score(f"Answer: {value * Decimal('1.02')}{unit}").value == 0, case.id


def test_no_computed_number_stands_in_its_candidate(cases):
    for case in of(cases, "numerical"):
        words = case.candidate.model_dump_json().replace(",", "").split()
        shown = {word.strip('".[]()%\\') for word in words}
        if case.gold.unit not in {"days", "months"}:  # small whole numbers stand anywhere
            assert case.gold.answer not in shown, case.id


def test_reasons_and_dates_of_the_authors_stay_out_of_the_records(source):
    text = RECORDS.read_text(encoding="utf-8")
    assert '"why"' not in text
    assert {key for record in source.records() for key in record} <= {
        *wealthops.TRACK.candidate, *wealthops.TRACK.gold, "id", "household", "task",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("day", "state"),
    [
        (date(2026, 1, 31), "not yet in force"),
        (date(2026, 2, 1), "in force"),
        (date(2026, 3, 1), "in force"),
        (date(2026, 3, 2), "expired"),
    ],
)
def test_both_ends_of_a_term_are_part_of_it(source, day, state):
    assert source.state(date(2026, 2, 1), date(2026, 3, 1), day) == state


@pytest.mark.parametrize(
    ("household", "answer"),
    [
        ("alder", "62.4242"), ("birch", "3.75"), ("cedar", "6.6667"), ("douglas", "26940"),
        ("elm", "6000"), ("fir", "93720"), ("ginkgo", "1629"), ("hazel", "5.06"),
        ("ironwood", "127500"), ("juniper", "4.7558"), ("karri", "30"), ("larch", "40"),
    ],
)  # fmt: skip
def test_a_computed_gold_is_what_a_person_gets_with_a_calculator(cases, household, answer):
    [case] = [case for case in of(cases, "numerical") if case.cluster == household]
    assert case.gold.answer == answer


def test_an_unknown_task_is_refused_with_its_line():
    record = json.loads(RECORDS.read_text(encoding="utf-8").splitlines()[0]) | {"task": "guess"}
    with pytest.raises(InputError, match=r'r\.jsonl:3: unknown task "guess"'):
        wealthops.build([Record(Path("r.jsonl"), 3, record)])

"""From imported FinChain records and stored answers to diagnostics, end to end."""

import numpy as np
import pytest

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.clients.base import Answer
from pytest_fineval.report.chains import outcomes
from pytest_fineval.scoring.embeddings import EmbeddingCache
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.stats.chains import (
    cause_shares,
    correlations,
    group_table,
    levels,
    reasoning_gap,
)
from pytest_fineval.store.record import PlannedCase, Record, status_of, stored


class Words:
    """A small real encoder: hashed words as unit vectors."""

    identity = "words-1"

    def encode(self, texts):
        rows = np.full((len(texts), 64), 1e-6, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % 64] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def case(number, level):
    base, rate = 1000 * (number + 1), 0.1
    return Case(
        id=f"tax-{number}",
        category="reasoning",
        candidate=Candidate(question=f"What is the tax on {base}?"),
        gold=Gold(
            answer=base * rate,
            unit="number",
            steps=(
                {"description": f"Taxable income = {base}", "value": base},
                {"description": f"Tax = {base} × 0.1 = {base * rate:g}", "value": base * rate},
            ),
        ),
        scorer=ScorerSpec(name="reasoning", rel_tol=0.05, locale="en"),
        cluster="taxation/income-tax",
        tags={"language": "en", "task": "taxation", "difficulty": level},
    )


def answered(made, text, model="m"):
    score = stored(prepare(made.scorer, made.gold).score(text))
    planned = PlannedCase(
        id=made.id,
        digest=made.digest,
        category="reasoning",
        cluster=made.cluster,
        suite="s",
        scorer="reasoning@1",
    )
    answer = Answer(text=text, status="ok", attempts=1)
    return Record(
        case=planned,
        model=model,
        sample=0,
        status=status_of(score, None),
        answer=answer,
        score=score,
    )


@pytest.fixture
def run():
    cases = [case(number, ("basic", "advanced")[number % 2]) for number in range(6)]
    records = []
    for number, made in enumerate(cases):
        base, tax = 1000 * (number + 1), 100 * (number + 1)
        written = tax if number % 2 == 0 else 2 * tax
        steps = f"Step 1: Taxable income = {base}\nStep 2: Tax = {base} × 0.1 = {written}"
        records.append(answered(made, f"{steps}\nAnswer: {written}"))
    records.append(answered(cases[0], "I cannot tell.", model="silent"))
    return cases, records


def test_records_become_outcomes_that_the_diagnostics_read(run):
    cases, records = run
    cache = EmbeddingCache(encoder="words-1")
    found = outcomes(records, {made.id: made for made in cases}, cache, Words)
    assert [outcome.final for outcome in found] == [1, 0, 1, 0, 1, 0, 0]
    assert [outcome.cause for outcome in found] == [None, "arithmetic_slip"] * 3 + [
        "missing_answer"
    ]
    assert {outcome.domain for outcome in found} == {"taxation"}
    assert {outcome.topic for outcome in found} == {"income-tax"}
    gap = reasoning_gap(found, "fuzzy_f1")
    assert gap.steps > gap.final
    rows = group_table(found, ["model"])
    assert [(row.group, row.n) for row in rows] == [(("m",), 6), (("silent",), 1)]
    assert rows[1].figures["fuzzy_f1"] < 0.5
    by_name = {each.figure: each for each in correlations(found)}
    assert by_name["fuzzy_f1"].spearman > 0.5
    assert levels(found).counts == {"advanced": 3, "basic": 4}
    assert cause_shares(found)["arithmetic_slip"] == 0.75


def test_records_of_other_cases_are_left_out(run):
    cases, records = run
    assert outcomes(records, {}, EmbeddingCache(encoder="words-1"), Words) == []
    assert (
        len(outcomes(records, {cases[1].id: cases[1]}, EmbeddingCache(encoder="words-1"), Words))
        == 1
    )

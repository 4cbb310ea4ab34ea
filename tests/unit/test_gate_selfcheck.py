"""The A/A self-check: a run's own samples, split in two, judged against each other."""

import numpy as np
import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.gate.policy import draft
from pytest_fineval.gate.selfcheck import self_check
from tests.unit.gate_world import ones, run, settings

ONE = ("reasoning",)


def noisy(n, samples, error, seed=1):
    rng = np.random.default_rng(seed)
    rows = (rng.random((n, samples)) >= error).astype(float).tolist()
    return run({"reasoning": rows})


def test_halves_of_one_run_hardly_ever_block():
    found = self_check(noisy(100, 6, 0.1), draft(settings(ONE)), splits=100)
    assert (found.cases, found.samples, found.use) == (100, 6, "full")
    assert found.blocked <= 5
    assert found.stopped == found.blocked
    assert 0.1 < found.noise < 0.26
    assert found.blocked_share95[0] <= found.blocked / 100 <= found.blocked_share95[1]


def test_it_is_the_same_every_time():
    one = noisy(30, 4, 0.2)
    policy = draft(settings(ONE))
    assert self_check(one, policy, splits=10) == self_check(one, policy, splits=10)


def test_categories_of_the_policy_that_the_run_has_not_are_left_out():
    found = self_check(noisy(30, 2, 0.0), draft(settings()), splits=5)
    assert (found.blocked, found.inconclusive, found.noise) == (0, 0, 0.0)


def test_a_single_sample_cannot_be_split():
    with pytest.raises(InputError, match="--fineval-repeat 2"):
        self_check(run(ones(4, ONE)), draft(settings(ONE)))


def test_it_says_what_it_found_in_words():
    text = "\n".join(self_check(noisy(30, 4, 0.2), draft(settings(ONE)), splits=20).sentences())
    assert "30 cases, 4 samples each" in text
    assert "20 random splits of 2 against 2 samples, full rules" in text

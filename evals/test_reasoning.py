import pytest


@pytest.mark.fineval("cases/reasoning.jsonl")
def test_reasoning(fineval):
    fineval.check()

import pytest


@pytest.mark.fineval("cases/classification.jsonl")
def test_classification(fineval):
    fineval.check()

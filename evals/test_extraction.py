import pytest


@pytest.mark.fineval("cases/extraction.jsonl")
def test_extraction(fineval):
    fineval.check()

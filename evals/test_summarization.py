import pytest


@pytest.mark.fineval("cases/summarization.jsonl")
def test_summarization(fineval):
    fineval.check()

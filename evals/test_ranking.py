import pytest


@pytest.mark.fineval("cases/ranking.jsonl")
def test_ranking(fineval):
    fineval.check()

"""Rows of model answers by kind, and a short way to score one answer."""

from pathlib import Path

import pytest

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.registry import prepare
from tests.vectors.schemas import rows

VECTORS = Path(__file__).parents[1] / "vectors"
FILES = ("answers_public.jsonl", "answers_more.jsonl")


def of_kind(kind):
    """The recorded rows of one kind, each a test parameter named by its id."""
    return [
        pytest.param(row, id=row["id"])
        for name in FILES
        for row in rows(VECTORS / name)
        if row["kind"] == kind
    ]


def scorer(kind, answer, *, options=None, **gold):
    """The scorer of a kind bound to a gold."""
    return prepare(ScorerSpec(name=kind, **(options or {})), Gold(answer=answer, **gold))


def scored(kind, text, answer, *, options=None, status="ok", **gold):
    """The score of one answer."""
    return scorer(kind, answer, options=options, **gold).score(text, status)

"""Extraction: what the document states, as it states it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from evals.build import words
from evals.build.documents import Document
from evals.build.questions.base import Input, Question, by_name, numeric, request

SCORER = {"name": "numeric", "rel_tol": 0.001}


def figure(document: Document, asked: Input) -> Question:
    """One figure: `of`, in the document's scale or in `scale`."""
    of = asked["of"]
    found = numeric(document, asked, document.whole(of), document.unit(of), SCORER)
    if document.unit(of) == "percent":
        return replace(found, instructions=request(document, asked, "percent as stated"))
    return found


def absent(document: Document, asked: Input) -> Question:
    """A figure that the document does not state: the right answer says so."""
    found = numeric(document, asked, Decimal(0), "amount", SCORER)
    gold = {**found.gold, "answer": None}
    instructions = f"{found.instructions} {words.request('not stated', document.language)}"
    return replace(
        found,
        instructions=instructions,
        gold=gold,
        scorer={**found.scorer, "unanswerable": True},
        traits=(*found.traits, "unanswerable"),
    )


def on(document: Document, asked: Input) -> Question:
    """A date: the fact that `of` names."""
    scorer = {"name": "date"} | ({} if document.language == "en" else {"locale": document.language})
    gold = {"answer": document.facts[asked["of"]].isoformat()}
    return Question(request(document, asked, "date"), gold, scorer)


BUILDERS = by_name(figure, absent, on)

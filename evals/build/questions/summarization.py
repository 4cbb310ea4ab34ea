"""Summarization: a sentence about the document, with its figures, against a reference."""

from __future__ import annotations

from evals.build import words
from evals.build.documents import Document
from evals.build.questions.base import Input, Question, by_name

PASS_MARK = 0.6


def reference(document: Document, asked: Input) -> Question:
    """The reference is a template: the figures and verbs in it are the document's."""
    return Question(
        words.request("summary", document.language),
        {"answer": document.fill(asked["reference"])},
        {"name": "summary"},
        pass_mark=PASS_MARK,
    )


BUILDERS = by_name(reference)

"""Classification: yes or no (yes is the rare event that a screen must not miss), or a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.build import words
from evals.build.documents import Document
from evals.build.questions.base import Input, Question, by_name, request

_YES_NO = {"de": {"true": ["ja"], "false": ["nein"]}, "ru": {"true": ["да"], "false": ["нет"]}}


def above(document: Document, asked: Input) -> Question:
    """Yes where the first figure is above the second."""
    first, second = asked["of"]
    return _yes_no(document, asked, document.whole(first) > document.whole(second))


def negative(document: Document, asked: Input) -> Question:
    """Yes where a figure is below zero."""
    return _yes_no(document, asked, document.whole(asked["of"]) < 0)


def stated(document: Document, asked: Input) -> Question:
    """Yes where the document says that it is so: a fact whose value is `yes` or `no`."""
    return _yes_no(document, asked, document.facts[asked["of"]]["value"] == "yes")


def direction(document: Document, asked: Input) -> Question:
    """A label by two figures: the first of `labels` where the first is above the second.

    Raises:
        ValueError: they are equal, which is no label.
    """
    first, second = (document.whole(figure) for figure in asked["of"])
    if first == second:
        raise ValueError(f"{document.id}: {asked['of']} are equal, which is no label")
    return _label(document, asked, list(asked["labels"])[0 if first > second else 1])


def sign(document: Document, asked: Input) -> Question:
    """A label by the sign of a figure: the first of `labels` where it is above zero."""
    return _label(document, asked, list(asked["labels"])[document.whole(asked["of"]) <= 0])


def _yes_no(document: Document, asked: Input, truth: bool) -> Question:
    scorer: dict[str, Any] = {"name": "boolean"}
    if document.language != "en":
        scorer["aliases"] = _YES_NO[document.language]
    form = "yes or no first" if asked.get("form") == "first" else "yes or no"
    return Question(
        words.request(form, document.language),
        {"answer": "yes" if truth else "no", "positive": "yes"},
        scorer,
        traits=("yes-no", "rare-positive") if truth else ("yes-no",),
    )


def _label(document: Document, asked: Input, answer: str) -> Question:
    """One of the labels; `labels` gives each its other words."""
    others: Mapping[str, list[str]] = asked["labels"]
    labels = list(others)
    joint = words.request("or", document.language)
    choice = ", ".join(labels[:-1]) + joint + labels[-1]
    scorer: dict[str, Any] = {"name": "label"}
    if aliases := {label: said for label, said in others.items() if said}:
        scorer["aliases"] = aliases
    instructions = request(document, asked, "choice", choice=choice)
    return Question(instructions, {"answer": answer, "labels": labels}, scorer)


BUILDERS = by_name(above, negative, stated, direction, sign)

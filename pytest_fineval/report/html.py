"""The HTML report: one file that needs no network and lets no text of a model become markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pytest_fineval.report.cases import LIMITS, CaseView, count
from pytest_fineval.report.figures import Histogram
from pytest_fineval.report.summary import NEXT, check_cells, points
from pytest_fineval.report.text import shown
from pytest_fineval.report.view import View

if TYPE_CHECKING:
    from jinja2 import Environment

TONE = {"pass": "good", "inconclusive": "warn", "not_judged": "warn"}

LABELS = (
    "check", "n", "att/sub/scored", "baseline", "candidate", "drop", "allowed",
    "lost / gained", "p", "Holm p", "verdict",
)  # fmt: skip


def render(view: View) -> str:
    """The whole report as one HTML document.

    Text of models, cases and settings enters in two ways only: escaped by the template, or as JSON
    that the page's script writes with `textContent`. The Content-Security-Policy admits this
    file's own style and script by their hashes and nothing else.
    """
    style, script = _part("report.css"), _part("report.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            style_hash=_source(style),
            script_hash=_source(script),
            data=Markup(_data(view)),  # noqa: S704 - every < > & is a \u escape by then
            **_context(view),
        )
    )


def _context(view: View) -> dict[str, Any]:
    verdict = view.summary.verdict
    changes = count(case.change for case in view.cases)
    flipped = sum(n for change, n in changes if change in {"lost", "gained"})
    wrong = sum(case.status != "correct" for case in view.cases)
    start = "flipped" if flipped else "not right" if wrong else ""
    groups = [("flipped", flipped)] * bool(flipped) + [("not right", wrong)] * bool(wrong)
    lost = [case.id for case in view.cases if case.change == "lost"]
    return {
        "summary": view.summary,
        "cause": verdict.cause.removeprefix(f"{verdict.outcome.replace('_', ' ')}: "),
        "next": NEXT.get(verdict.outcome),
        "flips": {
            kind: sum(flip.kind == kind for flip in verdict.flips) for kind in ("lost", "gained")
        },
        "labels": LABELS,
        "differences": view.differences,
        "reach": view.reach,
        "methods": ", ".join(dict.fromkeys(one.method for one in view.differences)),
        "changes": [*groups, *changes],
        "start": start,
        "choices": _choices(view.cases),
        "lost_ids": ", ".join(lost) or "none",
        "shortened": view.limit if view.limit < LIMITS[0] else None,
        "compared": view.compared,
        "scores": view.scores,
        "variance": view.variance,
        "noise": view.noise,
        "confusions": view.confusions,
        "spending": view.spending,
        "failures": ", ".join(
            f"{n} {kind.replace('_', ' ')}" for kind, n in verdict.failures.items()
        ),
        "history": view.history,
        "identity": view.identity,
        "manifest": view.manifest,
    }


def _choices(cases: Sequence[CaseView]) -> Mapping[str, list[tuple[str, int]]]:
    return {
        **{
            name: count(getattr(case, name) for case in cases)
            for name in ("category", "status", "failure", "language")
        },
        "tag": count(tag for case in cases for tag in case.tags)[:200],
    }


def _data(view: View) -> str:
    """The cases as JSON that can stand inside a script element."""
    content = {
        "model": view.summary.model,
        "compared": view.compared,
        "cases": [_filled(asdict(case)) for case in view.cases],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what the page's script fills in by itself: most fields of most cases are empty."""
    return {
        name: _filled(value) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value or name in {"score", "after", "before"}
    }


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pytest_fineval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "at": lambda share, reach: f"{500 + 500 * share / reach:.1f}",
        "cells": check_cells,
        "points": lambda share: points(share).replace("-", "−"),
        "shown": lambda text: shown(str(text)),
        "spoken": _spoken,
        "tone": lambda outcome: TONE.get(outcome, "bad"),
        "usd": _usd,
        "words": lambda text: text.replace("_", " "),
        "zip": lambda one, other: list(zip(one, other, strict=True)),
    }
    return made


def _spoken(chart: Histogram) -> str:
    """A histogram in words, for those who cannot see it."""
    sides = (("baseline", chart.before), ("candidate", chart.after))
    counted = [
        f"{side}: " + ", ".join(f"{n} at {chart.labels[i]}" for i, n in enumerate(bins) if n)
        for side, bins in sides
        if any(bins)
    ]
    return f"{chart.name}. " + "; ".join(counted)


def _usd(amount: float | None) -> str:
    if amount is None:
        return "no price known"
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.5f}"


@cache
def _part(name: str) -> str:
    return (files("pytest_fineval.report") / "templates" / name).read_text(encoding="utf-8")


def _source(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

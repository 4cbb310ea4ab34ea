"""FinanceBench: open questions on filings, for non-commercial use only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_fineval.cases.model import Candidate, Case, Gold, ScorerSpec
from pytest_fineval.tracks import restricted
from pytest_fineval.tracks.base import Licence, Record, Track, build_all

INSTRUCTIONS = "End with one line 'Answer: ' and the figure alone, with its unit."

_FIGURE = re.compile(
    r"\s*(?P<minus>-)?\s*(?P<money>(?:US)?\$)?\s*(?P<sign>-)?(?P<digits>[0-9][0-9,]*(?:\.[0-9]+)?)"
    r"\s*(?:(?P<scale>thousand|million|billion)s?)?\s*(?P<percent>%)?\s*\.?\s*",
    re.IGNORECASE,
)
_ASKED_IN = re.compile(
    r"\b(?:USD|US\$|dollars?|\$)?\s*(?P<scale>thousand|million|billion)s?\b", re.IGNORECASE
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}

REL_TOL = 0.01
"""Golds are rounded figures of filings: within one percent."""


def build(records: Sequence[Record], *, track: str) -> list[Case]:
    """Cases of the records whose answer is a bare figure, in order.

    The other answers are free text that people graded; there is no automatic metric for them, so
    they are no cases (an import counts them).

    Raises:
        InputError: a field is missing, or an id stands twice.
    """
    protocol = TRACKS[track]
    figures = [record for record in records if gold_figure(record) is not None]
    return build_all(partial(_case, track=protocol), figures)


def left_out(records: Sequence[Record]) -> dict[str, int]:
    """Records that are no cases, by reason."""
    count = sum(gold_figure(record) is None for record in records)
    return {"the answer is free text, which needs a reviewed judge": count} if count else {}


def gold_figure(record: Record) -> Gold | None:
    """The gold of a record whose answer is a bare figure; None for free text."""
    match = _FIGURE.fullmatch(record.need("answer"))
    if match is None:
        return None
    sign = "-" if match["minus"] or match["sign"] else ""
    answer = sign + match["digits"].replace(",", "")
    if match["percent"]:
        return Gold(answer=answer, unit="percent")
    if match["money"]:
        asked = _ASKED_IN.search(record.need("question"))
        word = match["scale"] or (asked["scale"] if asked else None)
        return Gold(answer=answer, unit="USD", scale=_SCALES[word.lower()] if word else None)
    return Gold(answer=answer, unit="x")


def _case(record: Record, track: Track) -> Case:
    seen = record.only(track.candidate)
    text: str | None = None
    if track.evidence == "gold-evidence":
        pages = [_page(record, item) for item in seen.need("evidence", list)]
        text = "\n\n".join(dict.fromkeys(pages))
    return Case(
        id=record.need("financebench_id"),
        category="extraction"
        if record.fields.get("question_type") == "metrics-generated"
        else "reasoning",
        candidate=Candidate(question=seen.need("question"), text=text, instructions=INSTRUCTIONS),
        gold=gold_figure(record.only(("answer", "question"))),
        scorer=ScorerSpec(name=track.scorer, rel_tol=REL_TOL),
        cluster=record.need("doc_name"),
        evidence=track.evidence,
        track=track.name,
        tags={"language": "en", restricted.TAG: track.licence.name},
    )


def _page(record: Record, item: Any) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("evidence_text_full_page"), str):
        raise record.fault('each "evidence" has to hold "evidence_text_full_page"')
    page: str = item["evidence_text_full_page"]
    return page


TRACK = Track(
    name="financebench",
    source="https://github.com/patronus-ai/financebench",
    revision="cc39aeb4afdf33909ee1412188bf89035950c2eb",
    licence=Licence(
        "CC-BY-NC-4.0", "Patronus AI; as the copy on the hub is labelled", non_commercial=True
    ),
    splits=("open_source",),
    candidate=("question",),
    gold=("answer",),
    official=None,
    strict="numeric",
    scorer="numeric",
    cluster="the filing (doc_name)",
    build=partial(build, track="financebench"),
    evidence="closed-book",
)

TRACKS = {
    TRACK.name: TRACK,
    "financebench-oracle": replace(
        TRACK,
        name="financebench-oracle",
        candidate=("question", "evidence"),
        evidence="gold-evidence",
        build=partial(build, track="financebench-oracle"),
    ),
}
"""By name. The oracle condition shows the pages that the annotators took their evidence from."""

"""From the records of a run to outcomes of chains, ready for the diagnostics of `stats.chains`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pytest_fineval.cases.model import Case
from pytest_fineval.scoring.chains.evaluate import GoldChain, evaluate_chains, gold_chain
from pytest_fineval.scoring.chains.metrics import Profile
from pytest_fineval.scoring.embeddings import Embedder, EmbeddingCache
from pytest_fineval.stats.chains import Outcome
from pytest_fineval.store.record import Record


def locale_of(case: Case) -> str:
    """The number locale of a case: its scorer's, else that of its language tag."""
    declared = case.scorer.options.get("locale")
    if isinstance(declared, str):
        return declared
    language = case.tags.get("language", "en")
    return language if language in {"de", "fr", "ru"} else "en"


def has_chain(case: Case) -> bool:
    """Whether the gold holds steps with descriptions, as FinChain's does."""
    return bool(case.gold.steps) and all("description" in step for step in case.gold.steps or ())


def rubric_outcomes(records: Iterable[Record], cases: Mapping[str, Case]) -> list[Outcome]:
    """One outcome a record of the `steps` scorer, as it was scored: the share of its rubric.

    Args:
        records: of one run; a record without a score counts 0.
        cases: by id; records of other cases are left out.
    """
    return [
        _rubric_outcome(record, cases[record.case.id])
        for record in records
        if record.case.scorer.partition("@")[0] == "steps" and record.case.id in cases
    ]


def outcomes(
    records: Iterable[Record],
    cases: Mapping[str, Case],
    cache: EmbeddingCache,
    embedder: Callable[[], Embedder],
    profile: Profile = "paper",
) -> list[Outcome]:
    """One outcome a record whose case has a gold chain, in the order of the records.

    Args:
        records: of one run; a record without an answer counts as an empty chain.
        cases: by id; records of other cases are left out.
        cache, embedder, profile: as in `evaluate_chains`.

    Raises:
        InputError: a gold chain that cannot be used.
        MeasurementError: a text has no cached embedding and no encoder is installed.
    """
    kept = [r for r in records if r.case.id in cases and has_chain(cases[r.case.id])]
    golds: dict[str, GoldChain] = {}
    for record in kept:
        case = cases[record.case.id]
        if case.id not in golds:
            golds[case.id] = gold_chain(case.gold, locale_of(case))
    answers = [
        (golds[r.case.id], r.answer.text if r.answer else "", locale_of(cases[r.case.id]))
        for r in kept
    ]
    correct = {number: record.status == "correct" for number, record in enumerate(kept)}
    found = evaluate_chains(answers, cache, embedder, profile, correct)
    return [
        _outcome(record, cases[record.case.id], each.figures, each.diagnosis.cause)
        for record, each in zip(kept, found, strict=True)
    ]


def _rubric_outcome(record: Record, case: Case) -> Outcome:
    parts = record.score.parts if record.score else {}
    cause = record.score.details.get("chain_cause") if record.score else None
    figures = {"steps": parts.get("steps", 0.0)}
    found = _outcome(record, case, figures, None if cause is None else str(cause))
    # The score itself may hold a share of the rubric.
    return replace(found, final=parts.get("final", 0.0))


def _outcome(
    record: Record, case: Case, figures: Mapping[str, float], cause: str | None
) -> Outcome:
    # FinChain's clusters are `domain/topic`; another suite's cluster is a document.
    domain, _, topic = (case.cluster or "").partition("/")
    return Outcome(
        final=record.value,
        figures=figures,
        model=record.model,
        domain=case.tags.get("task", domain if topic else ""),
        topic=topic or case.tags.get("topic", ""),
        level=case.tags.get("difficulty", ""),
        cause=cause,
    )

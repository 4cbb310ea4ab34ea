"""New scores for stored answers, without a call: of a baseline's companion, or of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError
from pytest_fineval.gate import ratchet
from pytest_fineval.gate.baseline import (
    Baseline,
    StoredAnswer,
    answers,
    companion_path,
    load,
    sha256,
)
from pytest_fineval.gate.pairing import named
from pytest_fineval.gate.propose import Proposal, aggregates
from pytest_fineval.scoring import registry
from pytest_fineval.scoring.base import Scorer
from pytest_fineval.scoring.score import Status
from pytest_fineval.settings import Settings
from pytest_fineval.store.record import Key, Record, StoredScore, status_of, stored
from pytest_fineval.store.run import Run, dumps

K = TypeVar("K", tuple[str, int], Key)
"""Key of an answer: case and sample, or a record's."""


class Moved(NamedTuple):
    """One case whose mean score is another one now."""

    case: str
    before: float
    after: float


def rescore(
    path: Path,
    cases: Iterable[Case],
    *,
    created_by: str,
    settings: Settings,
    now: datetime | None = None,
) -> tuple[Proposal, list[Moved]]:
    """Score a baseline's stored answers with the installed scorers; policy and cases stay.

    Args:
        path: the baseline; its raw answers lie beside it.
        cases: the case files' cases; all of the baseline's have to be among them, unchanged.
        created_by: who rescores it.
        settings: of the project: which encoders it has, and where it keeps embeddings.
        now: when; the current time by default.

    Returns:
        A baseline that waits for a signature, and the cases whose score moved. It expires when
        the rescored one would have.

    Raises:
        InputError: no raw answers, a case that is missing or changed.
        MeasurementError: a summary has no cached embedding and no encoder is installed.
    """
    old = load(path)
    if old.answers is None:
        raise InputError(
            "keeps no raw answers, so that nothing can be rescored: run the suite and propose a "
            "new one",
            path=path,
        )
    by_id = {case.id: case for case in cases}
    _refuse_other_cases(path, old, by_id)
    kept = answers(path)
    bound = {name: registry.prepare(by_id[name].scorer, by_id[name].gold) for name in old.cases}
    scores = _scores(path, old, by_id, kept, bound, settings)
    scored_by: dict[str, set[str]] = {}
    for name, case in old.cases.items():
        scored_by.setdefault(case.category, set()).add(bound[name].identity)
    scorers = {category: tuple(sorted(scored_by[category])) for category in sorted(scored_by)}
    new_cases = {
        name: case.model_copy(
            update={"scores": tuple(scores[name, k] for k in range(len(case.scores)))}
        )
        for name, case in old.cases.items()
    }
    companion = "".join(
        dumps(kept[key].model_copy(update={"score": scores[key]})) + "\n" for key in kept
    ).encode()
    baseline = old.model_copy(
        update={
            "policy": old.policy.model_copy(update={"scorers": scorers}),
            "cases": new_cases,
            "aggregates": aggregates(new_cases.values()),
            "created": (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
            "created_by": created_by,
            "reason": _reason(old.policy.scorers, scorers),
            "predecessor": sha256(path.read_bytes()),
            "answers": sha256(companion),
            "history": ratchet.continued(old, path),
        }
    )
    moved = [
        Moved(name, _mean(old.cases[name].scores), _mean(case.scores))
        for name, case in sorted(new_cases.items())
        if abs(_mean(old.cases[name].scores) - _mean(case.scores)) > ratchet.LOWER_BY
    ]
    return Proposal(baseline, companion, tuple(ratchet.notes(baseline))), moved


def rescore_run(run: Run, cases: Iterable[Case], *, settings: Settings) -> Run:
    """The run with every answer scored anew: no score that stands in its folder is believed.

    For the job that judges before a deployment: with the target branch's cases and scorers, a
    change under test cannot have written its own scores.

    Args:
        run: as it was read; records without an answer keep their status.
        cases: the case files' cases; all of the run's have to be among them, unchanged.
        settings: of the project: which encoders it has, and where it keeps embeddings.

    Raises:
        InputError: a case that is missing or changed.
        MeasurementError: a summary has no cached embedding and no encoder is installed.
    """
    by_id = {case.id: case for case in cases}
    for planned in run.manifest.planned:
        case = by_id.get(planned.id)
        if case is None or case.digest != planned.digest:
            why = "is in no case file" if case is None else "is another version in the case files"
            raise InputError(f"case {planned.id} of this run {why}", path=run.folder)
    known = {planned.id for planned in run.manifest.planned}
    bound = {name: registry.prepare(by_id[name].scorer, by_id[name].gold) for name in known}
    texts = {
        record.key: (record.answer.text, record.answer.status)
        for record in run.records
        if record.answer is not None and record.case.id in known
    }
    scores = _scored(texts, bound, by_id, settings)
    return replace(run, records=tuple(_with_score(r, scores.get(r.key)) for r in run.records))


def _with_score(record: Record, score: StoredScore | None) -> Record:
    if score is None or record.status in {"not_run", "unchecked", "lost"}:
        return record
    errored = record.answer is not None and record.answer.error is not None
    status = "errored" if errored else status_of(score, record.case.pass_mark)
    return record.model_copy(update={"score": score, "status": status})


def _refuse_other_cases(path: Path, old: Baseline, by_id: Mapping[str, Case]) -> None:
    missing = [name for name in old.cases if name not in by_id]
    if missing:
        raise InputError(f"its cases are in no case file: {named(missing)}", path=path)
    changed = [name for name, case in old.cases.items() if by_id[name].digest != case.digest]
    if changed:
        raise InputError(
            f"its cases were changed since: {named(changed)}; its answers are to other questions: "
            "run the suite and propose a new baseline",
            path=path,
        )


def _scores(
    path: Path,
    old: Baseline,
    by_id: Mapping[str, Case],
    kept: Mapping[tuple[str, int], StoredAnswer],
    bound: Mapping[str, Scorer],
    settings: Settings,
) -> dict[tuple[str, int], float]:
    wanted = {(name, k) for name, case in old.cases.items() for k in range(len(case.scores))}
    if wanted != set(kept):
        odd = sorted(f"{name} (sample {k})" for name, k in wanted ^ set(kept))
        raise InputError(
            f"holds other answers than the baseline's samples: {named(odd)}",
            path=companion_path(path),
        )
    texts = {key: (one.text, one.status) for key, one in kept.items()}
    scores = _scored(texts, bound, by_id, settings)
    return {key: score.value for key, score in scores.items()}


def _scored(
    texts: Mapping[K, tuple[str, Status]],
    bound: Mapping[str, Scorer],
    by_id: Mapping[str, Case],
    settings: Settings,
) -> dict[K, StoredScore]:
    """Scores of answers by a key that begins with the case's id, pending ones completed."""
    found = {key: bound[key[0]].score(text, status) for key, (text, status) in texts.items()}
    pending = [key for key, score in found.items() if score.pending]
    if pending:
        # Imported here: without summaries nothing of the encoder's side is loaded.
        from pytest_fineval.scoring.encoders import Embeddings
        from pytest_fineval.scoring.finish import finish

        waiting = [(found[key], by_id[key[0]], texts[key][0]) for key in pending]
        found.update(zip(pending, finish(waiting, Embeddings(settings)), strict=True))
    return {key: stored(score) for key, score in found.items()}


def _reason(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> str:
    changes = [
        f"{', '.join(before.get(category, ()))} -> {', '.join(names)} ({category})"
        for category, names in after.items()
        if before.get(category) != names
    ]
    return "rescored: " + ("; ".join(changes) or "the same scorers")


def _mean(scores: tuple[float, ...]) -> float:
    return sum(scores) / len(scores)

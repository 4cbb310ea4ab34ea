"""Recorded answers of models, from the layouts in which benchmarks publish them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_fineval.cases.model import Case
from pytest_fineval.clients.base import Answer, build_request
from pytest_fineval.clients.recording import Recordings
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks.base import Record, Track, read_records


class Predicted(NamedTuple):
    """One answer of one run, and the record that it stands in."""

    run: str
    case: str
    text: str
    record: Record
    gold: object = None


Layout = Callable[[Sequence[Record]], list[Predicted] | None]
"""A benchmark's own layout; None where the file has another."""


def predicted(
    path: Path,
    cases: Sequence[Case],
    skipped: Collection[str],
    records: Sequence[Record],
    own: Layout | None,
) -> dict[str, list[tuple[Case, str]]]:
    """Answers by run, each with its case.

    Args:
        path: rows `{"run", "id", "predicted"}` (with `gold`, it has to be that of the case), or
            what `own` reads.
        cases: what may be answered.
        skipped: ids of cases that were left out; their answers are left out, too.
        records: what the cases were built from, to name the line of a gold.
        own: the benchmark's own layout.

    Raises:
        InputError: an answer without a case, to another gold, or given twice in one run.
    """
    known = {case.id: case for case in cases}
    found: dict[str, list[tuple[Case, str]]] = {}
    answered: dict[tuple[str, str], int] = {}
    rows = _rows(path)
    for row in (own(rows) if own else None) or [_row(row) for row in rows]:
        if row.case in skipped:
            continue
        case = known.get(row.case)
        if case is None:
            raise row.record.fault(f'answers "{row.case}", which is not among the cases')
        if row.gold is not None and row.gold != case.gold.answer:
            raise row.record.fault(
                f'the gold of "{row.case}" is "{row.gold}" here and "{case.gold.answer}" in line '
                f"{_line(row.case, records)} of the cases' source: the run answered another release"
            )
        if (row.run, row.case) in answered:
            earlier = answered[row.run, row.case]
            raise row.record.fault(
                f'run "{row.run}" answers "{row.case}" already in line {earlier}'
            )
        answered[row.run, row.case] = row.record.number
        found.setdefault(row.run, []).append((case, row.text))
    return found


def record(answers: Sequence[tuple[Case, str]], run: str, track: Track, path: Path) -> None:
    """Write answers as the recording file of a model.

    The recorded requests are those of `ModelSettings(client="recording", model=run)` with the
    settings that the track prescribes.
    """
    model = ModelSettings.model_validate({"client": "recording", "model": run, **track.model})
    recordings = Recordings.load(path)
    for case, text in answers:
        request = build_request(case.candidate, model).digest
        status = "ok" if text.strip() else "empty"
        answer = Answer.model_validate({"text": text, "status": status, "source": "recording"})
        recordings.add(request, 0, answer, case=case.id, replace=True)
    recordings.compact()


def _rows(path: Path) -> list[Record]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return read_records(path)  # JSONL, or the fault in words
    return [Record(path, 1, whole)] if isinstance(whole, dict) else read_records(path)


def _row(row: Record) -> Predicted:
    gold = row.need("gold", (str, int, float, bool, list)) if row.has("gold") else None
    return Predicted(row.need("run"), row.need("id"), row.need("predicted"), row, gold)


def _line(name: str, records: Sequence[Record]) -> int | str:
    return next((each.number for each in records if each.fields.get("id") == name), "?")


def by_key(rows: Sequence[Record], text: Callable[[object], str | None]) -> list[Predicted] | None:
    """Answers of a file that is one object `{id: prediction}`; the run is named after the file."""
    if len(rows) != 1 or "predicted" in rows[0].fields:
        return None
    only: Mapping[str, object] = rows[0].fields
    found = []
    for name, prediction in only.items():
        said = text(prediction)
        if said is None:
            raise rows[0].fault(f'the prediction of "{name}" is not what this benchmark publishes')
        found.append(Predicted(rows[0].path.stem, name, said, rows[0]))
    return found

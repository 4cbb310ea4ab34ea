"""What `fineval import` does: records to a case file, run rows to recordings, and a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_fineval.cases.files import write
from pytest_fineval.cases.model import Case
from pytest_fineval.clients.base import Answer, build_request
from pytest_fineval.clients.recording import Recordings
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks import finqa, jfinqa
from pytest_fineval.tracks.base import Record, Track, read_records, write_manifest


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import wrote.

    Attributes:
        track: the track's name.
        cases: number of cases written.
        written: every file, the case file first.
        runs: recorded answers by model name (as `model` in the settings has to spell it).
    """

    track: str
    cases: int
    written: tuple[Path, ...]
    runs: Mapping[str, int] = field(default_factory=dict)

    def summary(self) -> str:
        """One line for the terminal."""
        text = f"{self.track}: {self.cases} cases -> {self.written[0]}"
        if self.runs:
            total = sum(self.runs.values())
            text += f"; {total} recorded answers of {len(self.runs)} models"
        return text


def import_jfinqa(
    source: Path,
    cases_path: Path,
    *,
    predictions: Path | None = None,
    recordings: Path | None = None,
) -> Imported:
    """`fineval import jfinqa FILE -o CASES --predictions PRED --recordings DIR`.

    Args:
        source: question records, or rows of model runs (then the cases have no candidate).
        cases_path: where the cases go.
        predictions: rows of model runs; each run becomes one recording file.
        recordings: folder of the recording files; default: `recordings` beside the cases.

    Returns:
        What was written. The recorded requests are those of
        `ModelSettings(client="recording", model=RUN)`.

    Raises:
        InputError: a broken record, rows that disagree about a gold, a prediction without a case,
            an id that a run answers twice.
    """
    track = jfinqa.TRACK
    records = read_records(source)
    cases = track.build(records)
    lines = {record.fields["id"]: record.number for record in reversed(records)}
    folder = recordings or cases_path.parent / "recordings"
    answers = [] if predictions is None else read_records(predictions)
    by_run = _runs(answers, {case.id: case for case in cases}, lines)
    files = _file_names(by_run)
    write(cases_path, cases)
    written = [cases_path]
    for run, rows in by_run.items():
        written.append(folder / files[run])
        _record(rows, ModelSettings(client="recording", model=run), written[-1])
    runs = {run: len(rows) for run, rows in by_run.items()}
    counts: dict[str, object] = {"cases": len(cases)}
    if predictions:
        counts["recorded_answers"] = runs
    written.append(write_manifest(cases_path, track, source, counts, predictions))
    return Imported(track.name, len(cases), tuple(written), runs)


def import_finqa(source: Path, cases_path: Path, *, programs: bool = False) -> Imported:
    """`fineval import finqa FILE -o CASES`.

    Args:
        source: records of a split, JSONL or one JSON list.
        cases_path: where the cases go.
        programs: ask for programs and score them as published (`finqa/official`), instead of free
            answers (`finqa/strict`).

    Raises:
        InputError: a broken record, or an id that stands twice.
    """
    return _import_cases(finqa.PROGRAMS if programs else finqa.TRACK, source, cases_path)


def _import_cases(track: Track, source: Path, cases_path: Path) -> Imported:
    cases = track.import_file(source)
    write(cases_path, cases)
    manifest = write_manifest(cases_path, track, source, {"cases": len(cases)})
    return Imported(track.name, len(cases), (cases_path, manifest))


@dataclass(frozen=True, slots=True)
class _Prediction:
    case: Case
    text: str


def _runs(
    rows: Sequence[Record], cases: Mapping[str, Case], lines: Mapping[str, int]
) -> dict[str, list[_Prediction]]:
    found: dict[str, list[_Prediction]] = {}
    answered: dict[tuple[str, str], int] = {}
    for row in rows:
        run, name = row.need("run"), row.need("id")
        case = cases.get(name)
        if case is None:
            raise row.fault(f'answers "{name}", which is not among the cases')
        if row.need("gold") != case.gold.answer:
            raise row.fault(
                f'the gold of "{name}" is "{row.need("gold")}" here and '
                f'"{case.gold.answer}" in line {lines[name]} of the cases\' source: the run '
                "answered another release"
            )
        if (run, name) in answered:
            earlier = answered[run, name]
            raise row.fault(f'run "{run}" answers "{name}" already in line {earlier}')
        answered[run, name] = row.number
        found.setdefault(run, []).append(_Prediction(case, row.need("predicted")))
    return found


def _record(rows: Sequence[_Prediction], model: ModelSettings, path: Path) -> None:
    recordings = Recordings.load(path)
    for row in rows:
        request = build_request(row.case.candidate, model).digest
        status = "ok" if row.text.strip() else "empty"
        answer = Answer(text=row.text, status=status, source="recording")
        recordings.add(request, 0, answer, case=row.case.id, replace=True)
    recordings.compact()


def _file_names(runs: Mapping[str, object]) -> dict[str, str]:
    names: dict[str, str] = {}
    for run in runs:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", run).lstrip(".") + ".jsonl"
        clash = [other for other, taken in names.items() if taken.lower() == name.lower()]
        if clash:
            raise InputError(f'runs "{clash[0]}" and "{run}" would share the file "{name}"')
        names[run] = name
    return names

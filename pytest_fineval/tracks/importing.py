"""What `fineval import` does: records to a case file, predictions to recordings, and a manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_fineval.cases.files import write
from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError
from pytest_fineval.tracks import catalogue, hub, manifest, restricted
from pytest_fineval.tracks.base import Record, Track, read_records
from pytest_fineval.tracks.catalogue import Entry
from pytest_fineval.tracks.faults import Flagged, flag
from pytest_fineval.tracks.manifest import Artifact, sha256
from pytest_fineval.tracks.predictions import Layout, predicted, record


@dataclass(frozen=True, slots=True)
class How:
    """Choices of one import; each shows in the manifest.

    Attributes:
        scorer: of an imported case; None takes the track's own choice.
        split: the source's split; None reads it off the file's name.
        exclude: a list of faulty golds to leave out (`NAME@VERSION`, or the path of one's own).
        sha256: what the source has to be; None for whatever it is.
        predictions: a file of recorded answers.
        recordings: folder of the recording files; default: `recordings` beside the cases.
    """

    scorer: Literal["official", "strict"] | None = None
    split: str | None = None
    exclude: str | None = None
    sha256: str | None = None
    predictions: Path | None = None
    recordings: Path | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import wrote.

    Attributes:
        track: the protocol.
        cases: number of cases written.
        written: every file, the case file first.
        notes: what was left out, flagged or excluded, one line each.
        runs: recorded answers by model name (as `model` in the settings has to spell it).
    """

    track: Track
    cases: int
    written: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    runs: Mapping[str, int] = field(default_factory=dict)

    def summary(self) -> str:
        """One line for the terminal."""
        text = f"{self.track.name}: {self.cases} cases -> {self.written[0]}"
        if self.runs:
            total = sum(self.runs.values())
            text += f"; {total} recorded answers of {len(self.runs)} models"
        return text


def import_track(
    name: str,
    source: str | Path,
    cases_path: Path,
    how: How | None = None,
    root: Path | None = None,
) -> Imported:
    """`fineval import TRACK SOURCE -o CASES`.

    Args:
        name: of a track.
        source: a local file, or `hub:OWNER/NAME@REVISION` with the full hash.
        cases_path: where the cases go.
        how: split, scorer, exclusions, predictions.
        root: the project's folder, whose settings acknowledge licences; default: the current one.

    Returns:
        What was written: cases, recordings and the manifest beside the cases.

    Raises:
        InputError: a broken record, an id that stands twice, an unknown split or exclusion list,
            a source that is not what it was, a licence that is not acknowledged, predictions that
            do not belong to the cases.
    """
    how = how or How()
    entry = catalogue.find(name)
    folder = how.recordings or cases_path.parent / "recordings"
    if entry.track.licence.non_commercial:
        restricted.allow(entry.track, entry.benchmark, (cases_path, folder), root or Path.cwd())
    track = entry.track.with_scorer(how.scorer) if how.scorer else entry.track
    records, artifact = _records(track, source, how)
    _same_as_before(artifact, cases_path, how)
    built = track.build(records)
    if not built:
        raise InputError(f"no record of {artifact.name} makes a case of track {name}")
    flagged = flag(built, entry.benchmark, how.exclude)
    by_run = _predictions(flagged, records, entry, how)
    files = _file_names(by_run)
    write(cases_path, flagged.cases)
    written = [cases_path]
    for run, answers in by_run.items():
        written.append(folder / files[run])
        record(answers, run, track, written[-1])
    runs = {run: len(answers) for run, answers in by_run.items()}
    left_out = entry.left_out(records)
    counts: dict[str, object] = {"records": len(records), "cases": len(flagged.cases)}
    if left_out:
        counts["left_out"] = left_out
    if runs:
        counts["recorded_answers"] = runs
    source_of_answers = None
    if how.predictions:
        source_of_answers = Artifact(how.predictions.name, sha256(how.predictions))
    done = manifest.Entry(
        track, artifact, counts, flagged.faults, flagged.excluded, source_of_answers
    )
    written.append(manifest.write_manifest(cases_path, done))
    notes = [f"{count} records left out: {reason}" for reason, count in left_out.items()]
    if flagged.excluded:
        notes.append(f"{len(flagged.excluded['cases'])} excluded by {flagged.excluded['list']}")
    elif flagged.faults.get("cases"):
        listed = flagged.faults.get("list")
        remedy = f"; --exclude {listed} leaves them out" if listed else ""
        notes.append(f"{len(flagged.faults['cases'])} cases have a doubtful gold{remedy}")
    return Imported(track, len(flagged.cases), tuple(written), tuple(notes), runs)


def models(done: Imported) -> list[str]:
    """Settings tables of the recorded models; without any, of a model under the track's protocol.

    TOML, one line each, the last one ending in a line break; nothing where nothing has to be said.
    """
    lines = []
    for run in done.runs or (["NAME"] if done.track.model else []):
        client = ['client = "recording"', f"model = {_toml(run)}"] if done.runs else []
        settings = [f"{key} = {_toml(value)}" for key, value in sorted(done.track.model.items())]
        lines += [f"[tool.fineval.models.{_toml(run)}]", *client, *settings]
    return [*lines, ""] if lines else []


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _records(track: Track, source: str | Path, how: How) -> tuple[list[Record], Artifact]:
    if isinstance(source, str) and source.startswith(hub.PREFIX):
        split = _split(track, how.split, None)
        return hub.read(source, split)
    path = Path(source)
    records = read_records(path)
    return records, Artifact(path.name, sha256(path), split=_split(track, how.split, path))


def _split(track: Track, asked: str | None, path: Path | None) -> str:
    """The split that was named; else the only one, or the one in the file's name."""
    known = track.splits
    if asked is not None:
        if asked not in known:
            raise InputError(
                f'track "{track.name}" has no split "{asked}" with a public gold; it has '
                + ", ".join(known)
            )
        return asked
    if len(known) == 1:
        return known[0]
    if path is None:
        raise InputError(f"--split is needed: one of {', '.join(known)}")
    words = re.split(r"[^a-z]+", path.stem.lower())
    named = [split for split in known if split in words or split in path.stem.lower().split(".")]
    return named[0] if len(named) == 1 else "unknown"


def _same_as_before(artifact: Artifact, cases_path: Path, how: How) -> None:
    if how.sha256 is not None and how.sha256 != artifact.sha256:
        raise InputError(
            f"{artifact.name} has sha256 {artifact.sha256}, not the {how.sha256} that was asked for"
        )
    before = manifest.recorded(cases_path)
    same = before and all(
        before.get(key) == value
        for key, value in (
            ("file", artifact.name),
            ("revision", artifact.revision),
            ("split", artifact.split),
        )
    )
    # A local file may have been replaced on purpose; one revision of a hub cannot change.
    if before and same and artifact.revision and before.get("sha256") != artifact.sha256:
        raise InputError(
            f"{artifact.name} at {artifact.revision} has sha256 {artifact.sha256}; when it was "
            f"imported before it had {before.get('sha256')}: one revision cannot be two things",
            path=cases_path.parent / manifest.MANIFEST,
        )


def _predictions(
    flagged: Flagged, records: Sequence[Record], entry: Entry, how: How
) -> dict[str, list[tuple[Case, str]]]:
    if how.predictions is None:
        if how.recordings is not None:
            raise InputError("--recordings says where recorded answers go: it needs --predictions")
        return {}
    own: Layout | None = getattr(entry.module, "predictions", None)
    skipped = flagged.excluded.get("cases", {})
    return predicted(how.predictions, flagged.cases, skipped, records, own)


def _file_names(runs: Mapping[str, object]) -> dict[str, str]:
    names: dict[str, str] = {}
    for run in runs:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", run).lstrip(".") + ".jsonl"
        clash = [other for other, taken in names.items() if taken.lower() == name.lower()]
        if clash:
            raise InputError(f'runs "{clash[0]}" and "{run}" would share the file "{name}"')
        names[run] = name
    return names

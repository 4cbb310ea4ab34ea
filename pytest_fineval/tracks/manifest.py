"""SOURCE.json: what the case files of a folder were imported from, under which protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_fineval.errors import InputError
from pytest_fineval.tracks.base import Track, parsed

MANIFEST = "SOURCE.json"
"""Name of the manifest that stands beside imported cases."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What records were read from.

    Attributes:
        name: file name, or `hub:OWNER/NAME`.
        sha256: of the file's bytes, or of the records in canonical form.
        revision: full hash of the hub's revision; None for a local file.
        split: of the source.
    """

    name: str
    sha256: str
    revision: str | None = None
    split: str = "unknown"


@dataclass(frozen=True, slots=True)
class Entry:
    """One import: everything a reader of a figure has to know of its cases.

    Attributes:
        counts: what was read, left out (by reason) and written.
        faults: name and version of the list of known gold faults, with its cases here.
        excluded: the exclusion list that was applied, with its cases here; empty for none.
        predictions: file that recorded answers were taken from.
    """

    track: Track
    source: Artifact
    counts: Mapping[str, Any]
    faults: Mapping[str, Any] = field(default_factory=dict)
    excluded: Mapping[str, Any] = field(default_factory=dict)
    predictions: Artifact | None = None


def write_manifest(cases_path: Path, entry: Entry) -> Path:
    """Enter an import in the manifest beside its cases; no date, so that it is reproducible.

    Args:
        cases_path: the case file that was written; its name is the entry's key.
        entry: what it was made of.

    Returns:
        The manifest's path: a JSON object with one entry for each imported file of the folder.
    """
    path = cases_path.parent / MANIFEST
    entries = _entries(path)
    track, source = entry.track, entry.source
    entries[cases_path.name] = {
        "track": track.name,
        "source": track.source,
        "revision": source.revision or track.revision,
        "split": source.split,
        "licence": {
            "name": track.licence.name,
            "notice": track.licence.notice,
            "available_for": track.licence.available_for,
        },
        "scorer": track.scorer,
        "scorers": {"official": track.official, "strict": track.strict},
        "evidence": track.evidence,
        "tools": list(track.tools),
        "candidate": list(track.candidate),
        "cluster": track.cluster,
        "role": asdict(track.role),
        "file": source.name,
        "sha256": source.sha256,
        "cases_sha256": sha256(cases_path),
        "counts": dict(entry.counts),
        "gold_faults": dict(entry.faults),
        "excluded": dict(entry.excluded),
    }
    if entry.predictions:
        entries[cases_path.name] |= {
            "predictions": entry.predictions.name,
            "predictions_sha256": entry.predictions.sha256,
        }
    text = json.dumps(entries, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def read_entry(cases_path: Path) -> Mapping[str, Any] | None:
    """What the manifest beside a case file says of it; None for cases that were not imported.

    Raises:
        InputError: the manifest is broken, or the case file is not the one that was imported.
    """
    path = cases_path.parent / MANIFEST
    entry = _entries(path).get(cases_path.name)
    if entry is None:
        return None
    if not isinstance(entry, dict) or "cases_sha256" not in entry:
        raise InputError(f'the entry of "{cases_path.name}" is none of an import', path=path)
    if cases_path.exists() and entry["cases_sha256"] != sha256(cases_path):
        raise InputError(
            "was changed after its import: import it again, or remove its entry from "
            f"{MANIFEST} and take its cases as your own",
            path=cases_path,
        )
    return entry


def recorded(cases_path: Path) -> Mapping[str, Any]:
    """What an earlier import entered for a case file, whatever became of the file; or nothing."""
    entry = _entries(cases_path.parent / MANIFEST).get(cases_path.name)
    return entry if isinstance(entry, dict) else {}


def _entries(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    entries = parsed(path.read_text(encoding="utf-8"), path, None)
    if not isinstance(entries, dict):
        raise InputError("has to be a JSON object: entries by the name of a file", path=path)
    return entries


def sha256(path: Path) -> str:
    """Digest of a file's bytes, hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""Records of a data set on the hub, at one full revision hash and nothing else."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pytest_fineval.cases.model import digest
from pytest_fineval.errors import InputError
from pytest_fineval.tracks.base import Record, read_records
from pytest_fineval.tracks.manifest import Artifact

PREFIX = "hub:"
_SOURCE = re.compile(r"hub:(?P<repo>[\w.-]{1,96}/[\w.-]{1,96})(?:@(?P<revision>.{0,200}))?")
_HASH = re.compile(r"[0-9a-f]{40}")


def read(source: str, split: str) -> tuple[list[Record], Artifact]:
    """The records of one split.

    Args:
        source: `hub:OWNER/NAME@REVISION`; a branch or a short hash is refused, because it names
            another thing tomorrow.
        split: as the data set names it.

    Returns:
        Records in order (numbered from 1), and what they were read from, with the digest of the
        records in canonical form.

    Raises:
        InputError: no full hash, the package `datasets` is missing, the hub does not have this
            revision or split or cannot be reached. What an earlier call left in a cache is used
            only for the same revision.
    """
    repo, revision = parse(source)
    folder = _snapshot(repo, revision)
    rows = list(_rows(folder, repo, split))
    if not rows:
        raise InputError(f"{PREFIX}{repo} has no record in split {split}")
    place = Path(f"{repo}@{revision[:8]}") / split
    records = [Record(place, number, row) for number, row in enumerate(rows, 1)]
    return records, Artifact(PREFIX + repo, digest(rows), revision=revision, split=split)


def parse(source: str) -> tuple[str, str]:
    """Repository and revision of `hub:OWNER/NAME@REVISION`.

    Raises:
        InputError: another form, or a revision that is no full hash.
    """
    match = _SOURCE.fullmatch(source)
    if match is None:
        raise InputError(f'"{source}": write {PREFIX}OWNER/NAME@REVISION')
    revision = match["revision"]
    if revision is None or not _HASH.fullmatch(revision):
        raise InputError(
            f'"{source}": the revision has to be its full hash (40 hex digits): a branch, a tag or '
            "a short hash does not pin what is measured"
        )
    return match["repo"], revision


def _snapshot(repo: str, revision: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed: pip install 'pytest-fineval[datasets]'"
        ) from error
    try:
        # `load_dataset(revision=)` falls back to any cached revision when the hub is away; this
        # raises instead.
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{PREFIX}{repo}@{revision} cannot be had: {lines[0]}") from error


def _rows(folder: Path, repo: str, split: str) -> Iterable[dict[str, Any]]:
    if any(folder.glob("*.py")):
        # A loading script: code of others, which is not run. Its JSON files are the records.
        return [dict(record.fields) for record in read_records(_json_file(folder, repo, split))]
    try:
        from datasets import DownloadConfig, load_dataset
        from datasets.exceptions import DatasetsError
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed: pip install 'pytest-fineval[datasets]'"
        ) from error
    # A cache of its own, thrown away: no other revision can answer for this one.
    with tempfile.TemporaryDirectory(prefix="fineval-hub-") as cache:
        try:
            loaded = load_dataset(
                str(folder),
                split=split,
                cache_dir=cache,
                download_config=DownloadConfig(local_files_only=True),
            )
        except (DatasetsError, ValueError, OSError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{PREFIX}{repo}, split {split}: {lines[0]}") from error
        return [{name: _plain(value) for name, value in row.items()} for row in loaded]


def _json_file(folder: Path, repo: str, split: str) -> Path:
    found = sorted(
        path
        for pattern in ("*.json", "*.jsonl")
        for path in folder.rglob(pattern)
        if split in re.split(r"[^a-z_]+", path.stem.lower())
    )
    if len(found) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in found) or "none"
        raise InputError(
            f"{PREFIX}{repo} ships a loading script, which is not run, and its JSON file for split "
            f"{split} is not clear (found: {names}); import that file by its path"
        )
    return found[0]


def _plain(value: Any) -> Any:
    """A cell as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value

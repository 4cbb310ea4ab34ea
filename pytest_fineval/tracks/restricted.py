"""Benchmarks for non-commercial use: an acknowledgement first, and no file where CI uploads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_fineval.errors import InputError
from pytest_fineval.settings import load
from pytest_fineval.tracks.base import Track

TAG = "restricted"
"""Tag of a case whose text must not get into a report; it holds the licence's name."""

FOLDER = Path(".fineval") / "restricted"
"""Below the project's root; git ignores what an import writes here."""


def allow(track: Track, benchmark: str, outputs: Sequence[Path], root: Path) -> None:
    """Let an import of a restricted benchmark go on.

    Args:
        track: with its licence.
        benchmark: key of `[tool.fineval.licences]`.
        outputs: files and folders that the import writes.
        root: the project's folder.

    Raises:
        InputError: the settings do not acknowledge exactly this licence, or an output lies
            outside of the restricted folder.
    """
    licence = track.licence
    if load(root).licences.get(benchmark) != licence.name:
        raise InputError(
            f"{benchmark} may be had for {licence.available_for} only ({licence.name}: "
            f"{licence.notice}). Where that is your use, acknowledge it: [tool.fineval.licences] "
            f'{benchmark} = "{licence.name}"',
            path=root / "pyproject.toml",
        )
    allowed = (root / FOLDER).resolve()
    for path in outputs:
        if not path.resolve().is_relative_to(allowed):
            raise InputError(
                f"records of {benchmark} must not get into the repository or what CI uploads: "
                f"write below {FOLDER}",
                path=path,
            )
    allowed.mkdir(parents=True, exist_ok=True)
    (allowed / ".gitignore").write_text("*\n", encoding="utf-8")

"""A report by the suffix of its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_fineval.errors import InputError, nearest
from pytest_fineval.report import github, html, table
from pytest_fineval.report.view import View
from pytest_fineval.store.run import write_atomically

TEXTS: dict[str, Callable[[View], str]] = {
    ".html": html.render,
    ".md": github.markdown,
    ".json": table.to_json,
    ".csv": table.to_csv,
    ".xml": table.to_junit,
}
"""Formats that are one text; `.parquet` is written by its library."""


def check_suffix(path: Path) -> None:
    """Refuse a file whose suffix names no format, before anything is read.

    Raises:
        InputError: with the nearest suffix that does.
    """
    known = (*TEXTS, ".parquet")
    if path.suffix.lower() not in known:
        raise InputError(
            f'no report has the suffix "{path.suffix}"; {nearest(path.suffix, known)}', path=path
        )


def write(view: View, path: Path) -> None:
    """Write the report that the suffix of `path` names.

    Raises:
        InputError: no format has the suffix, the file cannot be written, or a library is missing.
    """
    check_suffix(path)
    make = TEXTS.get(path.suffix.lower())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if make is None:
            table.to_parquet(view, path)
        else:
            write_atomically(path, make(view))
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error

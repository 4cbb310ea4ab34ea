"""A report by the suffix of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_fineval.errors import InputError
from pytest_fineval.report.material import Material
from pytest_fineval.store.run import write_atomically


def write(material: Material, path: Path, earlier: Sequence[Path] = ()) -> None:
    """Write the report that the suffix of `path` names.

    Args:
        earlier: runs to show beside it as history, where the format can.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        from pytest_fineval.report.html import render
        from pytest_fineval.report.view import view

        write_atomically(path, render(view(material, earlier)))
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error

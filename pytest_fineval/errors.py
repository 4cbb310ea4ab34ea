"""Errors that a person reads: one line that names file, line, field and the nearest right value."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class InputError(ValueError):
    """Something a person wrote is wrong: settings, a case, a baseline, a command line.

    The message is complete: place, fault and remedy. Whoever catches it prints it as it is and
    ends with exit code 4 (pytest's usage error).
    """

    def __init__(self, fault: str, *, path: Path | str | None = None, line: int | None = None):
        self.fault = fault
        self.path = None if path is None else Path(path)
        self.line = line
        where = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(f"{where}{fault}")


class MeasurementError(Exception):
    """The run could not measure what it was asked to (as opposed to: was asked wrongly)."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint in words: the nearest known word, or the whole list when nothing is near.

    >>> nearest("numric", ["numeric", "label"])
    'did you mean "numeric"?'
    """
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    if close:
        return f'did you mean "{close[0]}"?'
    return "known: " + ", ".join(words) if words else "none is known"


def faults(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Each fault of a pydantic validation as one readable clause, nearest key included."""
    found = []
    for item in error.errors(include_url=False, include_input=True):
        loc = [part for part in item["loc"] if not _is_variant(part)]
        field = ".".join(str(part) for part in loc)
        if item["type"] == "extra_forbidden":
            known = _fields_at(model, loc[:-1])
            found.append(f'unknown key "{field}" ({nearest(str(loc[-1]), known)})')
        elif item["type"] == "missing":
            found.append(f'missing key "{field}"')
        else:
            message = item["msg"].removeprefix("Value error, ")
            shown = repr(item["input"])
            if len(shown) > 60:
                shown = shown[:57] + "..."
            found.append(f'"{field}": {message} (got {shown})' if field else message)
    return found


def _is_variant(part: int | str) -> bool:
    # pydantic names the member of a union it tried, as in "list[str]"; a reader does not want it.
    return isinstance(part, str) and ("[" in part or part in {"str", "int", "float", "bool"})


def _fields_at(model: type[BaseModel], loc: list[Any]) -> list[str]:
    from pydantic import BaseModel

    here: Any = model
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel) and part in here.model_fields:
            here = here.model_fields[part].annotation
        here = next((a for a in [here, *get_args(here)] if _is_model(a)), here)
    return list(here.model_fields) if _is_model(here) else []


def _is_model(annotation: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(annotation, type) and issubclass(annotation, BaseModel)

"""Case files: UTF-8 JSONL, one case a line, in a stable order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from pytest_fineval.cases.model import Case, json_line
from pytest_fineval.errors import InputError, faults, nearest

MOST_FAULTS = 10
"""How many faults of one file are shown: enough to mend it, few enough to read."""


class Located:
    """A case and where it stands.

    Of a case that was found sound its text is kept, and read again when it is wanted: the twenty
    objects of each of 20,000 cases would be searched for garbage again and again while pytest
    makes their items, and `--collect-only` wants none of them.
    """

    __slots__ = ("_kept", "id", "line", "path", "splits")

    def __init__(self, case: Case, path: Path, line: int, text: str | None = None):
        self.id = case.id
        self.splits = case.splits
        self.path = path
        self.line = line
        self._kept: Case | str = case if text is None else text

    @property
    def case(self) -> Case:
        """The case itself."""
        if isinstance(self._kept, str):
            self._kept = Case.model_validate_json(self._kept)
        return self._kept

    def fault(self, text: str) -> InputError:
        """An error about this case that names its file and line."""
        return InputError(f'case "{self.id}": {text}', path=self.path, line=self.line)


def read(path: Path, categories: Iterable[str]) -> list[Located]:
    """All cases of a file in its order.

    Args:
        path: the JSONL file; empty lines are allowed.
        categories: the words that a case's `category` may be.

    Raises:
        InputError: the file is missing, empty or not UTF-8, a line is no JSON or no case, an id
            stands twice, a category is unknown. Up to ten faults, a line each.
    """
    known = frozenset(categories)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError("no such case file", path=path) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 (byte {error.start}); save the file as UTF-8", path=path
        ) from error
    found: list[Located] = []
    first_line: dict[str, int] = {}
    problems: list[InputError] = []
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            continue
        try:
            case = Case.model_validate_json(line)
        except ValidationError as error:
            problems.append(InputError("; ".join(faults(error, Case)), path=path, line=number))
            continue
        located = Located(case, path, number, line)
        if case.id in first_line:
            earlier = first_line[case.id]
            problems.append(
                located.fault(f"the id stands already in line {earlier}; ids are unique")
            )
            continue
        first_line[case.id] = number
        if case.category not in known:
            problems.append(
                located.fault(
                    f'unknown category "{case.category}"; {nearest(case.category, known)}'
                )
            )
        found.append(located)
    if not found and not problems:
        raise InputError("holds no case: a case file has one JSON object a line", path=path)
    raise_all(problems)
    return found


def raise_all(problems: list[InputError]) -> None:
    """Raise the faults as one error, a line each; nothing when there is none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        more = len(problems) - MOST_FAULTS
        shown = [str(problem) for problem in problems[:MOST_FAULTS]]
        raise InputError("\n".join([*shown, f"... and {more} more"] if more > 0 else shown))


def write(path: Path, cases: Iterable[Case]) -> None:
    """Write cases one a line, defaults left out, in the order given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json_line(case.model_dump(mode="json", exclude_defaults=True)) + "\n" for case in cases
    ]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")

"""FinQA programs: `subtract(153.7, 139.9), divide(#0, 139.9)` cut into tokens, parsed and executed.

Behaves as the executors of FinQA and of ConvFinQA do, their oddities included. Nothing of a
program is ever evaluated as Python: an operation is looked up in a table, an argument is read as
a number, a reference or a row name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

END = "EOF"
"""The token that closes every token list; the executor drops the last token, whatever it is."""

NOTHING = "n/a"
"""The value of a program that runs through without executing a step."""

DIGITS = 5
"""Decimals to which the last result is rounded, half to even on the binary value."""

MAX_TOKENS = 4_000
"""Longer token lists are invalid: a thousand steps are more than any program has."""

_MAX_TEXT = 1_000  # "yes" + "yes" doubles with every step

Value = float | int | complex | str
Table = Sequence[Sequence[str]]


def _greater(first: Any, second: Any) -> str:
    return "yes" if first > second else "no"


ARITHMETIC: Mapping[str, Callable[[Any, Any], Value]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": operator.pow,
    "greater": _greater,
}
OVER_ROW: Mapping[str, Callable[[list[float]], Value]] = {
    "table_max": max,
    "table_min": min,
    "table_sum": sum,
    "table_average": lambda cells: sum(cells) / len(cells),
}
OPERATIONS = frozenset([*ARITHMETIC, *OVER_ROW])


class InvalidProgramError(ValueError):
    """The program has no value; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a program.

    Attributes:
        op: name of the operation; empty for a call that is read but never executed.
        first, second: the arguments as written.
        text: the step with its joining bars, as program equality compares table steps.
    """

    op: str
    first: str
    second: str
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a program.

    Attributes:
        valid: it ran through.
        value: a number rounded to five decimals, "yes", "no", or "n/a" when no step was executed;
            None when invalid. May be nan or infinite.
        reason: why it is invalid.
    """

    valid: bool
    value: float | int | str | None
    reason: str | None = None

    def matches(self, exe_ans: float | int | str) -> bool:
        """Execution accuracy: valid and exactly equal to the stored answer."""
        return self.valid and not isinstance(exe_ans, bool) and self.value == exe_ans


def tokenize(program: str) -> list[str]:
    """The tokens of a program string, `EOF` included.

    Cut at comma and blank; within a piece "(" ends a token that keeps it, ")" stands alone.
    """
    tokens = []
    for piece in program.split(", "):
        start = 0
        for place, char in enumerate(piece):
            if char not in "()":
                continue
            if char == "(":
                tokens.append(piece[start : place + 1])
            else:
                tokens += [piece[start:place], ")"] if place > start else [")"]
            start = place + 1
        if start < len(piece):
            tokens.append(piece[start:])
    return [*tokens, END]


def has_structure(body: Sequence[str]) -> bool:
    """Whether calls of two arguments stand where they have to: an operation at every fourth token
    from the first, a closing parenthesis at every fourth from the fourth."""
    calls, closings = body[::4], body[3::4]
    return all(call.strip("(") in OPERATIONS for call in calls) and set(closings) <= {")"}


def parse(body: Sequence[str]) -> list[Step]:
    """The closed calls among tokens; what follows the last ")" is ignored.

    Raises:
        InvalidProgramError: a call within a call, or one with fewer than two arguments.
    """
    steps = []
    for piece in "|".join(body).split(")")[:-1]:
        text = piece.strip()
        parts = text.split("(")
        if len(parts) != 2:
            raise InvalidProgramError("a step has to be one call")
        arguments = parts[1].strip("|").strip().split("|")
        if len(arguments) < 2:
            raise InvalidProgramError("a step has to have two arguments")
        op = parts[0].strip("|").strip()
        steps.append(Step(op, arguments[0].strip(), arguments[1].strip(), text))
    return steps


def read_number(text: str) -> float:
    """A number as a program may write it: 1,234.5, 5%, const_100, const_m1, any Python float.

    Raises:
        InvalidProgramError: anything else.
    """
    text = text.replace(",", "")
    for candidate, divisor in ((text, 1.0), (text.replace("%", ""), 100.0)):
        try:
            return float(candidate) / divisor
        except ValueError:
            if "%" not in text:
                break
    if "const" in text and "%" not in text:
        constant = text.replace("const_", "")
        try:
            return float("-1" if constant == "m1" else constant)
        except ValueError:
            pass
    raise InvalidProgramError(f'"{text[:40]}" is no number')


def execute(tokens: Sequence[str], table: Table = (), *, single_number: bool = False) -> Outcome:
    """The value of a program.

    Args:
        tokens: the program's tokens; the last one is dropped, whatever it is.
        table: rows of cells, the row's name first; only table operations look at it.
        single_number: ConvFinQA's addition: a program of one token is that number.

    Returns:
        The outcome; never raises.

    Source: FinQA evaluation script, revision 0f16e286; ConvFinQA, revision cf3eed2d.
    """
    try:
        return Outcome(True, _value(list(tokens[:-1]), table, single_number))
    except InvalidProgramError as error:
        return Outcome(False, None, str(error))
    except (ArithmeticError, TypeError, ValueError, AttributeError, IndexError) as error:
        return Outcome(False, None, f"{type(error).__name__}: {error}"[:200])


def _value(body: Sequence[str], table: Table, single_number: bool) -> float | str:
    if len(body) > MAX_TOKENS:
        raise InvalidProgramError("too long")
    if single_number and len(body) == 1:
        return round(read_number(body[0]), DIGITS)
    if not has_structure(body):
        raise InvalidProgramError("not a chain of calls with two arguments")
    value = _run(parse(body), table)
    if isinstance(value, complex) or (
        isinstance(value, str) and value not in {"yes", "no", NOTHING}
    ):
        raise InvalidProgramError("the result is no number")
    return value if isinstance(value, str) else round(value, DIGITS)


def _run(steps: Sequence[Step], table: Table) -> Value:
    results: dict[int, Value] = {}
    value: Value = NOTHING
    cells: list[float] | None = None
    for place, step in enumerate(steps):
        if step.op in ARITHMETIC:
            first = _argument(step.first, results)
            value = ARITHMETIC[step.op](first, _argument(step.second, results))
        elif step.op in OVER_ROW:
            if "#" in step.first:
                # The result referred to is not used: the cells of the last table step are.
                _result(step.first, results)
                if cells is None:
                    raise InvalidProgramError(
                        "a table step refers to a result before any row was read"
                    )
            else:
                cells = read_row(step.first, table)
            value = OVER_ROW[step.op](cells)
        else:
            continue  # a call whose name was lost to a leading parenthesis
        if isinstance(value, str) and len(value) > _MAX_TEXT:
            raise InvalidProgramError("a step multiplies text")
        results[place] = value
    return value


def _argument(text: str, results: Mapping[int, Value]) -> Value:
    return _result(text, results) if "#" in text else read_number(text)


def _result(text: str, results: Mapping[int, Value]) -> Value:
    try:
        return results[int(text.replace("#", ""))]
    except (ValueError, KeyError):
        raise InvalidProgramError(f'"{text[:40]}" refers to no earlier step') from None


def read_row(name: str, table: Table) -> list[float]:
    """The cells of the last row with this name, as numbers.

    Args:
        name: the exact name, case and all.
        table: rows of cells, the row's name first; the header is a row like any other.

    Raises:
        InvalidProgramError: no such row, or a cell that is no number (a "$" and what follows a
            parenthesis do not count).
    """
    row = {cells[0]: cells[1:] for cells in table}.get(name)
    if row is None:
        raise InvalidProgramError(f'no row "{name[:40]}"')
    return [read_number(cell.replace("$", "").strip().split("(")[0].strip()) for cell in row]

"""What the numerical cases ask, computed exactly from a household's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Any

Household = Mapping[str, Any]
Case = Mapping[str, Any]
Answer = tuple[Decimal, str]

_FINE = Decimal("0.0001")


def _cell(household: Household, row: int, column: int) -> Decimal:
    return Decimal(household["table"][row][column])


def _column(household: Household, rows: Sequence[int], column: int) -> list[Decimal]:
    return [_cell(household, row, column) for row in rows]


def _body(household: Household) -> range:
    return range(1, len(household["table"]))


def _currency(household: Household, column: int) -> str:
    """The currency in a column's head, as in `Value (EUR)`."""
    head: str = household["table"][0][column]
    return head.rpartition("(")[2].rstrip(")")


def _rounded(value: Decimal) -> Decimal:
    return value.quantize(_FINE, ROUND_HALF_UP).normalize() + 0


def share(household: Household, case: Case) -> Answer:
    """Rows as a percentage of all rows, by the third column."""
    part = sum(_column(household, case["rows"], 2))
    return _rounded(100 * part / sum(_column(household, _body(household), 2))), "percent"


def weighted(household: Household, case: Case) -> Answer:
    """Average of a column, weighted by another."""
    weights = _column(household, case["rows"], case["weight"])
    values = _column(household, case["rows"], case["column"])
    total = sum((w * v for w, v in zip(weights, values, strict=True)), Decimal(0))
    return _rounded(total / sum(weights)), "percent"


def change(household: Household, case: Case) -> Answer:
    """Percentage change of a row from one column to another."""
    new, old = (_cell(household, case["rows"][0], column) for column in case["columns"])
    return _rounded(100 * (new - old) / old), "percent"


def gain(household: Household, case: Case) -> Answer:
    """Units times price above cost, over rows."""
    total = sum(
        (
            _cell(household, row, 1) * (_cell(household, row, 3) - _cell(household, row, 2))
            for row in case["rows"]
        ),
        Decimal(0),
    )
    return _rounded(total), _currency(household, 3)


def entitled_left(household: Household, case: Case) -> Answer:
    """A share of an income, less what was paid."""
    [row] = case["rows"]
    entitled = Decimal(case["income"]) * _cell(household, row, 1) / 100
    return _rounded(entitled - _cell(household, row, 2)), "GBP"


def converted(household: Household, case: Case) -> Answer:
    """Balances in their currencies, summed in euros."""
    rows = case["rows"]
    total = sum((_cell(household, r, 2) * _cell(household, r, 3) for r in rows), Decimal(0))
    return _rounded(total), "EUR"


def total(household: Household, case: Case) -> Answer:
    """Sum of a column over rows."""
    column = case["column"]
    value = sum(_column(household, case["rows"], column), Decimal(0))
    return _rounded(value), _currency(household, column)


def options(household: Household, case: Case) -> Answer:
    """Vested options times the price above their strike."""
    value = Decimal(0)
    for row in case["rows"]:
        vested = _cell(household, row, 1) * _cell(household, row, 3) / 100
        value += vested * max(Decimal(0), Decimal(case["price"]) - _cell(household, row, 2))
    return _rounded(value), "USD"


def ratio_of_sums(household: Household, case: Case) -> Answer:
    """The sum of one column as a percentage of that of another."""
    top, bottom = (sum(_column(household, case["rows"], column)) for column in case["columns"])
    return _rounded(100 * Decimal(top) / Decimal(bottom)), "percent"


def days(household: Household, case: Case) -> Answer:
    """Days from the household's date to the date in a cell."""
    due = date.fromisoformat(household["table"][case["row"]][case["column"]])
    return Decimal((due - household["as_of"]).days), "days"


def months(household: Household, case: Case) -> Answer:
    """Whole months of saving until a goal is reached."""
    target, saved, monthly = (_cell(household, case["row"], column) for column in (1, 2, 3))
    needed = ((target - saved) / monthly).to_integral_value(ROUND_CEILING)
    return needed, "months"


ASKS: Mapping[str, Callable[[Household, Case], Answer]] = {
    "share": share,
    "weighted": weighted,
    "change": change,
    "gain": gain,
    "entitled_left": entitled_left,
    "converted": converted,
    "total": total,
    "options": options,
    "ratio_of_sums": ratio_of_sums,
    "days": days,
    "months": months,
}
"""Each gives a value and its unit."""

"""The rubric of intermediate steps: named quantities that a reasoned answer should state.

Order does not matter, nor does the wording; a quantity counts where the answer states its value
within the quantity's own tolerance, in its unit and scale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace

from pydantic import Field, JsonValue, ValidationError

from pytest_fineval.errors import faults
from pytest_fineval.scoring.ask import Ask, resolve
from pytest_fineval.scoring.base import gold_fault
from pytest_fineval.scoring.number import find_numbers
from pytest_fineval.scoring.numeric import ask_of, gold_number, within
from pytest_fineval.scoring.reading import ARITHMETIC, Reading
from pytest_fineval.scoring.surroundings import Labels
from pytest_fineval.settings import Frozen

MOST_NUMBERS = 500
"""Numbers of an answer that are compared with a rubric."""


class QuantitySpec(Frozen):
    """One entry of `gold.steps` in a case that is scored by a rubric.

    Attributes:
        name: what the quantity is called in reports.
        value: as in `gold.answer`; unit and scale are those of the case where not given here.
        words: if given, the line that states the value has to hold one of these, in any casing.
    """

    name: str = Field(min_length=1)
    value: float | int | str
    unit: str | None = None
    scale: float | None = Field(None, gt=0)
    abs_tol: float | None = Field(None, ge=0)
    rel_tol: float | None = Field(None, ge=0)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantity:
    """One named quantity, ready to be looked for."""

    name: str
    value: Decimal
    ask: Ask
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RubricResult:
    """Which quantities an answer states, by name in the order of the rubric."""

    stated: Mapping[str, bool]

    @property
    def share(self) -> float:
        """Share of the quantities that are stated, in [0, 1]; 0 without any."""
        return sum(self.stated.values()) / len(self.stated) if self.stated else 0.0


def quantities(
    steps: Sequence[Mapping[str, JsonValue]],
    unit: str,
    scale: float | None,
    locale: str,
    abs_tol: float,
    rel_tol: float,
) -> tuple[Quantity, ...]:
    """The rubric of a case.

    Args:
        steps: the entries of `gold.steps`; a tolerance given in one sets the other to 0 there.
        unit, scale, locale, abs_tol, rel_tol: the case's own, used where an entry has none.

    Raises:
        InputError: an entry is no quantity, its value is no number in its unit, or two entries
            have one name.
    """
    found: list[Quantity] = []
    for number, step in enumerate(steps):
        field = f"steps[{number}]"
        try:
            spec = QuantitySpec.model_validate(step)
        except ValidationError as error:
            raise gold_fault(field, "; ".join(faults(error, QuantitySpec))) from error
        own = spec.abs_tol is not None or spec.rel_tol is not None
        options = SimpleNamespace(
            locale=locale,
            label=None,
            strict=False,
            abs_tol=(spec.abs_tol or 0.0) if own else abs_tol,
            rel_tol=(spec.rel_tol or 0.0) if own else rel_tol,
        )
        try:
            ask = ask_of(
                spec.unit or unit, spec.scale if spec.unit else spec.scale or scale, options
            )
        except ValueError as error:
            raise gold_fault(f"{field}.unit", str(error)) from None
        value = gold_number(spec.value, ask, f"{field}.value")
        words = tuple(word.casefold() for word in spec.words if word.strip())
        found.append(Quantity(spec.name, value, ask, words))
    names = [quantity.name for quantity in found]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise gold_fault("steps", f'two quantities are called "{repeated}"')
    return tuple(found)


def check_rubric(text: str, rubric: Sequence[Quantity]) -> RubricResult:
    """Look for every quantity of a rubric in an answer.

    Args:
        text: cleaned text of the whole answer, reasoning blocks left out.
        rubric: what should be stated.

    Returns:
        A RubricResult. One number serves one quantity: two quantities of equal value have to be
        stated twice.
    """
    places = [
        [r.at for r in _readings(text, quantity.ask) if _is_stated(text, r, quantity)]
        for quantity in rubric
    ]
    served = _assign(places)
    return RubricResult({each.name: number in served for number, each in enumerate(rubric)})


def _assign(places: list[list[int]]) -> set[int]:
    """The most quantities that can each have a place of its own (augmenting paths)."""
    holder: dict[int, int] = {}

    def place(number: int, seen: set[int]) -> bool:
        for at in places[number]:
            if at in seen:
                continue
            seen.add(at)
            if at not in holder or place(holder[at], seen):
                holder[at] = number
                return True
        return False

    return {number for number in range(len(places)) if place(number, set())} | set(holder.values())


def _readings(text: str, ask: Ask) -> list[Reading]:
    """Every number of the text that is no label."""
    found: list[Reading] = []
    labels = Labels(text, 0, durations=ask.durations)
    for reading in find_numbers(text, ask.style):
        if labels.is_label(reading) and not ask.keeps_labels:
            continue
        found.append(reading)
        if len(found) == MOST_NUMBERS:
            break
    return found


def _is_stated(text: str, reading: Reading, quantity: Quantity) -> bool:
    candidate = resolve(text, reading, quantity.ask, None)
    if candidate.value is None or not candidate.fits:
        return False
    readings = [candidate.value]
    if reading.scale is None and quantity.ask.scale != 1:
        readings.append(ARITHMETIC.divide(candidate.value, quantity.ask.scale))
    ask = quantity.ask
    if not any(within(value, quantity.value, ask.abs_tol, ask.rel_tol) for value in readings):
        return False
    return not quantity.words or _line_holds(text, reading, quantity.words)


def _line_holds(text: str, reading: Reading, words: tuple[str, ...]) -> bool:
    start = text.rfind("\n", 0, reading.start) + 1
    end = text.find("\n", reading.end)
    line = text[start : len(text) if end < 0 else end].casefold()
    return any(re.search(rf"(?<!\w){re.escape(word)}", line) for word in words)

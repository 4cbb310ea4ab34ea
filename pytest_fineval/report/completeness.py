"""Completeness of a run by model: what came back at all, before any score is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_fineval.report.text import columns
from pytest_fineval.scoring.chains.parse import Chain, parse_chain
from pytest_fineval.store.record import Record

OVERLONG = 8_000
"""Characters from which on an answer is called over-long, unless told otherwise."""

_PARSED = frozenset({"json", "markers", "numbered", "bullets"})


@dataclass(frozen=True, slots=True)
class Completeness:
    """One model's answers, counted; shares are of `n`, so that nothing leaves the denominator.

    Attributes:
        n: records. errors: no answer came from the client.
        empty: an answer without a visible character.
        overlong: longer than the limit, or cut off by the output budget.
        no_final: no final answer could be read, empty ones and errors included.
        parsed: answers whose steps are told apart by a marker, a list or JSON.
        step_parse_rate: parsed / n.
        value_coverage: mean share of steps that state a value, over the parsed ones; 0 without.
        mean_steps: mean number of steps of the parsed ones.
    """

    model: str
    n: int
    errors: int
    empty: int
    overlong: int
    no_final: int
    parsed: int
    value_coverage: float
    mean_steps: float

    @property
    def step_parse_rate(self) -> float:
        return self.parsed / self.n if self.n else 0.0


def completeness(
    records: Iterable[Record],
    locale: Callable[[Record], str] = lambda _: "en",
    most_characters: int = OVERLONG,
) -> list[Completeness]:
    """The completeness table of a run, a row a model in the order of their names.

    Args:
        records: of one run; those that were never asked (`not_run`, `unchecked`) count as empty.
        locale: number locale of a record's answer.
        most_characters: longer answers are over-long.
    """
    by_model: dict[str, list[Record]] = {}
    for record in records:
        by_model.setdefault(record.model, []).append(record)
    return [_row(model, by_model[model], locale, most_characters) for model in sorted(by_model)]


def _row(
    model: str, records: Sequence[Record], locale: Callable[[Record], str], most: int
) -> Completeness:
    errors = empty = overlong = no_final = 0
    parsed: list[Chain] = []
    for record in records:
        answer = record.answer
        text = answer.text if answer else ""
        failed = answer is not None and answer.status == "error"
        errors += failed
        empty += not failed and not text.strip()
        cut = answer is not None and answer.status == "truncated"
        overlong += cut or len(text) > most
        chain = parse_chain(text, locale(record))
        no_final += chain.final_answer is None
        if chain.steps and chain.parse_status in _PARSED:
            parsed.append(chain)
    return Completeness(
        model=model,
        n=len(records),
        errors=errors,
        empty=empty,
        overlong=overlong,
        no_final=no_final,
        parsed=len(parsed),
        value_coverage=_mean([chain.value_coverage for chain in parsed]),
        mean_steps=_mean([float(len(chain.steps)) for chain in parsed]),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def completeness_lines(rows: Sequence[Completeness]) -> list[str]:
    """The table as aligned lines of text, headings first."""
    heads = ("model", "n", "errors", "empty", "over-long", "no final", "steps parsed", "values")
    cells = [heads] + [
        (
            row.model,
            str(row.n),
            str(row.errors),
            str(row.empty),
            str(row.overlong),
            str(row.no_final),
            f"{100 * row.step_parse_rate:.0f} %",
            f"{100 * row.value_coverage:.0f} %",
        )
        for row in rows
    ]
    return columns(cells)

"""The second look of a deploy gate: what is asked again, after the last item, on the controller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from pytest_fineval.cases import files
from pytest_fineval.errors import InputError
from pytest_fineval.gate.further import second_look_samples
from pytest_fineval.session.ask import can_ask_again
from pytest_fineval.session.collect import Ask, Entry
from pytest_fineval.settings import Settings
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Record

Again = Callable[[Sequence[Ask]], list[Record]]
"""Asks the configured clients and scores, as the items did."""


def second_look(
    manifest: Manifest,
    records: Iterable[Record],
    cases: Collection[str],
    settings: Settings,
    again: Again,
) -> tuple[list[Record], str | None]:
    """Ask these cases again, each with fresh samples.

    Args:
        cases: ids; all cases of every inconclusive check, never only the failing ones.

    Returns:
        The records, and why there are none, in words.
    """
    planned = {case.id: case for case in manifest.planned if case.id in cases}
    if any(record.case.id in planned and not can_ask_again(record) for record in records):
        return [], (
            "no second look: the answers come from the tests or from a fineval_client fixture, "
            "which has ended; run with --fineval-repeat 3"
        )
    asks = []
    for name in dict.fromkeys(n for suite in manifest.suites.values() for n in suite):
        for located in files.read(settings.root / name, settings.categories):
            case = planned.get(located.id)
            if case is None:
                continue
            if located.case.digest != case.digest:
                raise InputError(f"{case.id} was changed while the run went on")
            entry = Entry(located, case.suite)
            asks += [
                Ask(entry, manifest.candidate, sample)
                for sample in second_look_samples(manifest.samples)
            ]
    found = again(asks)
    if all(
        r.answer and r.answer.error and r.answer.error.kind == "recording_missing" for r in found
    ):
        return [], (
            "no second look: the recordings hold no further samples; record them with "
            "--fineval-live --fineval-record new"
        )
    return found, None

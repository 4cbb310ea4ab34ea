"""Samples beyond the planned ones: a must-pass case's confirmation, and a deploy's second look.

They are records of the run like any other, told apart by their sample index: with K planned
samples a case, K and K + 1 confirm, and K + 2 to K + 4 are the second look. Neither enters a check
of the first look: samples that were asked because of an answer would bias its mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Record

CONFIRMATIONS = 2
"""Further samples of a must-pass case that was wrong: the majority of three decides."""

SECOND_LOOK = 3
"""Fresh samples a case at the second look."""

LOOKS = 2
"""Looks that a deploy gate may take: each is given an equal part of alpha."""


def confirmation_samples(samples: int) -> range:
    """Sample indexes of a must-pass confirmation in a run of so many planned samples."""
    return range(samples, samples + CONFIRMATIONS)


def second_look_samples(samples: int) -> range:
    """Sample indexes of the second look in a run of so many planned samples."""
    first = samples + CONFIRMATIONS
    return range(first, first + SECOND_LOOK)


def is_further(manifest: Manifest, record: Record) -> bool:
    """Is this record one that the run was free to ask beyond its plan?"""
    if record.sample in confirmation_samples(manifest.samples):
        return record.case.must_pass
    second = second_look_samples(manifest.samples)
    return record.sample in second and record.model == manifest.candidate


def confirmations(manifest: Manifest, records: Iterable[Record]) -> list[Record]:
    """The must-pass confirmations among the records."""
    wanted = confirmation_samples(manifest.samples)
    return [record for record in records if record.sample in wanted]


def is_right(record: Record, pass_mark: float | None) -> bool:
    """Did this answer reach the case's pass mark?"""
    return record.value >= (1.0 if pass_mark is None else pass_mark)


def upheld(
    records: Sequence[Record], confirming: Sequence[Record], pass_mark: float | None
) -> bool:
    """Is a must-pass case right in the majority of its samples?

    Args:
        records: the planned samples; one that brought no answer is wrong.
        confirming: those asked to confirm; one that could not be asked confirms nothing.
    """
    heard = [record for record in confirming if record.status not in ("errored", "not_run")]
    right = sum(is_right(record, pass_mark) for record in (*records, *heard))
    return 2 * right > len(records) + len(heard)

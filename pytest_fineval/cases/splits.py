"""Which cases a split selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Split = Literal["smoke", "full", "dev", "heldout"]


def selects(split: Split, marked: Sequence[str]) -> bool:
    """Does `split` take a case that is marked with these splits?

    `full` is every case that is not held out; the others take what is marked with their name. A
    held-out case is never part of another split, whatever else it is marked with.
    """
    held_out = "heldout" in marked
    if split == "heldout":
        return held_out
    return not held_out and (split == "full" or split in marked)

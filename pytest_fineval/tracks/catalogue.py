"""Tracks by name, loaded one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pytest_fineval.errors import InputError, nearest
from pytest_fineval.tracks.base import Record, Track
from pytest_fineval.tracks.names import MODULES


@dataclass(frozen=True, slots=True)
class Entry:
    """A track and the module that knows its records."""

    track: Track
    module: Any

    @property
    def benchmark(self) -> str:
        """The benchmark's name, whatever the protocol: key of licences and of known faults."""
        name = self.track.name.split("-")[0]
        return "finchain" if name == "rusfinchain" else name

    def left_out(self, records: Sequence[Record]) -> dict[str, int]:
        """Records that the track makes no cases of, by reason."""
        count = getattr(self.module, "left_out", None)
        return {} if count is None else dict(count(records))


def find(name: str) -> Entry:
    """The track of a name.

    Raises:
        InputError: there is none.
    """
    if name not in MODULES:
        raise InputError(f'unknown track "{name}"; {nearest(name, MODULES)}')
    module_name, attribute = MODULES[name]
    module = import_module(f"pytest_fineval.tracks.{module_name}")
    found = getattr(module, attribute)
    return Entry(found[name] if isinstance(found, dict) else found, module)

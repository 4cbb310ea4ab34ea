"""Sharing out an xdist run: one rule that the controller and each worker can work out alone.

The items that ask a case are dealt round, like cards: of n hands, the item of rank r belongs to
hand r mod n. A worker that reaches an item therefore knows the items that will follow (rank r + n,
r + 2n, ...) and may ask them ahead of their turn: no other worker will get them. What a worker
that died has left is given whole to one other worker, so that this holds for it too.

Only `--dist load` (what `-n` implies) is dealt; under another distribution nobody asks ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScheduling

if TYPE_CHECKING:
    from pytest_fineval.session.exchange import Exchange


def following(rank: int, total: int, hands: int) -> range:
    """The ranks that the hand of `rank` holds from it on.

    Args:
        rank: of an item among those that ask a case, 0 <= rank < total.
        total: how many there are.
        hands: how many workers they were dealt to, >= 1.

    >>> list(following(1, 8, 3))
    [1, 4, 7]
    """
    return range(rank, total, hands)


class DealtScheduling(LoadScheduling):  # type: ignore[misc]  # xdist ships no types
    """xdist's load scheduling, but that cases are dealt; a run without cases is left to it."""

    collection: list[str] | None
    pending: list[int]
    node2pending: dict[Any, list[int]]
    node2collection: dict[Any, list[str]]
    maxschedchunk: int | None

    def __init__(self, config: pytest.Config, log: Any, folder: Path):
        """
        Args:
            folder: that controller and workers share (`session.exchange`).
        """
        super().__init__(config, log)
        self._folder = folder
        self._cases: frozenset[int] = frozenset()
        self._left: list[list[int]] = []

    @property
    def tests_finished(self) -> bool:
        return not self._left and super().tests_finished

    @property
    def has_pending(self) -> bool:
        return bool(self._left) or super().has_pending

    def schedule(self) -> None:
        """Deal the cases, then let xdist share out whatever else was collected."""
        if self.collection is not None:
            self._give_left()
            super().schedule()
            return
        places = self._collected()
        if not places or not self._check_nodes_have_same_collection():
            super().schedule()
            return
        collection = self.collection = next(iter(self.node2collection.values()))
        self._cases = frozenset(places)
        self.pending[:] = [i for i in range(len(collection)) if i not in self._cases]
        if self.maxschedchunk is None:
            self.maxschedchunk = len(collection)
        nodes = self.nodes
        # Written before any worker has an item: each reads it when it reaches its first case.
        self._exchange().deal(len(nodes))
        for first, node in enumerate(nodes[: len(places)]):
            ranks = following(first, len(places), len(nodes))
            self._give(node, [places[rank] for rank in ranks])
        for node in nodes:
            self.check_schedule(node)

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone; what it was in the middle of is lost, the rest goes to another."""
        pending = self.node2pending.pop(node)
        if not pending:
            return None
        assert self.collection is not None  # noqa: S101 - items were given out
        crashed = self.collection[pending.pop(0)]
        self._left.append([index for index in pending if index in self._cases])
        self._left = [cases for cases in self._left if cases]
        self.pending.extend(index for index in pending if index not in self._cases)
        for other in self.node2pending:
            self.check_schedule(other)
        return crashed

    def _collected(self) -> Sequence[int]:
        """Positions of the items that ask a case; a run without any loads nothing to find out."""
        return self._exchange().plan().places if any(self._folder.iterdir()) else ()

    def _exchange(self) -> Exchange:
        from pytest_fineval.session.exchange import Exchange

        return Exchange(self._folder)

    def _give_left(self) -> None:
        for node in self.nodes:
            # A worker that was told to shut down takes nothing more: only a new one can.
            if self._left and not self.node2pending[node] and not node.shutting_down:
                for cases in self._left:
                    self._give(node, cases)
                self._left = []

    def _give(self, node: Any, cases: list[int]) -> None:
        self.node2pending[node].extend(cases)
        node.send_runtest_some(cases)

"""Which items are asked ahead of their turn: those that this process alone will come to, and
whose client is known before they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_fineval.session.collect import Ask, ask_of
from pytest_fineval.session.schedule import following

if TYPE_CHECKING:
    from pytest_fineval.session.ask import Asker

CONFIGURED = "configured"
"""The source of an answer that is not a `fineval_client` fixture of the user's own."""


class Ahead:
    """Plans calls as the items are reached."""

    def __init__(self, items: Sequence[pytest.Item], asker: Asker, hands: int | None):
        """
        Args:
            items: all items of the run, in order.
            hands: into how many hands they were dealt (`schedule.following`); 1 in one process,
                None where any worker may get any item: then nothing is asked ahead.
        """
        self._asker = asker
        self._hands = hands
        self._items = [(item, ask) for item in items if (ask := ask_of(item)) is not None]
        self._rank = {ask.key: rank for rank, (_, ask) in enumerate(self._items)}
        self._seen: set[object] = set()

    def begin(self) -> None:
        """In one process: start on the configured models before the first item is set up."""
        if self._items:
            self._plan(0, CONFIGURED, None)

    def reached(self, item: pytest.Item, ask: Ask, custom: Any) -> str | None:
        """An item is set up: plan it and all that follow it and are asked the same way.

        Args:
            custom: what its `fineval_client` fixture returned.

        Returns:
            What the user has to be told: that these items are asked one at a time.
        """
        if self._hands is None or ask.key in self._seen:
            return None
        source = _source(item)
        if isinstance(source, str) and source != CONFIGURED:
            self._seen.add(ask.key)
            return source
        self._plan(self._rank[ask.key], source, custom)
        return None

    def _plan(self, first: int, source: object, custom: Any) -> None:
        turns = []
        for rank in following(first, len(self._items), self._hands or 1):
            item, ask = self._items[rank]
            if ask.key not in self._seen and _source(item) == source and not _skipped(item):
                self._seen.add(ask.key)
                turns.append((rank, ask))
        self._asker.plan(turns, custom)


def configured_models(items: Sequence[pytest.Item]) -> list[str]:
    """The models that items ask, but for items that a `fineval_client` of the user's answers."""
    asks = [(item, ask) for item in items if (ask := ask_of(item)) is not None]
    return list(dict.fromkeys(ask.model for item, ask in asks if _source(item) == CONFIGURED))


def _source(item: pytest.Item) -> object:
    """What answers this item: `CONFIGURED`, the fixture that makes one client for the whole run,
    or, as a sentence, why it cannot be known ahead."""
    info: Any = getattr(item, "_fixtureinfo", None)
    definitions: Sequence[Any] = info.name2fixturedefs.get("fineval_client", ()) if info else ()
    if len(definitions) < 2:  # the plugin's own, which makes none
        return CONFIGURED
    made_by = definitions[-1]
    if made_by.scope == "session" and made_by.params is None:
        return made_by
    which = "parametrized" if made_by.scope == "session" else f"of scope {made_by.scope}"
    return (
        f"the fineval_client fixture is {which}, so its cases are asked one at a time; "
        'one with scope="session" is asked ahead'
    )


def _skipped(item: pytest.Item) -> bool:
    """Will pytest skip it, as far as can be told before its turn?"""
    if item.get_closest_marker("skip") is not None:
        return True
    return any(True in mark.args for mark in item.iter_markers("skipif"))

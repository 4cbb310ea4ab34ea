"""From a marked test function to its items: one per case x model x sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_fineval.cases import files, lock
from pytest_fineval.cases.files import Located
from pytest_fineval.cases.splits import selects
from pytest_fineval.errors import InputError
from pytest_fineval.memory import no_collection
from pytest_fineval.scoring import registry
from pytest_fineval.session.options import Options
from pytest_fineval.session.shard import shard_of
from pytest_fineval.settings import Frozen, Settings
from pytest_fineval.store.manifest import Shard
from pytest_fineval.store.record import Key, PlannedCase

if TYPE_CHECKING:
    from pytest_fineval.gate.heldout import Gatekeeper
    from pytest_fineval.scoring.base import Scorer


class Entry:
    """A case in its suite. What costs time is made when it is wanted: a run wants all of it
    before its first item, `--collect-only` none."""

    def __init__(self, located: Located, suite: str):
        self.located = located
        self.suite = suite

    @cached_property
    def scorer(self) -> Scorer:
        """The case's scorer, bound to its gold.

        Raises:
            InputError: a scorer, option or gold that cannot be used.
        """
        return registry.prepare(self.located.case.scorer, self.located.case.gold)

    @cached_property
    def planned(self) -> PlannedCase:
        return _planned(self.located, self.suite, self.scorer.identity)


@dataclass(frozen=True, slots=True)
class Ask:
    """What one pytest item asks: a case of a model, for the n-th time."""

    entry: Entry
    model: str
    sample: int

    @property
    def located(self) -> Located:
        return self.entry.located

    @property
    def planned(self) -> PlannedCase:
        return self.entry.planned

    @property
    def scorer(self) -> Scorer:
        return self.entry.scorer

    @property
    def key(self) -> Key:
        return Key(self.located.id, self.model, self.sample)


def ask_of(item: pytest.Item) -> Ask | None:
    """What an item asks; None for an item without the `fineval` fixture."""
    callspec = getattr(item, "callspec", None)
    ask = callspec.params.get("fineval") if callspec else None
    return ask if isinstance(ask, Ask) else None


class Plan(Frozen):
    """What collection found: handed from a worker to the controller, which collects nothing.

    Attributes:
        planned: every case of the split, in collection order.
        suites: node id of each collected test function -> its case files, relative to the root.
        places: positions, among all items of the run, of those that ask a case and were left
            after deselection (`-k`, `--lf`, node ids).
        problems: faults that make the run a usage error.
        notices: what a person should know and no verdict holds.
        openings: lines of the held-out ledger that admit these cases.
        shard: the part of the planned cases that this run asks; None for all of them.
    """

    planned: tuple[PlannedCase, ...] = ()
    suites: dict[str, tuple[str, ...]] = {}
    places: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()
    shard: Shard | None = None

    @property
    def wanted(self) -> int:
        """How many items are left to run."""
        return len(self.places)

    @property
    def is_run(self) -> bool:
        """Is there anything to open a run for? A shard to which no case fell is one of the N."""
        no_share = self.shard is not None and not self.shard.cases and bool(self.planned)
        return bool(self.places or self.problems) or no_share


class Collector:
    """Reads suites as pytest finds them, and keeps what was planned and what is wrong."""

    def __init__(self, settings: Settings, options: Options):
        self._settings = settings
        self._options = options
        self._entries: list[Entry] = []
        self._chosen: list[Entry] = []
        self._suites: dict[str, tuple[str, ...]] = {}
        self._suite_of: dict[str, str] = {}
        self._problems: list[str] = []
        self._notices: list[str] = []
        self._files: list[Path] = []
        self._keeper: Gatekeeper | None = None
        self._closed: list[str] = []

    def suite(self, nodeid: str, folder: Path, names: tuple[object, ...]) -> list[Ask]:
        """The items of one test function.

        Args:
            nodeid: of the test function, without parameters.
            folder: of the test module; case files are named relative to it.
            names: the marker's arguments.

        Returns:
            One Ask per case of the split x model x sample, in file order; empty when something
            is wrong (kept in `problems`) or the split takes no case.
        """
        if not names or not all(isinstance(name, str) for name in names):
            self._problems.append(
                f"{nodeid}: the fineval marker takes the names of case files: "
                '@pytest.mark.fineval("cases/NAME.jsonl")'
            )
            return []
        paths = [folder / str(name) for name in names]
        self._suites[nodeid] = tuple(self._relative(path) for path in paths)
        asks: list[Ask] = []
        with no_collection():
            for path in paths:
                try:
                    located = files.read(path, self._settings.categories)
                    self._files.append(path)
                    asks += self._asks(nodeid, located)
                except InputError as error:
                    self._problems.append(str(error))
        return asks

    @property
    def problems(self) -> bool:
        """Is anything wrong so far?"""
        return bool(self._problems)

    def problem(self, text: str) -> None:
        """Keep a fault for the end of collection."""
        self._problems.append(text)

    def check(self) -> None:
        """Bind every case's scorer to its gold; what cannot be used is kept in `problems`."""
        problems: dict[Path, list[InputError]] = {}
        with no_collection():
            for entry in self._entries:
                fault = _fault(entry, self._settings)
                if fault is not None:
                    problems.setdefault(entry.located.path, []).append(entry.located.fault(fault))
        for faults in problems.values():
            try:
                files.raise_all(faults)
            except InputError as error:
                self._problems.append(str(error))
        if not self._problems:
            self._check_ledger()
        if self._closed and not self._chosen:
            self._problems += self._closed

    def _check_ledger(self) -> None:
        """Changed, missing and repeated cases by cases.lock, where the project keeps one."""
        found = [entry.located for entry in self._entries]
        try:
            drift = lock.check(found, self._files, self._settings.root)
        except InputError as error:
            self._problems.append(str(error))
        else:
            self._problems += drift.faults
            self._notices += drift.notices

    def plan(self, places: Sequence[int]) -> Plan:
        """What was found, with the positions of the items that are left to run."""
        if self._problems:
            return Plan(problems=tuple(self._problems))
        return Plan(
            planned=tuple(entry.planned for entry in self._chosen),
            suites=self._suites,
            places=tuple(places),
            notices=(*self._notices, *self._closed),
            openings=tuple(sorted(self._keeper.admitted)) if self._keeper else (),
            shard=self.shard,
        )

    @cached_property
    def shard(self) -> Shard | None:
        """Which of the planned cases this run asks; None for all of them. Once collection is over.

        Raises:
            InputError: the run that weighs the cases cannot be read.
        """
        if self._options.shard is None:
            return None
        cases = [entry.located.case for entry in self._chosen]
        clusters = {case.id: case.unit_of_independence for case in cases}
        return shard_of(clusters, *self._options.shard, self._options.shard_weights)

    def _asks(self, nodeid: str, found: list[Located]) -> list[Ask]:
        asks: list[Ask] = []
        problems: list[InputError] = []
        for located in found:
            if located.id in self._suite_of:
                problems.append(
                    located.fault(
                        f"the id is also in {self._suite_of[located.id]}; "
                        "ids are unique over all suites of a run"
                    )
                )
                continue
            self._suite_of[located.id] = nodeid
            entry = Entry(located, nodeid)
            self._entries.append(entry)
            if not selects(self._options.split, located.splits):
                continue
            if self._options.split == "heldout" and not self._is_open(located):
                continue
            self._chosen.append(entry)
            asks += [
                Ask(entry, model, sample)
                for model in self._options.models
                for sample in range(self._options.repeat)
            ]
        files.raise_all(problems)
        return asks

    def _is_open(self, located: Located) -> bool:
        """May this held-out case be asked? One that was opened before stays closed, by name.

        Raises:
            InputError: it was never opened.
        """
        if self._keeper is None:
            from pytest_fineval.gate.heldout import Gatekeeper  # only for who opens cases
            from pytest_fineval.store.manifest import identity

            root = self._settings.root
            models = {name: identity(self._settings.model(name)) for name in self._options.models}
            runs = root / ".fineval" / "runs"
            self._keeper = Gatekeeper(
                root, models, self._options.trust_ref, runs, self._options.shard
            )
        why_not = self._keeper.refusal(located)
        if why_not is not None:
            self._closed.append(f"not asked: {why_not}")
        return why_not is None

    def _relative(self, path: Path) -> str:
        path = path.resolve()
        root = self._settings.root.resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _fault(entry: Entry, settings: Settings) -> str | None:
    try:
        _ = entry.scorer
        if "encoder" in entry.located.case.scorer.options:
            from pytest_fineval.scoring import encoders  # numpy: only where one is named

            encoders.check(entry.located.case, settings)
    except InputError as error:
        return error.fault
    return None


def _planned(located: Located, suite: str, scorer: str) -> PlannedCase:
    case = located.case
    positive = case.gold.positive
    return PlannedCase(
        id=case.id,
        digest=case.digest,
        category=case.category,
        cluster=case.unit_of_independence,
        track=case.track,
        evidence=case.evidence,
        suite=suite,
        scorer=scorer,
        splits=case.splits,
        must_pass=case.must_pass,
        pass_mark=case.pass_mark,
        positive=None if positive is None else str(case.gold.answer) == positive,
    )


def item_id(ask: Ask, options: Options) -> str:
    """The bracketed part of a node id: the case, and model and sample where there are several."""
    parts = [ask.located.id]
    if len(options.models) > 1:
        parts.append(ask.model)
    if options.repeat > 1:
        parts.append(str(ask.sample))
    return "-".join(parts)

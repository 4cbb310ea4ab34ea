"""From a marked test function to its items: one per case x model x sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_fineval.cases import files
from pytest_fineval.cases.files import Located
from pytest_fineval.cases.splits import selects
from pytest_fineval.errors import InputError
from pytest_fineval.scoring import registry
from pytest_fineval.session.options import Options
from pytest_fineval.settings import Frozen, Settings
from pytest_fineval.store.record import Key, PlannedCase

if TYPE_CHECKING:
    from pytest_fineval.scoring.base import Scorer


@dataclass(frozen=True, slots=True)
class Ask:
    """What one pytest item asks: a case of a model, for the n-th time."""

    located: Located
    planned: PlannedCase
    scorer: Scorer
    model: str
    sample: int

    @property
    def key(self) -> Key:
        return Key(self.planned.id, self.model, self.sample)


class Plan(Frozen):
    """What collection found: handed from a worker to the controller, which collects nothing.

    Attributes:
        planned: every case of the split, in collection order.
        suites: node id of each collected test function -> its case files, relative to the root.
        wanted: how many items were left after deselection (`-k`, `--lf`, node ids).
        problems: faults that make the run a usage error.
    """

    planned: tuple[PlannedCase, ...] = ()
    suites: dict[str, tuple[str, ...]] = {}
    wanted: int = 0
    problems: tuple[str, ...] = ()


class Collector:
    """Reads suites as pytest finds them, and keeps what was planned and what is wrong."""

    def __init__(self, settings: Settings, options: Options):
        self._settings = settings
        self._options = options
        self._planned: dict[str, PlannedCase] = {}
        self._suites: dict[str, tuple[str, ...]] = {}
        self._suite_of: dict[str, str] = {}
        self._problems: list[str] = []

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
        for path in paths:
            try:
                located = files.read(path, self._settings.categories)
                asks += self._asks(nodeid, located)
            except InputError as error:
                self._problems.append(str(error))
        return asks

    def problem(self, text: str) -> None:
        """Keep a fault for the end of collection."""
        self._problems.append(text)

    def plan(self, wanted: int) -> Plan:
        """What was found, with the number of items that are left to run."""
        return Plan(
            planned=tuple(self._planned.values()),
            suites=self._suites,
            wanted=wanted,
            problems=tuple(self._problems),
        )

    def _asks(self, nodeid: str, found: list[Located]) -> list[Ask]:
        asks: list[Ask] = []
        problems: list[InputError] = []
        for located in found:
            case = located.case
            if case.id in self._suite_of:
                problems.append(
                    located.fault(
                        f"the id is also in {self._suite_of[case.id]}; "
                        "ids are unique over all suites of a run"
                    )
                )
                continue
            self._suite_of[case.id] = nodeid
            try:
                scorer = registry.prepare(case.scorer, case.gold)
            except InputError as error:
                problems.append(located.fault(error.fault))
                continue
            if not selects(self._options.split, case.splits):
                continue
            planned = _planned(located, nodeid, scorer.identity)
            self._planned[case.id] = planned
            asks += [
                Ask(located, planned, scorer, model, sample)
                for model in self._options.models
                for sample in range(self._options.repeat)
            ]
        files.raise_all(problems)
        return asks

    def _relative(self, path: Path) -> str:
        path = path.resolve()
        root = self._settings.root.resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


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
    parts = [ask.planned.id]
    if len(options.models) > 1:
        parts.append(ask.model)
    if options.repeat > 1:
        parts.append(str(ask.sample))
    return "-".join(parts)

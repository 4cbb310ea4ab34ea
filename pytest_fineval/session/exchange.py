"""What the controller and the workers of an xdist run tell each other, beside the test reports: in
files of one temporary folder, each written once and whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_fineval.session.collect import Plan
from pytest_fineval.settings import Frozen
from pytest_fineval.store.record import Key, Record
from pytest_fineval.store.run import RECORDS, read_records, write_atomically

RUN, HANDS = "run", "hands"


class Opened(Frozen):
    """The run as the controller opened it."""

    folder: Path
    resumed: bool

    def kept(self) -> Mapping[Key, Record]:
        """What was measured before the run was resumed."""
        if not self.resumed:
            return {}
        records, _ = read_records(self.folder / RECORDS)
        return {record.key: record for record in records}


class Exchange:
    """The folder, seen from either side."""

    def __init__(self, folder: Path, worker: str = "gw0", workers: int = 1):
        """
        Args:
            worker: xdist's name of this process; one that replaces a dead worker counts on.
            workers: how many there are at a time.
        """
        self._folder = folder
        self._name = worker
        self.worker = int(worker.removeprefix("gw")) if worker[2:].isdigit() else 0
        self.workers = workers

    @classmethod
    def of_worker(cls, given: Mapping[str, Any]) -> Exchange:
        """From what xdist gave a worker to start with."""
        return cls(Path(given["fineval_exchange"]), given["workerid"], given["workercount"])

    def leave(self, plan: Plan) -> None:
        """A worker: what was collected."""
        write_atomically(self._folder / f"{self._name}.plan", plan.model_dump_json())

    def plan(self) -> Plan:
        """The controller: what was collected, by whichever worker (xdist compares them)."""
        left = min(self._folder.glob("*.plan"))
        return Plan.model_validate_json(left.read_text(encoding="utf-8"))

    def open_run(self, folder: Path, *, resumed: bool) -> None:
        """The controller, before any item is given out: calls may be made."""
        opened = Opened(folder=folder, resumed=resumed)
        write_atomically(self._folder / RUN, opened.model_dump_json())

    def run(self) -> Opened:
        """A worker that was given an item."""
        return Opened.model_validate_json((self._folder / RUN).read_text(encoding="utf-8"))

    def deal(self, hands: int) -> None:
        """The controller: into how many hands the cases are dealt."""
        write_atomically(self._folder / HANDS, str(hands))

    def hands(self) -> int | None:
        """A worker: into how many hands the cases were dealt; None when they were not."""
        path = self._folder / HANDS
        return int(path.read_text(encoding="utf-8")) if path.exists() else None

"""The one stateful object of a run inside pytest. Hooks call it; nothing else holds state."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.report import terminal
from pytest_fineval.report.summary import summarize
from pytest_fineval.session import rows
from pytest_fineval.session.ask import Asker, Fineval
from pytest_fineval.session.collect import Ask, Collector, Plan, item_id
from pytest_fineval.session.controller import Controller
from pytest_fineval.session.options import Options, read
from pytest_fineval.settings import Settings, load
from pytest_fineval.store.record import Record
from pytest_fineval.store.run import dumps

HANDLE = pytest.StashKey[Fineval]()

RECORD, STATUS = "fineval_record", "fineval_status"
"""Attributes of a test report. pytest keeps extra attributes when a report travels from an xdist
worker, as long as they are plain values; JUnit and other reporters do not see them."""

LETTERS = {
    "correct": (".", {"green": True}),
    "partial": ("p", {"yellow": True}),
    "wrong": ("w", {"yellow": True}),
    "errored": ("e", {"red": True}),
    "unscored": ("u", {"yellow": True}),
    "pending": ("~", {"cyan": True}),
    "not_run": ("n", {"red": True}),
}
"""Letter and colour of an item by its status; a failed or skipped item keeps pytest's own."""


class Session:
    """Collects suites, asks and scores on the side of the items, judges on the controller's.

    One process holds both sides; under xdist each worker holds the first and the controller the
    second.
    """

    def __init__(self, config: pytest.Config):
        self._config = config
        self._worker: str | None = getattr(config, "workerinput", {}).get("workerid")
        self._fault: InputError | None = None
        self._settings: Settings | None = None
        self._collector: Collector | None = None
        self._controller: Controller | None = None
        self._asker: Asker | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._options: Options | None = None
        try:
            self._settings = load(config.rootpath)
            self._options = read(config, self._settings)
            self._collector = Collector(self._settings, self._options)
        except InputError as error:
            # Raised here, in the middle of collection, it would be an error of one test file.
            self._fault = error

    # Collection, in one process or in each worker.

    def parametrize(self, metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
        """One item per case x model x sample; none when the suite is faulty (`collected` says)."""
        if self._collector is None or self._options is None:
            asks: list[Ask] = []
        elif "fineval" not in metafunc.fixturenames:
            self._collector.problem(
                f"{metafunc.definition.nodeid}: has the fineval marker but does not take the "
                "`fineval` fixture: def test_x(fineval): fineval.check()"
            )
            return
        else:
            folder = metafunc.definition.path.parent
            asks = self._collector.suite(metafunc.definition.nodeid, folder, marker.args)
        if "fineval" in metafunc.fixturenames:
            ids = [item_id(ask, self._options) for ask in asks] if self._options else []
            metafunc.parametrize("fineval", asks, ids=ids, indirect=True)

    def drop_empty(self, items: list[pytest.Item]) -> None:
        """pytest makes one skipped item of an empty suite; a split that takes no case is none."""
        items[:] = [item for item in items if not _is_marked(item) or _ask(item) is not None]

    def collected(self, session: pytest.Session) -> None:
        """The end of collection: faults end the run here, before anything is asked."""
        if self._settings and self._options and not self._config.option.collectonly:
            self._asker = self._new_asker(self._settings, self._options)
            self._prepare(session)
        plan = self._plan(session)
        if self._worker is not None:
            folder = Path(self._config.workerinput["fineval_exchange"])  # type: ignore[attr-defined]  # set by xdist
            temporary = folder.parent / f"{folder.name}.{self._worker}"
            temporary.write_text(plan.model_dump_json(), encoding="utf-8")
            temporary.replace(folder / f"{self._worker}.json")
        elif plan.problems:
            raise pytest.UsageError(_invalid("\n".join(plan.problems)))

    # The run.

    def begin(self, session: pytest.Session) -> None:
        """Before the first item: open the run (one process) and start asking."""
        if self._config.option.collectonly:
            return
        plan = self._plan(session)
        if not plan.wanted and not plan.problems:
            return
        if self._worker is None:
            self._open(plan)
            if self._asker is not None:
                self._asker.plan(_plain_asks(session))

    def begin_from(self, folder: Path) -> None:
        """The controller of an xdist run: open the run with what a worker collected."""
        plans = sorted(folder.glob("*.json"))
        plan = Plan.model_validate_json(plans[0].read_text(encoding="utf-8"))
        if plan.wanted or plan.problems:
            self._open(plan)

    @contextmanager
    def handle(self, item: pytest.Item, ask: Ask, custom: Any) -> Generator[Fineval, None, None]:
        """The `fineval` fixture of one item."""
        if self._asker is None or self._options is None:
            pytest.fail("the fineval run has not begun", pytrace=False)
        handle = item.stash[HANDLE] = Fineval(ask, self._asker, custom, self._options.strict)
        try:
            yield handle
        finally:
            self._asker.drop(ask)

    def attach(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Put the item's record on its report, once, whatever became of the test."""
        over = report.when == "call" or (report.when == "setup" and not report.passed)
        ask = _ask(item) if over else None
        if ask is None:
            return
        handle = item.stash.get(HANDLE, None)
        record = (handle.record if handle else None) or _unchecked(ask, report)
        setattr(report, RECORD, dumps(record))
        setattr(report, STATUS, record.status)

    def receive(self, report: pytest.TestReport) -> None:
        """On the controller: keep the record that a report brings."""
        line = getattr(report, RECORD, None)
        if line is not None and self._controller is not None:
            self._controller.receive(Record.model_validate_json(line))

    def teststatus(self, report: pytest.TestReport) -> Any:
        """Letter and word of an item or a gate row; None leaves it to pytest."""
        row = rows.status(report)
        if row is not None:
            return row
        status = getattr(report, STATUS, None)
        if status not in LETTERS or not report.passed:
            return None
        letter, colour = LETTERS[status]
        return status.replace("_", " "), letter, (status.replace("_", " ").upper(), colour)

    def finish(self, session: pytest.Session, stop: BaseException | None = None) -> None:
        """After the last item, or after what stopped the run: judge and report."""
        if self._asker is not None:
            self._asker.close()
            self._asker = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
        controller = self._controller
        if controller is None or controller.manifest is None:
            return
        stopped = _why_stopped(stop, len(controller.records), controller.total)
        rows.emit(session, controller.finish(stopped))

    # What a person reads.

    def summarize(self, reporter: pytest.TerminalReporter) -> None:
        """The `fineval` section of the terminal."""
        controller = self._controller
        if controller is None or controller.verdict is None or controller.manifest is None:
            return
        assert self._options is not None  # noqa: S101 - a controller exists only with options
        summary = summarize(
            controller.verdict,
            controller.manifest,
            list(controller.records.values()),
            controller.baseline_answers(),
            controller.folder,
            controller.notices,
        )
        terminal.write(summary, reporter, show=self._options.show)

    def last_word(self, session: pytest.Session) -> None:
        """The last line of the terminal names the verdict and its cause."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._controller and self._controller.verdict:
            terminal.write_verdict(self._controller.verdict, reporter)

    def _new_asker(self, settings: Settings, options: Options) -> Asker:
        if self._worker is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="fineval-")
            return Asker(settings, options, ledger=Path(self._scratch.name) / "spend")
        given = self._config.workerinput  # type: ignore[attr-defined]  # set by xdist
        ledger = Path(given["fineval_exchange"]) / "spend"
        return Asker(settings, options, ledger=ledger, workers=given["workercount"])

    def _prepare(self, session: pytest.Session) -> None:
        if self._asker is None or self._collector is None:
            return
        try:
            self._asker.prepare(dict.fromkeys(ask.model for ask in _plain_asks(session)))
        except InputError as error:
            self._collector.problem(str(error))

    def _open(self, plan: Plan) -> None:
        if self._fault is not None:
            raise pytest.UsageError(_invalid(str(self._fault)))
        assert self._settings is not None  # noqa: S101 - without settings there is a fault
        assert self._options is not None  # noqa: S101
        self._controller = Controller(self._settings, self._options)
        try:
            self._controller.begin(plan, _asked_for(self._config))
        except InputError as error:
            self._controller = None
            raise pytest.UsageError(_invalid(str(error))) from error

    def _plan(self, session: pytest.Session) -> Plan:
        if self._collector is None:
            return Plan(problems=(str(self._fault),))
        return self._collector.plan(sum(_ask(item) is not None for item in session.items))


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("fineval") is not None


def _ask(item: pytest.Item) -> Ask | None:
    callspec = getattr(item, "callspec", None)
    ask = callspec.params.get("fineval") if callspec else None
    return ask if isinstance(ask, Ask) else None


def _plain_asks(session: pytest.Session) -> Generator[Ask, None, None]:
    """What the configured clients will be asked, in order: not the items whose folder brings a
    `fineval_client` of its own, which then stands behind the plugin's in the list."""
    for item in session.items:
        ask = _ask(item)
        info = getattr(item, "_fixtureinfo", None)
        if ask is not None and info is not None:
            definitions = info.name2fixturedefs.get("fineval_client", ())
            if len(definitions) == 1:
                yield ask


def _unchecked(ask: Ask, report: pytest.TestReport) -> Record:
    if report.skipped:
        note = "the test was skipped"
    elif report.failed:
        note = f"the test failed in {report.when} before fineval.check()"
    else:
        note = "the test never called fineval.check()"
    return Record(
        case=ask.planned, model=ask.model, sample=ask.sample, status="unchecked", note=note
    )


def _why_stopped(stop: BaseException | None, done: int, total: int) -> str | None:
    if stop is None:
        return None
    if isinstance(stop, KeyboardInterrupt | pytest.exit.Exception):
        why = "the run was interrupted"
    else:
        why = str(stop) or type(stop).__name__
    return f"{why}; {done} of {total} cases were measured"


def _asked_for(config: pytest.Config) -> list[Path]:
    """Files and folders of the command line (or testpaths); single tests (`::`) cover no suite."""
    start = config.invocation_params.dir
    return [Path(os.path.normpath(start / arg)).resolve() for arg in config.args if "::" not in arg]


def _invalid(text: str) -> str:
    return f"{text}\nfineval: INVALID: nothing was asked; mend the above and run again"

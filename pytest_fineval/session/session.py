"""The one stateful object of a run inside pytest. Hooks call it; nothing else holds state."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.session import rows
from pytest_fineval.session.collect import Ask, Collector, Plan, ask_of, item_id
from pytest_fineval.session.options import Options, read
from pytest_fineval.settings import Settings, load
from pytest_fineval.store.record import Record
from pytest_fineval.store.run import dumps

if TYPE_CHECKING:
    # Imported where they are used: `--collect-only` needs none of them, a worker only the second.
    from pytest_fineval.report.progress import Display, Progress
    from pytest_fineval.session.ahead import Ahead
    from pytest_fineval.session.ask import Asker, Fineval
    from pytest_fineval.session.controller import Controller
    from pytest_fineval.session.exchange import Exchange

HANDLE = pytest.StashKey["Fineval"]()

RECORD, STATUS, NOTICE = "fineval_record", "fineval_status", "fineval_notice"
"""Attributes of a test report. pytest keeps extra attributes when a report travels from an xdist
worker, as long as they are plain values; JUnit and other reporters do not see them."""

TOLD = pytest.StashKey[str]()
"""What the user is told about how an item was asked; travels on its report as NOTICE."""

PENDING = "pending"

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
        given = getattr(config, "workerinput", None)
        self._exchange: Exchange | None = None
        if given is not None:
            from pytest_fineval.session.exchange import Exchange

            self._exchange = Exchange.of_worker(given)
        self._ahead: Ahead | None = None
        self._progress: tuple[Progress, Display] | None = None
        self._waiting: dict[str, list[pytest.TestReport]] = {}
        self._notices: list[str] = []
        self._fault: InputError | None = None
        self._settings: Settings | None = None
        self._collector: Collector | None = None
        self._controller: Controller | None = None
        self._asker: Asker | None = None
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
        items[:] = [item for item in items if ask_of(item) is not None or not _is_marked(item)]

    def keep_shard(self, items: list[pytest.Item]) -> None:
        """Deselect the cases of other shards; tests that ask no case run in every shard."""
        if self._collector is None or self._options is None or self._options.shard is None:
            return
        try:
            shard = self._collector.shard
        except InputError as error:
            self._collector.problem(str(error))
            return
        dealt = frozenset(shard.cases if shard else ())
        others = [item for item in items if (ask := ask_of(item)) and ask.located.id not in dealt]
        if others:
            left = set(others)
            items[:] = [item for item in items if item not in left]
            self._config.hook.pytest_deselected(items=others)

    def collected(self, session: pytest.Session) -> None:
        """The end of collection: faults end the run here, before anything is asked."""
        if self._settings and self._options and not self._config.option.collectonly:
            if self._collector is not None:
                self._collector.check()
            self._asker = self._new_asker(self._settings, self._options)
            self._prepare(session)
        if self._exchange is not None:
            self._exchange.leave(self._plan(session))
        elif self._collector is None or self._collector.problems:
            raise pytest.UsageError(_invalid("\n".join(self._plan(session).problems)))

    # The run.

    def begin(self, session: pytest.Session) -> None:
        """Before the first item: open the run (one process) and start asking."""
        if self._config.option.collectonly or self._exchange is not None:
            return
        plan = self._plan(session)
        if not plan.is_run:
            return
        self._open(plan)
        if self._asker is not None and self._controller is not None and self._controller.folder:
            from pytest_fineval.session.ahead import Ahead

            self._asker.begin(self._controller.folder, self._controller.kept)
            self._ahead = Ahead(session.items, self._asker, hands=1)
            self._ahead.begin()

    def begin_from(self, exchange: Exchange) -> None:
        """The controller of an xdist run: open the run with what a worker collected."""
        plan = exchange.plan()
        if plan.is_run:
            self._open(plan)
        if self._controller is not None and self._controller.folder is not None:
            exchange.open_run(self._controller.folder, resumed=bool(self._controller.kept))
            dist = self._config.getoption("dist", "no")
            if dist != "load":
                self._notices.append(
                    f"--dist {dist} may give any case to any worker, so that none is asked ahead "
                    "of its turn; --dist load (what -n does by itself) is faster"
                )

    @contextmanager
    def handle(self, item: pytest.Item, ask: Ask, custom: Any) -> Generator[Fineval, None, None]:
        """The `fineval` fixture of one item."""
        if self._asker is None or self._options is None:
            pytest.fail("the fineval run has not begun", pytrace=False)
        from pytest_fineval.session.ask import Fineval

        ahead = self._ahead or self._join(item.session, self._asker)
        notice = ahead.reached(item, ask, custom)
        if notice is not None and notice not in self._notices:
            self._notices.append(notice)
            item.stash[TOLD] = notice
        handle = item.stash[HANDLE] = Fineval(ask, self._asker, custom, self._options)
        try:
            yield handle
        finally:
            if self._asker is not None:  # after an interrupt fixtures end later than the run
                self._asker.drop(ask)

    def attach(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Put the item's record on its report, once, whatever became of the test."""
        over = report.when == "call" or (report.when == "setup" and not report.passed)
        ask = ask_of(item) if over else None
        if ask is None:
            return
        if report.when == "setup" and self._asker is not None:
            self._asker.drop(ask)  # nobody will take its answer
        handle = item.stash.get(HANDLE, None)
        record = (handle.record if handle else None) or _unchecked(ask, report)
        confirming = handle.confirming if handle else []
        setattr(report, RECORD, "\n".join(dumps(one) for one in (record, *confirming)))
        setattr(report, STATUS, record.status)
        if TOLD in item.stash:
            setattr(report, NOTICE, item.stash[TOLD])

    def receive(self, report: pytest.TestReport) -> None:
        """On the controller: keep the records that a report brings, a line each."""
        lines = getattr(report, RECORD, None)
        controller = self._controller
        if lines is None or controller is None:
            return
        notice = getattr(report, NOTICE, None)
        if notice is not None and notice not in self._notices:
            self._notices.append(notice)
        for line in lines.split("\n"):
            record = Record.model_validate_json(line)
            controller.receive(record)
            if self._progress is not None:
                asked = record.key not in controller.kept
                self._progress[0].add(record, time.monotonic(), asked=asked)
            if record.status == "pending":
                self._waiting.setdefault(str(record.key), []).append(report)

    def clear_progress(self) -> None:
        """Before pytest writes about an item."""
        if self._progress is not None:
            self._progress[1].clear()

    def show_progress(self) -> None:
        """After pytest wrote about an item."""
        if self._progress is not None:
            self._progress[1].show(time.monotonic())

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
        self.clear_progress()
        self._progress = None
        if self._asker is not None:
            self._asker.close()
            self._asker = None
        controller = self._controller
        if controller is None or controller.manifest is None:
            return
        stopped = _why_stopped(stop, len(controller.records), controller.total)
        verdict = controller.finish(stopped, self._ask_again)
        self._settle_waiting(controller)
        rows.emit(session, verdict)

    def _settle_waiting(self, controller: Controller) -> None:
        """Count items whose score had to wait under the word that they ended with."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        for record in controller.records.values():
            for report in self._waiting.pop(str(record.key), ()):
                listed = reporter.stats.get(PENDING, [])
                if report.passed and record.status != PENDING and report in listed:
                    listed.remove(report)
                    setattr(report, STATUS, record.status)
                    word = record.status.replace("_", " ")
                    reporter.stats.setdefault(word, []).append(report)
        if not reporter.stats.get(PENDING, True):
            del reporter.stats[PENDING]

    # What a person reads.

    def summarize(self, reporter: pytest.TerminalReporter) -> None:
        """The `fineval` section of the terminal."""
        controller = self._controller
        if controller is None or controller.manifest is None:
            return
        if controller.verdict is None:
            reporter.write_sep("=", "fineval")
            reporter.write_line(f"stopped before it could be judged: {controller.folder}")
            return
        from pytest_fineval.report import terminal
        from pytest_fineval.report.summary import summarize

        assert self._options is not None  # noqa: S101 - a controller exists only with options
        summary = summarize(
            controller.verdict,
            controller.manifest,
            list(controller.records.values()),
            controller.baseline_answers(),
            controller.folder,
            [*controller.notices, *self._notices],
        )
        terminal.write(summary, reporter, show=self._options.show)

    def last_word(self, session: pytest.Session) -> None:
        """The last line of the terminal names the verdict and its cause."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._controller and self._controller.verdict:
            from pytest_fineval.report import terminal

            terminal.write_verdict(self._controller.verdict, reporter)

    def _ask_again(self, asks: Sequence[Ask]) -> list[Record]:
        """Ask after the last item: a second look, in the one process or on the xdist controller."""
        from pytest_fineval.session.ask import Asker

        assert self._settings is not None  # noqa: S101 - a controller exists only with these
        assert self._options is not None  # noqa: S101
        if self._controller is None or self._controller.folder is None:
            raise RuntimeError("asked again before the run began")
        asker = Asker(self._settings, self._options)
        asker.begin(self._controller.folder, self._controller.kept)
        try:
            asker.plan(enumerate(asks))
            return [asker.record(ask) for ask in asks]
        finally:
            asker.close()

    def _join(self, session: pytest.Session, asker: Asker) -> Ahead:
        """A worker reaches its first case: the run is open by now, and dealt."""
        from pytest_fineval.session.ahead import Ahead

        if self._exchange is None:
            pytest.fail("the fineval run has not begun", pytrace=False)
        run = self._exchange.run()
        asker.begin(run.folder, run.kept())
        self._ahead = Ahead(session.items, asker, self._exchange.hands())
        return self._ahead

    def _new_asker(self, settings: Settings, options: Options) -> Asker:
        from pytest_fineval.session.ask import Asker

        if self._exchange is None:
            return Asker(settings, options)
        return Asker(
            settings, options, worker=self._exchange.worker, workers=self._exchange.workers
        )

    def _prepare(self, session: pytest.Session) -> None:
        if self._asker is None or self._collector is None:
            return
        try:
            from pytest_fineval.session.ahead import configured_models

            self._asker.prepare(configured_models(session.items))
        except InputError as error:
            self._collector.problem(str(error))

    def _open(self, plan: Plan) -> None:
        if self._fault is not None:
            raise pytest.UsageError(_invalid(str(self._fault)))
        assert self._settings is not None  # noqa: S101 - without settings there is a fault
        assert self._options is not None  # noqa: S101
        from pytest_fineval.session.controller import Controller

        self._controller = Controller(self._settings, self._options)
        try:
            self._controller.begin(plan, _asked_for(self._config))
        except InputError as error:
            self._controller = None
            raise pytest.UsageError(_invalid(str(error))) from error
        self._follow(self._controller.total)

    def _follow(self, total: int) -> None:
        """Show how far the run is, where there is a terminal or a log to show it in."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        from pytest_fineval.report.progress import display

        self._progress = display(
            total,
            reporter,
            time.monotonic(),
            terminal=bool(reporter.isatty),
            verbosity=self._config.option.verbose,
            capture=self._config.option.capture,
        )

    def _plan(self, session: pytest.Session) -> Plan:
        if self._collector is None:
            return Plan(problems=(str(self._fault),))
        items = enumerate(session.items)
        return self._collector.plan([i for i, item in items if ask_of(item) is not None])


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("fineval") is not None


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

"""pytest hooks: options, marker, items, reports, status letters. No logic.

Imports pytest alone: this module is loaded by every pytest run of a project, also by those that
hold no eval. What has logic is imported when the first marked test is collected.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_fineval.session.session import Session

SESSION = pytest.StashKey["Session | None"]()
EXCHANGE = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()
"""A folder in which xdist workers leave what they collected for the controller, which collects
nothing itself. It exists only on the controller."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fineval", "fineval: gate a model change on finance evals")

    def option(name: str, help_text: str, **kwargs: Any) -> None:
        dest = "fineval_" + name.removeprefix("--fineval-").replace("-", "_")
        group.addoption(name, dest=dest, help=help_text, **kwargs)

    option(
        "--fineval-split",
        "Cases to run (default: full = all but held-out)",
        choices=("smoke", "full", "dev", "heldout"),
    )
    option(
        "--fineval-model",
        "Model to ask, a name in [tool.fineval.models]; repeat for a matrix",
        action="append",
        metavar="NAME",
    )
    option(
        "--fineval-baseline",
        "Signed baseline to compare with, or 'none'",
        metavar="PATH",
    )
    option(
        "--fineval-trust-ref",
        "Read policy, baseline, signers and case ledger from this git ref",
        metavar="REF",
    )
    option(
        "--fineval-plan",
        "Hold the run to this registered plan; deviations are listed (fineval plan)",
        metavar="FILE",
    )
    option(
        "--fineval-gate",
        "How to judge (default: smoke for the smoke split, else full)",
        choices=("smoke", "full", "deploy", "off"),
    )
    option("--fineval-live", "Allow calls to live models", action="store_true")
    option(
        "--fineval-record",
        "Write answers of live models to the recordings (default: none)",
        choices=("none", "once", "new", "all"),
        default="none",
    )
    option(
        "--fineval-repeat",
        "Independent answers per case (default: 1)",
        type=_positive,
        default=1,
        metavar="K",
    )
    option("--fineval-concurrency", "Calls in flight", type=_positive, metavar="N")
    option("--fineval-cap", "Most money to spend on this run", type=_amount, metavar="USD")
    option("--fineval-run", "Folder to keep this run in", metavar="DIR")
    option(
        "--fineval-resume",
        "Go on with a run that was cut short (default: the last): what is recorded is not asked "
        "again; write --fineval-resume=DIR",
        nargs="?",
        const="last",
        metavar="DIR",
    )
    option(
        "--fineval-shard",
        "Run the I-th of N parts of the cases; nothing is judged until fineval merge",
        metavar="I/N",
    )
    option(
        "--fineval-shard-weights",
        "Deal the cases to shards by how long each took in this run",
        metavar="RUN",
    )
    option(
        "--fineval-show",
        "Which answers the summary shows (default: lost)",
        choices=("lost", "wrong", "all"),
        default="lost",
    )
    option(
        "--fineval-strict", "Fail the item of every answer that is not right", action="store_true"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fineval(*files): ask a model each case of these JSONL files (relative to the test's "
        "folder); the test takes the `fineval` fixture and calls fineval.check()",
    )
    config.stash[SESSION] = None


def pytest_unconfigure(config: pytest.Config) -> None:
    if EXCHANGE in config.stash:
        config.stash[EXCHANGE].cleanup()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("fineval")
    if marker is not None:
        _start(metafunc.config).parametrize(metafunc, marker)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    config = session.config
    if fineval := config.stash[SESSION]:
        fineval.begin(session)
    try:
        result = yield
    except BaseException as stop:
        if fineval := config.stash[SESSION]:
            fineval.finish(session, stop)
        raise
    if fineval := config.stash[SESSION]:
        fineval.finish(session)
    return result


@pytest.fixture
def fineval(request: pytest.FixtureRequest, fineval_client: Any) -> Generator[Any, None, None]:
    """The case of this item: `.candidate` is all a model may see, `.check()` asks and scores."""
    session = request.config.stash[SESSION]
    if session is None or not hasattr(request, "param"):
        pytest.fail('`fineval` needs @pytest.mark.fineval("cases/NAME.jsonl")', pytrace=False)
    with session.handle(request.node, request.param, fineval_client) as handle:
        yield handle


@pytest.fixture(scope="session")
def fineval_client() -> None:
    """Override in conftest.py to ask your own pipeline: return a Client or a callable."""
    return


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["fineval_exchange"] = _exchange(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    config = node.config
    folder = Path(_exchange(config))
    if config.stash[SESSION] is None and any(folder.iterdir()):
        from pytest_fineval.session.exchange import Exchange

        _start(config).begin_from(Exchange(folder))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "load":
        return None
    from pytest_fineval.session.schedule import DealtScheduling

    return DealtScheduling(config, log, Path(_exchange(config)))


class RunHooks:
    """Hooks that only a run with evals pays for: registered with its first marked test."""

    def __init__(self, session: Session):
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._session.drop_empty(items)
        self._session.keep_shard(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._session.collected(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        self._session.attach(item, report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, None, None]:
        self._session.clear_progress()
        yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        self._session.clear_progress()
        self._session.receive(report)
        yield
        self._session.show_progress()

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        return self._session.teststatus(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._session.summarize(terminalreporter)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        self._session.last_word(session)


def _exchange(config: pytest.Config) -> str:
    if EXCHANGE not in config.stash:
        config.stash[EXCHANGE] = tempfile.TemporaryDirectory(prefix="fineval-")
    return config.stash[EXCHANGE].name


def _start(config: pytest.Config) -> Session:
    session = config.stash[SESSION]
    if session is None:
        from pytest_fineval.session.session import Session

        session = config.stash[SESSION] = Session(config)
        config.pluginmanager.register(RunHooks(session), "fineval-run")
    return session


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value

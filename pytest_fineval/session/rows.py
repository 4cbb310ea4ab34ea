"""Gate rows: the verdict as test reports, so that terminal, JUnit and exit code agree with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_fineval.gate.verdict import Verdict
    from pytest_fineval.report.summary import Row

FILE = "fineval-gate"
"""Node ids of gate rows are `fineval-gate::CHECK`."""

STATUS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "pass": ("gate passed", "G", ("PASS", {"green": True})),
    "inconclusive": ("inconclusive", "I", ("INCONCLUSIVE", {"yellow": True})),
    "not_judged": ("not judged", "-", ("NOT JUDGED", {"yellow": True})),
    "block": ("failed", "B", ("BLOCK", {"red": True})),
    "invalid": ("failed", "X", ("INVALID", {"red": True})),
}
"""Category, letter and word of a row by its outcome."""

WAIVED = ("waived", "V", ("WAIVED", {"yellow": True}))
"""A row that would stop the deployment, were there no signed waiver of the verdict."""


def emit(session: pytest.Session, verdict: Verdict) -> None:
    """Send the verdict through pytest's own reporting, from the controller's run loop.

    The rows are no tests: they must not enter `--lf`'s cache, nor count for `--maxfail`; so the
    plugins that keep those books (and the session, which counts failures) do not hear of them,
    and the failures are added by hand: pytest then exits 1 by itself.
    """
    from pytest_fineval.report.summary import rows  # with numpy: only for who has a verdict

    manager = session.config.pluginmanager
    deaf = [
        plugin
        for name in ("lfplugin", "nfplugin", "stepwiseplugin")
        if (plugin := manager.get_plugin(name)) is not None
    ]
    hook = session.config.hook
    logreport = manager.subset_hook_caller("pytest_runtest_logreport", [*deaf, session])
    listed = rows(verdict)
    session.testscollected += len(listed)
    for row in listed:
        nodeid = f"{FILE}::{row.name}"
        location = (FILE, None, row.name)
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for when in ("setup", "call", "teardown"):
            logreport(report=_report(nodeid, location, when, row))
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        session.testsfailed += row.fails


def status(report: pytest.TestReport) -> tuple[str, str, object] | None:
    """Category, letter and word of a gate row's report; None for any other report."""
    outcome = getattr(report, "fineval_row", None)
    if outcome is None:
        return None
    if report.when != "call":
        return "", "", ""
    word = STATUS[outcome]
    return WAIVED if word[0] == "failed" and report.passed else word


def _report(
    nodeid: str, location: tuple[str, int | None, str], when: str, row: Row
) -> pytest.TestReport:
    fails = row.fails and when == "call"
    report = pytest.TestReport(
        nodeid=nodeid,
        location=location,
        keywords={},
        outcome="failed" if fails else "passed",
        longrepr=row.text if fails else None,
        when=when,  # type: ignore[arg-type]  # pytest types it as a Literal, we loop over it
        sections=[] if fails or when != "call" else [("fineval gate", row.text)],
    )
    report.fineval_row = row.outcome  # type: ignore[attr-defined]  # reports carry extras
    return report

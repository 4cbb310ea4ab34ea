"""Judge a finished run again: the same records and baseline give the same bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pytest_fineval.gate.preflight import preflight
from pytest_fineval.gate.signoff import ALLOWED_SIGNERS
from pytest_fineval.gate.verdict import Mode, Verdict, judge
from pytest_fineval.store.run import Run


def judge_again(
    run: Run,
    *,
    root: Path,
    baseline: Path | None = None,
    mode: Mode | None = None,
    now: datetime | None = None,
) -> Verdict:
    """The verdict over a run's folder, by the run's own baseline and mode unless others are given.

    Raises:
        InputError: the baseline may not be used (unsigned, altered, expired, other cases).
    """
    own = run.manifest.baseline
    path = baseline or (None if own is None else root / own)
    mode = mode or run.manifest.gate
    loaded = None
    if path is not None and mode != "off" and run.manifest.incomplete is None:
        loaded = preflight(
            path,
            path.parent / ALLOWED_SIGNERS,
            run.manifest,
            mode=mode,
            now=now or datetime.now(UTC),
        )
    return judge(run.manifest, run.records, run.repeated, loaded, mode)

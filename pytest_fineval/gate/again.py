"""Judge a finished run again: the same records and baseline give the same bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pytest_fineval.gate import trust
from pytest_fineval.gate.preflight import preflight
from pytest_fineval.gate.verdict import Mode, Verdict, judge
from pytest_fineval.gate.waiver import Honoured, honoured
from pytest_fineval.store.run import Run


def judge_again(
    run: Run,
    *,
    root: Path,
    baseline: Path | None = None,
    mode: Mode | None = None,
    trust_ref: str | None = None,
    now: datetime | None = None,
) -> Verdict:
    """The verdict over a run's folder, by the run's own baseline and mode unless others are given.

    Args:
        root: the project's folder.
        trust_ref: git ref to read the rules from; by default the commit that the run trusted.

    Raises:
        InputError: the baseline may not be used (unsigned, altered, expired, other cases).
    """
    path = _baseline(run, root, baseline)
    mode = mode or run.manifest.gate
    manifest = run.manifest
    if path is None or mode == "off" or manifest.part is not None:
        return judge(manifest, run.records, run.repeated, None, mode)
    case_files = [Path(name) for names in manifest.suites.values() for name in names]
    with trust.rules(path, case_files, root, trust_ref or manifest.trusted) as rules:
        loaded = preflight(rules, manifest, mode=mode, now=now or datetime.now(UTC))
        recorded = rules.recorded
    return judge(manifest, run.records, run.repeated, loaded, mode, recorded=recorded)


def waived(
    run: Run,
    verdict: Verdict,
    *,
    root: Path,
    baseline: Path | None = None,
    trust_ref: str | None = None,
    now: datetime | None = None,
) -> Honoured | None:
    """The waiver that lifts the verdict over this run, if there is one that holds.

    Raises:
        SignoffError: there is one, and its signature, signer or date does not hold.
    """
    path = _baseline(run, root, baseline)
    if path is None or verdict.mode != "deploy":
        return None
    with trust.rules(path, (), root, trust_ref or run.manifest.trusted) as rules:
        return honoured(verdict, path, rules, now=now)


def _baseline(run: Run, root: Path, given: Path | None) -> Path | None:
    own = run.manifest.baseline
    return given or (None if own is None else root / own)

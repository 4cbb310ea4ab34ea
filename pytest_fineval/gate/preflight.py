"""Before the first call: everything about a baseline that can be refused already (exit code 4)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import Baseline, load, sha256
from pytest_fineval.gate.pairing import Recorded, configuration_faults, pair
from pytest_fineval.gate.signoff import SignoffError, verify
from pytest_fineval.gate.verdict import Mode
from pytest_fineval.store.manifest import Manifest


def preflight(
    path: Path,
    allowed_signers: Path,
    manifest: Manifest,
    *,
    mode: Mode = "full",
    now: datetime | None = None,
    revoked: Path | None = None,
    recorded: Recorded | None = None,
) -> Baseline:
    """Verify and load a baseline, and hold the plan against it.

    Args:
        path: the baseline; signature and raw answers lie beside it.
        allowed_signers: who may sign it.
        manifest: what is planned; its records need not exist.
        mode: with `off` the plan is not held against it.
        now: the moment at which signature and dates have to be valid; the current by default.
        revoked: revoked keys.
        recorded: bumps and retirements in the trusted ref's case ledger.

    Raises:
        InputError: signature, signer, date, raw answers, a field, a missing or changed case, or
            a scorer's version; every fault of the plan is named at once.
    """
    signer = verify(path, allowed_signers, now=now, revoked=revoked)
    baseline = load(path)
    if sha256(path.read_bytes()) != signer.sha256:
        raise SignoffError("altered", "it was altered while it was being read", path=path)
    if mode == "off":
        return baseline
    pairing = pair(manifest, baseline, recorded or {})
    faults = [fault.text for fault in configuration_faults(manifest, baseline, pairing)]
    if faults:
        raise InputError("; ".join(faults), path=path)
    return baseline

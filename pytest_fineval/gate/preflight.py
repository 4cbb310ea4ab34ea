"""Before the first call: everything about a baseline that can be refused already (exit code 4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import Baseline, load, sha256, signed_ledger
from pytest_fineval.gate.pairing import configuration_faults, named, pair
from pytest_fineval.gate.signoff import SignoffError, verify
from pytest_fineval.gate.trust import Rules
from pytest_fineval.gate.verdict import Mode
from pytest_fineval.store.manifest import Manifest


def preflight(
    rules: Rules,
    manifest: Manifest,
    *,
    mode: Mode = "full",
    now: datetime | None = None,
) -> Baseline:
    """Verify and load a baseline, and hold the plan against it.

    Args:
        rules: the baseline, who may sign it, and the case ledgers.
        manifest: what is planned; its records need not exist.
        mode: with `off` the plan is not held against it.
        now: the moment at which signature and dates have to be valid; the current by default.

    Raises:
        InputError: signature, signer, date, raw answers, a field, a rewritten ledger, a missing
            or changed case, or a scorer's version; every fault of the plan is named at once.
    """
    path = rules.baseline
    signer = verify(path, rules.signers, now=now, revoked=rules.revoked)
    baseline = load(path)
    if sha256(path.read_bytes()) != signer.sha256:
        raise SignoffError("altered", "it was altered while it was being read", path=path)
    if mode == "off":
        return baseline
    pairing = pair(manifest, baseline, rules.recorded)
    faults = [*_rewritten(rules, baseline)]
    faults += [fault.text for fault in configuration_faults(manifest, baseline, pairing)]
    if faults:
        raise InputError("; ".join(faults), path=path)
    return baseline


def _rewritten(rules: Rules, baseline: Baseline) -> Iterator[str]:
    """A ledger only grows: what was signed or is trusted has to stand in it still."""
    ledger = rules.own_ledger
    for earlier, whose in (
        (signed_ledger(rules.baseline, baseline), "when the baseline was signed"),
        (rules.ledger, "in the trusted ref"),
    ):
        if earlier is None:
            continue
        if ledger is None:
            yield (
                f"the case ledger is gone ({len(earlier.latest)} cases were in it {whose}); "
                "restore it from version control"
            )
            return
        gone = ledger.lacks(earlier)
        if gone:
            yield (
                f"{ledger.path}: lines that stood there {whose} are gone or were rewritten: "
                f"{named(gone)}; restore them from version control (the ledger only grows)"
            )
            return

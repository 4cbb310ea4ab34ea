"""`fineval baseline`: the only writers of a baseline."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_fineval.cli.common import Commands, command, git_user


def add_baseline(commands: Commands) -> None:
    group = command(
        commands,
        "baseline",
        "propose, sign and verify what candidates are compared with",
        "fineval baseline propose .fineval/runs/RUN --reason 'first baseline' "
        "-o baselines/main.json",
    ).add_subparsers(metavar="ACTION", required=True)

    propose = command(
        group,
        "propose",
        "make a baseline of one or more whole runs; it gates nothing before it is signed",
        "fineval baseline propose .fineval/runs/RUN --reason 'first baseline' "
        "-o baselines/main.json",
        _propose,
    )
    propose.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    propose.add_argument("--reason", required=True)
    propose.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    propose.add_argument("--by", help="who proposes it (default: git's user)")

    sign = command(
        group,
        "sign",
        "sign a baseline with your SSH key",
        "fineval baseline sign baselines/main.json --key ~/.ssh/id_ed25519",
        _sign,
    )
    sign.add_argument("file", type=Path)
    sign.add_argument("--key", type=Path, required=True)

    verify = command(
        group,
        "verify",
        "check signature, signer, dates and raw answers of a baseline",
        "fineval baseline verify baselines/main.json",
        _verify,
    )
    verify.add_argument("file", type=Path)
    verify.add_argument("--allowed-signers", type=Path, help="default: beside the baseline")

    rescore = command(
        group,
        "rescore",
        "bring a baseline to the installed scorers, from its raw answers; then sign it again",
        "fineval baseline rescore baselines/main.json",
        _rescore,
    )
    rescore.add_argument("file", type=Path)
    rescore.add_argument(
        "--cases", type=Path, nargs="+", metavar="FILE", help="default: the case ledger's files"
    )
    rescore.add_argument("--by", help="who rescores it (default: git's user)")


def _propose(given: argparse.Namespace) -> int:
    from pytest_fineval.cases import lock
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.propose import propose
    from pytest_fineval.settings import load
    from pytest_fineval.store import run as runs

    read = [runs.read(folder) for folder in given.runs]
    names = {name for run in read for files in run.manifest.suites.values() for name in files}
    ledger = lock.gather([Path.cwd() / name for name in names], Path.cwd())
    if ledger is None:
        _warn("there is no case ledger, so that cases may change unseen: fineval lock add")
    proposal = propose(
        read,
        settings=load(Path.cwd()),
        reason=given.reason,
        created_by=given.by or git_user(),
        name=given.output.stem,
        predecessor=given.output if given.output.exists() else None,
        ledger=ledger,
    )
    baseline.write(proposal.baseline, proposal.companion, given.output, ledger)
    for warning in proposal.warnings:
        _warn(warning)
    for name, figures in proposal.baseline.aggregates.items():
        noise = "" if figures.noise is None else f", noise f {100 * figures.noise:.1f} %"
        print(f"{name}: {figures.mean:.3f} (n={figures.n}, {figures.samples} a case{noise})")
    print(f"{given.output} waits for a signature: fineval baseline sign {given.output} --key KEY")
    return 0


def _sign(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import ratchet
    from pytest_fineval.gate.baseline import load
    from pytest_fineval.gate.signoff import sign

    loaded = load(given.file)
    for note in ratchet.notes(loaded):
        _warn(note)
    print(f"signed: {sign(given.file, given.key)}")
    if loaded.policy.signatures > 1:
        print(f"its policy wants {loaded.policy.signatures} signers: fineval baseline verify")
    return 0


def _verify(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline, ratchet
    from pytest_fineval.gate.signoff import named_people, verify
    from pytest_fineval.gate.trust import Rules

    rules = Rules.beside(given.file)
    signer = verify(given.file, given.allowed_signers or rules.signers, revoked=rules.revoked)
    loaded = baseline.load(given.file)
    for note in ratchet.notes(loaded):
        _warn(note)
    people = named_people(signer.principals)
    print(
        f"{given.file}: signed by {people}, valid until {loaded.valid_until}, "
        f"policy {loaded.policy.digest[:12]}"
    )
    return 0


def _rescore(given: argparse.Namespace) -> int:
    from pytest_fineval.cli.lock import case_files, ledger, located
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.rescore import rescore
    from pytest_fineval.settings import load

    old = baseline.load(given.file)
    cases = [one.case for one in located(given.cases or case_files(ledger(None)))]
    proposal, moved = rescore(
        given.file,
        cases,
        created_by=given.by or git_user(),
        settings=load(Path.cwd()),
    )
    signed = baseline.signed_ledger(given.file, old)
    baseline.write(proposal.baseline, proposal.companion, given.file, signed)
    for one in moved:
        print(f"{one.case}: {one.before:.3f} -> {one.after:.3f}")
    for warning in proposal.warnings:
        _warn(warning)
    print(f"{proposal.baseline.reason}; {len(moved)} of {len(old.cases)} cases moved")
    print(f"{given.file} waits for a signature: fineval baseline sign {given.file} --key KEY")
    return 0


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)

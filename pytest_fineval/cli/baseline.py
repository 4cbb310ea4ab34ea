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


def _propose(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.propose import propose
    from pytest_fineval.settings import load
    from pytest_fineval.store import run as runs

    proposal = propose(
        [runs.read(folder) for folder in given.runs],
        settings=load(Path.cwd()),
        reason=given.reason,
        created_by=given.by or git_user(),
        name=given.output.stem,
        predecessor=given.output if given.output.exists() else None,
    )
    baseline.write(proposal.baseline, proposal.companion, given.output)
    for warning in proposal.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for name, figures in proposal.baseline.aggregates.items():
        noise = "" if figures.noise is None else f", noise f {100 * figures.noise:.1f} %"
        print(f"{name}: {figures.mean:.3f} (n={figures.n}, {figures.samples} a case{noise})")
    print(f"{given.output} waits for a signature: fineval baseline sign {given.output} --key KEY")
    return 0


def _sign(given: argparse.Namespace) -> int:
    from pytest_fineval.gate.signoff import sign

    print(f"signed: {sign(given.file, given.key)}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.signoff import ALLOWED_SIGNERS, verify

    signers = given.allowed_signers or given.file.parent / ALLOWED_SIGNERS
    signer = verify(given.file, signers)
    loaded = baseline.load(given.file)
    print(
        f"{given.file}: signed by {signer.principal}, valid until {loaded.valid_until}, "
        f"policy {loaded.policy.digest[:12]}"
    )
    return 0

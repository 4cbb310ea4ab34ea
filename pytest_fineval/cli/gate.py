"""`fineval gate`: a finished run judged again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_fineval.cli.common import Commands, command

if TYPE_CHECKING:
    from pytest_fineval.gate.verdict import Verdict
    from pytest_fineval.store.run import Run


def add_gate(commands: Commands) -> None:
    parser = command(
        commands,
        "gate",
        "judge a finished run again, without a model call; exit codes as pytest's",
        "fineval gate .fineval/runs/20261130T101500Z-1a2b --baseline baselines/main.json",
        _gate,
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--baseline", type=Path, help="default: the one of the settings")
    parser.add_argument("--mode", choices=("smoke", "full", "deploy"))
    parser.add_argument(
        "--trust-ref",
        metavar="REF",
        help="git ref to read policy, baseline, signers and ledger from (default: as the run did)",
    )
    parser.add_argument(
        "--rescore",
        action="store_true",
        help="believe no score in the run's folder: score its raw answers anew, by the cases here",
    )
    parser.add_argument(
        "--self-check",
        action="store_true",
        help="split the run's repeated samples in two and say how often the gate would block them",
    )
    parser.add_argument("--json", action="store_true", help="print verdict.json instead")


def _gate(given: argparse.Namespace) -> int:
    from pytest_fineval.gate.again import judge_again, waived
    from pytest_fineval.store.run import read

    run = read(given.run)
    if given.rescore:
        run = _rescored(run)
    if given.self_check:
        return _self_check(run, given)
    verdict = judge_again(
        run,
        root=Path.cwd(),
        baseline=given.baseline,
        mode=given.mode,
        trust_ref=given.trust_ref,
    )
    waiver = waived(
        run, verdict, root=Path.cwd(), baseline=given.baseline, trust_ref=given.trust_ref
    )
    if given.json:
        sys.stdout.write(verdict.to_bytes().decode())
    if waiver is not None:
        verdict = waiver.applied(verdict)
    if not given.json:
        show(run, verdict, given.baseline)
    return verdict.exit_code or 0


def show(run: Run, verdict: Verdict, baseline: Path | None = None) -> None:
    """The terminal's section of a run, and the verdict as its last line."""
    from pytest_fineval.gate.baseline import scored_answers
    from pytest_fineval.report import terminal
    from pytest_fineval.report.summary import summarize

    path = baseline or (Path(run.manifest.baseline) if run.manifest.baseline else None)
    before = scored_answers(path) if path and path.exists() else {}
    out = terminal.Plain(sys.stdout)
    terminal.write(summarize(verdict, run.manifest, run.records, before, run.folder), out, "lost")
    terminal.write_verdict(verdict, out)


def _rescored(run: Run) -> Run:
    from pytest_fineval.cli.lock import located
    from pytest_fineval.gate.rescore import rescore_run
    from pytest_fineval.settings import load

    names = sorted({name for files in run.manifest.suites.values() for name in files})
    cases = [one.case for one in located(Path(name) for name in names)]
    return rescore_run(run, cases, settings=load(Path.cwd()))


def _self_check(run: Run, given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.policy import draft
    from pytest_fineval.gate.selfcheck import self_check
    from pytest_fineval.settings import load

    named: Path | None = given.baseline
    if named is None and run.manifest.baseline and Path(run.manifest.baseline).exists():
        named = Path(run.manifest.baseline)
    policy = draft(load(Path.cwd())) if named is None else baseline.load(named).policy
    found = self_check(run, policy)
    if given.json:
        print(found.model_dump_json())
    else:
        print("\n".join(found.sentences()))
    return 0

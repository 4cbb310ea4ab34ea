"""`fineval gate`: a finished run judged again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_fineval.cli.common import Commands, command


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
    parser.add_argument("--json", action="store_true", help="print verdict.json instead")


def _gate(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.again import judge_again
    from pytest_fineval.report import terminal
    from pytest_fineval.report.summary import summarize
    from pytest_fineval.store.run import read

    run = read(given.run)
    verdict = judge_again(run, root=Path.cwd(), baseline=given.baseline, mode=given.mode)
    if given.json:
        sys.stdout.write(verdict.to_bytes().decode())
        return verdict.exit_code or 0
    path = given.baseline or (Path(run.manifest.baseline) if run.manifest.baseline else None)
    before = baseline.scored_answers(path) if path and path.exists() else {}
    out = terminal.Plain(sys.stdout)
    terminal.write(summarize(verdict, run.manifest, run.records, before, run.folder), out, "lost")
    terminal.write_verdict(verdict, out)
    return verdict.exit_code or 0

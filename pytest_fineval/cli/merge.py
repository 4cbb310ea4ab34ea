"""`fineval merge`: the shards of one run joined, and judged together."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_fineval.cli.common import Commands, command


def add_merge(commands: Commands) -> None:
    parser = command(
        commands,
        "merge",
        "join the shards of one run and judge it; exit codes as pytest's",
        "fineval merge shards/1 shards/2 shards/3 -o .fineval/runs/nightly",
        _merge,
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="every shard's folder")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder of the whole run"
    )
    parser.add_argument("--json", action="store_true", help="print verdict.json instead")


def _merge(given: argparse.Namespace) -> int:
    from pytest_fineval.cli.gate import show
    from pytest_fineval.gate.again import judge_again, waived
    from pytest_fineval.store import merge
    from pytest_fineval.store.run import VERDICT, read, write_atomically

    shards = [read(folder) for folder in given.runs]
    for notice in merge.notices(shards):
        print(f"note: {notice}", file=sys.stderr)
    run = merge.merged(shards)
    verdict = judge_again(run, root=Path.cwd())  # before anything is written: it may be refused
    run = merge.write(run, given.output)
    write_atomically(given.output / VERDICT, verdict.to_bytes().decode())
    waiver = waived(run, verdict, root=Path.cwd())
    if given.json:
        sys.stdout.write(verdict.to_bytes().decode())
    due = verdict.second_look_due
    if waiver is not None:
        verdict = waiver.applied(verdict)
    if not given.json:
        show(run, verdict)
    if due:
        print(
            f"to look again: run pytest with the shards' options and --fineval-resume={run.folder}",
            file=sys.stderr,
        )
    return verdict.exit_code or 0

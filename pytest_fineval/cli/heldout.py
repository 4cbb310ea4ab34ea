"""`fineval heldout`: cases that nobody develops on, opened once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_fineval.cli.common import Commands, command, git_user
from pytest_fineval.errors import InputError


def add_heldout(commands: Commands) -> None:
    group = command(
        commands,
        "heldout",
        "hold cases out of every split but their own, and open them once",
        "fineval heldout open evals/cases/new.jsonl --reason 'release 2.0' --model new",
    ).add_subparsers(metavar="ACTION", required=True)
    mark = command(
        group,
        "mark",
        "hold out part of a new case file, by cluster, fixed by the cases' content",
        "fineval heldout mark evals/cases/new.jsonl --share 0.3",
        _mark,
    )
    mark.add_argument("file", type=Path)
    mark.add_argument("--share", type=_share, default=0.3, help="of the clusters (default: 0.3)")
    opening = command(
        group,
        "open",
        "write into the ledger that these held-out cases will be asked; commit it, then run",
        "fineval heldout open evals/cases/new.jsonl --reason 'release 2.0' --model new",
        _open,
    )
    opening.add_argument("suite", type=Path, nargs="+", metavar="SUITE", help="case files")
    opening.add_argument("--reason", required=True)
    opening.add_argument("--model", action="append", required=True, metavar="NAME")
    opening.add_argument("--plan", type=Path, help="a plan that fineval plan wrote")
    opening.add_argument("--by", help="who opens them (default: git's user)")


def _mark(given: argparse.Namespace) -> int:
    from pytest_fineval.cases import files, lock
    from pytest_fineval.cli.lock import located
    from pytest_fineval.gate.heldout import mark

    cases = mark(located([given.file]), lock.gather([given.file], Path.cwd()), given.share)
    files.write(given.file, cases)
    held = sum("heldout" in case.splits for case in cases)
    print(f"{given.file}: {held} of {len(cases)} cases are held out; now: fineval lock add")
    return 0


def _open(given: argparse.Namespace) -> int:
    from pytest_fineval.cli.lock import located
    from pytest_fineval.gate import heldout, plan
    from pytest_fineval.settings import load
    from pytest_fineval.store.manifest import identity

    settings = load(Path.cwd())
    paths = {heldout.ledger_path(path, Path.cwd()) for path in given.suite}
    if len(paths) > 1:
        raise InputError("these files keep their openings in several ledgers: open them apart")
    path = paths.pop()
    line, refused = heldout.open_cases(
        heldout.read(path),
        located(given.suite),
        models={name: identity(settings.model(name)) for name in given.model},
        plan=plan.read(given.plan).digest if given.plan else None,
        reason=given.reason,
        who=given.by or git_user(),
    )
    for name, earlier in refused.items():
        print(f"refused: {name}: {earlier.sentence}", file=sys.stderr)
    heldout.append(path, line)
    print(f"{path}: {len(line.cases)} cases opened ({line.sentence})")
    models = " ".join(f"--fineval-model {name}" for name in given.model)
    print(f"commit {path}, then: pytest evals --fineval-split heldout {models}")
    return 0


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("a share lies between 0 and 1")
    return value

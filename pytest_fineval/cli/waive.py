"""`fineval waive`: let one verdict pass, signed."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from pytest_fineval.cli.common import Commands, command, git_user
from pytest_fineval.errors import InputError


def add_waive(commands: Commands) -> None:
    parser = command(
        commands,
        "waive",
        "sign that one deploy verdict does not stop the deployment",
        "fineval waive .fineval/runs/RUN --reason 'two flips, both read by hand' "
        "--until 2026-12-31 --key ~/.ssh/id_ed25519",
        _waive,
    )
    parser.add_argument("verdict", type=Path, help="verdict.json, or a run's folder")
    parser.add_argument("--reason", required=True)
    parser.add_argument("--until", required=True, type=_date, metavar="DATE", help="as 2026-12-31")
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--baseline", type=Path, help="default: the one of the settings")
    parser.add_argument("--by", help="who asks for it (default: git's user)")


def _waive(given: argparse.Namespace) -> int:
    from pytest_fineval.gate.waiver import waive
    from pytest_fineval.settings import load
    from pytest_fineval.store.run import VERDICT

    path = given.verdict / VERDICT if given.verdict.is_dir() else given.verdict
    baseline = given.baseline or load(Path.cwd()).baseline
    if baseline is None:
        raise InputError("the settings name no baseline: pass --baseline PATH")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"no verdict can be read here ({error.strerror})", path=path) from error
    made = waive(
        data,
        baseline=Path(baseline),
        reason=given.reason,
        until=given.until,
        key=given.key,
        created_by=given.by or git_user(),
    )
    print(f"waived and signed: {made}")
    print("commit it with its signature; the deploy gate then passes over exactly this verdict")
    return 0


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no date like 2026-12-31") from None

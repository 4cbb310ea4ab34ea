"""`fineval lock`: the ledger of cases, to which lines are only added."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pytest_fineval.cases import files, lock
from pytest_fineval.cases.files import Located
from pytest_fineval.cases.lock import LOCK, Ledger
from pytest_fineval.cli.common import Commands, command
from pytest_fineval.errors import InputError
from pytest_fineval.settings import load


def add_lock(commands: Commands) -> None:
    group = command(
        commands,
        "lock",
        "keep the ledger of cases: nothing is changed or removed unseen",
        "fineval lock add evals/cases",
    ).add_subparsers(metavar="ACTION", required=True)

    add = command(
        group,
        "add",
        "record new cases (the first time: of the files or folders named)",
        "fineval lock add evals/cases",
        _add,
    )
    add.add_argument("cases", type=Path, nargs="*", metavar="FILE", help="case files or folders")

    bump = command(
        group,
        "bump",
        "record that a case was changed, as its next version",
        "fineval lock bump fq-00017 --reason 'the gold was in thousands'",
        _bump,
    )
    retire = command(
        group,
        "retire",
        "record that a case is no longer asked; then remove its line",
        "fineval lock retire fq-00017 --reason 'the filing was withdrawn'",
        _retire,
    )
    for parser in (bump, retire):
        parser.add_argument("id")
        parser.add_argument("--reason", required=True)
    check = command(
        group,
        "check",
        "compare the case files with the ledger; exit code 4 on drift",
        "fineval lock check",
        _check,
    )
    for parser in (add, bump, retire, check):
        parser.add_argument(
            "--lock", type=Path, metavar="PATH", help=f"default: the project's only {LOCK}"
        )


def ledger_path(given: Path | None) -> Path | None:
    """The named ledger, else the only one under the current folder; None when there is none.

    Raises:
        InputError: the named one does not exist, or there are several.
    """
    if given is not None:
        if not given.is_file():
            raise InputError("there is no such case ledger: fineval lock add", path=given)
        return given
    found = []
    for folder, names, inside in os.walk("."):
        names[:] = [n for n in names if not n.startswith(".") and n not in {"node_modules", "venv"}]
        if LOCK in inside:
            found.append(Path(folder) / LOCK)
    if len(found) > 1:
        shown = ", ".join(str(path) for path in sorted(found))
        raise InputError(f"there are several case ledgers ({shown}): name one with --lock")
    return found[0] if found else None


def ledger(given: Path | None) -> Ledger:
    """The project's ledger.

    Raises:
        InputError: there is none, or several.
    """
    path = ledger_path(given)
    if path is None:
        raise InputError(f"there is no {LOCK} here: fineval lock add evals/cases makes one")
    return lock.read(path)


def located(paths: Iterable[Path]) -> list[Located]:
    """All cases of these files."""
    categories = load(Path.cwd()).categories
    return [one for path in paths for one in files.read(path, categories)]


def case_files(known: Ledger) -> list[Path]:
    """The files that a ledger names and that exist, and the other case files in their folders."""
    named = known.files
    beside = {file for path in named for file in path.parent.glob("*.jsonl")}
    return sorted({path for path in named if path.exists()} | beside)


def _add(given: argparse.Namespace) -> int:
    known, wanted = _for_adding(given.cases, given.lock)
    entries = lock.added(known, located(wanted))
    is_new = not known.path.exists()
    _write(known.with_entries(entries))
    if is_new:
        _say_how_it_merges(known.path.parent, wanted)
    print(f"{known.path}: {len(entries)} added, {len(known.latest)} were there")
    return 0


def _bump(given: argparse.Namespace) -> int:
    known = ledger(given.lock)
    case = next((one for one in located(case_files(known)) if one.case.id == given.id), None)
    if case is None:
        raise InputError(f'no case file holds "{given.id}"; to let it go: fineval lock retire')
    entry = lock.bumped(known, case, given.reason)
    _write(known.with_entries([entry]))
    print(f"{given.id} is recorded as version {entry.version}; it is gated again once a new")
    print("baseline is signed: fineval baseline propose RUN --reason R -o FILE")
    return 0


def _retire(given: argparse.Namespace) -> int:
    known = ledger(given.lock)
    entry = lock.retired(known, given.id, given.reason)
    _write(known.with_entries([entry]))
    print(f"{given.id} is retired; now remove its line from {known.path.parent / entry.file}")
    return 0


def _check(given: argparse.Namespace) -> int:
    known = ledger(given.lock)
    paths = case_files(known)
    drift = lock.drift(known, located(paths), whole=paths)
    for notice in drift.notices:
        print(f"warning: {notice}", file=sys.stderr)
    if drift.faults:
        raise InputError("\n".join(drift.faults))
    gone = sum(last.state == "retired" for last in known.latest.values())
    print(f"{known.path}: {len(known.latest) - gone} active, {gone} retired, no drift")
    return 0


def _for_adding(cases: list[Path], given: Path | None) -> tuple[Ledger, list[Path]]:
    wanted: list[Path] = []
    for named in cases:
        wanted += sorted(named.glob("*.jsonl")) if named.is_dir() else [named]
    if cases and not wanted:
        raise InputError("holds no case file (NAME.jsonl)", path=cases[0])
    is_new = given is not None and not given.exists()
    path = given if is_new else ledger_path(given)
    if path is not None and path.exists():
        known = lock.read(path)
        return known, wanted or case_files(known)
    if not wanted:
        raise InputError(f"there is no {LOCK} yet: name the case files or their folder")
    if path is None:
        folder = wanted[0].parent
        path = (folder.parent if folder.name == "cases" else folder) / LOCK
    return Ledger(path), wanted


def _write(known: Ledger) -> None:
    known.path.parent.mkdir(parents=True, exist_ok=True)
    known.path.write_text(known.to_text(), encoding="utf-8", newline="\n")


def _say_how_it_merges(folder: Path, wanted: Iterable[Path]) -> None:
    """A new ledger: tell git to keep both sides' lines, and see that git does not ignore it."""
    names = {file.resolve().relative_to(folder.resolve()).with_name("*.jsonl") for file in wanted}
    merge = [f"{LOCK} merge=union", *sorted(f"{name.as_posix()} merge=union" for name in names)]
    attributes = folder / ".gitattributes"
    present = attributes.read_text(encoding="utf-8").splitlines() if attributes.exists() else []
    missing = [line for line in merge if line not in present]
    if missing:
        text = "".join(f"{line}\n" for line in [*present, *missing])
        attributes.write_text(text, encoding="utf-8", newline="\n")
        print(f"{attributes}: two branches that add cases merge by union")
    ignored = subprocess.run(  # noqa: S603 - fixed words, no shell
        ["git", "check-ignore", "-q", LOCK],  # noqa: S607 - the user's own git
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if ignored.returncode == 0:
        print(f"warning: git ignores {folder / LOCK}: add the line !{LOCK} to .gitignore")

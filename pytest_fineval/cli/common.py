"""What every command shares: the parser, reading a file, who is asking."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeAlias

from pytest_fineval.errors import InputError

USAGE_ERROR = 4
"""Exit code of bad input: pytest's own for a usage error."""

Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """argparse with our exit code for bad usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def command(
    commands: Commands,
    name: str,
    help_text: str,
    example: str,
    run: Command | None = None,
) -> Parser:
    parser = commands.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}.",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if run is not None:
        parser.set_defaults(command=run)
    return parser


def text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error


def git_user() -> str:
    name, address = _git_config("user.name"), _git_config("user.email")
    if not name:
        raise InputError("who is asking? git has no user.name: pass --by NAME")
    return f"{name} <{address}>" if address else name


def _git_config(key: str) -> str:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            ["git", "config", key],  # noqa: S607 - the user's own git, wherever it is
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except OSError:
        return ""
    return done.stdout.strip()

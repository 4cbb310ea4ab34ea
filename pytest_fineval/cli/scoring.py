"""`fineval score`: answers scored offline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_fineval.cli.common import Commands, command, text
from pytest_fineval.errors import InputError


def add_score(commands: Commands) -> None:
    parser = command(
        commands,
        "score",
        "score answers of a JSONL file offline, one line out for each line in",
        "fineval score answers.jsonl   "
        '# lines like {"id": "a", "scorer": {"name": "numeric"}, "gold": {"answer": 14.5, '
        '"unit": "percent"}, "output": "14.5%"}',
        _score,
    )
    parser.add_argument("file", type=Path)


def _score(given: argparse.Namespace) -> int:
    from pytest_fineval.cases.model import json_line
    from pytest_fineval.scoring.offline import score_line

    for number, line in enumerate(text(given.file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            scored = score_line(parsed)
        except InputError as error:
            raise InputError(error.fault, path=given.file, line=number) from error
        except ValueError as error:
            raise InputError(f"not JSON: {error}", path=given.file, line=number) from error
        print(json_line(scored))
    return 0

"""`python -m tests.vectors FILE...`: prints `FILE agree/total` and the ids that differ.

Exit code 0 when all rows of all files agree, 1 when some differ, 4 for a row of unknown schema or
a file that cannot be read.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.vectors.schemas import Schema, recognise, rows, schemas


def check_file(path: Path, known: list[Schema]) -> tuple[int, list[str]]:
    """Rows of the file, and a line for each that differs.

    Raises:
        ValueError: a row of unknown schema, or no JSON.
        OSError: the file cannot be read.
    """
    total, differing = 0, []
    for row in rows(path):
        schema = recognise(row, known)
        if schema is None:
            fields = ", ".join(sorted(row))
            raise ValueError(f"no schema has the fields of row {total + 1}: {fields}")
        total += 1
        differs = schema.check(row)
        if differs:
            differing.append(f"{schema.row_id(row)} ({schema.name}): {'; '.join(differs)}")
    if not total:
        raise ValueError("no rows")
    return total, differing


def main(arguments: list[str]) -> int:
    """Check the files that are named; see the module's text."""
    if not arguments:
        print("usage: python -m tests.vectors FILE...", file=sys.stderr)
        return 4
    known = schemas()
    code = 0
    for name in arguments:
        try:
            total, differing = check_file(Path(name), known)
        except (OSError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 4
        print(f"{name} {total - len(differing)}/{total}")
        for line in differing:
            print(f"  {line}")
        code = 1 if differing else code
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

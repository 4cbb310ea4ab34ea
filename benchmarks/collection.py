"""Collection: 20,000 fineval cases against a plain parametrize of the same file.

    python benchmarks/collection.py [CASES]

Prints the medians of five interleaved runs of `pytest --collect-only` and their ratio; the aim is
a ratio of at most 1.30.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5

PLAIN = """
import json
import pathlib
import pytest

PATH = pathlib.Path(__file__).with_name("cases.jsonl")
CASES = [json.loads(line) for line in PATH.read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    pass
"""

FINEVAL = """
import pytest


@pytest.mark.fineval("cases.jsonl")
def test_case(fineval):
    fineval.check()
"""

SETTINGS = """
[tool.fineval]
candidate = "m"
[tool.fineval.models.m]
model = "m"
"""


def case(number: int) -> dict[str, object]:
    return {
        "id": f"case-{number:06}",
        "category": "extraction",
        "candidate": {
            "question": f"What was revenue in quarter {number}?",
            "text": f"Revenue rose to ${number} million on higher volumes and better prices. " * 3,
        },
        "gold": {"answer": str(number), "unit": "USD", "scale": 1e6},
        "scorer": {"name": "numeric", "rel_tol": 0.005},
        "cluster": f"doc-{number // 5}",
        "tags": {"language": "en"},
    }


def environment(folder: Path) -> dict[str, str]:
    """With compiled modules kept between runs, as anywhere but on the first run of a machine."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def timed(folder: Path, name: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider",
         "-p", "no:randomly", name],
        cwd=folder, env=environment(folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return time.perf_counter() - began


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps(case(number)) for number in range(cases)]
        (folder / "cases.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "pyproject.toml").write_text(SETTINGS)
        (folder / "test_plain.py").write_text(PLAIN)
        (folder / "test_fineval.py").write_text(FINEVAL)
        times: dict[str, list[float]] = {"test_plain.py": [], "test_fineval.py": []}
        for file in times:
            timed(folder, file)
        for _ in range(RUNS):
            for file in times:
                times[file].append(timed(folder, file))
        plain, fineval = (statistics.median(found) for found in times.values())
    print(f"{cases} cases, median of {RUNS} runs: plain parametrize {plain:.2f} s, ", end="")
    print(f"fineval {fineval:.2f} s, ratio {fineval / plain:.2f} (aim: at most 1.30)")


if __name__ == "__main__":
    main()

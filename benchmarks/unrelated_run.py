"""What the installed plugin adds to a pytest run without evals.

    python benchmarks/unrelated_run.py

Interleaved pairs with and without the plugin; prints the median difference (aim: under 20 ms).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 25


def environment(folder: Path) -> dict[str, str]:
    """With compiled modules kept between runs, as anywhere but on the first run of a machine."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def timed(folder: Path, *extra: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra],
        cwd=folder, env=environment(folder), capture_output=True, check=True,
    )  # fmt: skip
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_x.py").write_text("def test_x():\n    pass\n")
        timed(folder)
        pairs = [(timed(folder), timed(folder, "-p", "no:fineval")) for _ in range(PAIRS)]
    added = statistics.median(with_it - without for with_it, without in pairs)
    base = statistics.median(without for _, without in pairs)
    print(
        f"{PAIRS} interleaved pairs: a run without the plugin takes {1000 * base:.0f} ms, ", end=""
    )
    print(f"the plugin adds {1000 * added:.1f} ms (aim: under 20 ms)")


if __name__ == "__main__":
    main()

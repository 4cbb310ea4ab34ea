"""Where the data that may not be committed lies, and a skip with a reason where it does not."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(name: str) -> Path:
    """Path of a file under ../shared; skips the test where the checkout has none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs ../shared/{name}, which is not part of the repository")
    return path

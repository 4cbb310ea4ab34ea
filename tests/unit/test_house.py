"""The house rules, held by the tools that know them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
        ["lint-imports"],
        ["zizmor", "--offline", "--quiet", ".github/workflows"],
    ],
    ids=" ".join,
)
def test_the_code_is_clean_by(command):
    tool = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [str(tool), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_passes_five_hundred_lines():
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in (ROOT / "pytest_fineval").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert not long


def test_no_file_of_the_package_evaluates_text():
    found = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pytest_fineval").rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in (" eval(", " exec(", "=eval("))
    ]
    assert not found

"""The commands in the docs exist: every option, subcommand and file they name."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [*lines, *re.findall(r"`((?:pytest|fineval) [^`\n]+)`", text)]


def output(*arguments: str) -> str:
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def pytest_help() -> str:
    return output(sys.executable, "-m", "pytest", "--help")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_option_and_subcommand_in_the_docs_exists(page, pytest_help):
    fineval = str(Path(sys.executable).with_name("fineval"))
    for command in commands(page):
        words = shlex.split(command, comments=True)
        for option in (word.split("=")[0] for word in words if word.startswith("--fineval-")):
            assert re.search(rf"^\s+{option}\b", pytest_help, re.MULTILINE), command
        if words[:1] == ["fineval"]:
            named = [word for word in words[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]
            help_text = output(fineval, *named, "--help")
            assert help_text.startswith("usage:"), f"{command}: {help_text}"
            for option in (word for word in words if word.startswith("--")):
                assert option in help_text, f"{command}: {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"

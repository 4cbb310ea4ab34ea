"""The commands in the docs exist: every option, subcommand and file they name."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import build_request
from pytest_fineval.clients.factory import BUILT_IN, ENTRY_POINTS, VENDORS
from pytest_fineval.settings import ModelSettings, load

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


def test_the_settings_on_the_page_of_models_are_settings(tmp_path):
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    settings, entry_points = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    assert set(load(tmp_path).models) == {"new", "other"}
    assert ENTRY_POINTS in tomllib.loads(entry_points)["project"]["entry-points"]
    named = re.findall(r"^\| `?([^|]*?)`? ?(?:\(|\|)", page, re.MULTILINE)
    for client in (*BUILT_IN, *VENDORS):
        assert any(client in cell for cell in named), client


def test_the_pipelines_on_the_page_of_models_answer():
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    factory, fixture = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    model = ModelSettings(client="shop.pipeline:make", model="m")
    request = build_request(Candidate(question="How much?"), model)
    found = {}
    exec(factory, found)  # noqa: S102 - the page's own example
    assert found["make"](model)(request) == "m was asked 9 characters"
    exec(fixture, found)  # noqa: S102
    assert found["fineval_client"].__wrapped__()(request) == "Answer: 42"

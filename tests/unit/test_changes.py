"""Fragments of changes become a section of the changelog."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOWNCRIER = Path(sys.executable).with_name("towncrier")
FRAGMENTS = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]

pytestmark = pytest.mark.skipif(not TOWNCRIER.exists(), reason="towncrier is not installed")


def towncrier(folder, *arguments):
    return subprocess.run(
        [str(TOWNCRIER), *arguments, "--dir", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "changes", tmp_path / "changes")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_fragment_is_of_a_known_kind_and_shown_in_a_draft():
    done = towncrier(ROOT, "build", "--draft", "--version", "9.9.9")
    assert done.returncode == 0, done.stderr
    for path in FRAGMENTS:
        assert re.fullmatch(r"(\+\S+|\d+)\.(feature|bugfix|removal|doc|security)\.md", path.name)
        first = path.read_text(encoding="utf-8").split(".")[0]
        assert " ".join(first.split()) in " ".join(done.stdout.split()), path.name


def test_a_release_puts_the_fragments_above_the_older_sections(copy):
    before = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    (copy / "changes" / "+sign.bugfix.md").write_text("A loss keeps its sign.\n", encoding="utf-8")
    done = towncrier(copy, "build", "--yes", "--version", "9.9.9", "--date", "2030-01-01")
    assert done.returncode == 0, done.stdout + done.stderr
    after = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", after, re.MULTILINE)
    assert sections == ["9.9.9 (2030-01-01)", *re.findall(r"^## (.*)$", before, re.MULTILINE)]
    assert re.search(r"### Fixed\n\n(- .*\n)*- A loss keeps its sign\.", after)
    assert all(line in after for line in before.splitlines())


def test_a_fragment_of_an_unknown_kind_is_refused(copy):
    (copy / "changes" / "+sign.fix.md").write_text("A loss keeps its sign.\n", encoding="utf-8")
    done = towncrier(copy, "build", "--draft", "--version", "9.9.9")
    assert done.returncode != 0
    assert "+sign.fix.md" in done.stdout + done.stderr

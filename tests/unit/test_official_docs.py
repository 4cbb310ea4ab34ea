"""docs/scorers.md names every row in which a strict scorer parts from the published one."""

from importlib import import_module
from pathlib import Path

import pytest

from pytest_fineval.scoring.registry import SCORERS
from pytest_fineval.scoring.score import FAILURES
from tests.unit import (
    test_official_indiafinbench,
    test_official_jfinqa,
    test_official_tatqa,
    test_official_tolerance,
)

PAGE = Path(__file__).parents[2] / "docs" / "scorers.md"


@pytest.mark.parametrize(
    "rows",
    [
        test_official_tatqa.STRICT_DEVIATIONS,
        test_official_jfinqa.STRICT_DEVIATIONS,
        test_official_indiafinbench.STRICT_DEVIATIONS,
        *test_official_tolerance.STRICT_DEVIATIONS.values(),
    ],
)
def test_every_deviation_stands_on_the_page(rows):
    page = PAGE.read_text(encoding="utf-8")
    assert [row for row in rows if row not in page] == []


def test_every_official_scorer_is_named_after_the_revision_it_reproduces():
    for name, (version, target) in SCORERS.items():
        if name.endswith("/official"):
            assert import_module(target.partition(":")[0]).REVISION.startswith(str(version)), name


def test_every_scorer_and_every_failure_kind_is_explained():
    page = PAGE.read_text(encoding="utf-8")
    own = [name for name in SCORERS if "/" not in name]
    assert [name for name in own if f"\n### {name}\n" not in page] == []
    benchmarks = {name.partition("/")[0] for name in SCORERS if "/" in name}
    assert [name for name in benchmarks if name not in page.lower().replace("-", "")] == []
    assert [kind for kind in FAILURES if f"`{kind}`" not in page] == []

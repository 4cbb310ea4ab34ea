"""docs/scorers.md names every row in which a strict scorer parts from the published one."""

from importlib import import_module
from pathlib import Path

import pytest

from pytest_fineval.scoring.registry import SCORERS
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

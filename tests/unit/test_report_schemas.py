"""The published schemas are those of the code: a change of a file's format is seen in review."""

from pathlib import Path

import pytest

from pytest_fineval.report.schemas import MODELS, schema

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", MODELS)
def test_the_published_schema_is_the_one_of_the_code(name):
    published = (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    assert published == schema(name), (
        f"write schema({name!r}) of pytest_fineval.report.schemas to docs/schemas, and say in the "
        "changelog what changed"
    )

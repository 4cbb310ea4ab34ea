import numpy as np  # noqa: F401 - pytester forgets what a run in this process imported, and numpy loads only once
import pytest

import pytest_fineval.report.summary
import pytest_fineval.scoring.numeric
import pytest_fineval.session.session  # noqa: F401 - as above: imported once for all runs
from tests.project import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """An empty project; the test writes its suites, answers and settings."""
    return Project(pytester)

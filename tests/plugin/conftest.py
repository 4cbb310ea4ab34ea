import pkgutil
from importlib import import_module

import hypothesis  # noqa: F401 - its pytest plugin would load it in each run
import numpy as np  # noqa: F401 - numpy loads only once in a process
import pytest
import scipy.special  # noqa: F401 - as numpy

import pytest_fineval
from tests.project import Project

# pytester forgets what a run in this process imported, so that each run would import, rewrite and
# build everything again: most of the time of these tests. What is loaded before, it keeps.
for module in pkgutil.walk_packages(pytest_fineval.__path__, "pytest_fineval."):
    import_module(module.name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """An empty project; the test writes its suites, answers and settings."""
    return Project(pytester)

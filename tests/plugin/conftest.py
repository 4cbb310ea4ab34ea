import pytest

from tests.project import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """An empty project; the test writes its suites, answers and settings."""
    return Project(pytester)

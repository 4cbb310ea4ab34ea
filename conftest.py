"""Shared by the tests and the project's own evals."""

pytest_plugins = ["pytester"]

"""pytest-fineval: CI regression gating of finance LLM evals.

Nothing is imported here: pytest loads the plugin in every run, also in those without an eval.
"""

__version__ = "0.1.0"

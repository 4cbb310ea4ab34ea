"""How a question of each category gets its gold from the figures and facts of a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evals.build.documents import Document
from evals.build.questions import (
    classification,
    extraction,
    ranking,
    reasoning,
    summarization,
)
from evals.build.questions.base import Input, Question

BUILDERS: Mapping[str, Mapping[str, Callable[[Document, Input], Question]]] = {
    "extraction": extraction.BUILDERS,
    "summarization": summarization.BUILDERS,
    "ranking": ranking.BUILDERS,
    "reasoning": reasoning.BUILDERS,
    "classification": classification.BUILDERS,
}
"""Category -> the name that a document gives as `ask` -> the builder."""

"""Scorers by name: looked up lazily, so that importing this module loads none of them.

To add one: write a class with an `Options` pydantic model and the constructor
`cls(identity: str, options: Options, gold: Gold)` (raise InputError for a gold it cannot use) and
a method `score(text, status="ok") -> Score`; `base.AnswerScorer` gives the shared part. Then enter
`name: (version, "module:attribute")` below. A change of behaviour is a new version.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydantic import ValidationError

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.errors import InputError, faults, nearest
from pytest_fineval.scoring.base import Scorer

SCORERS: dict[str, tuple[int | str, str]] = {
    "numeric": (1, "pytest_fineval.scoring.numeric:NumericScorer"),
    "reasoning": (1, "pytest_fineval.scoring.numeric:ReasoningScorer"),
    "steps": (1, "pytest_fineval.scoring.chains.scorer:StepsScorer"),
    "chain": (1, "pytest_fineval.scoring.chains.chain_scorer:ChainScorer"),
    "label": (1, "pytest_fineval.scoring.labels:LabelScorer"),
    "exact": (1, "pytest_fineval.scoring.exact:ExactScorer"),
    "boolean": (1, "pytest_fineval.scoring.boolean:BooleanScorer"),
    "ranking": (1, "pytest_fineval.scoring.ranking:RankingScorer"),
    "date": (1, "pytest_fineval.scoring.dates:DateScorer"),
    "multi": (1, "pytest_fineval.scoring.multi:MultiScorer"),
    "summary": (1, "pytest_fineval.scoring.text:SummaryScorer"),
    # Published scorers carry the revision that they reproduce as their version.
    "finqa/official": ("0f16e286", "pytest_fineval.scoring.official.finqa:OfficialScorer"),
    "finqa/strict": (1, "pytest_fineval.scoring.official.finqa:StrictScorer"),
    "convfinqa/official": ("cf3eed2d", "pytest_fineval.scoring.official.convfinqa:OfficialScorer"),
    "convfinqa/strict": (1, "pytest_fineval.scoring.official.convfinqa:StrictScorer"),
    "tatqa/official": ("870accc4", "pytest_fineval.scoring.official.tatqa:OfficialScorer"),
    "tatqa/strict": (1, "pytest_fineval.scoring.official.tatqa:StrictScorer"),
    "indiafinbench/official": (
        "a8c394bf",
        "pytest_fineval.scoring.official.indiafinbench:OfficialScorer",
    ),
    "indiafinbench/strict": (1, "pytest_fineval.scoring.official.indiafinbench:StrictScorer"),
    "financereasoning/official": (
        "b0fe6455",
        "pytest_fineval.scoring.official.financereasoning:OfficialScorer",
    ),
    "financereasoning/strict": (1, "pytest_fineval.scoring.official.financereasoning:StrictScorer"),
    "financemath/official": (
        "bdddc586",
        "pytest_fineval.scoring.official.financemath:OfficialScorer",
    ),
    "financemath/strict": (1, "pytest_fineval.scoring.official.financemath:StrictScorer"),
    "jfinqa/official": ("04831da9", "pytest_fineval.scoring.official.jfinqa:OfficialScorer"),
    "jfinqa/strict": (1, "pytest_fineval.scoring.official.jfinqa:StrictScorer"),
}


def versions() -> dict[str, str]:
    """Known scorers by name with their version, as in `{"numeric": "1"}`."""
    return {name: str(version) for name, (version, _) in SCORERS.items()}


def resolve(name: str) -> tuple[str, str]:
    """The identity and the `module:attribute` of a scorer named with or without a version.

    Raises:
        InputError: unknown name, or a version that this release does not have.
    """
    base, _, asked = name.partition("@")
    if base not in SCORERS:
        raise InputError(f'unknown scorer "{base}"; {nearest(base, SCORERS)}')
    version, target = SCORERS[base]
    if "@" in name and asked != str(version):
        raise InputError(f'scorer "{name}" is not available: this release has "{base}@{version}"')
    return f"{base}@{version}", target


def prepare(spec: ScorerSpec, gold: Gold) -> Scorer:
    """Bind a scorer to one case: options and gold are checked here, once.

    Args:
        spec: the case's scorer with its options.
        gold: the case's gold; which fields are read depends on the scorer.

    Returns:
        An object with `identity` (`"numeric@1"`) and `score(text, status="ok") -> Score`.

    Raises:
        InputError: unknown scorer, version or option (with the nearest right word), or a gold
            that the scorer cannot use (names the field, as in `"gold.unit": ...`).
    """
    identity, target = resolve(spec.name)
    module, _, attribute = target.partition(":")
    scorer: Any = getattr(import_module(module), attribute)
    try:
        options = scorer.Options(**spec.options)
    except ValidationError as error:
        listed = "; ".join(faults(error, scorer.Options))
        raise InputError(f'scorer "{spec.name}": {listed}') from error
    bound: Scorer = scorer(identity, options, gold)
    return bound

"""ConvFinQA: a turn's program may be a single number; else scored as FinQA is."""

from __future__ import annotations

from pytest_fineval.scoring.official import finqa

REVISION = "cf3eed2d5984960bf06bb8145bcea5e80b0222a6"
"""Revision of github.com/czyssrs/ConvFinQA whose evaluation the official scorer reproduces."""


class OfficialScorer(finqa.OfficialScorer):
    """The program of one turn, executed and compared as the ConvFinQA script does."""

    single_number = True


class StrictScorer(finqa.StrictScorer):
    """The free answer to one turn, under the rule of `finqa/strict`."""

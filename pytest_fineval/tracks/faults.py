"""Known gold faults: flagged on the cases, and left out only by a list that has a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError, faults
from pytest_fineval.settings import Frozen
from pytest_fineval.tracks.base import changed, parsed

TAG = "gold_fault"
"""Tag of a case whose gold is known or found to be faulty; it holds the reason."""


class FaultList(Frozen):
    """Cases whose gold is not to be relied on, under a name and a version.

    Attributes:
        name, version: what a manifest names; a change of the list is a new version.
        cases: reason by case id.
        rules: what beside the named cases is flagged, in words.
    """

    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    cases: dict[str, str] = {}
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


KNOWN: Mapping[str, FaultList] = {
    "finqa": FaultList(
        name="finqa-faults",
        version=1,
        cases={
            "ANSS/2008/page_89.pdf-1": "an average over five years is divided by four "
            "(czyssrs/FinQA, issue 15)",
        },
        rules=(
            "the display answer is empty",
            "the display answer has the other sign than exe_ans",
            "no rule of rounding, percent or scale leads from the display answer to exe_ans",
        ),
    ),
    "convfinqa": FaultList(
        name="convfinqa-faults",
        version=1,
        cases={
            "Double_AOS/2004/page_11.pdf#0": "the program is that of a step before the one asked "
            "for (czyssrs/ConvFinQA, issue 5)",
            "Double_VLO/2018/page_25.pdf#0": "the program is that of another step than the one "
            "asked for (czyssrs/ConvFinQA, issue 5)",
        },
    ),
    "tatqa": FaultList(
        name="tatqa-faults",
        version=1,
        cases={
            "c91ad938-6ad1-4481-8f6b-43ccd2f69926": "the sign is wrong: F19 minus F18 is -1.9 "
            "(NExTplusplus/TAT-QA, issue 12)",
        },
    ),
    "finchain": FaultList(name="finchain-faults", version=1, rules=("the final answer is null",)),
    "indiafinbench": FaultList(
        name="indiafinbench-faults",
        version=1,
        rules=("the scorers take the reference itself for a refusal",),
    ),
}
"""By benchmark: the first word of a track's name."""


@dataclass(frozen=True, slots=True)
class Flagged:
    """Cases after flags and exclusions.

    Attributes:
        cases: what is left, in order.
        faults: what a manifest says of flags.
        excluded: what a manifest says of exclusions; empty when none was asked for.
    """

    cases: list[Case]
    faults: dict[str, Any]
    excluded: dict[str, Any]


def flag(cases: Sequence[Case], benchmark: str, exclude: str | None = None) -> Flagged:
    """Tag the cases of a list of known faults, and leave a list out where that is asked for.

    Args:
        cases: as a track built them; a track's own rules have tagged some already.
        benchmark: key of `KNOWN`.
        exclude: `NAME@VERSION` of the known list, or the path of a list of one's own: a JSON
            object with `name`, `version` and `cases` (id -> reason).

    Raises:
        InputError: no such list, or a list of one's own names a case that is not here.
    """
    known = KNOWN.get(benchmark)
    tagged = [_tagged(case, known) for case in cases]
    here = {case.id: case.tags[TAG] for case in tagged if TAG in case.tags}
    summary = {} if known is None else {"list": str(known), "rules": list(known.rules)}
    faulty = {**summary, "cases": here} if known is not None or here else {}
    if exclude is None:
        return Flagged(tagged, faulty, {})
    if known is not None and exclude == str(known):
        name, out = exclude, here
    else:
        name, out = _own(exclude, tagged, known)
    left = [case for case in tagged if case.id not in out]
    if not left:
        raise InputError(f"exclusion list {name} leaves no case")
    return Flagged(left, faulty, {"list": name, "cases": out})


def _tagged(case: Case, known: FaultList | None) -> Case:
    reason = None if known is None else known.cases.get(case.id)
    if reason is None:
        return case
    return changed(case, tags={**case.tags, TAG: reason})


def _own(
    exclude: str, cases: Sequence[Case], known: FaultList | None
) -> tuple[str, dict[str, str]]:
    path = Path(exclude)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        choice = "there is none for this track" if known is None else f'here it is "{known}"'
        raise InputError(
            f'exclusion list "{exclude}" is neither a file that can be read nor the list of known '
            f"faults ({choice})"
        ) from error
    try:
        own = FaultList.model_validate(parsed(text, path, None))
    except ValidationError as error:
        raise InputError("; ".join(faults(error, FaultList)), path=path) from error
    unknown = sorted(set(own.cases) - {case.id for case in cases})
    if unknown:
        raise InputError(f'names "{unknown[0]}", which is not among the cases', path=path)
    return str(own), dict(own.cases)

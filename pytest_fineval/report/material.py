"""What a report is made of, read back from a run's folder and the files that it points to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from pytest_fineval.cases.files import Located
from pytest_fineval.cases.model import Case
from pytest_fineval.errors import InputError
from pytest_fineval.gate import baseline as baselines
from pytest_fineval.gate.again import judge_again
from pytest_fineval.gate.baseline import Baseline, Scored
from pytest_fineval.gate.pairing import Pair, pair, pairs, second_pairs
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.store.run import VERDICT, Run, read
from pytest_fineval.tracks import restricted


@dataclass(frozen=True)
class Material:
    """A run, its verdict, and what stands beside them on this machine.

    Attributes:
        cases: by id, those whose file still holds what the run measured, and whose licence lets
            their text into a report.
        baseline: the one the verdict was given against; None without one, or when the file is
            another by now.
        before: raw answers of the baseline by case, where it kept any.
        notices: what could not be read, one sentence each: a report says what it lacks.
    """

    run: Run
    verdict: Verdict
    cases: Mapping[str, Located]
    baseline: Baseline | None
    before: Mapping[str, list[Scored]]
    notices: tuple[str, ...]

    def pairs(self) -> tuple[list[Pair], dict[str, Pair]]:
        """Pairs of the planned samples and, by case, of a second look; empty without a baseline."""
        if self.baseline is None or self.verdict.outcome in {"invalid", "not_judged"}:
            return [], {}
        manifest, records = self.run.manifest, self.run.records
        pairing = pair(manifest, self.baseline, {})
        gone = {*pairing.missing, *pairing.changed}
        whole = replace(pairing, expected=tuple(c for c in pairing.expected if c not in gone))
        return (
            pairs(manifest, records, self.baseline, whole),
            second_pairs(manifest, records, self.baseline, whole),
        )


def gather(folder: Path, root: Path) -> Material:
    """Read a run's folder, its case files and its baseline.

    Args:
        folder: the run's.
        root: the project's; case files and baseline are named relative to it.

    Raises:
        InputError: the folder holds no readable run.
    """
    run = read(folder)
    verdict = read_verdict(run, root)
    notices: list[str] = []
    baseline: Baseline | None = None
    before: Mapping[str, list[Scored]] = {}
    try:
        baseline, before = _baseline(run, verdict, root)
    except InputError as error:
        notices.append(f"shown without the baseline's answers: {error}")
    cases, missing = measured_cases(run, root)
    notices += missing
    return Material(run, verdict, cases, baseline, before, tuple(notices))


def measured_cases(run: Run, root: Path) -> tuple[dict[str, Located], list[str]]:
    """The run's cases as they were measured, by id, and why some of them are not shown."""
    notices: list[str] = []
    cases = dict(_cases(run, root))
    missing = sum(case.id not in cases for case in run.manifest.planned)
    if missing:
        notices.append(
            f"the text of {missing} of {len(run.manifest.planned)} cases is not shown: their files "
            "are not here, or hold another version than the run measured"
        )
    withheld = {name for name, located in cases.items() if restricted.TAG in located.case.tags}
    if withheld:
        cases = {name: located for name, located in cases.items() if name not in withheld}
        notices.append(
            f"the text of {len(withheld)} cases is withheld: their licence keeps it out of reports"
        )
    return cases, notices


def read_verdict(run: Run, root: Path) -> Verdict:
    """The run's verdict.json; a run that was killed before it wrote one is judged now."""
    path = run.folder / VERDICT
    try:
        return Verdict.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return judge_again(run, root=root)
    except (OSError, ValidationError) as error:
        raise InputError(
            f"is no verdict of this version: give it again with fineval gate {run.folder}",
            path=path,
        ) from error


def _baseline(
    run: Run, verdict: Verdict, root: Path
) -> tuple[Baseline | None, Mapping[str, list[Scored]]]:
    if run.manifest.baseline is None or verdict.baseline_digest is None:
        return None, {}
    path = root / run.manifest.baseline
    baseline = baselines.load(path)
    if baseline.digest != verdict.baseline_digest:
        raise InputError(
            "is another baseline than the one the verdict was given against", path=path
        )
    return baseline, baselines.scored_answers(path, baseline)


def _cases(run: Run, root: Path) -> Iterator[tuple[str, Located]]:
    """Cases as they were measured. A faulty line is skipped: a report is no place to mend it."""
    digests = {case.id: case.digest for case in run.manifest.planned}
    for name in sorted({file for files in run.manifest.suites.values() for file in files}):
        path = root / name
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            continue
        for number, line in enumerate(lines, start=1):
            try:
                case = Case.model_validate_json(line)
                measured = digests.get(case.id) == case.digest
            except ValueError:  # no case, or one with NaN in it
                continue
            if measured:
                yield case.id, Located(case, Path(name), number)

"""Baseline: a promoted run's per-case scores with the policy, in one file that a person signs."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from pytest_fineval.cases import lock
from pytest_fineval.cases.lock import Ledger
from pytest_fineval.errors import InputError, faults
from pytest_fineval.gate.policy import Policy
from pytest_fineval.scoring.score import Status
from pytest_fineval.settings import Frozen
from pytest_fineval.store.manifest import ModelIdentity

Share = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Condition = tuple[str, str]
"""Track and evidence: cases under different ones are never pooled."""


Scored = tuple[float, str]
"""A score and the raw answer that got it."""


class BaselineCase(Frozen):
    """One case's scores, and all that pairing and testing need to know of it.

    Attributes:
        digest: of the whole case when it was measured.
        scores: one a sample, in [0, 1].
    """

    digest: str
    category: str
    cluster: str
    track: str = "own"
    evidence: str = "supplied"
    suite: str
    splits: tuple[str, ...] = ()
    positive: bool | None = None
    must_pass: bool = False
    pass_mark: float | None = None
    scores: tuple[Share, ...] = Field(min_length=1)

    @property
    def condition(self) -> Condition:
        return (self.track, self.evidence)

    def in_split(self, split: str) -> bool:
        """Is the case part of the split? `full` is every case that is not held out."""
        return "heldout" not in self.splits if split == "full" else split in self.splits


class Aggregate(Frozen):
    """One category's figures, for the reader; the gate computes from the cases.

    Attributes:
        n: cases. samples: answers a case.
        wilson95: interval of the rate over cases, where every score is 0 or 1.
        noise: share of pairs of a case's samples that differ; None with one sample a case.
    """

    n: int
    samples: int
    mean: Share
    wilson95: tuple[float, float] | None = None
    noise: Share | None = None


class Step(Frozen):
    """One earlier baseline, as its successors remember it.

    Attributes:
        sha256: of the file. `created`, `created_by`, `reason`: as it said.
        means: by check name.
        n: cases, by check name.
    """

    sha256: Sha256
    created: str
    created_by: str
    reason: str
    means: dict[str, Share]
    n: dict[str, int] = {}


class Baseline(Frozen):
    """What a candidate is compared with. Only `fineval baseline propose` makes one.

    Attributes:
        name: the file's name without its suffix.
        model: the measured model's name in the settings; `identity`: what it was.
        suite_digest: of all measured cases.
        cases: by case id.
        aggregates: by check name (`reasoning`, `overall`).
        created: ISO time; `created_by` and `reason`: who and why.
        predecessor: sha256 of the file this one replaces: an older one cannot be replayed.
        valid_until: last day (ISO date, UTC) on which it may be used.
        answers: sha256 of the companion file with the raw answers; None where a licence forbids
            to keep them.
        history: the baselines before this one, oldest first: shows a slow slide.
    """

    format: int
    name: str
    model: str
    identity: ModelIdentity
    policy: Policy
    suite_digest: str
    cases: dict[str, BaselineCase] = Field(min_length=1)
    aggregates: dict[str, Aggregate]
    created: str
    created_by: str
    reason: str = Field(min_length=1)
    predecessor: Sha256 | None = None
    valid_until: date
    answers: Sha256 | None = None
    history: tuple[Step, ...] = ()

    @model_validator(mode="after")
    def _covers_its_policy(self) -> Baseline:
        if self.format != 1:
            raise ValueError(f"format {self.format} is not known to this version: upgrade")
        for case in self.cases.values():
            if case.category not in self.policy.categories:
                raise ValueError(f'a case has the category "{case.category}", the policy has not')
            if case.category not in self.policy.scorers:
                raise ValueError(f'the policy names no scorer for "{case.category}"')
        return self

    def to_bytes(self) -> bytes:
        """The file's bytes: sorted keys, one case a line, the same for the same content."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        parts = [f" {json.dumps(key)}: {_shown(key, data[key])}" for key in sorted(data)]
        return ("{\n" + ",\n".join(parts) + "\n}\n").encode()

    @cached_property
    def digest(self) -> str:
        """sha256 of the file that this was read from, else of `to_bytes`."""
        return sha256(self.to_bytes())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy is no longer what stands in the file."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("digest", None)
        return copied


class StoredAnswer(Frozen):
    """One line of the companion: what the baseline's model said, to show and to rescore.

    Attributes:
        status: how the client says the answer ended.
        score: what it counted for when the baseline was made.
    """

    case: str
    sample: int = Field(ge=0)
    text: str
    status: Status
    score: Share


def sha256(data: bytes) -> str:
    """Digest of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def companion_path(path: Path) -> Path:
    """Where the raw answers of a baseline lie: `NAME.answers.jsonl` beside `NAME.json`."""
    return path.with_name(f"{path.stem}.answers.jsonl")


def ledger_copy_path(path: Path) -> Path:
    """Where the case ledger as it was signed lies: `NAME.cases.lock` beside `NAME.json`."""
    return path.with_name(f"{path.stem}.cases.lock")


def labels(conditions: Iterable[Condition]) -> dict[Condition, str]:
    """What is put behind a check's name to tell tracks and evidence conditions apart.

    Returns:
        By condition: empty when there is only one, else `[track]`, or `[track, evidence]` for a
        track that appears under several.
    """
    found = sorted(set(conditions))
    if len(found) == 1:
        return {found[0]: ""}
    tracks = [track for track, _ in found]
    return {
        (track, evidence): f"[{track}, {evidence}]" if tracks.count(track) > 1 else f"[{track}]"
        for track, evidence in found
    }


def write(
    baseline: Baseline, companion: bytes | None, path: Path, ledger: Ledger | None = None
) -> None:
    """Write a baseline and its companions; signatures of what stood there before are removed.

    Raises:
        InputError: the folder cannot be written, or a companion is not the baseline's.
    """
    if baseline.answers != (None if companion is None else sha256(companion)):
        raise InputError("these raw answers are not the baseline's own", path=path)
    if baseline.policy.lock != (None if ledger is None else ledger.digest):
        raise InputError("this case ledger is not the baseline's own", path=path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The old signatures go first: no moment may show new bytes beside them.
        for old in path.parent.glob(f"{glob.escape(path.name)}.sig*"):
            old.unlink()
        if ledger is not None:
            ledger_copy_path(path).write_text(ledger.to_text(), encoding="utf-8", newline="\n")
        if companion is not None:
            companion_path(path).write_bytes(companion)
        path.write_bytes(baseline.to_bytes())
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error


def load(path: Path) -> Baseline:
    """Read a baseline and check its companion's digest. Its signature is `signoff.verify`'s task.

    Raises:
        InputError: no such file, a field at fault, or raw answers missing or altered.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"no baseline can be read here ({error.strerror}); make one with: "
            f"fineval baseline propose RUN --reason R -o {path}",
            path=path,
        ) from error
    try:
        _no_key_twice(raw)
        baseline = Baseline.model_validate_json(raw)
        baseline.__dict__["digest"] = sha256(raw)
    except ValidationError as error:
        raise InputError("; ".join(faults(error, Baseline)), path=path) from error
    except ValueError as error:
        raise InputError(f"not a baseline: {error}", path=path) from error
    if baseline.answers is not None and sha256(_companion(path)) != baseline.answers:
        raise InputError(
            f"its raw answers were altered since it was signed; restore them from version "
            f"control: git checkout -- {companion_path(path)}",
            path=companion_path(path),
        )
    signed_ledger(path, baseline)
    return baseline


def signed_ledger(path: Path, baseline: Baseline) -> Ledger | None:
    """The case ledger as it was when the baseline was signed; None when there was none.

    Raises:
        InputError: it is missing or was altered.
    """
    if baseline.policy.lock is None:
        return None
    copy = ledger_copy_path(path)
    ledger = lock.read(copy)
    if ledger.digest != baseline.policy.lock:
        raise InputError(
            "this copy of the case ledger was altered since it was signed; restore it from "
            f"version control: git checkout -- {copy}",
            path=copy,
        )
    return ledger


def answers(path: Path) -> dict[tuple[str, int], StoredAnswer]:
    """The raw answers that lie beside a baseline, by case id and sample; empty without any.

    Args:
        path: of the baseline, not of the companion.

    Raises:
        InputError: a line is no answer.
    """
    companion = companion_path(path)
    if not companion.exists():
        return {}
    found = {}
    for number, line in enumerate(_companion(path).split(b"\n"), start=1):
        if line:
            try:
                answer = StoredAnswer.model_validate_json(line)
            except ValidationError as error:
                fault = "; ".join(faults(error, StoredAnswer))
                raise InputError(fault, path=companion, line=number) from error
            found[answer.case, answer.sample] = answer
    return found


def scored_answers(path: Path, baseline: Baseline | None = None) -> dict[str, list[Scored]]:
    """Case -> (score, raw answer) of each sample whose answer lies beside the baseline.

    Args:
        path: of the baseline.
        baseline: what was read from there, if it was.

    Raises:
        InputError: the baseline or its companion cannot be read.
    """
    cases = (baseline or load(path)).cases
    found: dict[str, list[Scored]] = {}
    for (case, sample), answer in sorted(answers(path).items(), key=lambda item: item[0]):
        if case in cases and sample < len(cases[case].scores):
            found.setdefault(case, []).append((cases[case].scores[sample], answer.text))
    return found


def _companion(path: Path) -> bytes:
    try:
        return companion_path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the raw answers of {path.name} cannot be read ({error.strerror}); restore them "
            "from version control, or propose the baseline again",
            path=companion_path(path),
        ) from error


_encoder = partial(json.JSONEncoder, sort_keys=True, ensure_ascii=False, allow_nan=False)
_on_one_line = _encoder().encode  # `json.dumps` would build an encoder for each of 100,000 cases
_indented = _encoder(indent=1).encode


def _shown(key: str, value: Any) -> str:
    if key == "cases":
        lines = [f"  {_on_one_line(case)}: {_on_one_line(value[case])}" for case in sorted(value)]
        return "{\n" + ",\n".join(lines) + "\n }"
    return _indented(value).replace("\n", "\n ")


def _no_key_twice(raw: bytes) -> None:
    # Two readers of a file with a repeated key may see two different baselines.
    def unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f'the key "{name}" stands in it twice')
            found[name] = value
        return found

    json.loads(raw, object_pairs_hook=unique)

"""Manifest: what a run was asked to measure, with what, and whether all of it was measured."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from pytest_fineval import __version__
from pytest_fineval.cases.model import digest
from pytest_fineval.clients.base import STRUCTURED, TEMPLATE
from pytest_fineval.settings import Frozen, ModelSettings
from pytest_fineval.store.record import Key, PlannedCase, Record


class ModelIdentity(Frozen):
    """What makes two runs "the same model": everything that decides an answer."""

    client: str
    model: str
    decoding: dict[str, float | int]
    options: dict[str, JsonValue] = {}
    system: str | None = None
    template: str = TEMPLATE

    @property
    def weights(self) -> tuple[str, str, str]:
        """The model alone, without prompt and decoding: a change of it is a model swap."""
        return (self.client, self.model, digest(self.options))


class Shard(Frozen):
    """The part of a run that one machine of several measured; `fineval merge` joins them.

    Attributes:
        index: which of them this is, 1 to `of`.
        weights: digest of what the cases were dealt by (`--fineval-shard-weights`); None where
            the hash of a case's cluster decided.
        cases: ids of the planned cases that fell to this shard, in the order of the plan.
    """

    index: int = Field(ge=1)
    of: int = Field(ge=1)
    weights: str | None = None
    cases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"shard {self.index} of {self.of}"


class Manifest(Frozen):
    """One run. Written when the run starts and again when it ends.

    Attributes:
        models: identity of every model asked, by its name in the settings.
        candidate: the model that is gated.
        samples: independent answers a case and model.
        planned: every selected case, before `-k`, `--lf` and the like: the denominator.
        suites: node id of each test function -> its case files, relative to the root folder.
        sources: imported case file -> what its SOURCE.json says: revision, split, protocol,
            licence, digests, exclusions.
        incomplete: why not all planned records were wanted, in words (`-k`, `-x`, Ctrl-C, a
            single file); None for a run that was meant to be whole.
        split: `smoke`, `full`, `dev` or `heldout`.
        gate, baseline: how the run asked to be judged, and by which file (relative to the root).
        trusted: the commit that the file was read from; None for the working tree.
        plan: the registered plan that the run is held to.
        openings: lines of the held-out ledger under which its cases were asked.
        shard: the part of the planned cases that this run asked; None for all of them.
    """

    format: int = 1
    run_id: str
    started: str
    finished: str | None = None
    command: tuple[str, ...]
    versions: dict[str, str]
    git_commit: str | None = None
    git_dirty: bool | None = None
    models: dict[str, ModelIdentity]
    candidate: str
    samples: int = 1
    split: str = "full"
    gate: Literal["smoke", "full", "deploy", "off"] = "full"
    baseline: str | None = None
    trusted: str | None = None
    plan: JsonValue = None
    openings: tuple[str, ...] = ()
    settings_digest: str
    planned: tuple[PlannedCase, ...]
    suites: dict[str, tuple[str, ...]] = {}
    sources: dict[str, dict[str, JsonValue]] = {}
    incomplete: str | None = None
    shard: Shard | None = None

    @property
    def asked(self) -> Sequence[PlannedCase]:
        """The planned cases that this run asks itself: all of them, or those of its shard."""
        if self.shard is None:
            return self.planned
        dealt = frozenset(self.shard.cases)
        return [case for case in self.planned if case.id in dealt]

    @property
    def size(self) -> int:
        """How many records the run has to end with: one a case asked, model and sample."""
        return len(self.asked) * len(self.models) * self.samples

    def lost(self, records: Iterable[Record]) -> list[Key]:
        """The keys that the run has to end with and that have no record, sorted."""
        cases, models, samples = self.asked, list(self.models), self.samples
        of_model = {model: number * samples for number, model in enumerate(models)}
        a_case = len(models) * samples
        of_case = {case.id: number * a_case for number, case in enumerate(cases)}
        # A flag a key: a set of 100,000 keys takes three times as long.
        seen = bytearray(len(cases) * a_case)
        for record in records:
            case, model = of_case.get(record.case.id), of_model.get(record.model)
            if case is not None and model is not None and record.sample < samples:
                seen[case + model + record.sample] = 1
        return sorted(
            Key(cases[n // a_case].id, models[n % a_case // samples], n % samples)
            for n, found in enumerate(seen)
            if not found
        )

    @property
    def part(self) -> str | None:
        """Why its records are not all of the planned ones, by choice; None for a whole run."""
        shard = None if self.shard is None else f"{self.shard}: fineval merge joins them"
        return "; ".join(filter(None, (shard, self.incomplete))) or None

    @property
    def suite_digest(self) -> str:
        """One digest over all planned cases, in any order."""
        return digest(sorted(f"{case.id} {case.digest}" for case in self.planned))


def identity(model: ModelSettings) -> ModelIdentity:
    """The identity that a model's settings declare."""
    decoding: dict[str, float | int] = {"max_tokens": model.max_tokens}
    for name in ("temperature", "top_p", "seed"):
        value = getattr(model, name)
        if value is not None:
            decoding[name] = value
    return ModelIdentity(
        client=model.client,
        model=model.model,
        decoding=decoding,
        options={**model.options, **({STRUCTURED: True} if model.structured_output else {})},
        system=model.system,
    )


def versions() -> dict[str, str]:
    """Versions of what can change a figure: this package, Python, numpy, scipy, pytest, xdist."""
    found = {
        "pytest-fineval": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": platform.platform(terse=True),
    }
    for name in ("pytest", "pytest-xdist", "numpy", "scipy", "pydantic", "rapidfuzz"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_state(root: Path) -> tuple[str | None, bool | None]:
    """Commit and whether the work tree differs from it; (None, None) outside a repository."""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit, bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed words, no shell
        ["git", *arguments],  # noqa: S607 - the user's own git, wherever it is
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return done.stdout.strip()

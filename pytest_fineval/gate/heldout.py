"""Held-out cases: opened once, for named models, by a line that is committed before the run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from pytest_fineval.cases.files import Located
from pytest_fineval.cases.lock import Ledger, asks
from pytest_fineval.cases.model import Case, digest, json_line
from pytest_fineval.errors import InputError, faults
from pytest_fineval.gate import trust
from pytest_fineval.gate.pairing import named
from pytest_fineval.settings import Frozen
from pytest_fineval.store.manifest import Manifest, ModelIdentity
from pytest_fineval.store.run import MANIFEST

LEDGER = "heldout.jsonl"
"""Name of the ledger of openings, one a line; lies where cases.lock lies."""

SHARE = 0.3
"""Part of the clusters that is held out unless another is asked for."""


class OpenedCase(Frozen):
    """A case as it was opened: by any of the three it is known again."""

    id: str
    sha256: str
    asks: str


class Opening(Frozen):
    """One line of the ledger.

    Attributes:
        models: those that may be asked, with the digest of each one's identity.
        plan: digest of what was said to be measured, before it was.
    """

    when: str
    who: str
    reason: str = Field(min_length=1)
    models: dict[str, str] = Field(min_length=1)
    plan: str
    cases: tuple[OpenedCase, ...] = Field(min_length=1)

    @property
    def id(self) -> str:
        """A short name of the line."""
        return digest(self.model_dump(mode="json"))[:12]

    @property
    def sentence(self) -> str:
        """The line for a person."""
        models = ", ".join(sorted(self.models))
        return f"opening {self.id} of {self.when[:10]} by {self.who} for {models}: {self.reason}"


@dataclass(frozen=True)
class Openings:
    """All lines of a ledger."""

    lines: tuple[Opening, ...] = ()

    def earlier(self, case: Case) -> Opening | None:
        """The line that opened this case, its id or its question, in whatever version."""
        for line in self.lines:
            for one in line.cases:
                if case.id == one.id or case.digest == one.sha256 or asks(case) == one.asks:
                    return line
        return None


def parse(text: str, path: Path) -> Openings:
    """A ledger of openings from its text.

    Raises:
        InputError: a line that is no opening.
    """
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(Opening.model_validate_json(line))
            except ValidationError as error:
                fault = "; ".join(faults(error, Opening))
                raise InputError(fault, path=path, line=number) from error
    return Openings(tuple(found))


def read(path: Path) -> Openings:
    """The ledger at a path; empty where there is none."""
    return parse(path.read_text(encoding="utf-8"), path) if path.exists() else Openings()


def open_cases(
    known: Openings,
    found: Iterable[Located],
    *,
    models: Mapping[str, ModelIdentity],
    plan: str | None,
    reason: str,
    who: str,
    now: datetime | None = None,
) -> tuple[Opening, dict[str, Opening]]:
    """The line that opens the held-out cases among `found` which were never opened.

    Args:
        models: who will be asked, by name in the settings.
        plan: digest of a registered plan; without one, of models and cases alone.

    Returns:
        The new line, and the cases that stay closed with the line that opened them before.

    Raises:
        InputError: no held-out case, all of them were opened before, or no reason.
    """
    if not reason.strip():
        raise InputError("held-out cases are opened for a reason: --reason R")
    cases = [one.case for one in found if "heldout" in one.case.splits]
    if not cases:
        raise InputError("no case here is held out: fineval heldout mark FILE")
    refused = {case.id: line for case in cases if (line := known.earlier(case)) is not None}
    fresh = [case for case in cases if case.id not in refused]
    if not fresh:
        lines = "; ".join(sorted({line.sentence for line in refused.values()}))
        raise InputError(f"all of these cases were opened before ({lines}): each is opened once")
    opened = tuple(OpenedCase(id=c.id, sha256=c.digest, asks=asks(c)) for c in fresh)
    digests = {name: digest(model.model_dump(mode="json")) for name, model in models.items()}
    line = Opening(
        when=(now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        who=who,
        reason=" ".join(reason.split()),
        models=digests,
        plan=plan or digest({"models": digests, "cases": sorted(c.sha256 for c in opened)}),
        cases=opened,
    )
    return line, refused


def append(path: Path, line: Opening) -> None:
    """Write a line behind the others."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text and not text.endswith("\n"):
        text += "\n"
    path.write_text(
        text + json_line(line.model_dump(mode="json")) + "\n", encoding="utf-8", newline="\n"
    )


class Gatekeeper:
    """What a run of the held-out split may ask."""

    def __init__(
        self,
        root: Path,
        models: Mapping[str, ModelIdentity],
        ref: str | None = None,
        runs: Path | None = None,
        shard: tuple[int, int] | None = None,
    ):
        """
        Args:
            root: the project's folder.
            models: those of the run.
            ref: git ref whose ledger counts; by default what is committed.
            runs: the folder of earlier runs, which show whether a line was used.
            shard: which of how many parts of the cases is asked; None for all of them.
        """
        self._root = root
        self._models = {n: digest(m.model_dump(mode="json")) for n, m in models.items()}
        self._ref = ref
        self._ledgers: dict[Path, Openings] = {}
        self._used = _used(runs, shard) if runs is not None else {}
        self.admitted: set[str] = set()

    def refusal(self, located: Located) -> str | None:
        """Why this case may not be asked; None when it may.

        Raises:
            InputError: it was never opened, or its line is not committed: then nothing is asked.
        """
        case = located.case
        line = self._openings(located.path).earlier(case)
        if line is None:
            raise located.fault(
                "is held out and was not opened: fineval heldout open "
                f"{located.path.name} --reason R --model {next(iter(self._models))}"
                f"{self._uncommitted(located)}"
            )
        opened = {one.sha256 for one in line.cases}
        if case.digest not in opened:
            return f"{case.id}: an earlier version of it was opened ({line.sentence})"
        for name, identity in self._models.items():
            if name not in line.models:
                return f"{case.id}: opened before, not for {name} ({line.sentence})"
            if line.models[name] != identity:
                return f"{case.id}: {name} is another model by now than at {line.sentence}"
        if line.id in self._used:
            return f"{case.id}: was asked in {self._used[line.id]} ({line.sentence})"
        self.admitted.add(line.id)
        return None

    def _openings(self, case_file: Path) -> Openings:
        path = ledger_path(case_file, self._root)
        if path not in self._ledgers:
            self._ledgers[path] = self._committed(path)
        return self._ledgers[path]

    def _committed(self, path: Path) -> Openings:
        try:
            commit = trust.commit_of(self._ref or "HEAD", self._root)
        except InputError:
            if self._ref is not None:
                raise
            return read(path)  # no repository: the file itself is all there is
        data = trust.blob(commit, path, self._root)
        return Openings() if data is None else parse(data.decode(errors="replace"), path)

    def _uncommitted(self, located: Located) -> str:
        path = ledger_path(located.path, self._root)
        if read(path).earlier(located.case) is None:
            return ""
        where = f"is not in {self._ref}" if self._ref else "is not committed"
        return f" (its line in {path.name} {where} yet: commit it before the run)"


def ledger_path(case_file: Path, root: Path) -> Path:
    """Where the openings of a case file's cases stand: in the nearest folder that has a
    heldout.jsonl or a cases.lock, else beside the folder `cases`."""
    folder, top = case_file.resolve().parent, root.resolve()
    for here in (folder, *folder.parents):
        if (here / LEDGER).exists() or (here / "cases.lock").exists():
            return here / LEDGER
        if here == top:
            break
    return (folder.parent if folder.name == "cases" else folder) / LEDGER


def chosen(cases: Sequence[Case], share: float = SHARE) -> frozenset[str]:
    """Clusters to hold out: fixed by the content of their cases, not by anybody's choice.

    Args:
        cases: of one suite.
        share: of the clusters, in (0, 1); rounded to the nearest number, at least one.
    """
    members: dict[str, list[str]] = {}
    for case in cases:
        members.setdefault(case.unit_of_independence, []).append(case.digest)
    drawn = sorted(
        members,
        key=lambda name: hashlib.sha256("".join(sorted(members[name])).encode()).hexdigest(),
    )
    return frozenset(drawn[: max(1, round(share * len(drawn)))])


def mark(found: Sequence[Located], ledger: Ledger | None, share: float = SHARE) -> list[Case]:
    """All cases of a file, those of the chosen clusters marked as held out.

    Raises:
        InputError: some are held out already, or are in the case ledger: what was used in
            development is no longer unseen.
    """
    cases = [one.case for one in found]
    before = [case.id for case in cases if "heldout" in case.splits]
    if before:
        raise InputError(f"holds held-out cases already: {named(before)}", path=found[0].path)
    used = [case.id for case in cases if ledger is not None and case.id in ledger.latest]
    if used:
        raise InputError(
            f"in use already by {ledger.path.name if ledger else ''}: {named(used)}; only cases "
            "that nobody developed on can be held out: put new ones into a file of their own",
            path=found[0].path,
        )
    clusters = chosen(cases, share)
    return [
        case.model_copy(update={"splits": ("heldout",)})
        if case.unit_of_independence in clusters
        else case
        for case in cases
    ]


def _beside(manifest: Manifest, shard: tuple[int, int] | None) -> bool:
    """Was this another shard of the same run? It asked other cases under the same line."""
    was = manifest.shard
    return was is not None and shard is not None and was.of == shard[1] and was.index != shard[0]


def _used(runs: Path, shard: tuple[int, int] | None) -> dict[str, str]:
    """Lines under which a whole run (or this shard) was finished, with the run's name."""
    found = {}
    for path in sorted(runs.glob(f"*/{MANIFEST}")):
        try:
            manifest = Manifest.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if manifest.finished is None or manifest.incomplete is not None or _beside(manifest, shard):
            continue
        found.update(dict.fromkeys(manifest.openings, f"run {manifest.run_id}"))
    return found

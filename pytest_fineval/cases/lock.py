"""cases.lock: the ledger of cases. Lines are only ever added: no case changes or goes unseen.

One JSON object a line, sorted by case and version. A changed case is a new line with the next
version, a retired one a new line with the state `retired`; what stood there stays. So the union of
two branches' lines is the right merge of both (`.gitattributes`: `cases.lock merge=union`), and "no
line is gone" is all there is to check against an earlier ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pytest_fineval.cases.files import Located
from pytest_fineval.cases.model import Case, Identifier, digest, json_line
from pytest_fineval.errors import InputError, faults, nearest
from pytest_fineval.settings import Frozen

LOCK = "cases.lock"

MOST_NAMED = 5


class Entry(Frozen):
    """One line of the ledger.

    Attributes:
        version: 1 when the case was added; each recorded change counts one up.
        sha256: of the canonical case.
        asks: of what is asked, case and spaces set aside: finds an old question under a new id.
        file: where the case stood, relative to the ledger's folder.
        reason: why it was changed or retired.
    """

    id: Identifier
    version: int = Field(ge=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    asks: str = Field(pattern=r"^[0-9a-f]{16}$")
    file: str
    state: Literal["active", "retired"] = "active"
    reason: str | None = None

    @property
    def line(self) -> str:
        """The entry as it stands in the file."""
        return json_line(self.model_dump(mode="json", exclude_none=True))


def asks(case: Case) -> str:
    """Digest of what a case asks; differences in spaces and capitals alone change nothing."""

    def plain(value: object) -> object:
        if isinstance(value, str):
            return " ".join(value.split()).casefold()
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value

    shown = case.candidate.model_dump(mode="json", exclude_defaults=True)
    return digest({name: plain(value) for name, value in shown.items()})[:16]


@dataclass(frozen=True)
class Ledger:
    """All lines of one cases.lock.

    Attributes:
        path: of the ledger; case files are named relative to its folder.
        entries: as a set of lines; their order in the file carries no meaning.
    """

    path: Path
    entries: tuple[Entry, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, tuple[Entry, ...]]:
        """The lines of each case, oldest version first, `retired` last."""
        found: dict[str, list[Entry]] = {}
        for entry in sorted(self.entries, key=_order):
            found.setdefault(entry.id, []).append(entry)
        return {name: tuple(entries) for name, entries in found.items()}

    @cached_property
    def latest(self) -> Mapping[str, Entry]:
        """The last line of each case."""
        return {name: entries[-1] for name, entries in self.by_id.items()}

    @cached_property
    def lines(self) -> frozenset[str]:
        return frozenset(entry.line for entry in self.entries)

    @property
    def digest(self) -> str:
        """sha256 over all lines, in any order."""
        return digest(sorted(self.lines))

    @property
    def recorded(self) -> dict[str, str | None]:
        """Bumps and retirements: case -> digest of its last version, None once retired."""
        return {
            name: None if last.state == "retired" else last.sha256
            for name, last in self.latest.items()
            if last.state == "retired" or last.version > 1
        }

    @property
    def files(self) -> list[Path]:
        """The case files that it names."""
        return [self.path.parent / name for name in sorted({entry.file for entry in self.entries})]

    def lacks(self, earlier: Ledger) -> list[str]:
        """Cases of which a line of an earlier ledger is gone or was rewritten."""
        return sorted({entry.id for entry in earlier.entries if entry.line not in self.lines})

    def with_entries(self, added: Iterable[Entry]) -> Ledger:
        """The ledger with more lines."""
        return Ledger(self.path, tuple(sorted({*self.entries, *added}, key=_order)))

    def to_text(self) -> str:
        """The file's text: sorted, one entry a line."""
        return "".join(
            sorted_entry.line + "\n" for sorted_entry in sorted(self.entries, key=_order)
        )


@dataclass(frozen=True)
class Drift:
    """How case files differ from the ledger.

    Attributes:
        faults: changed, gone, or recorded twice: collection fails.
        notices: what a person should know; nothing fails.
        new: cases that the ledger does not hold yet.
    """

    faults: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    new: tuple[Located, ...] = ()


def read(path: Path) -> Ledger:
    """Read a ledger.

    Raises:
        InputError: unreadable, or a line that is no entry.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the case ledger cannot be read ({error})", path=path) from error
    return parse(text, path)


def parse(text: str, path: Path) -> Ledger:
    """A ledger from its text; `path` is what errors name and files are relative to."""
    entries = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                entries.append(Entry.model_validate_json(line))
            except ValidationError as error:
                hint = "; resolve the merge" if line.startswith(("<<<<", "====", ">>>>")) else ""
                raise InputError(
                    "; ".join(faults(error, Entry)) + hint, path=path, line=number
                ) from error
    return Ledger(path, tuple(entries))


def find(file: Path, root: Path) -> Path | None:
    """The ledger that a case file belongs to: the nearest cases.lock, from its folder to `root`."""
    folder = file.resolve().parent
    root = root.resolve()
    for here in (folder, *folder.parents):
        if (here / LOCK).is_file():
            return here / LOCK
        if here == root:
            break
    return None


def gather(case_files: Iterable[Path], root: Path) -> Ledger | None:
    """All lines of the ledgers that these files belong to, as one; None when there is no ledger.

    Raises:
        InputError: a ledger that cannot be read.
    """
    paths = sorted({path for file in case_files if (path := find(file, root)) is not None})
    if not paths:
        return None
    return Ledger(paths[0]).with_entries(e for path in paths for e in read(path).entries)


def check(found: Iterable[Located], case_files: Iterable[Path], root: Path) -> Drift:
    """Hold everything that was read against the ledgers it belongs to.

    Args:
        found: every case that was read, of all splits.
        case_files: the files that they were read from.
        root: the project's folder, above which no ledger is looked for.

    Raises:
        InputError: a ledger that cannot be read.
    """
    by_ledger: dict[Path, list[Path]] = {}
    for file in case_files:
        path = find(file, root)
        if path is not None:
            by_ledger.setdefault(path, []).append(file)
    found = list(found)
    parts = []
    for path, own in by_ledger.items():
        mine = set(own)
        parts.append(drift(read(path), [one for one in found if one.path in mine], whole=own))
    return Drift(
        tuple(fault for part in parts for fault in part.faults),
        tuple(notice for part in parts for notice in part.notices),
        tuple(one for part in parts for one in part.new),
    )


def drift(ledger: Ledger, found: Iterable[Located], *, whole: Iterable[Path]) -> Drift:
    """Hold cases against the ledger.

    Args:
        found: every case that was read, of all splits.
        whole: the files that they were read from; only of these a case can be missing.
    """
    found = list(found)
    problems = list(_recorded_twice(ledger))
    notices: list[str] = []
    new: list[Located] = []
    for located in found:
        case = located.case
        last = ledger.latest.get(case.id)
        if last is None:
            new.append(located)
        elif case.digest != last.sha256:
            problems.append(
                str(
                    located.fault(
                        f"changed since version {last.version} was recorded; restore it, or record "
                        f"the change: fineval lock bump {case.id} --reason R"
                    )
                )
            )
        elif last.state == "retired":
            notices.append(f"case {case.id} is retired but still stands in {located.path.name}")
    problems += _gone(ledger, {one.case.id for one in found}, whole)
    notices += _old_questions(ledger, found)
    if new:
        names = [located.id for located in new]
        notices.append(f"{_names(names)} not in {LOCK} yet: fineval lock add")
    return Drift(tuple(problems), tuple(notices), tuple(new))


def added(ledger: Ledger, found: Iterable[Located]) -> list[Entry]:
    """The lines of cases that the ledger does not hold, or holds for another file.

    Raises:
        InputError: a case that it holds was changed.
    """
    lines = []
    for located in found:
        entries = ledger.by_id.get(located.id, ())
        if not entries:
            lines.append(_entry(ledger, located, version=1))
        elif entries[-1].sha256 != located.case.digest:
            raise located.fault(
                f"changed since version {entries[-1].version} was recorded: "
                f"fineval lock bump {located.id} --reason R"
            )
        elif _file(ledger, located.path) not in {entry.file for entry in entries}:
            lines.append(entries[-1].model_copy(update={"file": _file(ledger, located.path)}))
    return lines


def bumped(ledger: Ledger, located: Located, reason: str) -> Entry:
    """The line that records a changed case, or one that comes back, as its next version.

    Raises:
        InputError: the case is not in the ledger, or is active and unchanged; no reason.
    """
    last = _last(ledger, located.id)
    known = last.state == "active" and not _is_recorded_twice(ledger, last)
    if known and last.sha256 == located.case.digest:
        raise located.fault(f"is what version {last.version} recorded: there is nothing to bump")
    return _entry(ledger, located, version=last.version + 1, reason=_reason(reason))


def retired(ledger: Ledger, name: str, reason: str) -> Entry:
    """The line that retires a case.

    Raises:
        InputError: the case is not in the ledger, or is retired already; no reason.
    """
    last = _last(ledger, name)
    if last.state == "retired":
        raise InputError(f'case "{name}" is retired already ({last.reason})', path=ledger.path)
    return last.model_copy(update={"state": "retired", "reason": _reason(reason)})


def _order(entry: Entry) -> tuple[object, ...]:
    return (entry.id, entry.version, entry.state, entry.sha256, entry.file, entry.reason or "")


def _entry(ledger: Ledger, located: Located, *, version: int, reason: str | None = None) -> Entry:
    case = located.case
    return Entry(
        id=case.id,
        version=version,
        sha256=case.digest,
        asks=asks(case),
        file=_file(ledger, located.path),
        reason=reason,
    )


def _file(ledger: Ledger, path: Path) -> str:
    folder, path = ledger.path.parent.resolve(), path.resolve()
    if not path.is_relative_to(folder):
        raise InputError(f"lies outside the folder of its ledger ({ledger.path})", path=path)
    return path.relative_to(folder).as_posix()


def _last(ledger: Ledger, name: str) -> Entry:
    try:
        return ledger.latest[name]
    except KeyError:
        raise InputError(
            f'holds no case "{name}"; {nearest(name, ledger.latest)}', path=ledger.path
        ) from None


def _reason(text: str) -> str:
    if not text.strip():
        raise InputError("a reason is needed: --reason 'why the case changes or goes'")
    return " ".join(text.split())


def _is_recorded_twice(ledger: Ledger, last: Entry) -> bool:
    same = (e.sha256 for e in ledger.by_id[last.id] if e.version == last.version)
    return len(set(same)) > 1


def _recorded_twice(ledger: Ledger) -> Iterator[str]:
    for name, last in ledger.latest.items():
        if _is_recorded_twice(ledger, last):
            yield (
                f'{ledger.path}: case "{name}" was changed on two branches, both as version '
                f"{last.version}; settle its text and record it: fineval lock bump {name} "
                "--reason R"
            )


def _gone(ledger: Ledger, present: set[str], whole: Iterable[Path]) -> Iterator[str]:
    """Active cases that no file holds any more, of the files that were read or do not exist."""
    read_files = {_file(ledger, path) for path in whole}
    gone: dict[str, list[str]] = {}
    for name, entries in ledger.by_id.items():
        if name in present or entries[-1].state == "retired":
            continue
        files = {entry.file for entry in entries}
        if all(f in read_files or not (ledger.path.parent / f).exists() for f in files):
            gone.setdefault(entries[-1].file, []).append(name)
    for file, names in sorted(gone.items()):
        yield (
            f"{ledger.path.parent / file}: {_names(names)} gone from it but active in {LOCK}; "
            f"restore, or retire: fineval lock retire {names[0]} --reason R"
        )


def _old_questions(ledger: Ledger, found: Iterable[Located]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, last in ledger.latest.items():
        first.setdefault(last.asks, name)
    for located in found:
        if located.id in ledger.latest:
            continue
        earlier = first.setdefault(asks(located.case), located.id)
        if earlier != located.id:
            yield f"case {located.id} asks the same as {earlier}: one question under two ids"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    word = f"case {names[0]} is" if len(names) == 1 else None
    return word or f"cases {', '.join(names[:MOST_NAMED])}{more} are"

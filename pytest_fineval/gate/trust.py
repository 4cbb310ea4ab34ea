"""Where a run's rules come from: the working tree, or a git ref that the change cannot edit."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_fineval.cases import lock
from pytest_fineval.cases.lock import LOCK, Ledger
from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import companion_path, ledger_copy_path
from pytest_fineval.gate.pairing import Recorded
from pytest_fineval.gate.signoff import ALLOWED_SIGNERS, MOST_SIGNATURES, signature_path

REVOKED_KEYS = "revoked_keys"
"""Name of the file beside a baseline that lists keys which count no longer."""

GIT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Rules:
    """The files that a run is judged by.

    Attributes:
        baseline: the signed file; its companions lie beside it.
        signers: who may sign. `revoked`: keys that count no longer, where there is such a list.
        ledger: the case ledger whose bumps and retirements count; None where there is none.
        own_ledger: the one of the working tree: what the run's cases were held against.
    """

    baseline: Path
    signers: Path
    revoked: Path | None
    ledger: Ledger | None
    own_ledger: Ledger | None

    @property
    def recorded(self) -> Recorded:
        """Bumps and retirements that count."""
        return self.ledger.recorded if self.ledger else {}

    @classmethod
    def beside(
        cls, baseline: Path, ledger: Ledger | None = None, own: Ledger | None = None
    ) -> Rules:
        """The rules that lie beside a baseline."""
        revoked = baseline.parent / REVOKED_KEYS
        return cls(
            baseline=baseline,
            signers=baseline.parent / ALLOWED_SIGNERS,
            revoked=revoked if revoked.exists() else None,
            ledger=ledger,
            own_ledger=own,
        )


@contextmanager
def rules(
    baseline: Path, case_files: Iterable[Path], root: Path, ref: str | None = None
) -> Generator[Rules, None, None]:
    """The rules of a run; with a ref, read from it into a folder that is gone afterwards.

    Args:
        baseline: its path in the working tree.
        case_files: the run's case files: their ledger is looked for.
        root: the project's folder.
        ref: a commit, branch or tag to trust; None: the working tree itself.

    Raises:
        InputError: git or the ref cannot be read, or the ref holds no such baseline.
    """
    case_files = [path if path.is_absolute() else root / path for path in case_files]
    own = lock.gather(case_files, root)
    if ref is None:
        yield Rules.beside(baseline, own, own)
        return
    commit = commit_of(ref, root)
    shown = f"{ref}:"
    with tempfile.TemporaryDirectory(prefix="fineval-trust-") as name:
        folder = Path(name)
        try:
            copied = _export(commit, root, baseline, folder, shown)
            ledger = _ledger_at(commit, case_files, root)
            yield Rules.beside(copied, ledger, own)
        except InputError as error:
            # What a person can look at is the file in the ref, not our copy of it.
            raise InputError(str(error).replace(f"{folder}/", shown)) from error


def commit_of(ref: str, root: Path) -> str:
    """The commit that a ref names.

    Raises:
        InputError: no git, no repository, or no such ref (as in a shallow clone).
    """
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode != 0:
        raise InputError(
            f'the ref "{ref}" is not in this repository; fetch it first (git fetch origin BRANCH; '
            "in GitHub's checkout: fetch-depth: 0)"
        )
    return done.stdout.decode().strip()


def blob(commit: str, path: Path, root: Path) -> bytes | None:
    """A file's bytes as a commit holds them; None when it holds no such file."""
    relative = _relative(path, root)
    done = _git(root, "cat-file", "blob", f"{commit}:./{relative}")
    return done.stdout if done.returncode == 0 else None


def setting(ref: str, root: Path, name: str) -> Any:
    """A key of `[tool.fineval]` as the ref's pyproject.toml has it; None when it has none."""
    data = blob(commit_of(ref, root), root / "pyproject.toml", root)
    if data is None:
        return None
    try:
        document = tomllib.loads(data.decode())
    except ValueError as error:
        raise InputError(f"not valid TOML: {error}", path=f"{ref}:pyproject.toml") from error
    return document.get("tool", {}).get("fineval", {}).get(name)


def _export(commit: str, root: Path, baseline: Path, folder: Path, shown: str) -> Path:
    """Copy a baseline, with all that belongs to it, out of a commit."""
    target = folder / _relative(baseline, root)
    target.parent.mkdir(parents=True, exist_ok=True)
    for path in (
        baseline,
        *(signature_path(baseline, number) for number in range(MOST_SIGNATURES)),
        companion_path(baseline),
        ledger_copy_path(baseline),
        baseline.parent / ALLOWED_SIGNERS,
        baseline.parent / REVOKED_KEYS,
    ):
        data = blob(commit, path, root)
        if data is not None:
            target.with_name(path.name).write_bytes(data)
    if not target.exists():
        raise InputError(
            "there is no such baseline in the trusted ref: merge it there first",
            path=f"{shown}{_relative(baseline, root)}",
        )
    return target


def _ledger_at(commit: str, case_files: Iterable[Path], root: Path) -> Ledger | None:
    """The commit's ledger of these files: the nearest cases.lock from their folders up to root."""
    found: dict[Path, Ledger] = {}
    root = root.resolve()
    for folder in sorted({file.resolve().parent for file in case_files}):
        for here in (folder, *folder.parents):
            data = blob(commit, here / LOCK, root) if here.is_relative_to(root) else None
            if data is not None:
                found[here] = lock.parse(data.decode(errors="replace"), here / LOCK)
                break
            if here == root:
                break
    if not found:
        return None
    first = next(iter(found.values()))
    return Ledger(first.path).with_entries(e for one in found.values() for e in one.entries)


def _relative(path: Path, root: Path) -> PurePosixPath:
    path, root = path.absolute(), root.absolute()
    if not path.is_relative_to(root):
        path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        raise InputError(f"lies outside the project ({root}): a git ref cannot hold it", path=path)
    return PurePosixPath(path.relative_to(root).as_posix())


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("git")
    if program is None:
        raise InputError("git is not installed, so that no ref can be read")
    try:
        # A replaced object would be another commit under the trusted one's name.
        return subprocess.run(  # noqa: S603 - fixed words, no shell
            [program, "--no-replace-objects", *arguments],
            cwd=root,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git gave no answer within {GIT_TIMEOUT_S:g} s") from error

"""Several shards as the one run that they are parts of."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_fineval.errors import InputError
from pytest_fineval.store.manifest import Manifest, Shard
from pytest_fineval.store.record import Key, Record
from pytest_fineval.store.run import MANIFEST, RECORDS, Run, RunWriter, new_run_id

SAME: Mapping[str, str] = {
    "candidate": "the gated model (--fineval-model)",
    "models": "the models, their prompts, decoding or seed",
    "samples": "--fineval-repeat",
    "split": "--fineval-split",
    "gate": "--fineval-gate",
    "baseline": "--fineval-baseline",
    "trusted": "the commit of --fineval-trust-ref",
    "plan": "the registered plan (--fineval-plan)",
    "openings": "the openings of held-out cases",
    "suites": "the test functions or their case files",
    "planned": "the cases or their scorers (another suite digest)",
    "sources": "the sources of imported cases",
    "settings_digest": "[tool.fineval] in pyproject.toml",
    "git_commit": "the git commit",
}
"""What has to be equal for shards to be parts of one run, by the manifest's field, in words."""

SCORED_BY = "pytest-fineval"
"""The one version that has to be equal: it reads and scores answers."""

MOST = 5


def merged(shards: Sequence[Run]) -> Run:
    """The whole run that these shards are the parts of.

    Args:
        shards: in any order.

    Returns:
        The run as one machine would have recorded it; it lies in no folder yet.

    Raises:
        InputError: a run that is no shard, shards of several runs, one that is missing, given
            twice or unfinished, a key that stands twice, and one that has no record.
    """
    parts = _parts(shards)
    for run in shards[1:]:
        _refuse_other(shards[0], run)
    for run in shards:
        _refuse_unfinished(run, shards[0])
    _refuse_other_shares(shards[0].manifest, parts)
    records: dict[Key, tuple[Record, Run]] = {}
    for index in sorted(parts):
        _take(parts[index], records)
    first = parts[1].manifest
    manifest = first.model_copy(
        update={
            "run_id": new_run_id(),
            "started": min(run.manifest.started for run in shards),
            "finished": max(run.manifest.finished or "" for run in shards),
            "command": tuple(sys.argv[1:]),
            "git_dirty": any(run.manifest.git_dirty for run in shards) or first.git_dirty,
            "shard": None,
        }
    )
    return Run(Path(), manifest, tuple(records[key][0] for key in sorted(records)))


def write(run: Run, folder: Path) -> Run:
    """Write a merged run's manifest and records.

    Raises:
        InputError: the folder holds a run already, or cannot be written.
    """
    if (folder / RECORDS).exists() or (folder / MANIFEST).exists():
        raise InputError("already holds a run; name another folder with -o", path=folder)
    writer = RunWriter(folder)
    try:
        for record in run.records:
            writer.append(record)
        writer.manifest(run.manifest)
    finally:
        writer.close()
    return Run(folder, run.manifest, run.records)


def notices(shards: Sequence[Run]) -> list[str]:
    """What differs between shards and changes no score: a sentence each."""
    found = []
    first = shards[0]
    for name in sorted({name for run in shards for name in run.manifest.versions}):
        if name == SCORED_BY:
            continue
        for run in shards[1:]:
            was, now = first.manifest.versions.get(name), run.manifest.versions.get(name)
            if was != now:
                found.append(f"{name} is {was} in {first.folder} and {now} in {run.folder}")
                break
    return found


def _parts(shards: Sequence[Run]) -> dict[int, Run]:
    """The shards by their index, all of them, each once."""
    parts: dict[int, Run] = {}
    of = 0
    for run in shards:
        shard = run.manifest.shard
        if shard is None:
            raise InputError(
                "is no shard: only runs with --fineval-shard I/N are merged", path=run.folder
            )
        if parts and shard.of != of:
            raise InputError(
                f"is {shard}, {shards[0].folder} is {shards[0].manifest.shard}: all have to be "
                "parts of one N",
                path=run.folder,
            )
        of = shard.of
        if shard.index in parts:
            raise InputError(
                f"{shard} is given twice: {parts[shard.index].folder} and {run.folder}"
            )
        parts[shard.index] = run
    missing = [str(index) for index in range(1, of + 1) if index not in parts]
    if missing:
        which = "shard" if len(missing) == 1 else "shards"
        raise InputError(
            f"{which} {_named(missing)} of {of} missing: name the run folders of all {of}"
        )
    return parts


def _refuse_other(first: Run, run: Run) -> None:
    ours, theirs = first.manifest, run.manifest
    versions = (ours.versions.get(SCORED_BY), theirs.versions.get(SCORED_BY))
    if versions[0] != versions[1]:
        raise InputError(
            f"ran with {SCORED_BY} {versions[1]}, {first.folder} with {versions[0]}: run both with "
            "one version",
            path=run.folder,
        )
    for name, words in SAME.items():
        if getattr(ours, name) != getattr(theirs, name):
            raise InputError(
                f"is a shard of another run than {first.folder}: they differ in {words}; run all "
                "shards of one commit with the same options",
                path=run.folder,
            )


def _refuse_unfinished(run: Run, first: Run) -> None:
    manifest = run.manifest
    remedy = f"go on with it: --fineval-resume={run.folder}"
    if manifest.finished is None:
        raise InputError(f"{manifest.shard} was cut short; {remedy}", path=run.folder)
    # A whole run of other files than the baseline's is one, and is not judged, sharded or not.
    by_choice = manifest.incomplete == first.manifest.incomplete and not run.lost
    if manifest.incomplete is not None and not by_choice:
        raise InputError(
            f"{manifest.shard} is incomplete ({manifest.incomplete}); {remedy}", path=run.folder
        )


def _refuse_other_shares(manifest: Manifest, parts: Mapping[int, Run]) -> None:
    """Each planned case has to fall to one shard and no more."""
    shards: list[Shard] = [run.manifest.shard for run in parts.values() if run.manifest.shard]
    if len({shard.weights for shard in shards}) > 1:
        raise InputError(
            "the shards were dealt by different --fineval-shard-weights: give all the same run"
        )
    falls_to: dict[str, Shard] = {}
    for shard in shards:
        for name in shard.cases:
            if name in falls_to:
                raise InputError(f"case {name} fell to both {falls_to[name]} and {shard}")
            falls_to[name] = shard
    left = [case.id for case in manifest.planned if case.id not in falls_to]
    if left:
        raise InputError(f"fell to no shard: {_named(left)}")


def _take(run: Run, records: dict[Key, tuple[Record, Run]]) -> None:
    """Add one shard's records, when they are all of its own and none of another's."""
    if run.repeated:
        raise InputError(
            f"holds more than one record of {_named(map(str, run.repeated))}; run this shard "
            "again, without reruns",
            path=run.folder,
        )
    dealt = frozenset(run.manifest.shard.cases if run.manifest.shard else ())
    for record in run.records:
        if record.key in records:
            raise InputError(
                f"{record.key} is recorded twice: in {records[record.key][1].folder} and in "
                f"{run.folder}"
            )
        if record.case.id not in dealt:
            raise InputError(
                f"holds a record of {record.key}, which is not {run.manifest.shard}'s",
                path=run.folder,
            )
        records[record.key] = record, run
    if run.lost:
        raise InputError(
            f"has no record of {_named(map(str, run.lost))}; go on with "
            f"--fineval-resume={run.folder}",
            path=run.folder,
        )


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return ", ".join(listed[:MOST]) + more

"""Which cases fall to which machine: whole clusters, by a rule that each machine works out alone.

By default the hash of a cluster's name decides, so that a new case moves no other. With weights
(how long each case took in an earlier run) the heaviest clusters are dealt first, each to the
shard that has the least to do.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

from pytest_fineval.cases.model import digest
from pytest_fineval.errors import InputError
from pytest_fineval.store.manifest import Shard
from pytest_fineval.store.run import Run, read


def shard_of(clusters: Mapping[str, str], index: int, of: int, weights: Path | None) -> Shard:
    """The part of the cases that falls to one shard.

    Args:
        clusters: case id -> the name of its cluster, of every planned case in its order.
        index: which shard, 1 to `of`.
        weights: folder of the run that says how long each case takes; None for equal shares by
            hash.

    Raises:
        InputError: that run cannot be read, or says of none of these cases how long it took.
    """
    if weights is None:
        dealt = {cluster: by_hash(cluster, of) for cluster in clusters.values()}
        used = None
    else:
        seconds = _seconds(read(weights), clusters)
        dealt = by_weight(_summed(clusters, seconds), of)
        used = digest(seconds)
    mine = tuple(name for name, cluster in clusters.items() if dealt[cluster] == index)
    return Shard(index=index, of=of, weights=used, cases=mine)


def by_hash(cluster: str, of: int) -> int:
    """The shard, 1 to `of`, of a cluster.

    >>> by_hash("report-0005", 4)
    2
    """
    return 1 + int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % of


def by_weight(weights: Mapping[str, float], of: int) -> dict[str, int]:
    """Shard, 1 to `of`, of each cluster: the heaviest first, to who has the least.

    Args:
        weights: of each cluster, >= 0, in any unit.

    >>> by_weight({"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}, 2)
    {'a': 1, 'b': 2, 'c': 2, 'd': 1}
    """
    load = [0.0] * of
    dealt = {}
    for cluster in sorted(weights, key=lambda name: (-weights[name], name)):
        least = load.index(min(load))
        load[least] += weights[cluster]
        dealt[cluster] = least + 1
    return dealt


def _seconds(run: Run, clusters: Mapping[str, str]) -> dict[str, float]:
    """Mean latency of each planned case that the run measured."""
    heard: dict[str, list[float]] = {}
    for record in run.records:
        if record.answer is not None and record.case.id in clusters:
            heard.setdefault(record.case.id, []).append(record.answer.latency_s)
    if not heard:
        raise InputError("measured none of these cases: it cannot weigh them", path=run.folder)
    if not any(any(times) for times in heard.values()):
        raise InputError(
            "holds no latencies (its answers were replayed): weigh by a live run", path=run.folder
        )
    return {name: math.fsum(times) / len(times) for name, times in sorted(heard.items())}


def _summed(clusters: Mapping[str, str], seconds: Mapping[str, float]) -> dict[str, float]:
    """Weight of each cluster; a case that was not measured weighs as much as the mean one."""
    usual = math.fsum(seconds.values()) / len(seconds)
    parts: dict[str, list[float]] = {}
    for name, cluster in clusters.items():
        parts.setdefault(cluster, []).append(seconds.get(name, usual))
    return {cluster: math.fsum(times) for cluster, times in parts.items()}

"""Speed of the statistics beside scipy's in the same run: `python benchmarks/stats_speed.py`.

Not a test: it prints times and ratios. The goals are 5 s and 100 MiB for 10,000 resamples of five
categories of 10,000 graded cases, 10 ms for a category of verdicts, and 1 s for a sign-flip test of
10,000 cases.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy import stats

from pytest_fineval.stats.bootstrap import bootstrap_mean
from pytest_fineval.stats.paired import wilcoxon_exact
from pytest_fineval.stats.permutation import signflip, signflip_upper

CASES = 10_000
RESAMPLES = 10_000
CATEGORIES = 5


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_of(call: Callable[[], object], times: int = 5) -> float:
    """Shortest of several calls, the first one (imports) left out."""
    call()
    return min(seconds(call) for _ in range(times))


def peak_mib(call: Callable[[], object]) -> float:
    """Largest memory that a call held beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def main() -> None:
    """Print one line per measurement."""
    rng = np.random.default_rng(20_240_601)
    graded = [rng.beta(4, 2, CASES) for _ in range(CATEGORIES)]
    verdicts = rng.integers(0, 2, CASES)
    drops = rng.normal(0.0, 0.2, CASES).clip(-1, 1)
    quarters = rng.integers(-4, 5, CASES) / 4

    bootstrap_mean(graded[0], resamples=10)
    ours = seconds(lambda: [bootstrap_mean(scores, resamples=RESAMPLES) for scores in graded])
    # scipy holds batch x n floats: a batch of 200 gives it the same chunk as ours
    theirs = seconds(
        lambda: stats.bootstrap(
            (graded[0],),
            np.mean,
            n_resamples=RESAMPLES,
            batch=200,
            method="percentile",
            rng=np.random.default_rng(0),
        )
    )
    memory = peak_mib(lambda: bootstrap_mean(graded[0], resamples=RESAMPLES))
    print(f"bootstrap, {CATEGORIES} x {CASES} graded cases: {ours:.2f} s, peak {memory:.0f} MiB")
    print(f"  scipy.stats.bootstrap / ours, per category: {theirs / (ours / CATEGORIES):.2f}")

    ours = best_of(lambda: bootstrap_mean(verdicts, resamples=RESAMPLES))
    theirs = seconds(
        lambda: stats.bootstrap(
            (verdicts,),
            np.mean,
            n_resamples=RESAMPLES,
            batch=200,
            method="percentile",
            rng=np.random.default_rng(0),
        )
    )
    print(f"bootstrap, {CASES} verdicts: {1000 * ours:.2f} ms")
    print(f"  scipy.stats.bootstrap / ours: {theirs / ours:.0f}")

    for name, values in (("graded", drops), ("quarters", quarters)):
        print(f"sign-flip, {CASES} {name}: {best_of(lambda v=values: signflip(v), 2):.2f} s")
    print(f"sign-flip bound, {CASES} graded: {best_of(lambda: signflip_upper(drops), 2):.2f} s")
    print(f"Wilcoxon exact, 500 graded: {best_of(lambda: wilcoxon_exact(drops[:500]), 2):.2f} s")


if __name__ == "__main__":
    main()

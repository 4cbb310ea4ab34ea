"""Speed of step parsing and step metrics: `python benchmarks/chains_speed.py [--encoder]`.

Not a test: it prints times and ratios. The goals are 1,000 chains of 4 x 4 steps with given
similarities in under 1 s and, with the encoder, at least 80 % of what encoding alone does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from pytest_fineval.scoring.chains.evaluate import GoldChain, evaluate_chains
from pytest_fineval.scoring.chains.metrics import step_metrics
from pytest_fineval.scoring.chains.parse import parse_chain
from pytest_fineval.scoring.embeddings import EmbeddingCache, default_embedder

CHAINS = 1_000
STEPS = 4


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def metrics() -> None:
    """All metrics of all chains from similarities that are given."""
    rng = np.random.default_rng(20_240_601)
    made = [
        (rng.uniform(0, 1, (STEPS, STEPS)), rng.uniform(1, 1e6, STEPS).tolist())
        for _ in range(CHAINS)
    ]

    def all_metrics() -> None:
        for ss, values in made:
            step_metrics(ss, values, values[::-1], values[-1], values[-1], "paper")

    spent = min(seconds(all_metrics) for _ in range(3))
    print(f"metrics, {CHAINS} chains of {STEPS} x {STEPS}: {spent:.2f} s (goal < 1 s)")


def texts(number: int) -> str:
    """A chain as a model writes it; every step's text is new."""
    base = 10_000 + 37 * number
    return (
        f"Step 1: Gross income of household {number} = {base:,}\n"
        f"Step 2: Deductions at one fifth = {base:,} × 0.2 = {base * 0.2:,.2f}\n"
        f"Step 3: Taxable income = {base:,} - {base * 0.2:,.2f} = {base * 0.8:,.2f}\n"
        f"Step 4: Tax = {base * 0.8:,.2f} × 13% = {base * 0.104:,.2f}\n"
        f"Answer: {base * 0.104:,.2f}"
    )


def parsing() -> list[str]:
    """Reading the steps of all chains."""
    written = [texts(number) for number in range(CHAINS)]
    spent = min(seconds(lambda: [parse_chain(text) for text in written]) for _ in range(3))
    print(f"parsing, {CHAINS} chains: {spent:.2f} s ({1000 * spent / CHAINS:.2f} ms a chain)")
    return written


def with_encoder(written: list[str], chains: int) -> None:
    """Everything from text to figures beside encoding the same texts alone."""
    encoder = default_embedder()
    encoder.encode(["warm up"])
    parsed = [parse_chain(text) for text in written[:chains]]
    gold = [
        GoldChain(
            tuple(f"We find {step.text}" for step in chain.steps),
            tuple(float(step.value or 0) for step in chain.steps),
            float(chain.final_answer or 0),
        )
        for chain in parsed
    ]
    steps = sorted(
        {step.text for chain in parsed for step in chain.steps}
        | {text for chain in gold for text in chain.texts}
    )
    raw = seconds(lambda: encoder.encode(steps))
    answers = [(chain, text, "en") for chain, text in zip(gold, written, strict=False)]
    whole = seconds(lambda: evaluate_chains(answers, EmbeddingCache(), lambda: encoder))
    again = seconds(lambda: encoder.encode(steps))
    alone = (raw + again) / 2  # before and after: the machine's load drifts
    print(
        f"with the encoder, {chains} chains, {len(steps)} texts: {whole:.2f} s, "
        f"encoding alone {alone:.2f} s: {100 * alone / whole:.0f} % (goal >= 80 %)"
    )


def main() -> None:
    """Print one line a measurement."""
    metrics()
    written = parsing()
    if "--encoder" in sys.argv[1:]:
        with_encoder(written, chains=100)


if __name__ == "__main__":
    main()

"""Numeric answers a second beside the peers', and growth with length.

`python benchmarks/scoring_speed.py` is no test: it prints figures, in CPU time, so that a busy
machine changes them little. The goal is 3,000 answers a second on one core for texts of 300
characters, and time linear in the length up to 200,000 characters. A peer that is not installed
(inspect_ai, math-verify, quantulum3) gets a line that says so. `--agreement` adds how many of the
numeric vectors each peer's function judges as the vector does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.registry import prepare

LENGTH = 300
GOAL = 3_000
VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "answers_public.jsonl"

REPLIES = (
    "The company reported revenue of ${a} million in fiscal 2023, compared with ${b} "
    "million in the prior year. Cost of sales was ${c} million, so gross profit came to "
    "${d} million. The margin therefore stood at {e}%, which is in line with the guidance "
    "that management had given in the annual report.\n\nAnswer: ${d} million",
    "To find free cash flow, take cash from operations and subtract capital "
    "expenditures.\n\nCash from operations: ${a} million\nCapital expenditures: $({c}) "
    "million\n\nFree cash flow = {a} - {c} = ${d} million\n\nThis compares with ${b} "
    "million a year earlier, and the difference is due to working capital.",
    "**Step 1:** Total current assets = ${a} million\n**Step 2:** Total current "
    "liabilities = ${c} million\n**Step 3:** the balance is {a} less {c}, that is ${d} "
    "million.\n\nNote 12 of the 10-K gives the same figure as of December 31, 2023. "
    "Therefore working capital was **${d} million**.",
    '```json\n{{"reasoning": "Segment sales of {a} and {b} (in millions) are taken from '
    "the table on page 47; costs of {c} are then deducted, and the remainder is the "
    'operating income of the segment for the year", "answer": "{d}", "unit": "USD '
    'millions", "source": "10-K 2023"}}\n```',
    "Based on the excerpt, total debt was ${a} million and cash and equivalents were ${c} "
    "million at year end. Net debt is total debt minus cash. In 2022 it was ${b} million, "
    "which was {e}% higher. Using these inputs, net debt at the end of 2023 was "
    "approximately ${d} million.",
    "$$\\text{{Net income}} = {a} - {c} = {d}$$\n\nThe tax rate of {e}% has been applied "
    "before. All amounts are taken from the consolidated statements of operations (in "
    "millions of U.S. dollars) and rounded to one decimal place, as in the filing.\n\nThe "
    "final answer is $\\boxed{{\\${d}\\text{{ million}}}}$.",
)
"""Replies in the style of models, with amounts to fill in; `d` is the answer."""


def replies(count: int) -> list[tuple[str, float]]:
    """So many different replies of LENGTH characters with the amount that each states."""
    made = []
    for number in range(count):
        a, c = 4000 + 7.3 * (number % 500), 1500 + 3.1 * (number % 300)
        d = round(a - c, 1)
        amounts = {"a": a, "b": a * 0.93, "c": c, "d": d, "e": 100 * d / a}
        text = REPLIES[number % len(REPLIES)].format(
            **{name: f"{value:,.1f}" for name, value in amounts.items()}
        )
        if len(text) < LENGTH:
            lead = "I have read the excerpt of the filing and the question with care. "
            text = (lead * 4)[: LENGTH - len(text) - 1] + "\n" + text
        made.append((text, d))
    return made


def rate(call: Callable[[str, float], Any], made: list[tuple[str, float]], times: int = 3) -> float:
    """Calls a second over all replies, of the fastest round; the first call is left out."""
    call(*made[0])
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        for text, amount in made:
            call(text, amount)
        best = min(best, time.process_time() - start)
    return len(made) / best


def ours(text: str, amount: float) -> bool:
    """This project: the scorer is bound to its gold in the same call."""
    spec = ScorerSpec(name="numeric", rel_tol=0.005)
    return prepare(spec, Gold(answer=amount, unit="USD", scale=1e6)).score(text).value == 1


def inspect_match() -> Callable[[str, float], bool]:
    """inspect_ai's `match(numeric=True)` on the text."""
    from inspect_ai.scorer._common import match_str

    return lambda text, amount: bool(match_str(text, str(amount), location="end", numeric=True)[1])


def math_verify() -> Callable[[str, float], bool]:
    """math-verify: parse the text and the gold, then verify."""
    from math_verify import parse, verify

    return lambda text, amount: bool(verify(parse(f"${amount}$"), parse(text)))


def quantulum() -> Callable[[str, float], bool]:
    """quantulum3: any quantity of the text that is the gold within 0.5 %."""
    from quantulum3 import parser

    def judge(text: str, amount: float) -> bool:
        found = parser.parse(text)
        return any(abs(quantity.value - amount) <= 0.005 * abs(amount) for quantity in found)

    return judge


PEERS = {"inspect_ai": inspect_match, "math-verify": math_verify, "quantulum3": quantulum}


def installed() -> Iterator[tuple[str, Callable[[str, float], bool]]]:
    """Peers that can be imported; a line for each that cannot."""
    for name, load in PEERS.items():
        try:
            yield name, load()
        except ImportError as error:
            print(f"{name}: left out, not installed ({error})")


def agreement(judge: Callable[[str, float], bool]) -> tuple[int, int, int]:
    """Numeric vectors judged right, wrong answers accepted, and all of them."""
    right = false = total = 0
    for line in VECTORS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] != "numeric" or row["expected"] is None:
            continue
        total += 1
        try:
            passed = judge(row["output"], float(row["expected"]))
        except Exception:  # a peer that raises has judged the answer wrong
            passed = False
        right += passed == bool(row["score"])
        false += passed and not row["score"]
    return right, false, total


def growth() -> None:
    """Time for one long text and for half of it: the ratio is 2 where time is linear."""
    unit = "Revenue was $1,234.5 million (2022: $1,100 million), up 12.2%; see Note 4. "
    kinds: dict[str, str] = {
        "prose with numbers": unit,
        "words only": "the margin rose as costs fell ",
        "digits": "1234567890",
        "brackets": "((",
        "braces": "{",
        "dollars": "$5 ",
        "list lines": "1. $5 million\n",
        "table": "| a | 1 |\n",
        "one line of blanks": "\n" + " " * 99_999,
    }
    bound = prepare(ScorerSpec(name="numeric"), Gold(answer=1, unit="USD", scale=1e6))
    print("one answer of 200,000 characters, and its time over that of half of it:")
    for name, piece in kinds.items():
        whole = (piece * (200_000 // len(piece) + 1))[:200_000]
        spent = []
        for text in (whole[:100_000], whole):
            rounds = []
            for _ in range(3):
                start = time.process_time()
                bound.score(text)
                rounds.append(time.process_time() - start)
            spent.append(min(rounds))
        print(f"  {name}: {1000 * spent[1]:.0f} ms, ratio {spent[1] / spent[0]:.2f}")


def main() -> None:
    """Print one line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agreement", action="store_true", help="judge the numeric vectors too")
    wanted = parser.parse_args()
    made = replies(600)
    right = sum(ours(text, amount) for text, amount in made)
    length = sum(len(text) for text, _ in made) / len(made)
    bound = prepare(
        ScorerSpec(name="numeric", rel_tol=0.005), Gold(answer=1, unit="USD", scale=1e6)
    )
    alone = rate(lambda text, _: bound.score(text), made)
    whole = rate(ours, made)
    print(f"{len(made)} replies of {length:.0f} characters on average, {right} judged right")
    print(f"numeric, scorer bound before: {alone:,.0f} answers a second (goal {GOAL:,})")
    print(f"numeric, gold bound each time: {whole:,.0f} answers a second")
    for name, judge in installed():
        few = made[:60]
        speed = rate(judge, few, times=2)
        hits = sum(judge(text, amount) for text, amount in few)
        print(f"{name}: {speed:,.0f} answers a second, {hits} of {len(few)} right answers accepted")
        if wanted.agreement:
            good, false, total = agreement(judge)
            print(f"  vectors: {good} of {total} judged right, {false} wrong answers accepted")
    growth()


if __name__ == "__main__":
    main()

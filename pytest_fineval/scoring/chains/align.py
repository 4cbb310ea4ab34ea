"""Alignment of two step sequences in order: dynamic time warping with a price for skipping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

SKIP_COST = 0.25
"""What leaving out one step of either side costs."""

SLACK = 1e-9
"""Inclusive thresholds allow for the rounding of binary fractions."""

_TIE = 1e-12
_PAIR, _SKIP_GOLD, _SKIP_PREDICTED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Alignment:
    """The cheapest path through a matrix of pair scores.

    Attributes:
        norm: 1 - cost / length; 0 when a side is empty. It can rise when a step gets worse
            (skipping two steps has norm 0.75), so it is reported and never gated on.
        cost: sum of pair and skip costs; None when a side is empty.
        length: pairs and skips on the path.
        precision, recall, f1: pairs with a score of the threshold or more, by predicted and gold
            steps.
        path: those pairs as (gold, predicted) from 0, in order.
    """

    norm: float = 0.0
    cost: float | None = None
    length: int = 0
    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    path: tuple[tuple[int, int], ...] = ()


def f1(precision: float, recall: float) -> float:
    """Harmonic mean; 0 when both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0


def align(scores: Matrix, threshold: float) -> Alignment:
    """The cheapest way from corner to corner: pairs cost 1 - score, skipping a step costs 0.25.

    Args:
        scores: gold steps x predicted steps, each in [0, 1].
        threshold: a pair on the path counts from this score on (slack 1e-9).

    Returns:
        An Alignment. Ties go to the pair, then to skipping gold, then to skipping a prediction.
    """
    gold, predicted = scores.shape
    if not gold or not predicted:
        return Alignment()
    costs = (1.0 - scores).tolist()
    moves, cost = _moves(costs, gold, predicted)
    most = 1.0 - threshold + SLACK
    row, column, length = gold, predicted, 0
    pairs: list[tuple[int, int]] = []
    while row or column:
        move = moves[row][column]
        length += 1
        if move != _SKIP_PREDICTED:
            row -= 1
        if move != _SKIP_GOLD:
            column -= 1
        if move == _PAIR and costs[row][column] <= most:
            pairs.append((row, column))
    precision, recall = len(pairs) / predicted, len(pairs) / gold
    return Alignment(
        norm=1.0 - cost / length,
        cost=cost,
        length=length,
        precision=precision,
        recall=recall,
        f1=f1(precision, recall),
        path=tuple(reversed(pairs)),
    )


def _moves(costs: list[list[float]], gold: int, predicted: int) -> tuple[list[list[int]], float]:
    """The last move of the cheapest path to every cell, and the cost of the whole."""
    # Plain lists: each cell needs its neighbours, and chains are short.
    above = [SKIP_COST * column for column in range(predicted + 1)]
    moves = [[_SKIP_PREDICTED] * (predicted + 1)]
    for row in range(gold):
        here = [SKIP_COST * (row + 1)]
        taken = [_SKIP_GOLD]
        pair_costs = costs[row]
        for column in range(predicted):
            best, move = above[column] + pair_costs[column], _PAIR
            skip_gold = above[column + 1] + SKIP_COST
            if skip_gold < best - _TIE:
                best, move = skip_gold, _SKIP_GOLD
            skip_predicted = here[column] + SKIP_COST
            if skip_predicted < best - _TIE:
                best, move = skip_predicted, _SKIP_PREDICTED
            here.append(best)
            taken.append(move)
        moves.append(taken)
        above = here
    return moves, above[predicted]

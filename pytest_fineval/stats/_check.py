"""Entry checks shared by the statistics: a wrong input is an error, never a strange number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import index
from statistics import NormalDist
from typing import Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Values = Sequence[float] | Floats
Alternative = Literal["greater", "less", "two-sided"]

DECIMALS = 9
"""Differences are rounded to this many decimals: float subtraction splits ties."""


def finite(values: Values, name: str = "values") -> Floats:
    """One-dimensional float array without NaN or infinity.

    Raises:
        ValueError: another shape, or a value that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: NaN and infinity are not scores")
    return array


def rounded(values: Values, name: str = "differences") -> Floats:
    """`finite`, rounded to `DECIMALS`, without negative zero."""
    return np.round(finite(values, name), DECIMALS) + 0.0


def count(value: SupportsIndex, name: str) -> int:
    """A whole number of at least 0.

    Raises:
        ValueError: negative.
        TypeError: not a whole number.
    """
    whole = index(value)
    if whole < 0:
        raise ValueError(f"{name} must be at least 0, not {whole}")
    return whole


def share(value: float, name: str, *, open_ends: bool = True) -> float:
    """A number between 0 and 1, the ends excluded unless `open_ends` is false.

    Raises:
        ValueError: outside.
    """
    number = float(value)
    inside = 0 < number < 1 if open_ends else 0 <= number <= 1
    if not inside:
        ends = "strictly between 0 and 1" if open_ends else "in [0, 1]"
        raise ValueError(f"{name} must lie {ends}, not {value}")
    return number


def known_alternative(alternative: str) -> None:
    """Refuse a word that names no alternative.

    Raises:
        ValueError: neither "greater" nor "less" nor "two-sided".
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(
            f'alternative must be "greater", "less" or "two-sided", not "{alternative}"'
        )


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal law (from the standard library: scipy loads slowly)."""
    return NormalDist().inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """P(Z <= z) of the standard normal law, accurate in the lower tail."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def two_sided_z(confidence: float) -> float:
    """The z whose interval -z..z holds `confidence` of the standard normal law."""
    return -normal_quantile((1.0 - share(confidence, "confidence")) / 2.0)


def one_sided_z(confidence: float) -> float:
    """The z below which `confidence` of the standard normal law lies."""
    return -normal_quantile(1.0 - share(confidence, "confidence"))


@contextmanager
def quiet() -> Iterator[None]:
    """Division by zero and overflow are looked at by the caller, who replaces the results."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        yield

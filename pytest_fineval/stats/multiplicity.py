"""p-values adjusted for several checks: Holm (the gate uses it), Bonferroni, Sidak, BH."""

from __future__ import annotations

import numpy as np

from pytest_fineval.stats._check import Floats, Values, finite, quiet


def holm(pvalues: Values) -> list[float]:
    """Holm's step-down adjustment: strong control of the family-wise error, any dependence.

    Args:
        pvalues: one p in [0, 1] per check, in any order.

    Returns:
        Adjusted p-values in the order given, each in [0, 1] and never below its p.

    Raises:
        ValueError: a value outside [0, 1] or not finite.

    Source: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    p = _pvalues(pvalues)
    order = np.argsort(p, kind="stable")
    factors = np.arange(p.size, 0, -1)
    stepped = np.maximum.accumulate(p[order] * factors)
    return _in_order(stepped, order)


def benjamini_hochberg(pvalues: Values) -> list[float]:
    """Benjamini-Hochberg step-up adjustment: control of the false discovery rate.

    Args, Returns, Raises: as `holm`.

    Source: Benjamini and Hochberg (1995), JRSS B 57.
    """
    p = _pvalues(pvalues)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    return _in_order(stepped, order)


def bonferroni(pvalues: Values) -> list[float]:
    """Each p times the number of checks.

    Args, Returns, Raises: as `holm`.
    """
    p = _pvalues(pvalues)
    return _listed(p * p.size)


def sidak(pvalues: Values) -> list[float]:
    """1 - (1 - p)^m for m checks; exact when the checks are independent.

    Args, Returns, Raises: as `holm`.
    """
    p = _pvalues(pvalues)
    with quiet():  # log1p(-1) = -inf gives the right answer, 1
        return _listed(-np.expm1(p.size * np.log1p(-p)))


def _pvalues(pvalues: Values) -> Floats:
    p = finite(pvalues, "p-values")
    if p.size and (p.min() < 0 or p.max() > 1):
        raise ValueError("p-values must lie in [0, 1]")
    return p


def _in_order(
    stepped: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
) -> list[float]:
    adjusted = np.empty_like(stepped)
    adjusted[order] = stepped
    return _listed(adjusted)


def _listed(adjusted: Floats) -> list[float]:
    return [float(value) for value in np.clip(adjusted, 0.0, 1.0)]

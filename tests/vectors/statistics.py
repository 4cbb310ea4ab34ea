"""Rows of statistics.jsonl and of the paired counts: inputs of a statistic in, its values out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pytest_fineval.gate.decide import decide_counts
from pytest_fineval.stats import (
    agreement,
    bootstrap,
    intervals,
    multiplicity,
    paired,
    permutation,
    power,
    ranks,
    selection,
)
from tests.vectors.schemas import Row, Schema

PAIRED_COUNT_FIELDS = {"n", "both", "a_only", "b_only", "neither", "mcnemar_exact_two_sided_p"}


def _ends(interval: intervals.Interval) -> list[float]:
    return [interval.low, interval.high]


def _mcnemar(b: int, c: int) -> dict[str, float]:
    found = paired.mcnemar(b, c)
    return {
        "exact_two_sided": found.exact_two_sided,
        "exact_drop": found.exact_drop,
        "midp_drop": found.midp_drop,
        "midp_two_sided": found.midp_two_sided,
    }


def _mcnemar_chi2(b: int, c: int) -> dict[str, float]:
    found = paired.mcnemar_chi2(b, c)
    return {"corrected": found.corrected, "uncorrected": found.uncorrected}


def _mcnemar_min_b(alpha: float, variant: Any, c: Any) -> int | list[int]:
    if isinstance(c, int):
        return paired.mcnemar_min_b(alpha, variant, c)
    return [paired.mcnemar_min_b(alpha, variant, gained) for gained in c]


def _noninferiority(n: int, b: int, c: int, margin: float) -> dict[str, float]:
    found = paired.noninferiority_tango(n, b, c, margin)
    return {"z": found.statistic, "p_value": found.pvalue}


def _wilcoxon_exact(
    zero_method: Any = "wilcox",
    differences: Any = None,
    baseline: Any = None,
    candidate: Any = None,
    round_decimals: int = 9,  # the library always rounds to nine; a row that says so agrees
) -> dict[str, float]:
    if round_decimals != 9:
        raise ValueError("differences are rounded to 9 decimals")
    if differences is None:
        differences = np.subtract(baseline, candidate)
    found = paired.wilcoxon_exact(differences, zero_method)
    return {
        "w_plus": found.statistic,
        "p_two-sided": found.p_two_sided,
        "p_greater": found.p_greater,
        "p_less": found.p_less,
    }


def _within_case(baseline: Any, candidate: Any) -> dict[str, float]:
    found = permutation.within_case_permutation(baseline, candidate)
    return {"exact": found.exact, "midp": found.midp}


def _bootstrap(method: Any) -> Callable[..., list[float]]:
    def interval(scores: Any, confidence: float, resamples: int, seed: int = 0) -> list[float]:
        found = bootstrap.bootstrap_mean(scores, confidence, resamples, seed, method)
        return [found.low, found.high]

    return interval


def _bca_acceleration(scores: Any, statistic: str = "mean") -> float:
    if statistic != "mean":
        raise ValueError(f'the acceleration of "{statistic}" is not offered')
    return bootstrap.bca_acceleration(scores)


def _cluster_se(scores: Any, clusters: Any) -> dict[str, float | None]:
    found = intervals.cluster_standard_error(scores, clusters)
    return {"no_correction": found.no_correction, "g_over_g_minus_1": found.small_sample}


def _t(test: Callable[[Any, Any], paired.TestResult]) -> Callable[..., dict[str, float]]:
    def result(a: Any, b: Any) -> dict[str, float]:
        found = test(a, b)
        return {"t": found.statistic, "p": found.pvalue}

    return result


def _anova(groups: Any) -> dict[str, float]:
    found = paired.anova_oneway(groups)
    return {"F": found.statistic, "p": found.pvalue}


def _adjusted(p_values: Any) -> dict[str, list[float]]:
    return {
        "holm": multiplicity.holm(p_values),
        "benjamini_hochberg": multiplicity.benjamini_hochberg(p_values),
        "bonferroni": multiplicity.bonferroni(p_values),
        "sidak": multiplicity.sidak(p_values),
    }


def _expected_max(k: int) -> dict[str, float]:
    found = selection.expected_max_normal(k)
    return {"exact": found.exact, "bailey_approximation": found.bailey_approximation}


def _pbo(scores: Any, blocks: int) -> dict[str, Any]:
    found = selection.pbo_cscv(scores, blocks)
    return {"pbo": found.pbo, "logits": list(found.logits)}


def _pass_at_k(n: int, c: int, k: int) -> dict[str, float]:
    found = agreement.pass_at_k(n, c, k)
    return {"pass_at_k": found.pass_at_k, "pass_all_k": found.pass_all_k}


def _classification(tp: int, fp: int, fn: int, tn: int) -> dict[str, Any]:
    found = agreement.classification_report(tp, fp, fn, tn)
    return {
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "mcc": found.mcc,
        "recall_wilson95": _ends(found.recall_interval),
        "precision_wilson95": _ends(found.precision_interval),
    }


def _kappa(table: Any) -> dict[str, float | None]:
    found = agreement.cohen_kappa(table)
    return {
        "unweighted": found.unweighted,
        "linear": found.linear,
        "quadratic": found.quadratic,
    }


def _krippendorff(ratings: Any) -> dict[str, float | None]:
    return {
        level: agreement.krippendorff_alpha(ratings, level)
        for level in ("nominal", "ordinal", "interval")
    }


def _rank_correlation(a: Any, b: Any) -> dict[str, float | None]:
    found = ranks.rank_correlation(a, b)
    return {"spearman": found.spearman, "kendall_tau_b": found.kendall_tau_b}


def _gate_decision(
    categories: dict[str, dict[str, Any]], alpha: float, overall: float | None = None
) -> dict[str, Any]:
    verdict, checks = decide_counts(categories, alpha, overall)
    return {
        "verdict": verdict,
        "checks": {
            name: {
                "can_block": ruling.can_block,
                "drop": evidence.drop,
                "p": evidence.measured.p if evidence.measured else 1.0,
                "p_holm": ruling.p_holm,
                "outcome": ruling.outcome,
                "drop_upper95": evidence.measured.upper if evidence.measured else None,
                "proven": ruling.proven,
            }
            for name, (evidence, ruling) in checks.items()
        },
    }


def _interval_of(function: Callable[..., intervals.Interval]) -> Callable[..., list[float]]:
    return lambda **inputs: _ends(function(**inputs))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "wilson_interval": _interval_of(intervals.wilson),
    "wilson_half_width_points": intervals.wilson_half_width_points,
    "clopper_pearson_interval": _interval_of(intervals.clopper_pearson),
    "agresti_coull_interval": _interval_of(intervals.agresti_coull),
    "jeffreys_interval": _interval_of(intervals.jeffreys),
    "mcnemar": _mcnemar,
    "mcnemar_chi2": _mcnemar_chi2,
    "mcnemar_min_b": _mcnemar_min_b,
    "tango_interval": _interval_of(intervals.tango),
    "tango_upper_one_sided": intervals.tango_upper,
    "noninferiority_tango": _noninferiority,
    "newcombe_paired_interval": _interval_of(intervals.newcombe_paired),
    "wilcoxon_exact": _wilcoxon_exact,
    "wilcoxon_asymptotic": lambda **inputs: paired.wilcoxon_asymptotic(**inputs).pvalue,
    "signflip_exact": lambda **inputs: permutation.signflip(**inputs).pvalue,
    "within_case_permutation": _within_case,
    "bootstrap_bca_mean": _bootstrap("bca"),
    "bootstrap_percentile_mean": _bootstrap("percentile"),
    "bca_acceleration": _bca_acceleration,
    "bootstrap_percentile_binary_law": _interval_of(bootstrap.binary_law_interval),
    "cluster_se_mean": _cluster_se,
    "anova_oneway": _anova,
    "ttest_pooled": _t(paired.ttest_pooled),
    "ttest_paired": _t(paired.ttest_paired),
    "adjust_p_values": _adjusted,
    "mcnemar_power": power.mcnemar_power,
    "mcnemar_sample_size": power.mcnemar_sample_size,
    "minimum_detectable_drop": power.minimum_detectable_drop,
    "expected_best_accuracy": selection.expected_best_accuracy,
    "expected_best_accuracy_correlated": selection.expected_best_accuracy_correlated,
    "expected_max_normal": _expected_max,
    "best_of_k_p_value": selection.best_of_k_p_value,
    "pbo_cscv": _pbo,
    "pass_at_k": _pass_at_k,
    "classification_report": _classification,
    "cohen_kappa": _kappa,
    "krippendorff_alpha": _krippendorff,
    "rank_correlation": _rank_correlation,
    "spearman_values_n": ranks.spearman_values_n,
    "gate_decision": _gate_decision,
}


def differences(got: Any, expected: Any, tolerance: float, field: str = "value") -> list[str]:
    """Where a result lies further than the tolerance from what a row expects."""
    if isinstance(expected, dict):
        if not isinstance(got, dict) or not expected.keys() <= got.keys():
            return [f"{field} {got!r}, not {expected!r}"]
        return [
            found
            for key, value in expected.items()
            for found in differences(got[key], value, tolerance, key)
        ]
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return [f"{field} {got!r}, not {expected!r}"]
        return [
            found
            for place, (one, other) in enumerate(zip(got, expected, strict=True))
            for found in differences(one, other, tolerance, f"{field}[{place}]")
        ]
    return [] if _same(got, expected, tolerance) else [f"{field} {got!r}, not {expected!r}"]


def _same(got: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return got is None  # undefined is None here: the files of a run hold no NaN
    if isinstance(expected, bool | str) or expected is None or isinstance(got, bool | str):
        return type(got) is type(expected) and got == expected
    if got is None:
        return False
    return bool(got == expected or abs(got - expected) <= tolerance)


def check_statistic(row: Row) -> list[str]:
    """Fields of the row in which the project's function differs."""
    function = FUNCTIONS.get(row["function"])
    if function is None:
        return [f'function "{row["function"]}" is not known']
    return differences(function(**row["inputs"]), row["expected"], row["tolerance"])


def check_paired_counts(row: Row) -> list[str]:
    """The counts must add up, and McNemar's exact two-sided p must agree."""
    total = row["both"] + row["a_only"] + row["b_only"] + row["neither"]
    differs = [] if total == row["n"] else [f"n {row['n']}, but the counts add up to {total}"]
    got = paired.mcnemar(row["a_only"], row["b_only"]).exact_two_sided
    expected = row["mcnemar_exact_two_sided_p"]
    # Relative: the smallest of these p-values are far below any absolute tolerance.
    if not math.isclose(got, expected, rel_tol=1e-9):
        differs.append(f"mcnemar_exact_two_sided_p {got!r}, not {expected!r}")
    return differs


SCHEMAS = [
    Schema(
        name="statistics",
        matches=lambda row: {"function", "inputs", "expected", "tolerance"} <= row.keys(),
        check=check_statistic,
    ),
    Schema(
        name="paired counts",
        matches=lambda row: row.keys() >= PAIRED_COUNT_FIELDS,
        check=check_paired_counts,
        row_id=lambda row: f"{row['a']} / {row['b']} / {row['category']}",
    ),
]

"""All that a page about one run shows: the summary, the figures beside it and every case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_fineval.report import figures
from pytest_fineval.report.cases import CaseView, case_views
from pytest_fineval.report.figures import Confusion, Difference, Histogram, Spending
from pytest_fineval.report.history import History, trace
from pytest_fineval.report.material import Material
from pytest_fineval.report.summary import Summary, summarize

SMALLEST_REACH = 0.05
"""The interval plot spans at least 5 points to each side, so that nothing is nothing to see."""


@dataclass(frozen=True)
class View:
    """One run as a page shows it.

    Attributes:
        material: what it is made of; the data formats write its records whole.
        limit: characters that one text keeps.
        reach: half of the interval plot's width, a share of 1.
        compared: whether there is a baseline to stand beside.
        noise: f of both sides in words, empty when every case has one sample.
        identity: the fields by which two runs are comparable, in words.
        manifest: as JSON, without its list of cases.
    """

    material: Material
    summary: Summary
    cases: Sequence[CaseView]
    limit: int
    differences: Sequence[Difference]
    reach: float
    compared: bool
    scores: Sequence[Histogram]
    variance: Histogram | None
    noise: str
    confusions: Sequence[Confusion]
    spending: Spending
    identity: Sequence[tuple[str, str]]
    manifest: str
    history: History | None = None


def view(material: Material, earlier: Sequence[Path] = ()) -> View:
    """The view of one run.

    Args:
        material: of `material.gather`.
        earlier: folders of runs to show beside it as history; the run itself is added.
    """
    run = material.run
    cases, limit = case_views(material)
    differences = figures.differences(material)
    ends = [abs(x) for one in differences for x in (one.low, one.high, one.limit)]
    return View(
        material=material,
        summary=summarize(
            material.verdict, run.manifest, run.records, material.before, run.folder,
            material.notices,
        ),
        cases=cases,
        limit=limit,
        differences=differences,
        reach=min(1.0, max([SMALLEST_REACH, *(1.05 * end for end in ends)])),
        compared=material.baseline is not None,
        scores=figures.score_histograms(material),
        variance=figures.variance_histogram(material),
        noise=_noise(material),
        confusions=figures.confusions(material),
        spending=figures.spending(run.records),
        identity=_identity(material),
        manifest=run.manifest.model_dump_json(indent=1, exclude={"planned"}),
        history=trace([*earlier, run.folder]) if earlier else None,
    )  # fmt: skip


def _noise(material: Material) -> str:
    groups: dict[str, list[float]] = {}
    for record in figures.gated(material):
        groups.setdefault(record.case.id, []).append(record.value)
    planned = list(material.baseline.cases.values()) if material.baseline else []
    sides = (
        ("baseline", figures.noise(case.scores for case in planned)),
        (material.run.manifest.candidate, figures.noise(groups.values())),
    )
    return ", ".join(f"{name} {100 * f:.1f} %" for name, f in sides if f is not None)


def _identity(material: Material) -> list[tuple[str, str]]:
    """The eight fields in which two runs have to agree to be compared, then what pins the run."""
    manifest, verdict = material.run.manifest, material.verdict
    model = manifest.models[manifest.candidate]
    decoding = {n: v for n, v in model.decoding.items() if n != "max_tokens"}
    return [
        ("Model", f"{model.client}: {model.model}"),
        ("Data revision", f"suite {manifest.suite_digest[:16]}, {len(manifest.planned)} cases"),
        ("Split", manifest.split),
        ("Evidence", ", ".join(sorted({case.evidence for case in manifest.planned}))),
        ("Decoding", ", ".join(f"{n}={v:g}" for n, v in decoding.items()) or "the model's own"),
        ("Output budget", f"{model.decoding.get('max_tokens', 'none')} tokens"),
        ("Prompt template", f"{model.template}{' with a system prompt' if model.system else ''}"),
        ("Scorers", ", ".join(sorted({case.scorer for case in manifest.planned}))),
        ("Samples a case", str(manifest.samples)),
        ("Run", f"{manifest.run_id}, {manifest.started} to {manifest.finished or 'cut short'}"),
        ("Code", f"{manifest.git_commit or 'no git'}{' (edited)' if manifest.git_dirty else ''}"),
        ("Baseline", f"{manifest.baseline or 'none'} {(verdict.baseline_digest or '')[:16]}"),
        ("Policy", (verdict.policy_digest or "none")[:16]),
        ("Verdict digest", verdict.digest),
    ]

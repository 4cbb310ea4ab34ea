"""The `--fineval-*` options as one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pytest_fineval.cases.splits import Split
from pytest_fineval.errors import InputError
from pytest_fineval.settings import Settings
from pytest_fineval.store.run import MANIFEST, RUNS

if TYPE_CHECKING:
    import pytest

LAST = "last"
"""What `--fineval-resume` without a folder stands for."""

GateMode = Literal["smoke", "full", "deploy", "off"]
RecordMode = Literal["none", "once", "new", "all"]


GATE_OF: dict[Split, GateMode] = {"smoke": "smoke", "heldout": "off"}
"""How a split is judged unless the command line says so; a baseline holds no held-out case."""


@dataclass(frozen=True)
class Options:
    """What the command line asks for, defaults filled in from the settings.

    Attributes:
        models: every model to ask, the gated one (`candidate`) among them.
        baseline: file to compare with; None when `--fineval-baseline none` or nothing is set.
        resume: folder of a run that was cut short, to be continued; None for a new run.
        trust_ref: git ref that policy, baseline, signers and ledger are read from.
        plan: file of the registered plan that this run is held to.
        run_folder: where this run is kept; None until one is made.
        shard: which of how many parts of the cases is asked, from 1; None for all of them.
        shard_weights: folder of the run by whose latencies the cases are dealt to shards.
        stops_early: `-x` or `--maxfail`: then calls are not started far ahead.
    """

    split: Split
    gate: GateMode
    models: tuple[str, ...]
    candidate: str
    baseline: Path | None
    trust_ref: str | None
    plan: Path | None
    live: bool
    record: RecordMode
    repeat: int
    concurrency: int
    cap_usd: float | None
    run_folder: Path | None
    resume: Path | None
    strict: bool
    show: Literal["lost", "wrong", "all"]
    stops_early: bool
    shard: tuple[int, int] | None = None
    shard_weights: Path | None = None


def read(config: pytest.Config, settings: Settings) -> Options:
    """Options of this run.

    Raises:
        InputError: no model is named, one has no settings, or the gated one is not asked.
    """
    given = config.getoption
    split = cast(Split, given("fineval_split") or "full")
    candidate, models = _models(settings, given("fineval_model"))
    trust_ref = given("fineval_trust_ref")
    # Under a trusted ref the change under test may not choose by what it is judged.
    declared = _trusted_baseline(trust_ref, settings.root) if trust_ref else None
    baseline = given("fineval_baseline") or declared or settings.baseline
    folder = given("fineval_run")
    cap = given("fineval_cap")
    cap_usd = settings.run.spend_cap_usd if cap is None else cap
    # Nothing may be spent and nothing is to be recorded: only recordings can answer.
    live = given("fineval_live") and not (cap_usd == 0 and given("fineval_record") == "none")
    shard, weights = _shard(given("fineval_shard")), given("fineval_shard_weights")
    if weights is not None and shard is None:
        raise InputError("--fineval-shard-weights deals cases to shards: add --fineval-shard I/N")
    return Options(
        split=split,
        gate=given("fineval_gate") or GATE_OF.get(split, "full"),
        models=models,
        candidate=candidate,
        baseline=None if baseline in (None, "none") else settings.root / baseline,
        trust_ref=trust_ref,
        plan=None if given("fineval_plan") is None else Path.cwd() / given("fineval_plan"),
        live=live,
        record=given("fineval_record"),
        repeat=given("fineval_repeat"),
        concurrency=given("fineval_concurrency") or settings.run.concurrency,
        cap_usd=cap_usd,
        run_folder=None if folder is None else (Path.cwd() / folder),
        resume=_resumed(settings, given("fineval_resume"), folder),
        strict=given("fineval_strict"),
        show=given("fineval_show"),
        stops_early=bool(config.getoption("maxfail", 0)),
        shard=shard,
        shard_weights=None if weights is None else Path.cwd() / weights,
    )


def _shard(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    index, _, of = given.partition("/")
    if not (index.isdecimal() and of.isdecimal() and 1 <= int(index) <= int(of)):
        raise InputError(
            f'--fineval-shard "{given}": write I/N with 1 <= I <= N, as in --fineval-shard 1/4'
        )
    return int(index), int(of)


def _trusted_baseline(ref: str, root: Path) -> str | None:
    from pytest_fineval.gate import trust  # only for who trusts a ref

    declared = trust.setting(ref, root, "baseline")
    return None if declared is None else str(declared)


def _resumed(settings: Settings, named: str | None, folder: str | None) -> Path | None:
    if named is None:
        return None
    if folder is not None:
        raise InputError("--fineval-resume goes on in the run's own folder: leave --fineval-run")
    if named != LAST:
        return Path.cwd() / named
    runs = settings.root / RUNS
    found = [path.parent for path in runs.glob(f"*/{MANIFEST}")]
    if not found:
        raise InputError("holds no run to resume", path=runs)
    return max(found)


def _models(settings: Settings, named: list[str] | None) -> tuple[str, tuple[str, ...]]:
    path = settings.root / "pyproject.toml"
    if not settings.models:
        raise InputError(
            "no model is configured: add a [tool.fineval.models.NAME] table "
            'and set candidate = "NAME" in [tool.fineval]',
            path=path,
        )
    only = next(iter(settings.models)) if len(settings.models) == 1 else None
    default = settings.candidate or only
    models = tuple(dict.fromkeys(named or ([default] if default else [])))
    if not models:
        raise InputError(
            'several models are configured and none is gated: set candidate = "NAME" in '
            "[tool.fineval] or pass --fineval-model NAME",
            path=path,
        )
    for name in models:
        settings.model(name)
    if len(models) == 1:
        return models[0], models
    if default not in models:
        raise InputError(
            f"--fineval-model was given {len(models)} times without the gated candidate "
            f'"{default}": name it too, so that there is one to judge'
        )
    return default, models

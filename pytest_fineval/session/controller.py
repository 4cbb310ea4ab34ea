"""The side of the run: the only writer of its folder, the only place that judges.

Lives in the one process of a plain run and in the controller of an xdist run. Workers never
decide anything: they send records on their test reports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pytest_fineval.cases.model import digest
from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.gate import baseline as baselines
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.policy import differences, draft
from pytest_fineval.gate.preflight import preflight
from pytest_fineval.gate.signoff import ALLOWED_SIGNERS
from pytest_fineval.gate.verdict import Verdict, judge
from pytest_fineval.session.collect import Plan
from pytest_fineval.session.options import Options
from pytest_fineval.session.pending import amendments
from pytest_fineval.settings import Settings
from pytest_fineval.store.manifest import Manifest, git_state, identity, versions
from pytest_fineval.store.record import Key, Record
from pytest_fineval.store.run import VERDICT, Amendment, RunWriter, new_run_id, write_atomically


class Controller:
    """Holds what is expected against what arrives, and turns the difference into a verdict.

    Attributes:
        manifest, baseline: set by `begin`; the baseline is None when nothing is to be judged.
        records: what arrived, by key; pending scores are amended by `finish`.
        verdict: set by `finish`.
        notices: what a person has to be told and no verdict holds, one sentence each.
    """

    def __init__(self, settings: Settings, options: Options):
        self._settings = settings
        self._options = options
        self._writer: RunWriter | None = None
        self._repeated: list[Key] = []
        self.manifest: Manifest | None = None
        self.baseline: Baseline | None = None
        self.records: dict[Key, Record] = {}
        self.verdict: Verdict | None = None
        self.notices: list[str] = []

    @property
    def folder(self) -> Path | None:
        """The run's folder, once it has begun."""
        return self._writer.folder if self._writer else None

    @property
    def total(self) -> int:
        """How many records the run has to end with."""
        return sum(1 for _ in self.manifest.expected()) if self.manifest else 0

    def begin(self, plan: Plan, asked_for: Iterable[Path]) -> None:
        """Check all that can be known before the first call, and open the run's folder.

        Args:
            plan: what collection found.
            asked_for: files and folders named on the command line (never single tests).

        Raises:
            InputError: faulty cases or settings, a baseline that may not be used, an unwritable
                folder: a usage error, before anything is paid for.
        """
        if plan.problems:
            raise InputError("\n".join(plan.problems))
        now = datetime.now(UTC)
        run_id = new_run_id(now)
        commit, dirty = git_state(self._settings.root)
        manifest = Manifest(
            run_id=run_id,
            started=now.isoformat(timespec="seconds"),
            command=tuple(sys.argv[1:]),
            versions=versions(),
            git_commit=commit,
            git_dirty=dirty,
            models={name: identity(self._settings.model(name)) for name in self._options.models},
            candidate=self._options.candidate,
            samples=self._options.repeat,
            split=self._options.split,
            gate=self._options.gate,
            baseline=self._baseline_name(),
            settings_digest=digest(self._settings.model_dump(mode="json", exclude={"root"})),
            planned=plan.planned,
            suites=plan.suites,
        )
        manifest = self._with_baseline(manifest, plan, list(asked_for), now)
        folder = self._options.run_folder or self._settings.root / ".fineval" / "runs" / run_id
        self._writer = RunWriter(folder)
        self._writer.manifest(manifest)
        self.manifest = manifest

    def receive(self, record: Record) -> None:
        """Keep one record: on disk at once, in memory for the verdict."""
        if self._writer is None:
            return
        if record.key in self.records:
            self._repeated.append(record.key)
        else:
            self.records[record.key] = record
        self._writer.append(record)

    def finish(self, stopped: str | None = None) -> Verdict:
        """Complete pending scores, close the folder and judge.

        Args:
            stopped: why the run ended before its last item, in words.

        Returns:
            The verdict, which also stands in the folder as verdict.json.
        """
        if self._writer is None or self.manifest is None:
            raise RuntimeError("finish() before begin()")
        try:
            keep = self._options.record != "none"
            for amendment in amendments(self.manifest, self.records, self._settings, keep=keep):
                self._amend(amendment)
        except MeasurementError as error:
            # The scores stay pending and the run cannot be judged; the records are kept.
            self.notices.append(str(error))
        self._writer.close()
        self.manifest = self.manifest.model_copy(
            update={
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "incomplete": stopped or self.manifest.incomplete,
            }
        )
        self._writer.manifest(self.manifest)
        self.verdict = judge(
            self.manifest,
            list(self.records.values()),
            self._repeated,
            self.baseline,
            self._options.gate,
        )
        write_atomically(self._writer.folder / VERDICT, self.verdict.to_bytes().decode())
        return self.verdict

    def baseline_answers(self) -> dict[str, list[tuple[float, str]]]:
        """Case -> (score, raw answer) of each of the baseline's samples; empty when it keeps no
        answers."""
        if self.baseline is None or self._options.baseline is None:
            return {}
        return baselines.scored_answers(self._options.baseline, self.baseline)

    def _baseline_name(self) -> str | None:
        path = self._options.baseline
        if path is None:
            return None
        root = self._settings.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def _amend(self, amendment: Amendment) -> None:
        key = Key(*amendment.amends)
        update = {"status": amendment.status, "score": amendment.score}
        self.records[key] = self.records[key].model_copy(update=update)
        if self._writer is not None:
            self._writer.append(amendment)

    def _with_baseline(
        self, manifest: Manifest, plan: Plan, asked_for: list[Path], now: datetime
    ) -> Manifest:
        path = self._options.baseline
        chosen = self._left_out_by_choice(plan)
        if self._options.gate == "off" or path is None or chosen:
            return manifest.model_copy(update={"incomplete": chosen})
        loaded = baselines.load(path)
        chosen = self._not_asked_for(loaded, plan, asked_for)
        if chosen is None:
            self.baseline = preflight(
                path, path.parent / ALLOWED_SIGNERS, manifest, mode=self._options.gate, now=now
            )
            self.notices += differences(self.baseline.policy, draft(self._settings))
        return manifest.model_copy(update={"incomplete": chosen})

    def _left_out_by_choice(self, plan: Plan) -> str | None:
        total = len(plan.planned) * len(self._options.models) * self._options.repeat
        left_out = total - plan.wanted
        if left_out <= 0:
            return None
        return f"{left_out} of {total} items were deselected on the command line"

    def _not_asked_for(self, baseline: Baseline, plan: Plan, asked_for: list[Path]) -> str | None:
        """A suite that the command line did not cover is left out by choice; one that it did
        cover and that is gone was removed, which only the baseline's check may see."""
        missing = {case.suite for case in baseline.cases.values()} - set(plan.suites)
        for suite in sorted(missing):
            file = (self._settings.root / suite.partition("::")[0]).resolve()
            if not any(file == path or path in file.parents for path in asked_for):
                return f"the run was asked for other files than {suite.partition('::')[0]}"
        return None

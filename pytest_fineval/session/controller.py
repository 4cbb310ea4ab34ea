"""The side of the run: the only writer of its folder, the only place that judges.

Lives in the one process of a plain run and in the controller of an xdist run. Workers never
decide anything: they send records on their test reports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from pytest_fineval.cases.model import digest
from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.gate import baseline as baselines
from pytest_fineval.gate import plan as plans
from pytest_fineval.gate import ratchet, trust
from pytest_fineval.gate.again import waived
from pytest_fineval.gate.baseline import Baseline
from pytest_fineval.gate.pairing import Recorded
from pytest_fineval.gate.policy import differences, draft
from pytest_fineval.gate.preflight import preflight
from pytest_fineval.gate.verdict import Verdict, judge
from pytest_fineval.session.collect import Plan
from pytest_fineval.session.further import Again, second_look
from pytest_fineval.session.options import Options
from pytest_fineval.session.pending import amendments
from pytest_fineval.settings import Settings
from pytest_fineval.store.manifest import Manifest, git_state, identity, versions
from pytest_fineval.store.record import Key, Record
from pytest_fineval.store.run import (
    RUNS,
    VERDICT,
    Amendment,
    Run,
    RunWriter,
    new_run_id,
    read,
    write_atomically,
)
from pytest_fineval.tracks.manifest import read_entry


def _same_run(earlier: Run, now: Manifest) -> None:
    """A run is resumed with what it was begun with: else its records would not be of one run."""
    was = earlier.manifest
    names = (
        *("planned", "suites", "models", "candidate", "samples", "split", "shard", "git_commit"),
    )
    changed = [name for name in names if getattr(was, name) != getattr(now, name)]
    if changed:
        raise InputError(
            "cannot be resumed: since it began there is a change in "
            f"{', '.join(WORDS.get(name, name) for name in changed)}; start a new run",
            path=earlier.folder,
        )
    if earlier.repeated:
        raise InputError(f"holds {earlier.repeated[0]} twice; start a new run", path=earlier.folder)


def _measured(record: Record) -> bool:
    """What has to be asked again was either not asked or not recorded by its test."""
    return record.status not in ("not_run", "unchecked")


WORDS = {
    "planned": "the cases",
    "samples": "--fineval-repeat",
    "shard": "--fineval-shard",
    "git_commit": "the git commit",
}


class Controller:
    """Holds what is expected against what arrives, and turns the difference into a verdict.

    Attributes:
        manifest, baseline: set by `begin`; the baseline is None when nothing is to be judged.
        kept: what a run that is resumed had measured; it arrives again, and is not asked again.
        records: what arrived, by key; pending scores are amended by `finish`.
        verdict: set by `finish`.
        notices: what a person has to be told and no verdict holds, one sentence each.
    """

    def __init__(self, settings: Settings, options: Options):
        self._settings = settings
        self._options = options
        self._writer: RunWriter | None = None
        self._repeated: list[Key] = []
        self._trusted: str | None = None
        self._recorded: Recorded = {}
        self._before: dict[str, list[tuple[float, str]]] = {}
        self.kept: dict[Key, Record] = {}
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
        return self.manifest.size if self.manifest else 0

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
        self.notices += plan.notices
        root = self._settings.root
        if self._options.trust_ref is not None:
            self._trusted = trust.commit_of(self._options.trust_ref, root)
        now = datetime.now(UTC)
        earlier = None if self._options.resume is None else read(self._options.resume)
        run_id = new_run_id(now) if earlier is None else earlier.manifest.run_id
        commit, dirty = git_state(self._settings.root)
        manifest = Manifest(
            run_id=run_id,
            started=earlier.manifest.started if earlier else now.isoformat(timespec="seconds"),
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
            trusted=self._trusted,
            plan=self._registered(),
            openings=plan.openings,
            settings_digest=digest(self._settings.model_dump(mode="json", exclude={"root"})),
            planned=plan.planned,
            suites=plan.suites,
            sources=_sources(root, plan),
            shard=plan.shard,
        )
        manifest = self._with_baseline(manifest, plan, list(asked_for), now)
        if earlier is not None:
            _same_run(earlier, manifest)
            self.kept = {record.key: record for record in earlier.records if _measured(record)}
            self._writer = RunWriter.resume(earlier.folder, self.kept.values())
        else:
            folder = self._options.run_folder or self._settings.root / RUNS / run_id
            self._writer = RunWriter(folder)
        self._writer.manifest(manifest)
        self.manifest = manifest

    def receive(self, record: Record) -> None:
        """Keep one record: on disk at once, in memory for the verdict."""
        if self._writer is None:
            return
        if record.key in self.records:
            self._repeated.append(record.key)
            self._writer.append(record)  # whoever reads the folder has to see it twice as well
        elif record.key in self.kept:
            self.records[record.key] = record
        else:
            self._keep(self._writer, record)

    def _keep(self, writer: RunWriter, record: Record) -> None:
        try:
            writer.append(record)
        except OSError as error:
            # What is not on disk does not count: it will be missed, and no verdict stands on it.
            self._told(f"{record.key} could not be written and is lost ({error.strerror})")
        else:
            self.records[record.key] = record

    def _told(self, notice: str) -> None:
        if notice not in self.notices:
            self.notices.append(notice)

    def finish(self, stopped: str | None, again: Again) -> Verdict:
        """Complete pending scores, judge, look again where a deploy asks for it, and close.

        Args:
            stopped: why the run ended before its last item, in words.
            again: asks cases again, for the second look.

        Returns:
            The verdict, which also stands in the folder as verdict.json.
        """
        if self._writer is None or self.manifest is None:
            raise RuntimeError("finish() before begin()")
        self._complete_pending()
        self.manifest = self.manifest.model_copy(
            update={"incomplete": stopped or self.manifest.incomplete}
        )
        verdict = self._judge(self.manifest)
        if verdict.second_look_due and self._look_again(self.manifest, verdict, again):
            self._complete_pending()
            verdict = self._judge(self.manifest)
        self.verdict = verdict
        self.notices += ratchet.slack(verdict)
        self.notices += ratchet.worn(self._settings.root / ".fineval" / "runs", verdict)
        self.notices += self._compared(self.manifest)
        self._writer.close()
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        self.manifest = self.manifest.model_copy(update={"finished": finished})
        self._writer.manifest(self.manifest)
        write_atomically(self._writer.folder / VERDICT, self.verdict.to_bytes().decode())
        self.verdict = self._lifted(Run(self._writer.folder, self.manifest, ()), verdict)
        return self.verdict

    def _lifted(self, run: Run, verdict: Verdict) -> Verdict:
        """As reported: a signed waiver of exactly these bytes lets it pass."""
        try:
            waiver = waived(run, verdict, root=self._settings.root, baseline=self._options.baseline)
        except InputError as error:
            self._told(f"the waiver of this verdict does not hold: {error}")
            return verdict
        return verdict if waiver is None else waiver.applied(verdict)

    def _judge(self, manifest: Manifest) -> Verdict:
        records = list(self.records.values())
        return judge(
            manifest,
            records,
            self._repeated,
            self.baseline,
            self._options.gate,
            recorded=self._recorded,
        )

    def _compared(self, manifest: Manifest) -> list[str]:
        """A run of several models says how each stands to the gated one."""
        if len(manifest.models) == 1 or self._writer is None:
            return []
        from pytest_fineval.gate.compare import compare, contestants
        from pytest_fineval.report.comparison import brief

        records = tuple(self.records[key] for key in sorted(self.records))
        run = Run(self._writer.folder, manifest, records, tuple(self._repeated))
        try:
            models = contestants([run])
            gated = next(one for one in models if one.label == manifest.candidate)
            found = compare(gated, [one for one in models if one is not gated])
        except InputError as error:
            return [f"the models of this run are not compared: {error}"]
        return [*brief(found), f"the whole comparison: fineval compare {self._writer.folder}"]

    def _look_again(self, manifest: Manifest, verdict: Verdict, again: Again) -> bool:
        """Ask all cases of the inconclusive checks again; False when that is not possible."""
        found, why_not = second_look(
            manifest,
            self.records.values(),
            frozenset(verdict.second_look_due),
            self._settings,
            again,
        )
        for record in found:
            self.receive(record)
        if why_not is not None:
            self.notices.append(why_not)
        return bool(found)

    def _complete_pending(self) -> None:
        """Scores that waited for the encoder."""
        if self.manifest is None:
            return
        try:
            keep = self._options.record != "none"
            for amendment in amendments(self.manifest, self.records, self._settings, keep=keep):
                self._amend(amendment)
        except MeasurementError as error:
            # The scores stay pending and the run cannot be judged; the records are kept.
            self.notices.append(str(error))

    def baseline_answers(self) -> dict[str, list[tuple[float, str]]]:
        """Case -> (score, raw answer) of each of the baseline's samples; empty when it keeps no
        answers."""
        return self._before

    def _registered(self) -> JsonValue:
        """The plan that this run is held to, with a word when it may have been written after."""
        path, root = self._options.plan, self._settings.root
        if path is None:
            return None
        plan = plans.read(path)
        try:
            committed = trust.blob(trust.commit_of("HEAD", root), path, root)
        except InputError:
            committed = None
        if committed is None or committed != path.read_bytes():
            self._told(f"the plan {path.name} is not committed: nothing shows that it came first")
        return plans.as_json(plan)

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
        case_files = [Path(name) for names in plan.suites.values() for name in names]
        with trust.rules(path, case_files, self._settings.root, self._options.trust_ref) as rules:
            loaded = baselines.load(rules.baseline)
            chosen = self._not_asked_for(loaded, plan, asked_for)
            if chosen is None:
                self.baseline = preflight(rules, manifest, mode=self._options.gate, now=now)
                self._before = baselines.scored_answers(rules.baseline, self.baseline)
                self._recorded = rules.recorded
                self.notices += differences(self.baseline.policy, draft(self._settings))
        return manifest.model_copy(update={"incomplete": chosen})

    def _left_out_by_choice(self, plan: Plan) -> str | None:
        dealt = len(plan.planned if plan.shard is None else plan.shard.cases)
        total = dealt * len(self._options.models) * self._options.repeat
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


def _sources(root: Path, plan: Plan) -> dict[str, dict[str, JsonValue]]:
    """What imported case files were made from; a file changed since its import raises."""
    entries = {
        name: read_entry(root / name)
        for name in sorted({name for names in plan.suites.values() for name in names})
    }
    return {name: dict(entry) for name, entry in entries.items() if entry is not None}

"""Scores that wait for the encoder: computed once, after the last item, on the controller."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_fineval.cases import files
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Settings
from pytest_fineval.store.manifest import Manifest
from pytest_fineval.store.record import Key, Record, status_of, stored
from pytest_fineval.store.run import Amendment


def amendments(
    manifest: Manifest, records: Mapping[Key, Record], settings: Settings, *, keep: bool
) -> list[Amendment]:
    """The final score of every record whose score is pending, in the order of their keys.

    Args:
        keep: write embeddings that had to be computed to the project's cache, beside its
            recordings: a later run of the same answers then needs no encoder.

    Raises:
        MeasurementError: a text has no cached embedding and no encoder is installed.
    """
    pending = [records[key] for key in sorted(records) if records[key].status == "pending"]
    if not pending:
        return []
    # Imported here: without a summary in the run nothing of the encoder's side is loaded.
    from pytest_fineval.scoring.encoders import Embeddings
    from pytest_fineval.scoring.finish import finish

    wanted = {record.case.id for record in pending}
    cases = {
        located.id: located.case
        for names in manifest.suites.values()
        for name in names
        for located in files.read(settings.root / name, settings.categories)
        if located.id in wanted
    }
    embeddings = Embeddings(settings)
    waiting = [
        (Score(**record.score.model_dump()), cases[record.case.id], record.answer.text)
        for record in pending
        if record.score is not None and record.answer is not None
    ]
    scores = finish(waiting, embeddings)
    if keep:
        embeddings.save()
    found = []
    for record, finished in zip(pending, scores, strict=True):
        score = stored(finished)
        status = status_of(score, record.case.pass_mark)
        found.append(Amendment(amends=record.key, status=status, score=score))
    return found

"""Signed waivers: bound to one verdict's bytes, for the deploy gate, for a while."""

from datetime import UTC, date, datetime, timedelta

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.gate import signoff, waiver
from pytest_fineval.gate.trust import Rules
from pytest_fineval.gate.verdict import Verdict, judge
from tests.unit.gate_world import NEW, allow, baseline, make_key, ones, run

ONE = ("extraction",)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
UNTIL = date(2026, 3, 31)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder, name) for name in ("ann", "eve")}


@pytest.fixture
def path(tmp_path, keys):
    """Where the baseline lies; Ann may sign."""
    allow(tmp_path, keys["ann"], "ann@bank.example")
    return tmp_path / "main.json"


def judged(wrong, mode="deploy", **fields) -> Verdict:
    before = baseline(run(ones(40, ONE), fields=fields), categories=ONE)
    now = run(ones(40, ONE, wrong=wrong), model=NEW, run_id="now", fields=fields)
    return judge(now.manifest, now.records, (), before, mode)


def waive(verdict, path, key, **options):
    values = {"reason": "read by hand", "until": UNTIL, "created_by": "bob", "now": NOW, **options}
    return waiver.waive(verdict.to_bytes(), baseline=path, key=key, **values)


def honoured(verdict, path, now=NOW):
    return waiver.honoured(verdict, path, Rules.beside(path), now=now)


@pytest.mark.parametrize("wrong", [3, 12])
def test_a_waived_verdict_says_what_it_said_and_stops_nothing(path, keys, wrong):
    verdict = judged(wrong)
    assert verdict.exit_code == 1
    assert honoured(verdict, path) is None
    waive(verdict, path, keys["ann"])
    found = honoured(verdict, path)
    applied = found.applied(verdict)
    assert applied.exit_code == 0
    assert applied.outcome == verdict.outcome
    assert applied.cause.startswith(verdict.cause)
    assert "waived by ann@bank.example until 2026-03-31: read by hand" in applied.cause


def test_another_verdict_is_not_waived(path, keys):
    waive(judged(3), path, keys["ann"])
    assert honoured(judged(4), path) is None


def test_a_waiver_renamed_to_another_verdict_does_not_hold(path, keys):
    made = waive(judged(3), path, keys["ann"])
    other = waiver.path_for(judged(4).digest, path)
    for source in (made, signoff.signature_path(made)):
        source.rename(other.with_name(source.name.replace(made.stem, other.stem)))
    with pytest.raises(InputError, match="waives another verdict"):
        honoured(judged(4), path)


def test_an_edited_waiver_does_not_hold(path, keys):
    made = waive(judged(3), path, keys["ann"])
    made.write_text(made.read_text().replace("2026-03-31", "2036-03-31"))
    with pytest.raises(InputError, match="bytes were altered") as caught:
        honoured(judged(3), path)
    assert "fineval waive" in str(caught.value)


def test_a_stranger_cannot_waive(path, keys):
    waive(judged(3), path, keys["eve"])
    with pytest.raises(InputError, match="its signer is not in"):
        honoured(judged(3), path)


def test_a_key_may_be_kept_from_waiving(path, keys):
    allow(path.parent, keys["ann"], "ann", f'namespaces="{signoff.NAMESPACE}"')
    waive(judged(3), path, keys["ann"])
    with pytest.raises(InputError, match=r'namespaces= there has to name "pytest-fineval-waiver"'):
        honoured(judged(3), path)


def test_a_baselines_signature_is_no_waiver(path, keys):
    made = waive(judged(3), path, keys["ann"])
    signoff.sign(made, keys["ann"], check=waiver.load)
    with pytest.raises(InputError, match="another purpose"):
        honoured(judged(3), path)


def test_a_waiver_ends(path, keys):
    waive(judged(3), path, keys["ann"])
    assert honoured(judged(3), path, datetime(2026, 3, 31, 23, 0, tzinfo=UTC))
    with pytest.raises(InputError, match="valid until 2026-03-31; fineval waive"):
        honoured(judged(3), path, datetime(2026, 4, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("verdict", "options", "message"),
    [
        (judged(3, "full"), {}, "only the deploy gate honours waivers"),
        (judged(0), {}, "the verdict is pass"),
        (judged(3), {"reason": " "}, "needs a reason"),
        (judged(3), {"until": NOW.date() - timedelta(days=1)}, "between today and 90 days"),
        (judged(3), {"until": NOW.date() + timedelta(days=91)}, "between today and 90 days"),
    ],
)
def test_what_cannot_be_waived_is_refused(path, keys, verdict, options, message):
    with pytest.raises(InputError, match=message):
        waive(verdict, path, keys["ann"], **options)
    assert not (path.parent / waiver.FOLDER).exists()


def test_what_was_not_measured_cannot_be_waived(path, keys):
    before = baseline(run(ones(40, ONE)), categories=ONE)
    now = run(ones(40, ONE), model=NEW, run_id="now")
    lost = judge(now.manifest, now.records[1:], (), before, "deploy")
    with pytest.raises(InputError, match="the verdict is invalid"):
        waive(lost, path, keys["ann"])


def test_a_failed_must_pass_case_cannot_be_waived(path, keys):
    verdict = judged(3, **{"extraction-00": {"must_pass": True}})
    assert verdict.must_pass_failed == ("extraction-00",)
    with pytest.raises(InputError, match="no waiver lifts that"):
        waive(verdict, path, keys["ann"])


def test_a_key_that_cannot_sign_leaves_no_waiver(path, keys):
    with pytest.raises(InputError, match="did not sign it"):
        waive(judged(3), path, keys["ann"].with_name("none"))
    assert not list((path.parent / waiver.FOLDER).iterdir())


def test_only_a_verdicts_own_bytes_are_waived(path, keys):
    data = judged(3).to_bytes()
    with pytest.raises(InputError, match="not the bytes of a verdict"):
        waiver.waive(
            data + b"\n",
            baseline=path,
            reason="r",
            until=UNTIL,
            key=keys["ann"],
            created_by="bob",
            now=NOW,
        )

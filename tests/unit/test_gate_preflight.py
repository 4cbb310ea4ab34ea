"""What a baseline is refused for before the first call is paid for."""

import json
from datetime import timedelta

import pytest

from pytest_fineval.cases.lock import Entry, Ledger
from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import companion_path, write
from pytest_fineval.gate.preflight import preflight
from pytest_fineval.gate.signoff import sign
from pytest_fineval.gate.trust import Rules
from tests.unit.gate_world import NEW, NOW, allow, make_key, ones, proposal, run


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("keys"), "ann")


@pytest.fixture
def path(tmp_path):
    made = proposal(run(ones(4)))
    write(made.baseline, made.companion, tmp_path / "main.json")
    return tmp_path / "main.json"


@pytest.fixture
def signers(path, key):
    sign(path, key)
    return allow(path.parent, key, "ann")


def manifest(scores=None, **options):
    return run(scores or ones(4), model=NEW, run_id="candidate", **options).manifest


def test_a_signed_baseline_of_the_same_cases_is_loaded(path, signers):
    loaded = preflight(Rules.beside(path), manifest(), now=NOW)
    assert loaded == proposal(run(ones(4))).baseline


def test_an_unsigned_baseline_is_refused(path, signers):
    path.with_name("main.json.sig").unlink()
    with pytest.raises(InputError, match="is not signed"):
        preflight(Rules.beside(path), manifest(), now=NOW)


def test_an_expired_baseline_is_refused(path, signers):
    with pytest.raises(InputError, match="expired"):
        preflight(Rules.beside(path), manifest(), now=NOW + timedelta(days=181))


def test_altered_raw_answers_are_refused(path, signers):
    companion_path(path).write_bytes(b"")
    with pytest.raises(InputError, match="raw answers were altered"):
        preflight(Rules.beside(path), manifest(), now=NOW)


def test_a_loosened_policy_is_refused(path, signers):
    data = json.loads(path.read_bytes())
    data["policy"]["max_drop"]["reasoning"] = 0.9
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="bytes were altered"):
        preflight(Rules.beside(path), manifest(), now=NOW)


def test_every_fault_of_the_plan_is_named_at_once(path, signers):
    scores = ones(4)
    scores["ranking"] = scores["ranking"][:3]
    fields = {
        "reasoning-00": {"digest": "f" * 64},
        "extraction-02": {"scorer": "numeric@9"},
    }
    with pytest.raises(InputError) as caught:
        preflight(Rules.beside(path), manifest(scores, fields=fields), now=NOW)
    message = str(caught.value)
    assert "ranking-03" in message
    assert "reasoning-00" in message
    assert "numeric@9" in message


def test_what_the_ledger_records_is_no_fault(path, signers):
    scores = ones(4)
    scores["ranking"] = scores["ranking"][:3]
    gone = Entry(
        id="ranking-03", version=1, sha256="0" * 64, asks="0" * 16, file="a.jsonl", state="retired"
    )
    ledger = Ledger(path.with_name("cases.lock"), (gone,))
    assert preflight(Rules.beside(path, ledger, ledger), manifest(scores), now=NOW)
    with pytest.raises(InputError, match="the case ledger is gone"):
        preflight(Rules.beside(path, ledger, None), manifest(scores), now=NOW)
    shorter = Ledger(ledger.path)
    with pytest.raises(InputError, match="the ledger only grows"):
        preflight(Rules.beside(path, ledger, shorter), manifest(scores), now=NOW)


def test_with_the_gate_off_the_plan_may_differ_but_the_signature_has_to_hold(path, signers):
    plan = manifest(ones(2))
    assert preflight(Rules.beside(path), plan, mode="off", now=NOW)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(InputError, match="altered"):
        preflight(Rules.beside(path), plan, mode="off", now=NOW)


def test_a_list_of_revoked_keys_beside_the_baseline_counts(path, signers, key):
    path.with_name("revoked_keys").write_text(key.with_name("ann.pub").read_text())
    with pytest.raises(InputError, match="the key of ann that signed it is revoked"):
        preflight(Rules.beside(path), manifest(), now=NOW)

"""Signatures: made and checked with the real ssh-keygen."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import sha256, write
from pytest_fineval.gate.signoff import SignoffError, sign, signature_path, verify
from tests.unit.gate_world import NOW, allow, make_key, ones, proposal, run


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder, name) for name in ("ann", "eve")}


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "with space's"
    folder.mkdir()
    made = proposal(run(ones(2)))
    write(made.baseline, made.companion, folder / "main.json")
    return folder / "main.json"


@pytest.fixture
def signers(path, keys):
    return allow(path.parent, keys["ann"], "ann@bank.example")


def refused(path, signers, **options):
    with pytest.raises(SignoffError) as caught:
        verify(path, signers, **{"now": NOW, **options})
    message = str(caught.value)
    assert str(path) in message
    return caught.value.cause, message


def test_a_signed_baseline_verifies_and_names_its_signer(path, signers, keys):
    sign(path, keys["ann"])
    signer = verify(path, signers, now=NOW)
    assert signer.principal == "ann@bank.example"
    assert signer.sha256 == sha256(path.read_bytes())


def test_signing_again_replaces_the_signature(path, signers, keys):
    sign(path, keys["eve"])
    sign(path, keys["ann"])
    assert verify(path, signers, now=NOW).principal == "ann@bank.example"


def test_an_unsigned_baseline_names_the_command_that_signs_it(path, signers):
    cause, message = refused(path, signers)
    assert cause == "no_signature"
    assert f"fineval baseline sign '{str(path)[: -len('s/main.json')]}" in message.replace(
        "'\"'\"'", "'"
    )


@pytest.mark.parametrize("place", [0, 100, -2])
def test_one_altered_byte_is_refused(path, signers, keys, place):
    sign(path, keys["ann"])
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    cause, message = refused(path, signers)
    assert cause == "altered"
    assert "bytes were altered" in message
    assert "fineval baseline sign" in message


def test_an_appended_newline_is_an_alteration(path, signers, keys):
    sign(path, keys["ann"])
    path.write_bytes(path.read_bytes() + b"\n")
    assert refused(path, signers)[0] == "altered"


def test_a_signer_who_is_not_allowed_is_refused(path, signers, keys):
    sign(path, keys["eve"])
    cause, message = refused(path, signers)
    assert cause == "unknown_signer"
    assert str(signers) in message


def test_a_signature_for_another_purpose_is_refused(path, signers, keys):
    sign(path, keys["ann"], namespace="git")
    cause, message = refused(path, signers)
    assert cause == "bad_signature"
    assert "another purpose" in message


@pytest.mark.parametrize(
    "text", ["", "junk", "-----BEGIN SSH SIGNATURE-----\nAA@@\n-----END SSH SIGNATURE-----\n"]
)
def test_a_signature_file_without_a_signature_is_refused(path, signers, text):
    signature_path(path).write_text(text)
    assert refused(path, signers)[0] == "bad_signature"


def test_without_allowed_signers_nothing_verifies(path, signers, keys):
    sign(path, keys["ann"])
    cause, message = refused(path, signers.with_name("gone"))
    assert cause == "no_allowed_signers"
    assert "NAME KEYTYPE KEY" in message


def test_an_empty_list_of_signers_allows_nobody(path, signers, keys):
    sign(path, keys["ann"])
    signers.write_text("")
    assert refused(path, signers)[0] == "unknown_signer"


def test_a_signer_whose_time_is_over_is_refused(path, keys):
    sign(path, keys["ann"])
    signers = allow(path.parent, keys["ann"], "ann", 'valid-before="20260201"')
    assert refused(path, signers)[0] == "expired"
    assert verify(path, signers, now=datetime(2026, 1, 1, tzinfo=UTC)).principal == "ann"


def test_a_signer_limited_to_another_namespace_is_refused(path, keys):
    sign(path, keys["ann"])
    signers = allow(path.parent, keys["ann"], "ann", 'namespaces="git"')
    cause, message = refused(path, signers)
    assert cause == "not_permitted"
    assert 'namespaces= there has to name "pytest-fineval-baseline"' in message


def test_one_key_with_several_names_verifies_under_the_first(path, keys):
    sign(path, keys["ann"])
    assert verify(path, allow(path.parent, keys["ann"], "ann,a.b"), now=NOW).principal == "ann"


def test_a_revoked_key_is_refused(path, signers, keys):
    sign(path, keys["ann"])
    revoked = keys["ann"].with_name("ann.pub")
    cause, message = refused(path, signers, revoked=revoked)
    assert (cause, "is revoked" in message) == ("revoked", True)
    other = keys["eve"].with_name("eve.pub")
    assert verify(path, signers, now=NOW, revoked=other).principal == "ann@bank.example"
    assert refused(path, signers, revoked=path.with_name("none"))[0] == "revoked"


def test_a_baseline_is_valid_to_the_end_of_its_last_day(path, signers, keys):
    sign(path, keys["ann"])
    last = datetime(2026, 8, 28, 23, 59, tzinfo=UTC)
    assert verify(path, signers, now=last)
    cause, message = refused(path, signers, now=last + timedelta(minutes=1))
    assert cause == "expired"
    assert "valid until 2026-08-28" in message
    assert "fineval baseline propose" in message


def test_signed_bytes_without_a_date_are_refused(tmp_path, signers, keys):
    path = tmp_path / "note.json"
    path.write_text(json.dumps({"hello": 1}))
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(keys["ann"])]
    subprocess.run([*command, "-n", "pytest-fineval-baseline", str(path)], check=True)
    assert "no valid_until" in refused(path, signers)[1]


def test_a_missing_ssh_keygen_is_an_error_and_not_a_pass(path, signers, keys, monkeypatch):
    sign(path, keys["ann"])
    monkeypatch.setenv("PATH", str(path.parent))
    cause, message = refused(path, signers)
    assert cause == "no_ssh_keygen"
    assert "install OpenSSH" in message


def test_a_file_that_does_not_exist_is_refused(path, signers):
    assert refused(path.with_name("none.json"), signers)[0] == "no_file"


def test_only_a_baseline_that_can_be_loaded_is_signed(path, keys):
    path.write_text("{}")
    with pytest.raises(InputError, match="missing key"):
        sign(path, keys["ann"])
    assert not signature_path(path).exists()


def test_a_key_that_cannot_sign_leaves_no_signature(path, keys):
    with pytest.raises(SignoffError, match="did not sign it") as caught:
        sign(path, keys["ann"].with_name("none"))
    assert caught.value.cause == "key_refused"
    assert not signature_path(path).exists()


def test_a_key_with_a_passphrase_does_not_hang_where_nobody_can_type(path, tmp_path):
    key = tmp_path / "locked"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret words", "-f", str(key)], check=True
    )
    program = (
        "import sys; from pathlib import Path; from pytest_fineval.gate.signoff import sign\n"
        "sign(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(key)],
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode != 0
    assert "did not sign it" in done.stderr


# Who may sign, and how many have to.


def with_policy(path, created_by="ann", **gate):
    made = proposal(run(ones(2)), gate=gate, created_by=created_by)
    write(made.baseline, made.companion, path)


@pytest.fixture
def both(path, keys):
    """Ann and Eve may both sign."""
    signers = allow(path.parent, keys["ann"], "ann@bank.example")
    first = signers.read_text()
    signers.write_text(
        first + allow(path.parent, keys["eve"], "eve@bank.example").read_text(), encoding="utf-8"
    )
    return signers


def test_two_signatures_are_two_people(path, both, keys):
    with_policy(path, signatures=2)
    sign(path, keys["ann"])
    cause, message = refused(path, both)
    assert cause == "too_few"
    assert "wants 2 signers, it has 1 (ann@bank.example)" in message
    sign(path, keys["ann"])
    assert refused(path, both)[0] == "too_few"
    sign(path, keys["eve"])
    assert verify(path, both, now=NOW).principals == ("ann@bank.example", "eve@bank.example")


def test_one_person_with_two_keys_is_one_signer(path, keys):
    with_policy(path, signatures=2)
    signers = allow(path.parent, keys["ann"], "ann@bank.example")
    first = signers.read_text()
    signers.write_text(first + allow(path.parent, keys["eve"], "ann@bank.example").read_text())
    sign(path, keys["ann"])
    sign(path, keys["eve"])
    assert refused(path, signers)[0] == "too_few"


def test_an_old_second_signature_does_not_count_for_new_bytes(path, both, keys):
    with_policy(path, signatures=2)
    sign(path, keys["ann"])
    sign(path, keys["eve"])
    old = signature_path(path, 1).read_bytes()
    with_policy(path, signatures=2, alpha=0.04)
    assert not signature_path(path, 1).exists()
    sign(path, keys["ann"])
    signature_path(path, 1).write_bytes(old)
    assert refused(path, both)[0] == "altered"


def test_every_signature_that_lies_there_has_to_hold(path, both, keys):
    with_policy(path, signatures=1)
    sign(path, keys["ann"])
    signature_path(path, 1).write_text("junk")
    assert refused(path, both)[0] == "bad_signature"


@pytest.mark.parametrize(
    "proposer", ["ann@bank.example", "Ann <ann@bank.example>", "ANN@bank.example"]
)
def test_the_proposer_may_be_kept_from_signing(path, both, keys, proposer):
    with_policy(path, proposer, proposer_may_sign=False)
    sign(path, keys["ann"])
    cause, message = refused(path, both)
    assert cause == "same_person"
    assert "who proposed it" in message
    sign(path, keys["eve"])
    assert verify(path, both, now=NOW).principal == "eve@bank.example"


def test_the_proposer_is_not_counted_among_two(path, both, keys):
    with_policy(path, "ann@bank.example", proposer_may_sign=False, signatures=2)
    sign(path, keys["ann"])
    sign(path, keys["eve"])
    cause, message = refused(path, both)
    assert cause == "too_few"
    assert "besides the proposer" in message


def test_keys_are_rotated_by_overlapping_dates(path, keys):
    sign(path, keys["ann"])
    signers = allow(path.parent, keys["ann"], "ann", 'valid-before="20260401"')
    old = signers.read_text()
    new = allow(path.parent, keys["eve"], "ann", 'valid-after="20260215"').read_text()
    signers.write_text(old + new)
    april = datetime(2026, 4, 2, tzinfo=UTC)
    assert verify(path, signers, now=NOW)
    assert refused(path, signers, now=april)[0] == "expired"
    sign(path, keys["eve"])
    assert verify(path, signers, now=NOW).principal == "ann"
    assert verify(path, signers, now=april).principal == "ann"

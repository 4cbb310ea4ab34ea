"""Sign-off: a detached SSH signature over a file's bytes, checked against allowed signers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import load, sha256

NAMESPACE = "pytest-fineval-baseline"
"""A signature made for anything else (a git commit) is no sign-off of a baseline."""

ALLOWED_SIGNERS = "allowed_signers"
"""Name of the file beside a baseline that says who may sign it."""

MOST_SIGNATURES = 5
"""As many as a policy may ask for."""

SIGN_TIMEOUT_S = 120.0
"""A person may have to type a passphrase or touch a hardware key."""

VERIFY_TIMEOUT_S = 20.0

Cause = Literal[
    "no_signature",
    "altered",
    "bad_signature",
    "not_permitted",
    "unknown_signer",
    "revoked",
    "expired",
    "no_allowed_signers",
    "no_ssh_keygen",
    "no_file",
    "key_refused",
    "timeout",
    "same_person",
    "too_few",
]


class SignoffError(InputError):
    """A file is not signed off; the message names it, the cause and the remedy."""

    def __init__(self, cause: Cause, fault: str, *, path: Path):
        super().__init__(fault, path=path)
        self.cause: Cause = cause


@dataclass(frozen=True)
class Signer:
    """Who signed a file.

    Attributes:
        principal: the name that allowed_signers gives the key; the first of several signers.
        sha256: digest of the bytes that were verified.
        principals: all whose signatures count.
    """

    principal: str
    sha256: str
    principals: tuple[str, ...] = ()


def signature_path(path: Path, number: int = 0) -> Path:
    """Where a file's signatures lie: `NAME.json.sig`, then `NAME.json.sig2` and so on."""
    return path.with_name(path.name + (f".sig{number + 1}" if number else ".sig"))


def sign(
    path: Path,
    key: Path,
    *,
    namespace: str = NAMESPACE,
    check: Callable[[Path], object] = load,
) -> Path:
    """Sign a file with a person's SSH key; only one that can be loaded is signed.

    Where the policy asks for several signatures, those of other keys on the same bytes stay.

    Args:
        path: the baseline; the signature is written beside it.
        key: private key, or public key of one that the ssh agent holds.
        namespace: what the signature is good for.
        check: loads the file, and raises when it is at fault.

    Returns:
        The signature's path.

    Raises:
        InputError: the file is at fault, or (SignoffError) the key cannot sign.
    """
    check(path)
    data = path.read_bytes()
    done = _ssh_keygen(
        path, ["-Y", "sign", "-f", str(key.absolute()), "-n", namespace], data, SIGN_TIMEOUT_S
    )
    if done.returncode != 0 or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise SignoffError(
            "key_refused",
            f"the key {key} did not sign it ({_last_line(done)}); name your private SSH key: "
            + _sign_command(path, namespace),
            path=path,
        )
    return _keep(path, done.stdout, data, namespace)


def _keep(path: Path, signature: bytes, data: bytes, namespace: str) -> Path:
    """Write a signature behind those that other keys made of the same bytes, as many as count."""
    wanted = _asked(data).signatures
    places = [signature_path(path, number) for number in range(MOST_SIGNATURES)]
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh.sig"
        fresh.write_bytes(signature)
        made_by = {_key_of(path, fresh, data, namespace)}
    kept = []
    for place in places if wanted > 1 else []:
        key = _key_of(path, place, data, namespace) if place.is_file() else None
        if key is not None and key not in made_by:
            made_by.add(key)
            kept.append(place.read_bytes())
    texts = [*kept[: wanted - 1], signature]
    for place in places[len(texts) :]:
        place.unlink(missing_ok=True)
    for place, text in zip(places, texts, strict=False):
        place.write_bytes(text)
    return places[len(texts) - 1]


def _key_of(path: Path, signature: Path, data: bytes, namespace: str) -> str | None:
    """Fingerprint of the key that signed exactly these bytes; None when the signature is not."""
    arguments = ["-Y", "check-novalidate", "-n", namespace, "-s", str(signature.absolute())]
    done = _ssh_keygen(path, arguments, data, VERIFY_TIMEOUT_S)
    found = re.search(rb"SHA256:\S+", done.stdout + done.stderr)
    return found[0].decode() if done.returncode == 0 and found else None


class _Asked(NamedTuple):
    """What the signed bytes themselves demand of their signatures."""

    signatures: int = 1
    proposer_may_sign: bool = True
    created_by: str = ""


def _asked(data: bytes) -> _Asked:
    try:
        document = json.loads(data)
        policy = document.get("policy", {})
        return _Asked(
            min(MOST_SIGNATURES, max(1, int(policy.get("signatures", 1)))),
            bool(policy.get("proposer_may_sign", True)),
            str(document.get("created_by", "")),
        )
    except (ValueError, AttributeError, TypeError):
        return _Asked()


def verify(
    path: Path,
    allowed_signers: Path,
    *,
    now: datetime | None = None,
    revoked: Path | None = None,
    namespace: str = NAMESPACE,
) -> Signer:
    """Check that an allowed signer signed exactly these bytes, and that they are still valid.

    Args:
        path: the signed file; its signature lies beside it.
        allowed_signers: who may sign, in ssh-keygen's format.
        now: the moment at which signer and `valid_until` have to be valid; the current by default.
        revoked: revoked keys, in ssh-keygen's format.
        namespace: what the signature has to be good for.

    Raises:
        SignoffError: anything else than a valid signature; never a silent pass.
    """
    now = now or datetime.now(UTC)
    data = _read_all(path, allowed_signers, revoked, namespace)
    asked = _asked(data)
    by_key: dict[str | None, str] = {}
    for number in range(MOST_SIGNATURES):
        signature = signature_path(path, number)
        if signature.is_file():
            one = _Signed(path, signature, data, namespace)
            principal = one.verified(allowed_signers, now, revoked)
            by_key.setdefault(_key_of(path, signature, data, namespace), principal)
    principals = tuple(dict.fromkeys(by_key.values()))
    _check_who(path, principals, asked)
    _check_validity(path, data, now, namespace)
    return Signer(principals[0], sha256(data), principals)


@dataclass(frozen=True)
class _Signed:
    """One signature of a file."""

    path: Path
    signature: Path
    data: bytes
    namespace: str

    def verified(self, allowed_signers: Path, now: datetime, revoked: Path | None) -> str:
        """Whose signature it is, once everything about it holds."""
        path = self.path
        signers = ["-s", str(self.signature.absolute()), "-f", str(allowed_signers.absolute())]
        # Without a Z, which older releases do not know: the process runs in UTC.
        at = [f"-Overify-time={now.astimezone(UTC):%Y%m%d%H%M%S}"]
        principal = _principal(self, allowed_signers, [*signers, *at])
        arguments = ["-Y", "verify", *signers, "-n", self.namespace, "-I", principal, *at]
        done = _ssh_keygen(path, arguments, self.data, VERIFY_TIMEOUT_S)
        if done.returncode != 0:
            _raise_why(self, done, principal, allowed_signers)
        if revoked is not None:
            # Asked apart: ssh-keygen refuses a revoked key without saying why.
            arguments += ["-r", str(revoked.absolute())]
            if _ssh_keygen(path, arguments, self.data, VERIFY_TIMEOUT_S).returncode != 0:
                fault = f"the key of {principal} that signed it is revoked"
                _refuse(path, "revoked", fault, self.namespace)
        return principal


def _check_who(path: Path, principals: tuple[str, ...], asked: _Asked) -> None:
    """The policy may want several people, and another one than the proposer."""
    others = principals
    if not asked.proposer_may_sign:
        others = tuple(name for name in principals if not _is(name, asked.created_by))
        if not others:
            raise SignoffError(
                "same_person",
                f"is signed by {named_people(principals)}, who proposed it; its policy wants "
                "another signer: " + _sign_command(path),
                path=path,
            )
    if len(others) < asked.signatures:
        raise SignoffError(
            "too_few",
            f"its policy wants {asked.signatures} signers"
            + ("" if asked.proposer_may_sign else " besides the proposer")
            + f", it has {len(others)} ({named_people(others)}); have another person sign: "
            + _sign_command(path),
            path=path,
        )


def _is(principal: str, proposer: str) -> bool:
    """Is the signer the proposer? `proposer` is a name, an address, or `Name <address>`."""
    parts = re.fullmatch(r"([^<]*)<([^>]*)>", proposer.strip())
    names = [part.strip() for part in parts.groups()] if parts else [proposer.strip()]
    return principal.casefold() in {name.casefold() for name in names}


def named_people(principals: Iterable[str]) -> str:
    """Signers in a sentence."""
    return " and ".join(principals)


def _read_all(path: Path, allowed_signers: Path, revoked: Path | None, namespace: str) -> bytes:
    if not path.is_file():
        raise SignoffError("no_file", "there is no such file to verify", path=path)
    if not signature_path(path).is_file():
        raise SignoffError(
            "no_signature",
            f"is not signed (there is no {signature_path(path).name}); read it, then sign it: "
            + _sign_command(path, namespace),
            path=path,
        )
    if not allowed_signers.is_file():
        raise SignoffError(
            "no_allowed_signers",
            f"cannot be verified: there is no {allowed_signers}; list who may sign there, one "
            "`NAME KEYTYPE KEY` a line, then: " + _sign_command(path, namespace),
            path=path,
        )
    if revoked is not None and not revoked.is_file():
        raise SignoffError(
            "revoked", f"cannot be verified: there is no list of revoked keys {revoked}", path=path
        )
    return path.read_bytes()


def _principal(signed: _Signed, allowed_signers: Path, signers: list[str]) -> str:
    """Whose key made the signature, as allowed_signers names it; says nothing of the bytes."""
    path = signed.path
    done = _ssh_keygen(path, ["-Y", "find-principals", *signers], b"", VERIFY_TIMEOUT_S)
    names = done.stdout.decode(errors="replace").replace(",", "\n").split()
    named = [name for name in names if not name.startswith("!")]
    if done.returncode == 0 and named:
        return named[0]
    said = _text(done)
    if "has expired" in said or "not yet valid" in said:
        raise SignoffError(
            "expired",
            f"its signer's entry in {allowed_signers} is not valid at this date; have it signed "
            "by a current signer: " + _sign_command(path, signed.namespace),
            path=path,
        )
    if "sshsig" in said or "parse signature" in said:
        raise SignoffError(
            "bad_signature",
            f"{signed.signature.name} is no SSH signature; sign it again: "
            + _sign_command(path, signed.namespace),
            path=path,
        )
    # A line of allowed_signers that ssh-keygen cannot read is named before "No principal matched".
    detail = "" if _first_line(done).startswith("No principal") else f" ({_first_line(done)})"
    raise SignoffError(
        "unknown_signer",
        f"its signer is not in {allowed_signers}{detail}; have it signed by someone who is: "
        + _sign_command(path, signed.namespace),
        path=path,
    )


def _refuse(path: Path, cause: Cause, fault: str, namespace: str) -> NoReturn:
    raise SignoffError(
        cause,
        f"{fault}; restore it from version control, or read it and sign it again: "
        + _sign_command(path, namespace),
        path=path,
    )


def _raise_why(
    signed: _Signed,
    done: subprocess.CompletedProcess[bytes],
    principal: str,
    allowed_signers: Path,
) -> NoReturn:
    said = _text(done)
    if "not permitted for use in signature namespace" in said:
        # Signing again would not help: the list of signers is what says no.
        raise SignoffError(
            "not_permitted",
            f"is signed by {principal}, whose key {allowed_signers} limits to other uses: its "
            f'namespaces= there has to name "{signed.namespace}", or someone else has to sign: '
            + _sign_command(signed.path, signed.namespace),
            path=signed.path,
        )
    if "namespace" in said:
        fault = "its signature was made for another purpose (namespace)"
        _refuse(signed.path, "bad_signature", fault, signed.namespace)
    if "incorrect signature" in said:
        fault = "its bytes were altered since it was signed"
        _refuse(signed.path, "altered", fault, signed.namespace)
    fault = f"its signature is not valid ({_last_line(done)})"
    _refuse(signed.path, "bad_signature", fault, signed.namespace)


def _check_validity(path: Path, data: bytes, now: datetime, namespace: str) -> None:
    """`valid_until` stands in the signed bytes: an old sign-off cannot be used for ever."""
    try:
        until = date.fromisoformat(json.loads(data)["valid_until"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignoffError(
            "bad_signature", "is signed, but says no valid_until date", path=path
        ) from error
    if now.astimezone(UTC).date() > until:
        remedy = (
            f"propose a new one (fineval baseline propose RUN --reason R -o "
            f"{shlex.quote(str(path))}) and sign it: "
            if namespace == NAMESPACE
            else ""
        )
        raise SignoffError(
            "expired",
            f"expired: it was valid until {until}; {remedy}{_sign_command(path, namespace)}",
            path=path,
        )


def _ssh_keygen(
    path: Path, arguments: list[str], data: bytes, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SignoffError(
            "no_ssh_keygen",
            "ssh-keygen is not installed, so that no signature can be made or checked; install "
            "OpenSSH (Debian: openssh-client), then: " + _sign_command(path),
            path=path,
        )
    # A passphrase is read from the terminal alone: where there is none, ssh-keygen fails at once.
    environment = {**os.environ, "SSH_ASKPASS_REQUIRE": "never", "TZ": "UTC", "LC_ALL": "C"}
    environment.pop("SSH_ASKPASS", None)
    try:
        return subprocess.run(  # noqa: S603 - fixed words and absolute paths, no shell
            [program, *arguments],
            input=data,
            capture_output=True,
            timeout=timeout,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise SignoffError(
            "timeout",
            f"ssh-keygen gave no answer within {timeout:g} s; try again: " + _sign_command(path),
            path=path,
        ) from error


def _sign_command(path: Path, namespace: str = NAMESPACE) -> str:
    if namespace != NAMESPACE:
        return "fineval waive VERDICT --reason R --until DATE --key ~/.ssh/id_ed25519"
    return f"fineval baseline sign {shlex.quote(str(path))} --key ~/.ssh/id_ed25519"


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode(errors="replace")


def _first_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return next(iter(_lines(done)), f"exit code {done.returncode}")


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return next(reversed(_lines(done)), f"exit code {done.returncode}")


def _lines(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return [line.strip() for line in _text(done).splitlines() if line.strip()]

"""Sign-off: a detached SSH signature over a file's bytes, checked against allowed signers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal, NoReturn

from pytest_fineval.errors import InputError
from pytest_fineval.gate.baseline import load, sha256

NAMESPACE = "pytest-fineval-baseline"
"""A signature made for anything else (a git commit) is no sign-off of a baseline."""

ALLOWED_SIGNERS = "allowed_signers"
"""Name of the file beside a baseline that says who may sign it."""

SIGN_TIMEOUT_S = 120.0
"""A person may have to type a passphrase or touch a hardware key."""

VERIFY_TIMEOUT_S = 20.0

Cause = Literal[
    "no_signature",
    "altered",
    "bad_signature",
    "unknown_signer",
    "revoked",
    "expired",
    "no_allowed_signers",
    "no_ssh_keygen",
    "no_file",
    "key_refused",
    "timeout",
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
        principal: the name that allowed_signers gives the key.
        sha256: digest of the bytes that were verified.
    """

    principal: str
    sha256: str


def signature_path(path: Path) -> Path:
    """Where the signature of a file lies: `NAME.json.sig`."""
    return path.with_name(path.name + ".sig")


def sign(path: Path, key: Path, *, namespace: str = NAMESPACE) -> Path:
    """Sign a baseline with a person's SSH key; only a file that can be loaded is signed.

    Args:
        path: the baseline; the signature is written beside it.
        key: private key, or public key of one that the ssh agent holds.
        namespace: what the signature is good for.

    Returns:
        The signature's path.

    Raises:
        InputError: the baseline is at fault, or (SignoffError) the key cannot sign.
    """
    load(path)
    data = path.read_bytes()
    done = _ssh_keygen(
        path, ["-Y", "sign", "-f", str(key.absolute()), "-n", namespace], data, SIGN_TIMEOUT_S
    )
    if done.returncode != 0 or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise SignoffError(
            "key_refused",
            f"the key {key} did not sign it ({_last_line(done)}); name your private SSH key: "
            + _sign_command(path),
            path=path,
        )
    target = signature_path(path)
    target.write_bytes(done.stdout)
    return target


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
    data = _read_all(path, allowed_signers, revoked)
    signature = str(signature_path(path).absolute())
    signers = ["-s", signature, "-f", str(allowed_signers.absolute())]
    # Without a Z, which older releases do not know: the process runs in UTC.
    at = [f"-Overify-time={now.astimezone(UTC):%Y%m%d%H%M%S}"]
    principal = _principal(path, allowed_signers, [*signers, *at])
    arguments = ["-Y", "verify", *signers, "-n", namespace, "-I", principal, *at]
    done = _ssh_keygen(path, arguments, data, VERIFY_TIMEOUT_S)
    if done.returncode != 0:
        _refuse(path, *_why_refused(done))
    if revoked is not None:
        # Asked apart: ssh-keygen refuses a revoked key without saying why.
        arguments += ["-r", str(revoked.absolute())]
        if _ssh_keygen(path, arguments, data, VERIFY_TIMEOUT_S).returncode != 0:
            _refuse(path, "revoked", f"the key of {principal} that signed it is revoked")
    _check_validity(path, data, now)
    return Signer(principal, sha256(data))


def _read_all(path: Path, allowed_signers: Path, revoked: Path | None) -> bytes:
    if not path.is_file():
        raise SignoffError("no_file", "there is no such file to verify", path=path)
    if not signature_path(path).is_file():
        raise SignoffError(
            "no_signature",
            f"is not signed (there is no {signature_path(path).name}); read it, then sign it: "
            + _sign_command(path),
            path=path,
        )
    if not allowed_signers.is_file():
        raise SignoffError(
            "no_allowed_signers",
            f"cannot be verified: there is no {allowed_signers}; list who may sign there, one "
            "`NAME KEYTYPE KEY` a line, then: " + _sign_command(path),
            path=path,
        )
    if revoked is not None and not revoked.is_file():
        raise SignoffError(
            "revoked", f"cannot be verified: there is no list of revoked keys {revoked}", path=path
        )
    return path.read_bytes()


def _principal(path: Path, allowed_signers: Path, signers: list[str]) -> str:
    """Whose key made the signature, as allowed_signers names it; says nothing of the bytes."""
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
            "by a current signer: " + _sign_command(path),
            path=path,
        )
    if "sshsig" in said or "parse signature" in said:
        raise SignoffError(
            "bad_signature",
            f"{signature_path(path).name} is no SSH signature; sign it again: "
            + _sign_command(path),
            path=path,
        )
    # A line of allowed_signers that ssh-keygen cannot read is named before "No principal matched".
    detail = "" if _first_line(done).startswith("No principal") else f" ({_first_line(done)})"
    raise SignoffError(
        "unknown_signer",
        f"its signer is not in {allowed_signers}{detail}; have it signed by someone who is: "
        + _sign_command(path),
        path=path,
    )


def _refuse(path: Path, cause: Cause, fault: str) -> NoReturn:
    raise SignoffError(
        cause,
        f"{fault}; restore it from version control, or read it and sign it again: "
        + _sign_command(path),
        path=path,
    )


def _why_refused(done: subprocess.CompletedProcess[bytes]) -> tuple[Cause, str]:
    said = _text(done)
    if "namespace" in said:
        return "bad_signature", "its signature was made for another purpose (namespace)"
    if "incorrect signature" in said:
        return "altered", "its bytes were altered since it was signed"
    return "bad_signature", f"its signature is not valid ({_last_line(done)})"


def _check_validity(path: Path, data: bytes, now: datetime) -> None:
    """`valid_until` stands in the signed bytes: an old sign-off cannot be used for ever."""
    try:
        until = date.fromisoformat(json.loads(data)["valid_until"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignoffError(
            "bad_signature", "is signed, but says no valid_until date", path=path
        ) from error
    if now.astimezone(UTC).date() > until:
        raise SignoffError(
            "expired",
            f"expired: it was valid until {until}; propose a new one (fineval baseline propose "
            f"RUN --reason R -o {shlex.quote(str(path))}) and sign it: " + _sign_command(path),
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


def _sign_command(path: Path) -> str:
    return f"fineval baseline sign {shlex.quote(str(path))} --key ~/.ssh/id_ed25519"


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode(errors="replace")


def _first_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return next(iter(_lines(done)), f"exit code {done.returncode}")


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return next(reversed(_lines(done)), f"exit code {done.returncode}")


def _lines(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return [line.strip() for line in _text(done).splitlines() if line.strip()]

"""Waiver: a person signs that one verdict, and no other, does not stop a deployment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from pytest_fineval.errors import InputError, faults
from pytest_fineval.gate import signoff
from pytest_fineval.gate.baseline import Sha256, sha256
from pytest_fineval.gate.signoff import SignoffError
from pytest_fineval.gate.trust import Rules
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.settings import Frozen

NAMESPACE = "pytest-fineval-waiver"
"""A baseline's signature is no waiver, and allowed_signers may let a key sign only one of them."""

FOLDER = "waivers"
"""Beside the baseline: `waivers/<digest of the verdict>.json`, with its signature."""

LONGEST_DAYS = 90
"""A waiver is an exception: what lasts longer is a new baseline."""


class Waiver(Frozen):
    """What is signed.

    Attributes:
        verdict: sha256 of the verdict's bytes.
        cause: what the verdict said, for the reader.
        valid_until: last day (ISO date, UTC) on which it counts.
    """

    format: int = 1
    verdict: Sha256
    model: str
    cause: str
    reason: str = Field(min_length=1)
    created: str
    created_by: str
    valid_until: date


@dataclass(frozen=True)
class Honoured:
    """A waiver that holds, and who signed it."""

    waiver: Waiver
    signer: str

    @property
    def sentence(self) -> str:
        """What every report says of it."""
        return (
            f"waived by {self.signer} until {self.waiver.valid_until}: {self.waiver.reason} "
            f"(verdict {self.waiver.verdict[:12]})"
        )

    def applied(self, verdict: Verdict) -> Verdict:
        """The verdict as it is reported: it still says what it said, and stops nothing."""
        cause = f"{verdict.cause}; {self.sentence}"
        return verdict.model_copy(update={"cause": cause, "exit_code": 0})


def path_for(digest: str, baseline: Path) -> Path:
    """Where the waiver of a verdict lies."""
    return baseline.parent / FOLDER / f"{digest}.json"


def waive(
    data: bytes,
    *,
    baseline: Path,
    reason: str,
    until: date,
    key: Path,
    created_by: str,
    now: datetime | None = None,
) -> Path:
    """Write and sign the waiver of a verdict.

    Args:
        data: the bytes of verdict.json.
        baseline: the file it was judged by; the waiver lies beside it.
        until: last day on which it counts, at most 90 days ahead.
        key: the signer's SSH key.
        created_by: who asks for it.
        now: when; the current time by default.

    Returns:
        The waiver's path.

    Raises:
        InputError: no verdict, one that no waiver lifts, no reason, a date that is past or too
            far; the key cannot sign.
    """
    verdict = _verdict(data)
    why_not = _why_not(verdict)
    if why_not is not None:
        raise InputError(why_not)
    if not reason.strip():
        raise InputError("a waiver needs a reason: --reason 'why this verdict may be passed over'")
    now = (now or datetime.now(UTC)).astimezone(UTC)
    if not 0 <= (until - now.date()).days <= LONGEST_DAYS:
        raise InputError(
            f"--until {until} has to lie between today and {LONGEST_DAYS} days ahead; what lasts "
            "longer is a new baseline: fineval baseline propose RUN --reason R -o FILE"
        )
    made = Waiver(
        verdict=sha256(data),
        model=verdict.model,
        cause=verdict.cause,
        reason=" ".join(reason.split()),
        created=now.isoformat(timespec="seconds"),
        created_by=created_by,
        valid_until=until,
    )
    path = path_for(made.verdict, baseline)
    path.parent.mkdir(parents=True, exist_ok=True)
    signoff.signature_path(path).unlink(missing_ok=True)
    plain = made.model_dump(mode="json")
    text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    try:
        signoff.sign(path, key, namespace=NAMESPACE, check=load)
    except InputError:
        path.unlink()
        raise
    return path


def load(path: Path) -> Waiver:
    """Read a waiver; its signature is `signoff.verify`'s task.

    Raises:
        InputError: unreadable, or a field at fault.
    """
    try:
        return Waiver.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"the waiver cannot be read ({error.strerror})", path=path) from error
    except ValidationError as error:
        raise InputError("; ".join(faults(error, Waiver)), path=path) from error


def honoured(
    verdict: Verdict, baseline: Path, rules: Rules, *, now: datetime | None = None
) -> Honoured | None:
    """The waiver that lifts this verdict, if one does.

    Args:
        verdict: what was judged; only a deploy verdict that stops can be lifted.
        baseline: in the working tree: the waiver is looked for beside it.
        rules: who may sign, and which keys are revoked: from the trusted ref, where there is one.
        now: the moment at which it has to hold; the current by default.

    Returns:
        None where there is no waiver of exactly these bytes.

    Raises:
        SignoffError: there is one, and its signature, signer or date does not hold.
    """
    if _why_not(verdict) is not None:
        return None
    digest = sha256(verdict.to_bytes())
    path = path_for(digest, baseline)
    if not path.exists():
        return None
    signer = signoff.verify(
        path, rules.signers, now=now, revoked=rules.revoked, namespace=NAMESPACE
    )
    waiver = load(path)
    if waiver.verdict != digest:
        raise SignoffError("altered", "it waives another verdict than its name says", path=path)
    return Honoured(waiver, signer.principal)


def _why_not(verdict: Verdict) -> str | None:
    if verdict.mode != "deploy":
        return (
            f"only the deploy gate honours waivers, this is a {verdict.mode} verdict: judge the "
            "run for a deployment first (fineval gate RUN --mode deploy --json > verdict.json)"
        )
    if verdict.outcome not in {"inconclusive", "block"}:
        return (
            f"the verdict is {verdict.outcome.replace('_', ' ')}: only an inconclusive or a block "
            "can be waived; what was not measured has to be"
        )
    if verdict.must_pass_failed:
        return f"a must-pass case fails ({verdict.must_pass_failed[0]}): no waiver lifts that"
    return None


def _verdict(data: bytes) -> Verdict:
    try:
        verdict = Verdict.model_validate_json(data)
    except ValidationError as error:
        raise InputError("not a verdict: " + "; ".join(faults(error, Verdict))) from error
    if verdict.to_bytes() != data:
        raise InputError("not the bytes of a verdict that this version wrote; judge the run again")
    return verdict

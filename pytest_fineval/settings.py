"""`[tool.fineval]` read and validated: one Settings object, the gate policy's draft included."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from pytest_fineval.errors import InputError, faults, nearest

CATEGORIES = ("extraction", "summarization", "ranking", "reasoning", "classification")
"""The categories a project has unless it names its own."""

DEFAULT_MAX_DROP = {
    "extraction": 0.03,
    "summarization": 0.05,
    "ranking": 0.05,
    "reasoning": 0.03,
    "classification": 0.03,
    "overall": 0.02,
}
"""Allowed drop (baseline - candidate, as a share of 1) where a policy names none (GATE, Policy)."""

FALLBACK_MAX_DROP = 0.03
"""Allowed drop of a category that a project named itself."""


ENCODER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""How the identity of a sentence encoder is written: it also names a file."""


class Frozen(BaseModel):
    """Base of every record that crosses a file boundary: immutable, no unknown key, no NaN."""

    # Built at first use: a run that only collects pays for cases, not for records and manifests.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class ModelSettings(Frozen):
    """One model that can be asked: which client, and with which decoding.

    Everything here but the secret's name, the timeout and the prices is part of the model's
    identity and therefore of the digest of each request.
    """

    client: str = "recording"
    model: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    system: str | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int = Field(256, ge=1)
    seed: int | None = None
    timeout_s: float = Field(60.0, gt=0)
    usd_per_million_input: float | None = Field(None, ge=0)
    usd_per_million_output: float | None = Field(None, ge=0)
    recordings: str | None = None
    structured_output: bool = False
    """Ask the API itself for JSON where a case's `answer_format` is json."""
    options: dict[str, JsonValue] = {}


class RunSettings(Frozen):
    """How a run spends time and money."""

    concurrency: int = Field(8, ge=1, le=1024)
    spend_cap_usd: float | None = Field(None, ge=0)
    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)
    max_attempts: int = Field(4, ge=1, le=20)
    retry_for_s: float = Field(120.0, ge=0)
    breaker_after: int = Field(5, ge=1)
    timeout_s: float | None = Field(None, gt=0)


class GateSettings(Frozen):
    """The draft of the gate policy: copied into a baseline when one is proposed (GATE, Policy)."""

    max_drop: dict[str, float] = {}
    floor: dict[str, float] = {}
    alpha: float = Field(0.05, gt=0, lt=0.5)
    alpha_smoke: float = Field(0.01, gt=0, lt=0.5)
    test: Literal["signflip", "wilcoxon"] = "signflip"
    comparison: Literal["auto", "same_model", "model_swap"] = "auto"
    max_error_share: float = Field(0.05, ge=0, le=1)
    valid_days: int = Field(180, ge=1)
    signatures: int = Field(1, ge=1, le=5)
    proposer_may_sign: bool = True
    second_look: bool = True

    @model_validator(mode="after")
    def _shares(self) -> GateSettings:
        for table in ("max_drop", "floor"):
            for name, value in getattr(self, table).items():
                if not 0 <= value <= 1:
                    raise ValueError(
                        f"{table}.{name} must lie in [0, 1]: it is a share, not points"
                    )
        return self


class Settings(Frozen):
    """`[tool.fineval]` of the project's pyproject.toml, with the folder it was read from."""

    root: Path
    candidate: str | None = None
    baseline: str | None = None
    categories: tuple[str, ...] = CATEGORIES
    recordings: str = "evals/recordings"
    licences: dict[str, str] = {}
    """Restricted benchmarks whose licence is acknowledged, by name: `financebench` and so on."""
    encoders: dict[Annotated[str, Field(pattern=ENCODER_NAME)], str] = {}
    """Sentence encoders of the project's own: identity -> `package.module:factory`."""
    models: dict[str, ModelSettings] = {}
    run: RunSettings = RunSettings()
    gate: GateSettings = GateSettings()

    @model_validator(mode="after")
    def _words(self) -> Settings:
        if self.candidate is not None and self.candidate not in self.models:
            raise ValueError(
                f'candidate "{self.candidate}" has no [tool.fineval.models.{self.candidate}] '
                f"table; {nearest(self.candidate, self.models)}"
            )
        if len(set(self.categories)) != len(self.categories) or not self.categories:
            raise ValueError("categories must be a list of distinct names, at least one")
        if "overall" in self.categories:
            raise ValueError('"overall" is the mean over all categories and cannot be one itself')
        known = (*self.categories, "overall")
        for table in ("max_drop", "floor"):
            for name in getattr(self.gate, table):
                if name not in known:
                    raise ValueError(
                        f'gate.{table} names the unknown category "{name}"; {nearest(name, known)}'
                    )
        return self

    def model(self, name: str) -> ModelSettings:
        """The settings of one model.

        Raises:
            InputError: no `[tool.fineval.models.NAME]` table.
        """
        try:
            return self.models[name]
        except KeyError:
            raise InputError(
                f'model "{name}" is not configured: add a [tool.fineval.models.{name}] table; '
                + nearest(name, self.models),
                path=self.root / "pyproject.toml",
            ) from None

    def max_drop(self, check: str) -> float:
        """Allowed drop of a category or of `overall`, as a share of 1."""
        return self.gate.max_drop.get(check, DEFAULT_MAX_DROP.get(check, FALLBACK_MAX_DROP))


def load(root: Path) -> Settings:
    """Read `[tool.fineval]` of `root/pyproject.toml`; an absent file or table gives the defaults.

    Raises:
        InputError: the file is no TOML, or a key or value is wrong (each fault on its own line).
    """
    path = root / "pyproject.toml"
    table: dict[str, Any] = {}
    if path.exists():
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not valid TOML: {error}", path=path) from error
        table = document.get("tool", {}).get("fineval", {})
    if "root" in table:
        raise InputError('[tool.fineval] unknown key "root"', path=path)
    try:
        return Settings(root=root, **table)
    except ValidationError as error:
        lines = "; ".join(f"[tool.fineval] {fault}" for fault in faults(error, Settings))
        raise InputError(lines, path=path) from error

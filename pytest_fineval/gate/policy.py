"""Policy: what a run is held against. Drafted in `[tool.fineval.gate]`, then signed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pytest_fineval.cases.model import digest
from pytest_fineval.settings import Frozen, GateSettings, Settings


class Policy(Frozen):
    """The rules of one gate, every figure spelled out: a later default cannot change them.

    Attributes:
        categories: the configured categories, in their order; each gives a check.
        max_drop: allowed drop (share of 1) of each category and of `overall`.
        floor: lowest acceptable mean of a category or of `overall`, where one is set.
        alpha: familywise error of full and deploy; `alpha_smoke`: of a smoke run.
        test: which of the two computed tests decides for scores other than 0/1.
        comparison: whether a candidate counts as the baseline's own model; `auto` compares
            client, model name and options.
        max_error_share: share of the cases with a client error above which nothing was measured.
        valid_days: how long a baseline made under this policy stays valid.
        signatures: how many people have to sign a baseline.
        proposer_may_sign: False: who proposed it is not one of them.
        second_look: a deploy gate asks all cases of an inconclusive check again, once, and spends
            half of alpha on each look. False: one look, with all of alpha.
        scorers: `name@version` of every scorer, by category; empty in a draft.
        samples: answers a case in the baseline; None in a draft.
        lock: digest of the case ledger when the baseline was proposed, where there is one.
    """

    categories: tuple[str, ...] = Field(min_length=1)
    max_drop: dict[str, float]
    floor: dict[str, float]
    alpha: float = Field(gt=0, lt=0.5)
    alpha_smoke: float = Field(gt=0, lt=0.5)
    test: Literal["signflip", "wilcoxon"]
    comparison: Literal["auto", "same_model", "model_swap"]
    max_error_share: float = Field(ge=0, le=1)
    valid_days: int = Field(ge=1)
    signatures: int = Field(1, ge=1, le=5)
    proposer_may_sign: bool = True
    second_look: bool = True
    scorers: dict[str, tuple[str, ...]] = {}
    samples: int | None = Field(None, ge=1)
    lock: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> Policy:
        known = {*self.categories, "overall"}
        if len(set(self.categories)) != len(self.categories) or "overall" in self.categories:
            raise ValueError('categories must be distinct, and none may be called "overall"')
        if set(self.max_drop) != known:
            raise ValueError("max_drop must name every category and overall, and nothing else")
        for name in (*self.floor, *self.scorers):
            if name not in known:
                raise ValueError(f'"{name}" is no category of this policy')
        for table in (self.max_drop, self.floor):
            if not all(0 <= value <= 1 for value in table.values()):
                raise ValueError("limits must lie in [0, 1]: they are shares, not points")
        return self

    @property
    def digest(self) -> str:
        """sha256 of the canonical policy: printed by every run."""
        return digest(self.model_dump(mode="json"))


def draft(settings: Settings) -> Policy:
    """The policy that the settings ask for: what the next baseline would be signed with.

    Args:
        settings: `[tool.fineval]`; limits it leaves out take their defaults.
    """
    gate = settings.gate
    return Policy(
        categories=settings.categories,
        max_drop={name: settings.max_drop(name) for name in (*settings.categories, "overall")},
        **gate.model_dump(exclude={"max_drop"}),
    )


def differences(signed: Policy, drafted: Policy) -> list[str]:
    """Where the settings ask for something else than what was signed, in words.

    The signed policy wins; the caller prints these so that nobody believes an edit of the
    settings took effect. What only a baseline can fill in (scorers, samples, lock) is left out.

    Returns:
        One clause a difference, in a fixed order; empty when the settings agree.
    """
    found = []
    if signed.categories != drafted.categories:
        found.append(
            f"categories: signed {_words(signed.categories)}, settings {_words(drafted.categories)}"
        )
    for table in ("max_drop", "floor"):
        ours, theirs = getattr(signed, table), getattr(drafted, table)
        found += [
            f"{table}.{name}: signed {_or_none(ours.get(name))}, "
            f"settings {_or_none(theirs.get(name))}"
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]
    for name in GateSettings.model_fields:
        ours, theirs = getattr(signed, name), getattr(drafted, name)
        if name not in {"max_drop", "floor"} and ours != theirs:
            found.append(f"{name}: signed {ours}, settings {theirs}")
    return found


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"

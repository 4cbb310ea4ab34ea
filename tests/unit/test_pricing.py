"""Which token counts a cap may rest on, and where a price comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval import settings as settings_file
from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Usage, build_request
from pytest_fineval.clients.callables import as_client
from pytest_fineval.clients.pricing import fewest_tokens, most_input_tokens, price_of
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.guard import guarded
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, RunSettings

OPENAI = "https://api.openai.com/v1"
MODEL = ModelSettings(
    client="openai-compatible",
    model="m",
    base_url="http://127.0.0.1:1/v1",
    usd_per_million_input=1.0,
    usd_per_million_output=10.0,
)
PROMPT = "What were net sales in fiscal 2025, in millions of dollars?"  # 50 letters: 4 tokens


def believed(text: str, **usage: Any) -> float | None:
    price = price_of(MODEL)
    assert price is not None
    request = build_request(Candidate(question=PROMPT), MODEL)
    return price.believable_cost(request, Answer(text=text, usage=Usage(**usage)))


def test_counts_that_a_tokenizer_can_make_are_believed() -> None:
    assert believed("383,285", input_tokens=14, output_tokens=3) == pytest.approx(44e-6)
    assert believed("", input_tokens=14, output_tokens=0) == pytest.approx(14e-6)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("383,285", {}),
        ("383,285", {"input_tokens": 14}),
        ("383,285", {"input_tokens": 0, "output_tokens": 0}),
        ("383,285", {"input_tokens": 14, "output_tokens": 0}),
        ("383,285", {"input_tokens": 3, "output_tokens": 3}),
        ("word " * 100, {"input_tokens": 14, "output_tokens": 20}),
    ],
)
def test_counts_too_low_for_the_text_are_not_believed(text: str, usage: dict[str, int]) -> None:
    assert believed(text, **usage) is None


@given(text=st.text(max_size=300))
def test_the_fewest_tokens_are_fewer_than_the_most(text: str) -> None:
    fewest = fewest_tokens(text)
    assert (fewest > 0) == bool(text.strip())
    if text.strip():
        request = build_request(Candidate(question=text), MODEL)
        assert fewest <= most_input_tokens(request)


def test_a_real_tokenizer_makes_more_tokens_than_the_lower_bound(tokenizer: Any) -> None:
    for text in (
        PROMPT,
        "Internationalization of intercompany reclassifications " * 9,
        "| 2025 | 383,285 | (1.2) % |\n| --- | --- | --- |\n" * 20,
        "売上高は42億円、前年同期比",
        "Выручка 1 234,5 млн",
    ):
        assert fewest_tokens(text) < len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_a_price_in_the_settings_file_overrides_the_list(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.fineval.models.m]\n"
        'client = "openai-compatible"\nmodel = "gpt-4o-mini"\n'
        f'base_url = "{OPENAI}"\n'
        "usd_per_million_input = 1000\nusd_per_million_output = 0\n"
    )
    price = price_of(settings_file.load(tmp_path).model("m"))
    assert price is not None
    assert price.source == "settings"
    assert price.cost(Usage(input_tokens=1000, output_tokens=10**6)) == 1.0


@pytest.mark.parametrize("side", ["usd_per_million_input", "usd_per_million_output"])
def test_half_an_override_is_an_error_and_not_half_free(side: str) -> None:
    model = ModelSettings(
        client="openai-compatible", model="gpt-4o-mini", base_url=OPENAI, **{side: 1.0}
    )
    with pytest.raises(InputError, match="or neither"):
        price_of(model)


@pytest.mark.parametrize(
    "model",
    [
        {"client": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "model": "gpt-4o"},
        {"client": "openai-compatible", "base_url": OPENAI, "model": "no-such-model"},
        {"client": "package.module:make", "model": "gpt-4o"},
    ],
)
def test_a_model_without_a_price_is_refused_under_a_cap_and_only_there(
    tmp_path: Path, model: dict[str, str]
) -> None:
    settings = ModelSettings(**model)
    client = as_client(lambda _: "x")
    guarded(client, settings, RunSettings())
    with pytest.raises(InputError, match=f'price of model "{settings.model}"'):
        guarded(client, settings, RunSettings(), budget=Budget(tmp_path / "spend", 5.0))
    priced = settings.model_copy(
        update={"usd_per_million_input": 0.0, "usd_per_million_output": 0.0}
    )
    guarded(client, priced, RunSettings(), budget=Budget(tmp_path / "spend", 5.0))

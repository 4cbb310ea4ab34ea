"""Prices: from the settings, from the list, or none; and the worst case of a request."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Usage, build_request
from pytest_fineval.clients.pricing import most_input_tokens, most_output_tokens, price_of
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings

OPENAI = "https://api.openai.com/v1"
needs_table = pytest.mark.skipif(
    not find_spec("genai_prices"), reason="genai-prices: not installed"
)


def model(**settings: Any) -> ModelSettings:
    return ModelSettings(**{"client": "openai-compatible", "model": "gpt-4o-mini", **settings})


def test_prices_of_the_settings_win() -> None:
    price = price_of(model(base_url=OPENAI, usd_per_million_input=2.0, usd_per_million_output=8.0))
    assert price is not None
    assert price.source == "settings"
    usage = Usage(input_tokens=1000, output_tokens=500, cached_tokens=900)
    assert price.cost(usage) == pytest.approx(0.002 + 0.004)


def test_half_a_price_is_refused() -> None:
    with pytest.raises(InputError, match="both"):
        price_of(model(usd_per_million_input=2.0))


@pytest.mark.parametrize("client", ["local", "recording"])
def test_what_answers_here_is_free(client: str) -> None:
    price = price_of(ModelSettings(client=client))
    assert price is not None
    assert price.cost(Usage(input_tokens=10**6, output_tokens=10**6)) == 0


def test_usage_that_was_not_counted_has_no_cost() -> None:
    price = price_of(model(usd_per_million_input=2.0, usd_per_million_output=8.0))
    assert price is not None
    assert price.cost(Usage(input_tokens=1000)) is None


@needs_table
def test_list_prices_count_the_providers_cache() -> None:
    price = price_of(model(base_url=OPENAI))
    assert price is not None
    assert price.source.startswith("genai-prices ")
    full = price.cost(Usage(input_tokens=1_000_000, output_tokens=0))
    cached = price.cost(Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=1_000_000))
    assert full == pytest.approx(0.15)
    assert cached == pytest.approx(0.075)


@needs_table
@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://127.0.0.1:8000/v1"},
        {"base_url": OPENAI, "model": "my-finetune-of-something"},
        {"client": "pkg.mod:make"},
    ],
)
def test_what_is_not_on_the_list_has_no_price(settings: dict[str, Any]) -> None:
    assert price_of(model(**settings)) is None


@given(
    text=st.text(min_size=1, max_size=200).filter(str.strip),
    used=st.integers(1, 100),
    limit=st.integers(1, 100),
)
def test_no_answer_costs_more_than_its_worst_case(text: str, used: int, limit: int) -> None:
    settings = model(usd_per_million_input=3.0, usd_per_million_output=15.0, max_tokens=limit)
    price = price_of(settings)
    assert price is not None
    request = build_request(Candidate(question=text), settings)
    usage = Usage(input_tokens=len(text.strip().encode()), output_tokens=min(used, limit))
    assert (price.cost(usage) or 0) <= price.worst_case(request)


def test_a_real_tokenizer_makes_fewer_tokens_than_the_bound(tokenizer: Any) -> None:
    for text in ("Revenue was $4.2 million.", "Выручка 1 234,5 млн ₽", "売上高は42億円", "😀" * 20):
        request = build_request(Candidate(question=text), model())
        assert len(tokenizer.encode(text).ids) <= most_input_tokens(request)


def test_the_output_bound_is_the_limit_that_is_sent() -> None:
    request = build_request(Candidate(question="?"), model(max_tokens=7))
    assert most_output_tokens(request) == 7
    newer = model(max_tokens=7, options={"max_completion_tokens": 9})
    assert most_output_tokens(build_request(Candidate(question="?"), newer)) == 9


def test_a_schema_counts_as_prompt() -> None:
    plain = build_request(Candidate(question="?"), model())
    schema = build_request(Candidate(question="?"), model(options={"response_format": "x" * 500}))
    assert most_input_tokens(schema) >= most_input_tokens(plain) + 500

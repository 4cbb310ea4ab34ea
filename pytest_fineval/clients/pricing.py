"""What an answer costs, and the most that a request can cost before it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from pytest_fineval.clients.base import Answer, Request, Usage
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings

MILLION = 1_000_000
OVERHEAD_TOKENS = 64
"""Tokens that a provider's chat template may add to a prompt, and as many a message."""
CHARACTERS_A_TOKEN = 16


@dataclass(frozen=True)
class Price:
    """A model's price.

    Attributes:
        usd: cost in USD of (input tokens, of these from the provider's cache, output tokens).
        source: where the price is from, with its version: part of what a run tells about itself.
    """

    usd: Callable[[int, int, int], float]
    source: str

    def cost(self, usage: Usage) -> float | None:
        """USD of one answered call; None where the provider did not count the tokens."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        return self.usd(usage.input_tokens, cached, usage.output_tokens)

    def believable_cost(self, request: Request, answer: Answer) -> float | None:
        """USD of one answered call; None also where the tokens that the provider counted are too
        few for what was sent and came back: a cap must not rest on them."""
        usage = answer.usage
        prompt = sum(fewest_tokens(message.content) for message in request.messages)
        if (usage.input_tokens or 0) < prompt or (usage.output_tokens or 0) < fewest_tokens(
            answer.text
        ):
            return None
        return self.cost(usage)

    def worst_case(self, request: Request) -> float:
        """The most that one call of this request can cost, in USD."""
        return self.usd(most_input_tokens(request), 0, most_output_tokens(request))


FREE = Price(lambda *_: 0.0, "free")


def price_of(model: ModelSettings) -> Price | None:
    """The price of a model: free, from its settings, else from the package genai-prices.

    The table is asked for a provider's own endpoint only: a gateway or an own server may charge
    anything for the same model name.

    Returns:
        None when no price is known.

    Raises:
        InputError: the settings name one of the two prices only.
    """
    if model.client in ("local", "recording"):
        return FREE
    entered, left = model.usd_per_million_input, model.usd_per_million_output
    if entered is not None and left is not None:
        # Input from the provider's cache is charged in full: the settings know no discount.
        return Price(
            lambda tokens, _, output: (tokens * entered + output * left) / MILLION, "settings"
        )
    if entered is not None or left is not None:
        raise InputError("set both usd_per_million_input and usd_per_million_output, or neither")
    if model.client == "openai-compatible" and model.base_url and find_spec("genai_prices"):
        return _from_table(model.model, model.base_url)
    return None


def most_input_tokens(request: Request) -> int:
    """An upper bound of the prompt's tokens: its bytes, as no tokenizer in use makes more than one
    token of a byte, and what a template adds."""
    sent = [message.content for message in request.messages]
    if request.options:
        sent.append(json.dumps(request.options, ensure_ascii=False))  # schemas are prompt, too
    return sum(len(text.encode()) for text in sent) + OVERHEAD_TOKENS * (1 + len(request.messages))


def fewest_tokens(text: str) -> int:
    """A lower bound of a text's tokens: one for each 16 characters that are no white space (a
    tokenizer makes one of 3 to 5), and one at least where there is any text."""
    visible = sum(map(len, text.split()))
    return (visible + CHARACTERS_A_TOKEN - 1) // CHARACTERS_A_TOKEN


def most_output_tokens(request: Request) -> int:
    """The output limit that is sent."""
    limit = request.options.get("max_completion_tokens", request.decoding.get("max_tokens"))
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit < 1:
        raise InputError(f"max_completion_tokens must be a number of tokens (got {limit!r})")
    return int(limit)


def likely_tokens(request: Request) -> int:
    """A plain estimate of input and output tokens together, for limits on tokens a minute, which
    providers count by the output limit: four bytes a token."""
    return most_input_tokens(request) // 4 + most_output_tokens(request)


def _from_table(model: str, base_url: str) -> Price | None:
    from genai_prices import Usage as TableUsage
    from genai_prices import calc_price

    def usd(tokens: int, cached: int, output: int) -> float:
        usage = TableUsage(
            input_tokens=tokens, cache_read_tokens=cached or None, output_tokens=output
        )
        return float(calc_price(usage, model_ref=model, provider_api_url=base_url).total_price)

    try:
        usd(0, 0, 0)
    except LookupError:
        return None
    return Price(usd, f"genai-prices {version('genai-prices')}")

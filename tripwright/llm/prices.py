"""What tokens cost: prices of one model, given one by one or looked up in a file of several."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tripwright.errors import UserError

EXAMPLE = '["Qwen/Qwen3-8B"] input = 0.05 output = 0.25'
REQUIRED, OPTIONAL = ("input", "output"), ("cached_input",)


@dataclass(frozen=True)
class Prices:
    """All in USD per million tokens. Without `cached_input`, prompt tokens that the server had in
    its cache cost what others do."""

    input: float
    output: float
    cached_input: float | None = None

    def __post_init__(self) -> None:
        for name, price in asdict(self).items():
            if price is not None and not 0 <= price < math.inf:
                raise UserError(
                    f"A price is an amount in USD per million tokens, 0 or more; found {name}"
                    f" {price}."
                )

    def usd(self, usage: Mapping[str, float]) -> float:
        """Cost of the tokens that `usage` counts, those of completions that were paid for and could
        not be used (discarded) included."""
        prompt = usage.get("prompt_tokens", 0) + usage.get("discarded_prompt_tokens", 0)
        completion = usage.get("completion_tokens", 0) + usage.get("discarded_completion_tokens", 0)
        in_cache = usage.get("cached_tokens", 0) + usage.get("discarded_cached_tokens", 0)
        cached = min(in_cache, prompt) if self.cached_input is not None else 0
        return (
            (prompt - cached) * self.input
            + cached * (self.cached_input or 0.0)
            + completion * self.output
        ) / 1e6


def prices_of(
    price_in: float | None, price_out: float | None, cached: float | None = None
) -> Prices | None:
    """From the options of these names; None where none is given."""
    if price_in is None and price_out is None and cached is None:
        return None
    if price_in is None or price_out is None:
        missing = "--price-in" if price_in is None else "--price-out"
        raise UserError(
            f"Prices are --price-in and --price-out, both in USD per million tokens; {missing} is"
            " missing."
        )
    return Prices(price_in, price_out, cached)


def read_prices(path: Path, model: str) -> Prices:
    """The prices of `model` in a TOML or JSON file: a table for each model, with input, output and,
    if there is one, cached_input."""
    table = _table(path)
    if model not in table:
        raise UserError(
            f"'{path}' has no prices of model '{model}'. It has:"
            f" {', '.join(map(str, table)) or 'none'}."
        )
    entry = table[model]
    names = entry.keys() if isinstance(entry, dict) else set()
    numbers = isinstance(entry, dict) and all(
        isinstance(price, int | float) and not isinstance(price, bool) for price in entry.values()
    )
    if not numbers or not names >= set(REQUIRED) or not names <= {*REQUIRED, *OPTIONAL}:
        raise UserError(
            f"'{path}': prices of '{model}' are numbers in USD per million tokens, as in:"
            f" {EXAMPLE}; found {entry}."
        )
    return Prices(**entry)


def _table(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(
            f"No price table at '{path}'. Expected a TOML or JSON file, as in: {EXAMPLE}."
        )
    text = path.read_bytes()
    try:
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text.decode())
    except ValueError as error:  # of JSON, of TOML, of UTF-8
        raise UserError(f"'{path}' cannot be read: {' '.join(str(error).split())}.") from None
    if not isinstance(table, dict):
        raise UserError(f"'{path}' is no table of prices. Expected one like: {EXAMPLE}.")
    return table

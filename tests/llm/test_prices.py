"""Prices: what tokens cost, and tables of them that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripwright.errors import UserError
from tripwright.llm.prices import Prices, read_prices

TABLE = (
    '["Qwen/Qwen3-8B"]\ninput = 0.05\noutput = 0.25\n\n[big]\ninput = 1\noutput = 8\ncached_input ='
    " 0.1\n"
)


def test_tokens_cost_what_the_table_says() -> None:
    usage = {"prompt_tokens": 2e6, "completion_tokens": 1e6, "cached_tokens": 5e5}
    # no price for cached ones: they cost what others do
    assert Prices(1.0, 8.0).usd(usage) == pytest.approx(2 + 8)
    assert Prices(1.0, 8.0, 0.1).usd(usage) == pytest.approx(1.5 + 0.05 + 8)
    assert Prices(1.0, 8.0).usd({}) == 0
    assert Prices(1.0, 8.0).usd(
        {**usage, "discarded_prompt_tokens": 1e6, "discarded_completion_tokens": 1e6}
    ) == pytest.approx(3 + 16)


def test_a_table_in_toml_and_in_json(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(TABLE)
    (tmp_path / "p.json").write_text('{"big": {"input": 1, "output": 8, "cached_input": 0.1}}')
    assert read_prices(tmp_path / "p.toml", "Qwen/Qwen3-8B") == Prices(0.05, 0.25)
    assert (
        read_prices(tmp_path / "p.toml", "big")
        == Prices(1, 8, 0.1)
        == read_prices(tmp_path / "p.json", "big")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE, "no prices of model 'small'. It has: Qwen/Qwen3-8B, big"),
        ("[small]\ninput = 1\n", "are numbers in USD per million"),
        ("[small]\ninput = 1\noutput = true\n", "are numbers in USD per million"),
        ("[small]\ninput = 1\noutput = 2\nper = 3\n", "are numbers in USD per million"),
        ("[small]\ninput = -1\noutput = 2\n", "0 or more; found input -1"),
        ("small = 3\n", "are numbers in USD per million"),
        ("[small", "cannot be read"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(UserError) as problem:
        read_prices(tmp_path / "p.toml", "small")
    assert said in str(problem.value) and "\n" not in str(problem.value)


def test_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No price table at"):
        read_prices(tmp_path / "p.toml", "small")
    (tmp_path / "p.json").write_text("[]")
    with pytest.raises(UserError, match="no table of prices"):
        read_prices(tmp_path / "p.json", "small")

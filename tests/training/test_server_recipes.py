"""A recipe's `[grpo.server]`: what it accepts, and what does not go together with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripwright.errors import UserError

pytest.importorskip("torch")

from tripwright.rl.token_servers import RolloutServer
from tripwright.training.recipe import Recipe, load_recipe

SERVER = 'server = { kind = "vllm", url = "http://127.0.0.1:8000", weights = "w" }\n'


def load(tmp_path: Path, text: str) -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return load_recipe(path)


def test_its_defaults(tmp_path: Path) -> None:
    recipe = load(tmp_path, f"[grpo]\n{SERVER}")
    assert recipe.rl is not None
    assert recipe.rl.settings.server == RolloutServer("vllm", "http://127.0.0.1:8000", "w")
    assert load(tmp_path, "[ppo]").rl.settings.server is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[grpo]\nserver = { kind = 'tgi', url = 'http://x', weights = 'w' }", "setting 'kind'"),
        ("[grpo]\nserver = { kind = 'vllm', url = 'http://x' }", "setting 'weights' is missing"),
        ("[ppo]\nserver = { kind = 'vllm', url = 'x:1', weights = 'w' }", "found 'x:1'"),
        (f"[grpo]\n{SERVER}[grpo.branching]", "grpo.branching forks an episode inside our own"),
        (f"[rft]\n{SERVER}tool_threads = 2", "rft.tool_threads is of our own engine"),
        ("[grpo]\nserver = { kind = 'vllm', url = 'http://x', weights = 'w', max_gap = 0 }", "gap"),
    ],
)
def test_what_cannot_work_is_one_line(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        load(tmp_path, table)
    assert said in str(refused.value) and "\n" not in str(refused.value)

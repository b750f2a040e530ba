"""Files of one JSON object per line, as runs and datasets are, and a small recipe's."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# the head of a recipe whose steps take a second: conftest's `tiny_recipe`
TINY_TOML = """
threads = 1
[dialect]
max_turn_tokens = 32
[model]
tokenizer_transcripts = 16
superwords = 80
shape = {hidden = 32, layers = 1, heads = 2, kv_heads = 1, head_size = 16, feed_forward = 48, positions = 1280}
"""  # noqa: E501


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Makes the folder where there is none, and returns the path. A text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (each if isinstance(each, str) else json.dumps(each) for each in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path

"""How long a text is: in tokens of a tokenizer that the user names, else in characters. The unit
goes with every figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tripwright.agent.chat import load_tokenizer


@dataclass(frozen=True)
class Ruler:
    unit: str  # "tokens" or "characters"
    length: Callable[[str], int]
    tokenizer: str | None = None


CHARACTERS = Ruler("characters", len)


def ruler(tokenizer: Path | None) -> Ruler:
    """Of a tokenizer folder (what `save_pretrained` writes, a checkpoint for example); None
    measures characters."""
    if tokenizer is None:
        return CHARACTERS
    loaded = load_tokenizer(tokenizer)
    return Ruler(
        "tokens", lambda text: len(loaded.encode(text, add_special_tokens=False)), str(tokenizer)
    )

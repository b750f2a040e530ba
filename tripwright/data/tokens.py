"""How long a text is: in tokens of a tokenizer that the user names, else in characters. The unit
goes with every figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tripwright.errors import UserError


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
    if not tokenizer.is_dir():
        raise UserError(
            f"No tokenizer folder at '{tokenizer}'. Expected one with tokenizer.json, such as a"
            " checkpoint's."
        )
    try:
        import transformers
    except ModuleNotFoundError:
        raise UserError(
            "Counting tokens needs the 'train' extra: pip install 'tripwright[train]'. Without"
            " --tokenizer, characters are counted."
        ) from None
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(
            tokenizer, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"'{tokenizer}' holds no tokenizer that can be read: {str(error).splitlines()[0]}"
        ) from None
    return Ruler(
        "tokens", lambda text: len(loaded.encode(text, add_special_tokens=False)), str(tokenizer)
    )

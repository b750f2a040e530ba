"""How many tokens a text is, for policies that give no ids: so the limits of a dialect hold for a
chat endpoint too (row P7). Exact where the user names the model's tokenizer; else an estimate, and
the run card says which."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tripwright.agent.chat import ChatFormat, Tokenizer
from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError

# Measured with the vocabulary of Qwen 2.5 and 3 on episodes of three dialects: prompts 3.7 to 4.4
# characters a token, turns 2.4 to 3.3, answers of tools 2.3 to 2.7.
CHARACTERS_PER_PROMPT_TOKEN = 3.7
CHARACTERS_PER_TOKEN = 2.5


class CountedText(NamedTuple):
    tokens: int
    text: str


class TokenCounter(Protocol):
    @property
    def name(self) -> str:
        """What a run card says."""
        ...

    def opening(self, system: str, user: str) -> int:
        """Of the whole prompt, schemas of tools included."""
        ...

    def turn(self, text: str) -> int: ...
    def tool_answer(self, text: str, max_tokens: int) -> CountedText:
        """As it is shown: a longer one is cut on the right and says so within `max_tokens`."""
        ...


@dataclass(frozen=True)
class ExactTokens:
    """Of this tokenizer, with what its chat template writes around the texts."""

    chat: ChatFormat
    name: str

    def opening(self, system: str, user: str) -> int:
        return len(self.chat.opening(system, user))

    def turn(self, text: str) -> int:
        return len(self.chat.said(text))

    def tool_answer(self, text: str, max_tokens: int) -> CountedText:
        ids, shown = self.chat.tool_answer(text, max_tokens)
        return CountedText(len(ids), shown)


@dataclass(frozen=True)
class EstimatedTokens:
    """Characters over these constants. `schemas` are what the endpoint is sent of the tools."""

    schemas: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    name: str = (
        f"an estimate: {CHARACTERS_PER_PROMPT_TOKEN} characters a token of the prompt,"
        f" {CHARACTERS_PER_TOKEN} of the rest"
    )

    def opening(self, system: str, user: str) -> int:
        texts = (system, user, *map(json.dumps, self.schemas))
        return round(sum(map(len, texts)) / CHARACTERS_PER_PROMPT_TOKEN)

    def turn(self, text: str) -> int:
        return round(len(text) / CHARACTERS_PER_TOKEN)

    def tool_answer(self, text: str, max_tokens: int) -> CountedText:
        room = int(max_tokens * CHARACTERS_PER_TOKEN)
        if len(text) > room:
            note = f"… cut to {room} of {len(text)} characters"[:room]
            text = text[: room - len(note)] + note
        return CountedText(self.turn(text), text)


def check_prompt(dialect: Dialect, counter: TokenCounter) -> None:
    """Raises UserError where the dialect's own words leave its prompts no room for a request. (A
    request that is too long itself ends its episode as an overflow.)"""
    tokens = counter.opening(dialect.prompt(dialect.offered()), "")
    if dialect.max_prompt_tokens is not None and tokens >= dialect.max_prompt_tokens:
        raise UserError(
            f"The prompt of dialect '{dialect.name}' has {tokens:,} tokens before any request"
            f" ({counter.name}), and its max_prompt_tokens are {dialect.max_prompt_tokens:,}. Take"
            " the tokenizer of the model that plays, or another dialect; a recipe may set"
            " dialect.max_prompt_tokens."
        )


def load_tokenizer(folder: Path) -> Tokenizer:
    """What `save_pretrained` writes, for example into a checkpoint."""
    if not folder.is_dir():
        raise UserError(
            f"No tokenizer folder at '{folder}'. Expected one with tokenizer.json, such as a"
            " checkpoint's."
        )
    try:
        import transformers
    except ModuleNotFoundError:
        raise UserError(
            "Counting tokens needs the 'train' extra: pip install 'tripwright[train]', or leave"
            " --tokenizer out."
        ) from None
    try:
        tokenizer: Tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"'{folder}' holds no tokenizer that can be read: {str(error).splitlines()[0]}"
        ) from None
    return tokenizer

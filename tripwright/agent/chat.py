"""A tokenizer's chat template, cut into the pieces an episode appends: the opening prompt, and the
frame around a tool answer. For policies that give no ids, how many tokens a text is.

Re-rendering a growing conversation would re-tokenise what the model sampled (law 5). So the
template is rendered once with place-holders, and only the text *between* two sampled turns is ever
encoded: whatever follows the stop token of one turn, up to where the next turn begins. Templates
for which that text depends on earlier turns are refused, and so are those that write earlier turns
anew. One rewriting is harmless and common (Qwen3): the empty thought that opens a turn is left out
once the turn is past. Here it stays where the model saw it.

A chat endpoint gives no ids, and the limits of a dialect hold for it too (row P7): counted exactly
where the user names the model's tokenizer; else by an estimate, and the run card says which."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError, first_line
from tripwright.files import MOST_AT_ONCE, check_model_files, is_no_model, model_file, open_file

# of the models that are made here, which learn the tools from episodes: it shows none
BARE_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|im_end|>{% endfor %}{% if"
    " add_generation_prompt %}<|assistant|>{% endif %}"
)
_MARK = "@@tool-answer@@"
_SAID = "@@said@@"
_LINES = "one\ntwo\n\n  three\n"
_ANSWERED = {"role": "tool", "content": _MARK}
_OPENING = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": _SAID},
]
_EMPTY_THOUGHT = re.compile(r"(<think>\s*</think>\s*)?")


class Shown(NamedTuple):
    """A tool's answer as a model is given it: the ids between two assistant turns ([] for a policy
    that gives none), the text of the answer that they hold, and how many tokens that is."""

    ids: list[int]
    text: str
    tokens: int


class ChatFormat:
    """How one model's conversation looks in tokens. `tokenizer` is one of `transformers`; `stop_id`
    ends a turn and is sampled by the model itself."""

    def __init__(self, tokenizer: Any, tools: list[dict[str, Any]] | None = None):
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(
                "This tokenizer has no chat template; an agent needs one that knows the roles"
                " system, user, assistant and tool."
            )
        self.tokenizer, self._tools = tokenizer, tools
        prompt = self._taken(_OPENING[:2])
        conversation = self._taken(_OPENING, add_generation_prompt=False)
        once = self._taken([*_OPENING, _ANSWERED])
        twice = self._taken([*_OPENING, _ANSWERED, _OPENING[2], _ANSWERED])
        self.stop_token = self._stop_after(conversation)
        self.stop_id = tokenizer.convert_tokens_to_ids(self.stop_token)
        head, _, between = once.partition(_SAID + self.stop_token)
        before, marked, after = between.partition(_MARK)
        same_start = prompt.startswith(head) and _EMPTY_THOUGHT.fullmatch(prompt[len(head) :])
        if not (marked and same_start and twice.endswith(_SAID + self.stop_token + between)):
            raise UserError(
                "This chat template rewrites earlier turns, or has no 'tool' role: episodes cannot"
                " be continued token by token."
            )
        self._before, self._after = self.encode(before), self.encode(after)
        bare = tokenizer.chat_template == BARE_TEMPLATE
        names = [tool.get("function", tool)["name"] for tool in tools or ()]
        if not bare and not all(name in prompt for name in names):
            raise UserError(
                "This chat template does not show the tools that it is given: the model would not"
                " know them. Take a model whose template does, or a dialect whose prompt lists its"
                " tools, such as compact."
            )
        if self.decode(self.encode(_LINES)).count("\n") != _LINES.count("\n"):
            raise UserError(
                "This tokenizer loses line breaks: what the model reads and says would not be what"
                " stands in the transcript. Take a tokenizer that keeps them (a byte-level one, as"
                " Qwen's)."
            )

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def decode(self, token_ids: list[int]) -> str:
        """The text of sampled ids, control tokens included."""
        text: str = self.tokenizer.decode(token_ids, skip_special_tokens=False)
        return text

    def opening(self, system: str, user: str) -> list[int]:
        """The prompt up to where the assistant's first turn begins. An empty system prompt is none:
        what the template then writes is its own."""
        messages = [{"role": "system", "content": system}] if system else []
        return self.prompt([*messages, {"role": "user", "content": user}])

    def prompt(self, messages: list[dict[str, Any]]) -> list[int]:
        """Any conversation as it is written down, up to where the assistant's next turn begins.
        Raises UserError for one that the template does not take."""
        return self.encode(self._taken(messages))

    def between(self, messages: list[dict[str, Any]]) -> list[int]:
        """What stands between two assistant turns: these messages, in the template's frame. Raises
        UserError as `prompt`."""
        if [message["role"] for message in messages] == ["tool"]:
            return self.tool_answer(messages[0]["content"], sys.maxsize).ids
        rendered = self._taken([*_OPENING, *messages])
        return self.encode(rendered.partition(_SAID + self.stop_token)[2])

    def tool_answer(self, text: str, max_tokens: int) -> Shown:
        """What stands between two assistant turns: the answer in the template's frame, of
        `max_tokens` at most.

        A longer one is cut on the right (row P7) and ends with a note that says so, which is part
        of the `max_tokens`.
        """
        ids = self.encode(text)
        if len(ids) > max_tokens:
            ids = self._cut(ids, max_tokens)
            text = self.decode(ids)
        ids = [*self._before, *ids, *self._after]
        return Shown(ids, text, len(ids))

    def _cut(self, ids: list[int], max_tokens: int) -> list[int]:
        """Where not even the note has room, the beginning is all there is."""
        for size in range(max_tokens, -1, -1):
            note = self.encode(f"… cut: {size} of {len(ids)} tokens shown")
            # half a character
            if size + len(note) <= max_tokens and not self.decode(ids[:size]).endswith("\ufffd"):
                return [*ids[:size], *note]
        return ids[:max_tokens]

    def said(self, text: str) -> list[int]:
        """An assistant turn written by someone who is not the model (the expert), stop token
        included."""
        return [*self.encode(text), self.stop_id]

    def _taken(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        try:
            rendered: str = self.tokenizer.apply_chat_template(
                messages,
                tools=self._tools,
                add_generation_prompt=add_generation_prompt,
                tokenize=False,
                enable_thinking=False,
            )
        except Exception as error:
            # a template is a program of someone else's, and says in its own ways what it does not
            # take
            roles = ", ".join(message["role"] for message in messages)
            raise UserError(
                f"This chat template does not take messages of {roles}: {first_line(error)}"
            ) from None
        return rendered

    def _stop_after(self, rendered: str) -> str:
        tail = rendered.partition(_SAID)[2]
        for token in (
            "<|im_end|>",
            "<|eot_id|>",
            "<|eom_id|>",
            "<end_of_turn>",
            self.tokenizer.eos_token,
        ):
            if token and tail.startswith(token):
                return token
        raise UserError(
            f"This chat template ends an assistant turn with {tail[:20]!r}, which is no known stop"
            " token."
        )


# Measured with the vocabulary of Qwen 2.5 and 3 on episodes of three dialects: prompts 3.7 to 4.4
# characters a token, turns 2.4 to 3.3, answers of tools 2.3 to 2.7.
CHARACTERS_PER_PROMPT_TOKEN = 3.7
CHARACTERS_PER_TOKEN = 2.5


@dataclass(frozen=True)
class EstimatedTokens:
    """Characters over these constants. `schemas` are what the endpoint is sent of the tools; `name`
    is what a run card says."""

    schemas: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    name: str = (
        f"an estimate: {CHARACTERS_PER_PROMPT_TOKEN} characters a token of the prompt,"
        f" {CHARACTERS_PER_TOKEN} of the rest"
    )

    def opening(self, system: str, user: str) -> int:
        """Of the whole prompt, schemas of tools included."""
        texts = (system, user, *map(json.dumps, self.schemas))
        return round(sum(map(len, texts)) / CHARACTERS_PER_PROMPT_TOKEN)

    def turn(self, text: str) -> int:
        return round(len(text) / CHARACTERS_PER_TOKEN)

    def tool_answer(self, text: str, max_tokens: int) -> Shown:
        """As it is shown: a longer one is cut on the right and says so within `max_tokens`."""
        room = int(max_tokens * CHARACTERS_PER_TOKEN)
        if len(text) > room:
            note = f"… cut to {room} of {len(text)} characters"[:room]
            text = text[: room - len(note)] + note
        return Shown([], text, self.turn(text))


@dataclass(frozen=True)
class ExactTokens:
    """The same of this tokenizer, with what its chat template writes around the texts."""

    chat: ChatFormat
    name: str

    def opening(self, system: str, user: str) -> int:
        return len(self.chat.opening(system, user))

    def turn(self, text: str) -> int:
        return len(self.chat.said(text))

    def tool_answer(self, text: str, max_tokens: int) -> Shown:
        return self.chat.tool_answer(text, max_tokens)._replace(ids=[])


TokenCounter = EstimatedTokens | ExactTokens


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


# of which a tokenizer's folder holds one: without any the library would make one without words
VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json")


def load_tokenizer(place: str | Path) -> Any:
    """Of a folder, as `save_pretrained` writes it, or of a model's name on the hub."""
    path = Path(place)
    if is_no_model(place) or (
        path.is_dir() and not any((path / name).is_file() for name in VOCABULARIES)
    ):
        raise UserError(
            f"No tokenizer in '{place}': expected tokenizer.json, as it comes with the model."
        )
    check_model_files(path)
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except Exception as error:  # each kind of damaged file has its own
        raise UserError(
            f"No tokenizer could be loaded from '{place}': {first_line(error)}"
        ) from None


TOKENIZER = "tokenizer.json"  # of a model's folder


@dataclass(frozen=True)
class TokenWords:
    """Token ids as words, for people who look at them; ids stay what they are (law 5)."""

    tokenizer: Any

    @classmethod
    def read(cls, path: Path) -> TokenWords | None:
        """None where `path` is no tokenizer, or the 'train' extra is not installed."""
        try:
            from tokenizers import Tokenizer

            with open_file(model_file(path), most=MOST_AT_ONCE) as file:
                return cls(Tokenizer.from_buffer(file.read()))
        except Exception:  # the library raises no narrower one for a file that it cannot read
            return None

    def of(self, token_ids: Sequence[int], text: str) -> list[str] | None:
        """One word per token; a character that several tokens make stands at the last of them. None
        where the words do not make `text` (special tokens and blanks around it aside): words of
        another tokenizer are not shown."""
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=False)
        try:
            words = [stream.step(self.tokenizer, token) or "" for token in token_ids]
        except Exception:  # the library's own: it cannot go on after bytes that are no text
            return None
        spoken = self.tokenizer.decode(token_ids, skip_special_tokens=True)
        return words if text.strip() in (spoken.strip(), "".join(words).strip()) else None

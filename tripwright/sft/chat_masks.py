"""A conversation as token ids with a mask that is 1 on what the assistant says, its stop token
included. By the first way that fits:

1. *As an episode*: a system prompt, a request, then assistant and tool in turn, all of it plain
   text. Each piece is encoded by itself, in the frame that the policy will see when it plays
   (`ChatFormat`), so the same trajectory has the same ids in every file format.
2. *By markers*: a template with `{% generation %}` says itself which tokens are the assistant's.
3. *By prefixes*: the template renders the conversation up to each assistant turn, and with it; what
   the turn adds is the assistant's. A template that writes earlier turns anew gives no such
   prefixes, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.errors import UserError

Message = dict[str, Any]
Encoded = tuple[list[int], list[int]]  # ids, mask
MARKER = re.compile(r"\{%-?\s*generation\s*-?%\}")
_WHOLE = 1 << 30  # tool texts in files are what a model was shown: they were cut then, if at all


class ChatMasks:
    """`train` (one boolean a message) leaves assistant messages out of the mask; without it all of
    them are in it."""

    def __init__(self, tokenizer: Any):
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(
                "This tokenizer has no chat template, so messages cannot be turned into tokens."
            )
        self.tokenizer = tokenizer
        self.marked = MARKER.search(str(tokenizer.chat_template)) is not None
        self._formats: dict[str, ChatFormat | None] = {}

    def encode(
        self,
        messages: Sequence[Message],
        tools: list[dict[str, Any]] | None,
        train: Sequence[bool] | None = None,
    ) -> Encoded:
        """Raises UserError in one line where no way fits."""
        train = [message["role"] == "assistant" for message in messages] if train is None else train
        if is_episode(messages) and (chat := self._format(tools)) is not None:
            return as_episode(
                chat, [(message["role"], message["content"]) for message in messages], train
            )
        if self.marked:
            return self._by_markers(messages, tools, train)
        return self._by_prefixes(messages, tools, train)

    def _format(self, tools: list[dict[str, Any]] | None) -> ChatFormat | None:
        """None where the template does not suit episodes."""
        key = repr(tools)
        if key not in self._formats:
            try:
                self._formats[key] = ChatFormat(self.tokenizer, tools)
            except UserError:
                self._formats[key] = None
        return self._formats[key]

    def _by_markers(
        self, messages: Sequence[Message], tools: Any, train: Sequence[bool]
    ) -> Encoded:
        encoding = self._apply(
            messages, tools, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        ids, mask = list(encoding["input_ids"]), list(encoding["assistant_masks"])
        flags = [
            t for message, t in zip(messages, train, strict=True) if message["role"] == "assistant"
        ]
        if all(flags):
            return ids, mask
        runs = [(value, len(list(run))) for value, run in groupby(mask)]
        if sum(value for value, _ in runs) != len(flags):
            raise UserError(
                "The chat template does not mark one stretch for each assistant message, so single"
                " ones cannot be left out."
            )
        left = iter(flags)
        return ids, [
            x for value, length in runs for x in [int(bool(value) and next(left))] * length
        ]

    def _by_prefixes(
        self, messages: Sequence[Message], tools: Any, train: Sequence[bool]
    ) -> Encoded:
        whole: str = self._apply(messages, tools, tokenize=False)
        ids: list[int] = []
        mask: list[int] = []
        done = 0
        for i, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            before: str = self._apply(
                messages[:i], tools, tokenize=False, add_generation_prompt=True
            )
            after: str = self._apply(messages[: i + 1], tools, tokenize=False)
            if not (whole.startswith(after) and after.startswith(before) and len(before) >= done):
                raise UserError(
                    "This chat template writes earlier turns anew and has no {% generation %}"
                    " markers: which tokens are the assistant's cannot be told. Use a template with"
                    " markers, or conversations of system, user, then assistant and tool in turn."
                )
            turn = after[len(before) :].rstrip()
            self._check_stop(turn)
            self._add(ids, mask, whole[done : len(before)], False)
            self._add(ids, mask, turn, train[i])
            done = len(before) + len(turn)
        self._add(ids, mask, whole[done:], False)
        return ids, mask

    def _add(self, ids: list[int], mask: list[int], text: str, label: bool) -> None:
        piece = self.tokenizer.encode(text, add_special_tokens=False)
        ids += piece
        mask += [int(label)] * len(piece)

    def _check_stop(self, turn: str) -> None:
        if not any(turn.endswith(token) for token in self.tokenizer.all_special_tokens):
            raise UserError(
                f"This chat template ends an assistant turn with {turn[-20:]!r}, which is no stop"
                " token."
            )

    def _apply(self, messages: Sequence[Message], tools: Any, **options: Any) -> Any:
        try:
            return self.tokenizer.apply_chat_template(list(messages), tools=tools, **options)
        except Exception as error:
            # a template is a program of someone else's, and says in its own ways what it does not
            # take
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"The chat template does not take this conversation: {why}") from None


def is_episode(messages: Sequence[Message]) -> bool:
    """System, user, then assistant and tool in turn, in plain text."""
    roles = [message["role"] for message in messages]
    alternating = all(role == ("assistant", "tool")[i % 2] for i, role in enumerate(roles[2:]))
    plain = all(
        isinstance(message.get("content"), str) and not message.get("tool_calls")
        for message in messages
    )
    return roles[:2] == ["system", "user"] and len(roles) > 2 and alternating and plain


def as_episode(
    chat: ChatFormat, messages: Sequence[tuple[str, str]], train: Sequence[bool], cut: bool = False
) -> Encoded:
    """(role, text) of each message, as a session would have appended them. `cut`: the last turn was
    ended by a limit, not by its stop."""
    ids = chat.opening(messages[0][1], messages[1][1])
    mask = [0] * len(ids)
    for i, (role, text) in enumerate(messages[2:], start=2):
        if role == "assistant":
            piece = chat.encode(text) if cut and i == len(messages) - 1 else chat.said(text)
        else:
            piece = chat.tool_answer(text, _WHOLE).ids
        ids += piece
        mask += [int(role == "assistant" and bool(train[i]))] * len(piece)
    return ids, mask

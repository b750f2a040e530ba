"""Conversations to fine-tune on (rows S4, D6): files of them in the formats that this project
writes and others use, as token ids with a mask, given in a new order every epoch.

A record (a line, or a Parquet row) is

- an episode: a line of a run's transcripts.jsonl, or of `tripwright data collect`; with its own
  token ids where a local model made it;
- messages: `{"messages": [{"role", "content", "tool_calls"?, "reasoning_content"?}], "tools"?,
  "train"?, "input_ids"?, "loss_mask"?}`, as chat endpoints take them and `tripwright data export`
  writes them for Hugging Face and TRL. Reasoning becomes the thought that opens the turn;
- sharegpt: `{"conversations": [{"from", "value"}], "system"?, "tools"?}`, as LLaMA-Factory reads
  them.

The mask is 1 on what the assistant says, its stop token included. By the first way that fits:

1. *As an episode*: a system prompt, a request, then assistant and tool in turn, all of it plain
   text. Each piece is encoded by itself, in the frame that the policy will see when it plays
   (`ChatFormat`), so the same trajectory has the same ids in every file format.
2. *By markers*: a template with `{% generation %}` says itself which tokens are the assistant's.
3. *By prefixes*: the template renders the conversation up to each assistant turn, and with it; what
   the turn adds is the assistant's. A template that writes earlier turns anew gives no such
   prefixes, and is refused.

Nothing is left out in silence: `Figures` counts what was read, used, cut and dropped, and why, and
names unread keys of records. In a message, a key or a role that is not understood is refused.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import ONE_THOUGHT, opening_thoughts, with_thought
from tripwright.errors import UserError, first_line, read_json
from tripwright.files import json_lines
from tripwright.runs import TRANSCRIPTS, episode_lines, transcripts_in
from tripwright.training.sft import SftSettings
from tripwright.training.trips import FileSamples, TokenizedRow
from tripwright.transcript import StopReason, Transcript

_SHAREGPT = {
    "human": "user",
    "gpt": "assistant",
    "observation": "tool",
    "function_call": "assistant",
    "system": "system",
}


def _from_json(value: Any) -> Any:
    """A text of JSON as what it says; an empty one as nothing."""
    return read_json(value.encode() or b"null") if isinstance(value, str) else value


class _Function(BaseModel, extra="allow"):
    """Arguments as an object: a template that writes them as JSON would put a text in quotes. Some
    servers send an empty text for none."""

    name: str
    arguments: Annotated[
        dict[str, Any], BeforeValidator(lambda a: {} if a == "" else _from_json(a))
    ]


class _Call(BaseModel, extra="allow"):
    type: Literal["function"] = "function"
    function: _Function


class _Message(BaseModel, extra="forbid"):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: list[_Call] = []
    reasoning_content: str = ""
    name: str | None = None
    tool_call_id: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _checked(cls, message: Any) -> Any:
        """What is null or an empty list says nothing. Without content, calls are all there is."""
        said = message.items() if isinstance(message, dict) else ()
        message = {key: value for key, value in said if value not in (None, [])}
        if "content" not in message and "tool_calls" not in message:
            raise ValueError("content must be a text, or absent beside tool_calls")
        if message.get("reasoning_content") and message.get("role") != "assistant":
            raise ValueError("reasoning_content is the assistant's alone")
        return {"content": "", **message}


class _Turn(BaseModel, extra="forbid"):
    """Of sharegpt."""

    speaker: Literal["human", "gpt", "observation", "function_call", "system"] = Field(alias="from")
    value: str


def _read_transcript(value: Any) -> Transcript:
    try:
        return Transcript.from_json(value)
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it cannot be read") from None


def _as_schemas(tools: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Sharegpt's bare functions are wrapped as OpenAI's; an empty list is as none."""
    tools = [t if "function" in t else {"type": "function", "function": t} for t in tools or []]
    return tools or None


class TrainingConversation(BaseModel):
    """One record, read: an episode's `transcript`, or messages. `where` names the file and the
    line, `unread` the keys that are none of these. Tools are a list, or a JSON text of one; an
    episode's line need not name them."""

    where: str
    unread: list[str] = []
    transcript: Annotated[Transcript | None, PlainValidator(_read_transcript)] = None
    messages: Annotated[list[_Message], Field(min_length=1)] = []
    conversations: list[_Turn] = []
    system: str | None = None
    tools: Annotated[
        list[dict[str, Any]] | None, BeforeValidator(_from_json), AfterValidator(_as_schemas)
    ] = None
    train: list[bool] | None = None
    input_ids: list[int] | None = None
    loss_mask: list[int] | None = None

    @model_validator(mode="after")
    def _checked(self) -> TrainingConversation:
        if self.messages and (self.conversations or self.system):
            raise ValueError("'conversations' or 'system' beside 'messages'")
        if self.conversations:
            opening = [_Message(role="system", content=self.system)] if self.system else []
            turns = [(_SHAREGPT[turn.speaker], turn.value) for turn in self.conversations]
            spoken = [_Message.model_validate({"role": r, "content": text}) for r, text in turns]
            self.messages = opening + spoken
        if not self.messages and self.transcript is None:
            raise ValueError("no 'messages', 'conversations' or 'transcript' in it")
        if self.train is not None and len(self.train) != len(self.messages):
            raise ValueError("train: expected one true or false for each of the messages")
        ids, mask = self.input_ids, self.loss_mask
        if (ids is None) != (mask is None) or (ids and mask and len(ids) != len(mask)):
            raise ValueError("input_ids and loss_mask: expected lists of equal length, or neither")
        return self


def read_conversations(path: str | Path) -> Iterator[TrainingConversation]:
    """Raises UserError with the line's number for a bad line. Of an episode that a run tried
    again, the last try."""
    path = transcripts_in(Path(path))
    if not path.is_file():
        raise UserError(f"No training data at '{path}'. Expected JSONL, Parquet or a run folder.")
    for number, record in _records(path):
        where = f"{path}:{number}"
        if "transcript" in record:
            record = {key: record[key] for key in ("transcript", "tools") if key in record}
        unread = [key for key in record if key not in TrainingConversation.model_fields]
        try:
            yield TrainingConversation.model_validate({**record, "where": where, "unread": unread})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(n + 1 if isinstance(n, int) else n) for n in first["loc"])
            told = f"{place + ': ' if place else ''}{first['msg']}, found {first['input']!r:.60}"
            raise UserError(f"{where}: {told}.") from None


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.name == TRANSCRIPTS:
        yield from ((line.place.number, line.record()) for line in episode_lines(path))
        return
    if path.suffix == ".parquet":
        import pyarrow.parquet  # the 'data' extra

        try:
            batches = pyarrow.parquet.ParquetFile(path).iter_batches(256)
            records = (_without_nulls(row) for batch in batches for row in batch.to_pylist())
            yield from enumerate(records, start=1)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise UserError(f"'{path}' is not a Parquet file: {first_line(error)}") from None
        return
    for number, record in json_lines(path):
        if not isinstance(record, dict):
            raise UserError(
                f"{path}:{number}: expected a JSON object, found {type(record).__name__}."
            )
        yield number, record


def _without_nulls(value: Any) -> Any:
    """Arrow gives every record of a column the keys of all, empty where it had none."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


# ---- token ids and masks


Message = dict[str, Any]
MARKER = re.compile(r"\{%-?\s*generation\s*-?%\}")
_WHOLE = 1 << 30  # tool texts in files are what a model was shown: they were cut then, if at all


class ChatMasks:
    """Conversations → rows, with the ids they come with, or else those of this tokenizer.
    `dialect`: how thoughts are written, and the tools that the template is given for an episode
    whose line does not say."""

    def __init__(self, tokenizer: Any, dialect: Dialect | None = None):
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(
                "This tokenizer has no chat template, so messages cannot be turned into tokens."
            )
        self.tokenizer, self.schemas = tokenizer, dialect.schemas() if dialect else None
        self.form = replace(dialect.turns if dialect else ONE_THOUGHT, least_thoughts=1)
        self.marked = MARKER.search(str(tokenizer.chat_template)) is not None
        self._formats: dict[str, ChatFormat] = {}

    def rows(self, conversation: TrainingConversation) -> list[TokenizedRow]:
        """One row; of an episode whose context was cut, one for each context."""
        ids = conversation.input_ids
        try:
            messages = [self._as_written(message) for message in conversation.messages]
            if conversation.transcript is not None:
                return self._of_transcript(conversation.transcript, conversation)
            if ids is not None:
                said = [m["content"] for m in messages if m["role"] == "assistant"]
                self._check_ids(ids, said)
                return [TokenizedRow(ids, conversation.loss_mask or [])]
            return [self.encode(messages, conversation.tools, conversation.train)]
        except UserError as error:
            raise UserError(f"{conversation.where}: {error}") from None

    def _as_written(self, message: _Message) -> Message:
        """For a template, which may not know reasoning: it opens the turn, as in the dialect."""
        written = message.model_dump(exclude_unset=True, exclude={"reasoning_content"})
        if (thought := message.reasoning_content).strip():
            written["content"] = with_thought(message.content, self.form, thought)
            if thought not in opening_thoughts(written["content"], self.form).thoughts:
                raise UserError("reasoning_content stands beside another thought in the content.")
        return written

    def _of_transcript(
        self, transcript: Transcript, conversation: TrainingConversation
    ) -> list[TokenizedRow]:
        turns = [(segment.role, segment.text) for segment in transcript.segments]
        if transcript.has_tokens:
            said = [text for role, text in turns if role == "assistant"]
            self._check_ids(transcript.token_ids, said)
            return [TokenizedRow(ids, mask) for _, ids, mask in transcript.sequences]
        roles = [role for role, _ in turns]
        if roles[:2] != ["system", "user"] or set(roles[2:]) - {"assistant", "tool"}:
            expected = "system and user, then assistant and tool"
            raise UserError(f"a transcript has {expected}; found {', '.join(roles[:4])}.")
        says_tools = "tools" in conversation.model_fields_set
        chat = self.chat(conversation.tools if says_tools else self.schemas)
        cut = transcript.stop_reason == StopReason.MAX_TURN_TOKENS
        return [
            as_episode(
                chat,
                [turns[n] for n in seen],
                [n in own for n in seen],
                cut=cut and seen[-1] == len(turns) - 1,
            )
            for seen, own in transcript.contexts
        ]

    def _check_ids(self, ids: list[int], turns: list[str]) -> None:
        """Ids mean something to the tokenizer that made them alone."""
        if max(ids, default=0) >= len(self.tokenizer) or (
            turns and turns[-1] not in self.tokenizer.decode(ids, skip_special_tokens=False)
        ):
            raise UserError(
                "its token ids are of another tokenizer than this model's. Export the texts alone,"
                " or start from that model."
            )

    def encode(
        self,
        messages: Sequence[Message],
        tools: list[dict[str, Any]] | None,
        train: Sequence[bool] | None = None,
    ) -> TokenizedRow:
        """`train` (one boolean a message) leaves assistant messages out of the mask; without it all
        of them are in it. Raises UserError in one line where no way fits."""
        train = [message["role"] == "assistant" for message in messages] if train is None else train
        if is_episode(messages):
            turns = [(message["role"], message["content"]) for message in messages]
            with suppress(UserError):  # the template does not suit episodes
                return as_episode(self.chat(tools), turns, train)
        if self.marked:
            return self._by_markers(messages, tools, train)
        return self._by_prefixes(messages, tools, train)

    def chat(self, tools: list[dict[str, Any]] | None) -> ChatFormat:
        """Raises UserError where the template does not suit episodes."""
        key = repr(tools)
        if key not in self._formats:
            self._formats[key] = ChatFormat(self.tokenizer, tools)
        return self._formats[key]

    def _by_markers(
        self, messages: Sequence[Message], tools: Any, train: Sequence[bool]
    ) -> TokenizedRow:
        encoding = self._apply(
            messages, tools, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        ids, mask = list(encoding["input_ids"]), list(encoding["assistant_masks"])
        flags = [
            t for message, t in zip(messages, train, strict=True) if message["role"] == "assistant"
        ]
        if all(flags):
            return TokenizedRow(ids, mask)
        runs = [(value, len(list(run))) for value, run in groupby(mask)]
        if sum(value for value, _ in runs) != len(flags):
            raise UserError(
                "The chat template marks messages together, so single ones cannot be left out."
            )
        left = iter(flags)
        kept = [x for value, length in runs for x in [int(bool(value) and next(left))] * length]
        return TokenizedRow(ids, kept)

    def _by_prefixes(
        self, messages: Sequence[Message], tools: Any, train: Sequence[bool]
    ) -> TokenizedRow:
        whole: str = self._apply(messages, tools, tokenize=False)
        pieces, done = list[tuple[str, bool]](), 0
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
                    " markers: which tokens are the assistant's cannot be told."
                )
            turn = after[len(before) :].rstrip()
            if not turn.endswith(tuple(self.tokenizer.all_special_tokens)):
                found = f"This chat template ends a turn with {turn[-20:]!r}"
                raise UserError(f"{found}, which is no stop token.")
            pieces += [(whole[done : len(before)], False), (turn, train[i])]
            done = len(before) + len(turn)
        row = TokenizedRow([], [])
        for text, label in [*pieces, (whole[done:], False)]:
            ids = self.tokenizer.encode(text, add_special_tokens=False)
            row.token_ids.extend(ids)
            row.loss_mask.extend([int(label)] * len(ids))
        return row

    def _apply(self, messages: Sequence[Message], tools: Any, **options: Any) -> Any:
        try:
            return self.tokenizer.apply_chat_template(list(messages), tools=tools, **options)
        except Exception as error:
            # a template is a program of someone else's, and says in its own ways what it does not
            # take
            why = first_line(error)
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
) -> TokenizedRow:
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
    return TokenizedRow(ids, mask)


# ---- rows to train on


@dataclass
class Figures:
    """Of a file: conversations read; how many are used, of these how many were cut; why the others
    are not; tokens used and trained on."""

    read: int = 0
    used: int = 0
    cut: int = 0
    too_long: int = 0
    without_turns: int = 0  # nothing that the assistant says, or nothing left of it after the cut
    unscored: int = 0  # episodes that failed by our fault
    tokens: int = 0
    trained_tokens: int = 0
    unread: dict[str, str] = field(default_factory=dict)  # keys of records, and where first

    def line(self, most_tokens: int) -> str:
        reasons = {
            f"longer than {most_tokens} tokens": self.too_long,
            "without a turn of the assistant": self.without_turns,
            "unscored": self.unscored,
        }
        out = ", ".join(f"{count} {why}" for why, count in reasons.items() if count)
        cut = f" {self.cut} were cut to {most_tokens} tokens." if self.cut else ""
        omissions = f" Left out: {out}." if out else ""
        unread = ", ".join(f"{key!r} ({where})" for key, where in self.unread.items())
        omissions += f" Not read, and first found: {unread}." if unread else ""
        return (
            f"{self.used} of {self.read} conversations, {self.tokens} tokens, {self.trained_tokens}"
            f" of them the assistant's.{cut}{omissions}"
        )


def file_samples(
    settings: SftSettings, dialect: Dialect, tokenizer: Any, positions: int, seed: int
) -> FileSamples:
    """The source of `[sft] data`, told of on stderr. `positions`: how many the model has. Raises
    UserError where the file holds nothing to train on."""
    most_tokens = min(settings.max_tokens or dialect.context_tokens, positions)
    rows, figures = read_rows(settings, tokenizer, dialect, most_tokens)
    print(figures.line(most_tokens), file=sys.stderr)
    return FileSamples(rows, seed, settings.max_epochs)


def expert_samples(
    transcripts: Iterable[Transcript], settings: SftSettings, seed: int
) -> FileSamples:
    """The first `settings.expert_transcripts` of the expert's, read in epochs as a file's are."""
    rows = [
        TokenizedRow(ids, mask)
        for t in itertools.islice(transcripts, settings.expert_transcripts)
        for _, ids, mask in t.sequences
    ]
    return FileSamples(rows, seed, settings.max_epochs)


def read_rows(
    settings: SftSettings, tokenizer: Any, dialect: Dialect | None, most_tokens: int
) -> tuple[list[TokenizedRow], Figures]:
    """`dialect` as `ChatMasks` has it."""
    masks, figures, rows = ChatMasks(tokenizer, dialect), Figures(), []
    for conversation in read_conversations(settings.data or ""):
        figures.read += 1
        figures.unread = dict.fromkeys(conversation.unread, conversation.where) | figures.unread
        transcript = conversation.transcript
        if transcript is not None and transcript.stop_reason == StopReason.UNSCORED:
            figures.unscored += 1
            continue
        for row in masks.rows(conversation):
            if len(row.token_ids) > most_tokens:
                if settings.too_long == "refuse":
                    raise UserError(
                        f"{conversation.where}: {len(row.token_ids)} tokens, {most_tokens} are"
                        " allowed. Raise sft.max_tokens and context_tokens, or set sft.too_long."
                    )
                if settings.too_long == "drop":
                    figures.too_long += 1
                    continue
                figures.cut += 1
                row = TokenizedRow(row.token_ids[:most_tokens], row.loss_mask[:most_tokens])
            if not any(row.loss_mask[1:]):  # the first token is never predicted
                figures.without_turns += 1
                continue
            rows.append(row)
            figures.used += 1
            figures.tokens += len(row.token_ids)
            figures.trained_tokens += sum(row.loss_mask)
    if not rows:
        raise UserError(f"'{settings.data}' holds nothing to train on: {figures.line(most_tokens)}")
    return rows, figures

"""What happened in one episode. A transcript stores token ids, loss mask and log-probabilities as
emitted (law 5): text is decoded from them for parsing and for people, and is never encoded again.
Whoever emits a token decides its mask.

Worked example, with `|` between segments: system+user prompt | assistant call | tool answer |
    assistant answer loss_mask   0 0 0 0 0                  | 1 1 1 1 1      | 0 0 0 0     | 1 1 1 1
The assistant segments end with the stop token as sampled (mask 1); what the chat template adds
around them has mask 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate
from typing import Any, Literal, NamedTuple


class StopReason(StrEnum):
    """Why the episode ended."""

    ANSWER = "answer"  # the agent gave an <answer>
    FORMAT_ERROR = "format_error"  # neither a readable tool call nor an answer
    REPEATED_CALL = "repeated_call"  # the same call with the same arguments again
    MAX_TURNS = "max_turns"
    MAX_CALLS = "max_calls"
    MAX_TURN_TOKENS = "max_turn_tokens"  # one turn grew over its limit without a stop token
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"  # the endpoint's filter refused a turn or cut it off
    UNSCORED = "unscored"  # our side failed (endpoint dead, tool host down): no verdict, no reward


OVERLONG = (StopReason.CONTEXT_OVERFLOW, StopReason.MAX_TURN_TOKENS)  # cut by a token limit


@dataclass(frozen=True)
class Rows:
    """What a model was shown of a tool's answer, as data: the fields, the precision and the rows
    that it saw, and nothing else. Fields have the names of the world's records
    (`world/records.py`), whatever the text calls them.

    Page 1 of a search that had found 5 flights, 2 on a page; and the same answer where a limit cut
        the text within its second row: Rows("Flight", ("price_usd", "number"), ((120, "F3"), (95.5,
        "F7")), {"price_usd": "USD"}, total=5, pages=3) Rows("Flight", ("price_usd", "number"),
        ((120, "F3"),), {"price_usd": "USD"}, total=None, pages=None) Where nothing was found, or
        the call was wrong: Rows("", problem="no_flights", note="No flights from Boston to Salem on
        2022-03-16.")
    """

    # name of the records' class; "text": the answer is prose of somebody else's tool, which has no
    # rows
    kind: str = ""
    fields: tuple[str, ...] = ()
    values: Sequence[tuple[Any, ...]] = ()  # row by row; None where the answer does not say
    units: Mapping[str, str] = field(default_factory=dict)  # field → unit, where it has one
    # what is said once, of all rows: the city of a heading
    about: Mapping[str, Any] = field(default_factory=dict)
    first: int = 1  # the number of the first row among all `total`
    # how many were found, on all pages; None, as is `pages`, where the answer is cut
    total: int | None = 0
    page: int = 1
    pages: int | None = 1
    problem: str | None = None  # why there are no rows, in a word (tools/answer.py)
    note: str = ""  # the same in a sentence of the tool's

    @property
    def is_whole(self) -> bool:
        return self.total is not None

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.fields, row, strict=True)) for row in self.values]

    def cut(self, count: int) -> Rows:
        """What is left of an answer that was cut after so many rows: how many there are stands at
        its end."""
        about = self.about if count else {}
        return replace(
            self,
            values=self.values[:count],
            about=about,
            total=None,
            pages=None,
            problem=None,
            note="",
        )

    def to_json(self) -> dict[str, Any]:
        """Without what is as usual: a transcript has many of them."""
        return {name: value for name, value in vars(self).items() if value != _NO_ROWS[name]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Rows:
        """Raises TypeError for a record of another kind."""
        return cls(
            **{
                **record,
                "fields": tuple(record.get("fields", ())),
                "values": tuple(map(tuple, record.get("values", ()))),
            }
        )


_NO_ROWS = vars(Rows())


def call_key(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for calls that ask the same."""
    return name + json.dumps(arguments, sort_keys=True)


@dataclass
class ToolCall:
    name: str
    arguments: dict[str, Any]
    result: str  # all of it; the tool's segment holds what the model was shown
    error: bool = False
    # what was done to this answer on purpose (tools/faults.py); the kind is its first word
    fault: str | None = None
    # what the model was shown, as data; None in folders of an older version
    rows: Rows | None = None

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "rows": None if self.rows is None else self.rows.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ToolCall:
        rows = record.get("rows")
        return cls(**{**record, "rows": None if rows is None else Rows.from_json(rows)})


@dataclass
class Segment:
    """One message: who wrote it, its text, and (where the policy gives them) its ids with
    log-probabilities."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    token_ids: Sequence[int] = field(default_factory=list)
    loss_mask: Sequence[int] = field(default_factory=list)
    logprobs: Sequence[float] = field(default_factory=list)  # 0.0 where the mask is 0
    call: ToolCall | None = None
    # of a turn that got an error message where another dialect ends the episode, for this reason
    problem: StopReason | None = None
    # of a turn whose context was cut: the number of the segment with which it went on after the
    # prompt; None: the turn saw all that stands before it
    context_from: int | None = None
    # thoughts that an endpoint told apart from the text: sent back to it, trained on by nobody
    told_apart: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in ("token_ids", "loss_mask", "logprobs")}
        call = None if self.call is None else self.call.to_json()
        rare = {"context_from": self.context_from, "told_apart": self.told_apart}
        usual = {name: value for name, value in vars(self).items() if name not in rare}
        said = {name: value for name, value in rare.items() if value not in (None, {})}
        return usual | said | lists | {"call": call}


class Context(NamedTuple):
    """What some turns of an episode saw and said: the numbers of its segments in order, and those
    of them that are these turns."""

    segments: list[int]
    turns: set[int]


class TokenSequence(NamedTuple):
    """A Context as tokens: their places in the transcript's `token_ids`, the ids, and which are
    trained on."""

    places: Sequence[int]
    token_ids: list[int]
    loss_mask: list[int]


@dataclass
class Transcript:
    """It only grows, by `add`: segments are a tuple, and the lists of all their tokens are made
    once for each such tuple."""

    segments: Sequence[Segment] = ()
    stop_reason: StopReason | None = None
    answer: str | None = None  # the text inside <answer>…</answer>
    fault: str | None = None  # why it is unscored
    # endpoint accounting: prompt_tokens, completion_tokens, seconds
    usage: Counter[str] = field(default_factory=Counter)
    parent: str | None = None  # id of the episode it was forked from (row S7)
    forked_at: int | None = None  # how many tokens it shares with its parent, at the least

    _lists: dict[str, list[Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _lists_of: Sequence[Segment] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.segments, self.usage = tuple(self.segments), Counter(self.usage)

    def add(self, segment: Segment) -> None:
        """Appends a segment, whose tokens stay as they are from then on."""
        self.segments = (*self.segments, segment)

    def _joined(self, name: str) -> list[Any]:
        """A list of every segment's, one after the other."""
        if self._lists_of is not self.segments:
            self._lists, self._lists_of = {}, self.segments
        if name not in self._lists:
            self._lists[name] = [each for s in self.segments for each in getattr(s, name)]
        return self._lists[name]

    @property
    def token_ids(self) -> list[int]:
        return self._joined("token_ids")

    @property
    def loss_mask(self) -> list[int]:
        return self._joined("loss_mask")

    @property
    def logprobs(self) -> list[float]:
        return self._joined("logprobs")

    @property
    def agent_tokens(self) -> int:
        """How many of the tokens the agent wrote."""
        return sum(self.loss_mask)

    @property
    def has_tokens(self) -> bool:
        """False for chat endpoints, which give no ids: such a transcript is text-only and not
        on-policy training data."""
        return any(s.token_ids for s in self.segments)

    def visible(self, context_from: int | None) -> dict[int, Segment]:
        """What a turn sees whose context goes on after the prompt with that segment: by number."""
        numbered = dict(enumerate(self.segments))
        if context_from is None:
            return numbered
        first = next(n for n, segment in numbered.items() if segment.role == "assistant")
        return {n: s for n, s in numbered.items() if n < first or n >= context_from}

    @property
    def contexts(self) -> list[Context]:
        """One where every turn saw all that stands before it; else one for every context in which
        turns were said, so that each turn is trained on after what it saw (law 5)."""
        turns = [n for n, s in enumerate(self.segments) if s.role == "assistant"]
        starts = dict.fromkeys(self.segments[n].context_from for n in turns)
        if not any(starts):
            return [Context(list(range(len(self.segments))), set(turns))]
        contexts = []
        for start in starts:
            own = {n for n in turns if self.segments[n].context_from == start}
            seen = [n for n in self.visible(start) if n <= max(own)]
            contexts.append(Context(seen, own))
        return contexts

    @property
    def sequences(self) -> list[TokenSequence]:
        """What an update trains on, for each of `contexts`."""
        contexts, ids = self.contexts, self.token_ids
        if len(contexts) == 1:
            return [TokenSequence(range(len(ids)), ids, self.loss_mask)]
        starts = list(accumulate((len(s.token_ids) for s in self.segments), initial=0))
        sequences = []
        for segments, turns in contexts:
            places = [place for n in segments for place in range(starts[n], starts[n + 1])]
            mask = [
                mask if n in turns else 0 for n in segments for mask in self.segments[n].loss_mask
            ]
            sequences.append(TokenSequence(places, [ids[place] for place in places], mask))
        return sequences

    @property
    def context_was_cut(self) -> bool:
        """Whether a token limit ended it, or earlier exchanges left its context (Planner-R1,
        Appendix I)."""
        return self.stop_reason is StopReason.CONTEXT_OVERFLOW or any(
            s.context_from is not None for s in self.segments
        )

    @property
    def response_tokens(self) -> int:
        """Of all that follows the prompt, as much as stood in its context at once."""
        prompt = 0
        for segment in self.segments:
            if segment.role == "assistant":
                break
            prompt += len(segment.token_ids)
        return max(len(sequence.places) for sequence in self.sequences) - prompt

    @property
    def calls(self) -> list[ToolCall]:
        return [s.call for s in self.segments if s.call is not None]

    @property
    def turns(self) -> int:
        return sum(s.role == "assistant" for s in self.segments)

    @property
    def problems(self) -> list[StopReason]:
        """Why turns got an error message and no end, one per turn."""
        return [s.problem for s in self.segments if s.problem is not None]

    @property
    def repeated_calls(self) -> int:
        """Turns that asked again what had been answered, whether the dialect answers, refuses or
        ends the episode (`on_repeated`)."""
        calls_so_far: set[str] = set()
        count = self.problems.count(StopReason.REPEATED_CALL) + (
            self.stop_reason is StopReason.REPEATED_CALL
        )
        for call in self.calls:
            key = call_key(call.name, call.arguments)
            count += key in calls_so_far
            if call.fault is None:  # else it may be asked again
                calls_so_far.add(key)
        return count

    def to_json(self) -> dict[str, Any]:
        record = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        segments = [segment.to_json() for segment in self.segments]
        return {**record, "segments": segments, "usage": dict(self.usage)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Transcript:
        segments = []
        for s in record["segments"]:
            call = ToolCall.from_json(s["call"]) if s.get("call") else None
            problem = StopReason(s["problem"]) if s.get("problem") else None
            segments.append(Segment(**{**s, "call": call, "problem": problem}))
        stop = StopReason(record["stop_reason"]) if record.get("stop_reason") else None
        return cls(
            segments,
            stop,
            record.get("answer"),
            record.get("fault"),
            Counter(record.get("usage") or {}),
            record.get("parent"),
            record.get("forked_at"),
        )

"""An episode: a request, tools and limits go in; a transcript and a verdict come out.

Training, evaluation, serving and every bridge play the same episode. What a request is, which tools
there are and how an answer is read and judged, a domain says with its `Task`. A `Session` is one
episode in progress: whoever emits tokens, a `Policy`, calls `take` with a turn and reads
`transcript` for what to continue from. The session does no waiting and owns no model, so the same
object serves a batched local engine, a thread talking to an endpoint, the expert, and a person.
What an episode is *worth* is not said here: a trainer weighs the verdict it gets back.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, Protocol

from tripwright.agent.chat import ChatFormat, Shown, TokenCounter
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, Unreadable, read_turn, with_thought
from tripwright.llm.endpoint import map_unordered
from tripwright.tools.answer import unanswered
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox, ToolHostDown, Tools, answered
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript, call_key
from tripwright.verdict import Verdict

Asked = Mapping[str, tuple[str, ...]]  # group of a verdict → the facts that an episode is held to


# ---- what is asked, and how it is judged


class Request(Protocol):
    """What is asked: a TravelPlanner query or a traveller's request. Its words (`query`, as the
    official files call them) are all that an agent is told."""

    @property
    def query(self) -> str: ...
    def record(self) -> dict[str, Any]: ...


class Task(Protocol):
    """What an episode is about, whatever its domain: what is asked, where, with which tools, and
    how an answer is judged."""

    @property
    def id(self) -> str:
        """Unique in a run; survives interruptions."""
        ...

    @property
    def domain(self) -> str:
        """Its name in the registry of domains."""
        ...

    @property
    def request(self) -> Request: ...
    @property
    def where(self) -> str:
        """The name of the world, or of the services, that answer."""
        ...

    @property
    def judged_at_once(self) -> int:
        """How many episodes may be judged at once: more than 1 where a model is asked."""
        ...

    def renamed(self, id: str) -> Task: ...
    def tools(self, dialect: Dialect, emptied: bool) -> Tools: ...
    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        """Reads what a finished episode answered and judges it, by the rules or the verifier that
        the task was made with."""
        ...

    def asked(self, transcript: Transcript) -> Asked:
        """The facts by which an unscored episode would have been judged; the worst case of a score
        counts them as failed."""
        ...


@dataclass(frozen=True)
class Episode:
    """A finished episode. `verdict` is None where our side failed (unscored). `more` is what its
    domain adds to the record, as JSON."""

    task: Task
    transcript: Transcript
    verdict: Verdict | None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        return self.verdict is not None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.final

    @property
    def asked(self) -> Asked:
        if self.verdict is None:
            return self.task.asked(self.transcript)
        return {group.name: group.asked for group in self.verdict.groups}

    def record(self) -> dict[str, Any]:
        """One line of `transcripts.jsonl`."""
        asked = {group: list(names) for group, names in self.asked.items()}
        return {
            "id": self.task.id,
            "domain": self.task.domain,
            "request": self.task.request.record(),
            "world": self.task.where,
            "transcript": self.transcript.to_json(),
            "verdict": self.verdict.record() if self.verdict is not None else None,
            **({} if self.scored else {"asked": asked}),
            **self.more,
        }


class TaskDefaults:
    """What most tasks say alike, for frozen dataclasses with an `id` and a `request`."""

    judged_at_once = 1

    def renamed(self, id: str) -> Any:
        return replace(self, id=id)  # type: ignore[type-var]


class WorldTask(TaskDefaults):
    """The same for tasks whose tools answer from a generated or imported `world`."""

    world: Any

    @property
    def where(self) -> str:
        return str(self.world.name)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return ToolBox(self.world, dialect.face, page_rows=dialect.page_rows, emptied=emptied)


# ---- an episode in progress


class SessionWatcher(Protocol):
    """Who looks on while a session is played, for a page that shows it. What it raises ends the
    play: that is how a traveller cancels."""

    def on_call(self, number: int, call: Call, turn: str) -> None:
        """Before the tool is asked. `number` counts from 1, `turn` is the whole turn's text."""
        ...

    def on_answer(self, number: int, call: ToolCall, shown: str) -> None: ...


@dataclass
class Turn:
    """What a policy emitted. With token ids (stop token included, if it was sampled) or, from chat
    endpoints, as text alone."""

    text: str
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    cut: bool = False  # ended by a token limit instead of the stop token
    filtered: bool = False  # ended by an endpoint's content filter
    told_apart: Mapping[str, Any] = field(default_factory=dict)  # its thoughts, as in a Segment


class Session:
    """One episode of `task` in progress. It appends to the transcript; nothing in it is ever
    rewritten. The task's id tells the episode apart and seeds what a local policy samples in it.
    `episode` is what became of it, once it is closed."""

    episode: Episode

    def __init__(self, task: Task, tools: Tools, dialect: Dialect, chat: ChatFormat | None = None):
        self.task, self.tools, self.dialect, self.chat = task, tools, dialect, chat
        self.transcript = Transcript()
        self.watcher: SessionWatcher | None = None
        self._asked: set[str] = set()
        system = Segment("system", dialect.prompt(tools.schemas))
        user = Segment("user", task.request.query)
        opening = [system, user] if system.text else [user]
        if chat is not None:  # the ids of the whole opening prompt are kept with its first segment
            opening[0].token_ids = chat.opening(system.text, user.text)
            opening[0].loss_mask, opening[0].logprobs = _not_trained(opening[0].token_ids)
        for segment in opening:
            self.transcript.add(segment)
        # with which segment the next turn's context goes on after the prompt; None: it is all there
        self.context_from: int | None = None
        self._counter: TokenCounter | None = None
        # tokens of each segment; the prompt's with its first
        self._sizes = [len(segment.token_ids) for segment in opening]
        self.length = sum(self._sizes)  # of the next turn's context

    @property
    def done(self) -> bool:
        return self.transcript.stop_reason is not None

    @property
    def turn_budget(self) -> int:
        """How many tokens the next turn may have: none after a prompt that is too long."""
        most_of_prompt = self.dialect.max_prompt_tokens
        if most_of_prompt is not None and self._sizes[0] > most_of_prompt:
            return 0
        return min(self.dialect.max_turn_tokens, self._room)

    @property
    def context(self) -> list[int]:
        """The ids that the next turn follows."""
        if self.context_from is None:
            return list(self.transcript.token_ids)
        visible = self.transcript.visible(self.context_from)
        return [t for segment in visible.values() for t in segment.token_ids]

    def numbers(self, seed: int) -> random.Random:
        """The episode's own, for a local policy to sample with. Of text, which is seeded by its
        digest: equal in every process."""
        return random.Random(f"{seed} id {self.task.id}")

    def count_with(self, counter: TokenCounter) -> None:
        """For a policy that gives no ids, before its first turn: its limits in tokens are kept by
        this count."""
        self._counter = counter
        opening = self.transcript.segments
        system = opening[0].text if opening[0].role == "system" else ""
        self._sizes[0] = self.length = counter.opening(system, opening[-1].text)

    def take(self, turn: Turn) -> list[int]:
        """Appends a turn and, if it is a call, the tool's answer. Returns the ids up to the next
        turn ([] when done or text-only)."""
        ids = turn.token_ids
        logprobs = turn.logprobs or [0.0] * len(ids)
        segment = Segment("assistant", turn.text, ids, [1] * len(ids), logprobs)
        segment.told_apart = turn.told_apart
        segment.context_from = self.context_from
        self._add(segment, self._counter.turn(turn.text) if self._counter else len(ids))
        if turn.filtered:
            return self._stop(StopReason.CONTENT_FILTER)
        if turn.cut:  # it grew over a limit, and is the last
            full = self._room < 1
            return self._stop(StopReason.CONTEXT_OVERFLOW if full else StopReason.MAX_TURN_TOKENS)
        match read_turn(turn.text, self.dialect.turns):
            case Answer(text):
                self.transcript.answer = text
                return self._stop(StopReason.ANSWER)
            case Unreadable(problem):
                return self._malformed(
                    segment, self.dialect.on_malformed, f"This turn cannot be read: {problem}."
                )
            case Call(alone=False) if self.dialect.on_parallel != "first":
                return self._malformed(
                    segment,
                    self.dialect.on_parallel,
                    "A turn holds one <tool_call> or one <answer>, this one has more.",
                )
            case Call() as call:
                return self._call(call, segment)

    def say(self, text: str) -> None:
        """Takes a turn written as text: encoded once, here, where the session has a tokenizer.
        Programs and people think aloud where they want to: where the dialect asks for a thought,
        none is an empty one."""
        if self.dialect.turns.least_thoughts:
            text = with_thought(text, self.dialect.turns)
        self.take(Turn(text, self.chat.said(text) if self.chat else []))

    def continue_from(self, other: Session) -> None:
        """Becomes a fork of `other` as it is now, between two of its turns: what it said and asked
        counts here too (row S7). Tools stay its own. Raises ValueError where this session has begun
        already, or `other` is over or had another prompt."""
        begun = self.transcript.segments
        if other.done or begun != other.transcript.segments[: len(begun)]:
            raise ValueError(
                "a session is forked while it lasts, into one that was opened with the same prompt"
                " and has not begun"
            )
        self.transcript = copy.deepcopy(other.transcript)
        self.transcript.parent, self.transcript.forked_at = other.task.id, other.length
        self._asked = set(other._asked)
        self.length, self.context_from, self._sizes = (
            other.length,
            other.context_from,
            list(other._sizes),
        )

    def fail(self, fault: str) -> None:
        """Our side failed: the episode ends without a verdict (law 4)."""
        self.transcript.fault = fault
        self._stop(StopReason.UNSCORED)

    def goes_on(self) -> bool:
        """Whether there is to be another turn: where no token of room is left for it, the oldest
        exchange leaves the context or the episode ends."""
        while not self.done and self.turn_budget < 1:
            self.overflow()
        return not self.done

    def overflow(self) -> None:
        """The model's window is full, as its endpoint says or because the prompt fills it. Unlike a
        fault this is an outcome of the episode, and is judged, unless the oldest exchange can
        leave the context."""
        if not self._forget():
            self._stop(StopReason.CONTEXT_OVERFLOW)

    def _call(self, call: Call, segment: Segment) -> list[int]:
        key = call_key(call.name, call.arguments)
        if key in self._asked and self.dialect.on_repeated != "answer":
            if self.dialect.on_repeated == "end":
                return self._stop(StopReason.REPEATED_CALL)
            return self._refuse(
                segment,
                StopReason.REPEATED_CALL,
                "This call was made before: its answer stands above.",
            )
        number = len(self.transcript.calls) + 1
        if number > self.dialect.max_calls:
            return self._stop(StopReason.MAX_CALLS)
        if self.watcher is not None:
            self.watcher.on_call(number, call, segment.text)
        try:
            answer = answered(self.tools, call.name, call.arguments)
        except ToolHostDown as fault:
            self.fail(str(fault))
            return []
        shown = self._shown(answer.text)
        if not unanswered(answer.fault):  # else it may be asked again
            self._asked.add(key)
        segment.call = ToolCall(
            call.name,
            call.arguments,
            answer.text,
            answer.error,
            answer.fault,
            answer.rows(shown.text),
        )
        if self.watcher is not None:
            self.watcher.on_answer(number, segment.call, shown.text)
        return self._append(shown)

    def _malformed(
        self, segment: Segment, rule: Literal["end", "error"], message: str
    ) -> list[int]:
        if rule == "end":
            return self._stop(StopReason.FORMAT_ERROR)
        return self._refuse(segment, StopReason.FORMAT_ERROR, message)

    def _refuse(self, segment: Segment, problem: StopReason, message: str) -> list[int]:
        """The turn stands, marked; it is no call, so `max_calls` does not count it."""
        segment.problem = problem
        return self._append(self._shown(self.tools.face.error(message, problem).text))

    def _shown(self, text: str) -> Shown:
        """An answer as the model is shown it."""
        counter = self.chat or self._counter
        if counter is None:
            return Shown([], text, 0)
        return counter.tool_answer(text, self.dialect.max_tool_tokens)

    def _append(self, shown: Shown) -> list[int]:
        """What a tool says between two of the model's turns, if there is to be another."""
        ids = shown.ids
        self._add(Segment("tool", shown.text, ids, *_not_trained(ids)), shown.tokens)
        if self.transcript.turns >= self.dialect.max_turns:
            return self._stop(StopReason.MAX_TURNS)
        while self._room < self.dialect.max_turn_tokens and self._forget():
            pass
        if self._room < 1:
            return self._stop(StopReason.CONTEXT_OVERFLOW)
        return ids

    def _add(self, segment: Segment, size: int) -> None:
        self.transcript.add(segment)
        self._sizes.append(size)
        self.length += size

    # ---- the context

    @property
    def _room(self) -> int:
        """How many tokens the limits of the context leave."""
        room = self.dialect.context_tokens - self.length
        if self.dialect.max_response_tokens is None:
            return room
        return min(room, self.dialect.max_response_tokens - (self.length - self._sizes[0]))

    def _forget(self) -> bool:
        """Leaves the oldest exchange out of the context, where the dialect says so and it is not
        the last one."""
        if self.dialect.on_overflow == "end":
            return False
        turns = [n for n, s in enumerate(self.transcript.segments) if s.role == "assistant"]
        kept = [n for n in turns if n >= (self.context_from or 0)]
        if len(kept) < 2:
            return False
        self.length -= sum(self._sizes[kept[0] : kept[1]])
        for segment in self.transcript.segments[kept[0] : kept[1]]:
            if segment.call is not None:  # it may be asked again: its answer stands nowhere
                self._asked.discard(call_key(segment.call.name, segment.call.arguments))
        self.context_from = kept[1]
        return True

    def _stop(self, reason: StopReason) -> list[int]:
        self.transcript.stop_reason = reason
        return []


def _not_trained(ids: list[int]) -> tuple[list[int], list[float]]:
    return [0] * len(ids), [0.0] * len(ids)


# ---- playing


class Policy(Protocol):
    """Whoever emits the tokens: a local model, an endpoint, a person, a script."""

    @property
    def name(self) -> str: ...

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Yields each session when it is done. Draws from `sessions` as it goes, so that the
        iterable may be long and lazy."""
        ...


def play(
    policy: Policy,
    tasks: Iterable[Task],
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
) -> Iterator[Episode]:
    """Episodes in the order they finish. `chat` is the policy's tokenizer format, None for policies
    of text."""
    sessions = (open_session(task, dialect, chat, emptied_tools, faults, tools) for task in tasks)
    yield from closed(policy.play(sessions))


def open_session(
    task: Task,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
    group: str | None = None,
) -> Session:
    """`faults` makes the tools fail on purpose (Agent-STAR; row S9), in ways that depend on its
    seed and the task's id alone, or on the id of `group` where its members share them. `tools` are
    those of a server that has the task's world, in the dialect's face and pages; without them the
    world at hand answers."""
    tools = tools or task.tools(dialect, emptied_tools)
    if faults is not None:
        shared = group if faults.shared_by_group else None
        tools = FaultyTools(tools, faults, key=shared or task.id)
    return Session(task, tools, dialect, chat)


def closed(sessions: Iterable[Session]) -> Iterator[Episode]:
    """Finished sessions, judged: one after the other, or several at once where their tasks ask a
    model (`judged_at_once`). In the order in which they are done."""
    waiting = iter(sessions)
    first = next(waiting, None)
    if first is None:
        return
    at_once, sessions = first.task.judged_at_once, chain([first], waiting)
    if at_once == 1:
        yield from map(close_session, sessions)
    else:
        yield from map_unordered(close_session, sessions, at_once)


def close_session(session: Session) -> Episode:
    """Parses and judges what a finished session answered."""
    task, transcript = session.task, session.transcript
    if transcript.stop_reason is StopReason.UNSCORED:
        session.episode = Episode(task, transcript, None)
        return session.episode
    session.episode = episode = task.judged(transcript, session.dialect.plan_format)
    # whatever should have judged it failed, and the transcript says so
    if not episode.scored:
        transcript.stop_reason = StopReason.UNSCORED
        transcript.fault = transcript.fault or "the task gave no verdict"
    return episode

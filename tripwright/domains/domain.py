"""What a domain says of itself, once: all that training, evaluation, serving and the command line
need to know of its requests, tools, policies and rewards. Nobody outside the domain's folder asks
for more, or which domain it is. docs/new-domain.md builds one from nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, Protocol, TypedDict

from pydantic import ValidationError

from tripwright.agent.dialect import Dialect
from tripwright.domains.desk import Desk
from tripwright.domains.judging import Judge
from tripwright.domains.place import Place, PlaceOptions, open_world
from tripwright.episode import Policy, Session, Task
from tripwright.errors import UserError, first_problem
from tripwright.files import json_lines, some_of
from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import dense, success
from tripwright.tools.face import Face
from tripwright.transcript import Transcript
from tripwright.verdict import Verdict

Json = Mapping[str, Any]


class Stretch(NamedTuple):
    """A stretch of the agent's own characters that is about one field; `day` None: of the whole
    trip."""

    start: int
    end: int
    field: str
    day: int | None


@dataclass(frozen=True)
class Credit:
    """Where the words of an answer are that a fact is about (credit by evidence,
    `training/credit.py`). `places` gives, for each segment of a transcript, stretches of characters
    with the field and the day they are about; `looks_at` the fields that a fact looks at, by its
    name; `fields` all of them."""

    places: Callable[[Transcript], list[list[Stretch]]]
    looks_at: Mapping[str, tuple[str, ...]]
    fields: tuple[str, ...]
    # field of an evidence → what the answer calls it
    answer_fields: Mapping[str, str] = field(default_factory=dict)


class Solved(TypedDict):
    """What looking for a plan exactly came to: `status` is "optimal" (the proved cheapest),
    "feasible", "infeasible" or "timeout", `plan` the plan as data, and `why` says why there is
    none. `plans` are the cheapest ones, `explanation` and `changes` what conflicts and what would
    help, where they were asked for."""

    status: str
    plan: list[dict[str, Any]] | None
    cost_usd: float | None
    seconds: float
    why: str | None
    plans: NotRequired[list[dict[str, Any]]]
    explanation: NotRequired[dict[str, Any] | None]
    changes: NotRequired[list[dict[str, Any]]]


@dataclass(frozen=True)
class Plans:
    """Of a domain whose answers are plans as data: how one is judged without an episode, and how
    one is found exactly (request, source; the cheapest, so many, why there is none, and by which
    rules). Inside `at_most` a search that takes more seconds raises UserError."""

    judge: Callable[[Any, Any, Any, str], Verdict]  # (request, plan, source, rules)
    solve: Callable[[Any, Any, bool, int | None, bool, str], Solved]
    at_most: Callable[[float], AbstractContextManager[Any]] = nullcontext


# kind of thing that an answer names or claims → (those that rest on nothing, all of them)
Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Grounding:
    """One sense in which what an answer says may rest on nothing, for a section of the report.
    `counts` looks at the record of a scored episode: None where it cannot be told. Shares are of
    the answers that have such a thing, or of every answer that was looked at."""

    title: str
    note: str
    counts: Callable[[Json], Counts | None]
    kinds: tuple[str, ...] = ()  # in order; others follow by name
    of_every_answer: bool = False


@dataclass(frozen=True, kw_only=True)
class ReportHooks:
    """What people read of a domain's episodes in reports, tables and studies."""

    # fact → what people read in its place, where the name alone does not say it
    titles: Mapping[str, str] = field(default_factory=dict)
    # field of a request → how a person calls it
    labels: Mapping[str, str] = field(default_factory=dict)
    # record of an episode → its answer as Markdown, where that reads better than the answer
    page: Callable[[Json], str | None] = lambda record: None
    ungrounded: tuple[Grounding, ...] = ()
    # rubric of its judge → the dimension of DeepTravel's human study (row D10) that asks nearly
    # the same
    counterparts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Requests:
    """What is asked in a domain. `kind` is a class of pydantic's with the text `query` and
    `record()`; it may have a `level`, and `marks`: what else its requests are counted and divided
    by. `made_by` is the command that makes files of them."""

    kind: type[Any]
    made_by: str
    # (line number, request) of a file, at least one; by default a JSON object a line
    reader: Callable[[Path], Iterator[tuple[int, Any]]] | None = None
    # why a request does not fit a place
    refusal: Callable[[Any, Place], str | None] = lambda request, place: None
    # section of a score → field of the request whose values divide it
    slices: Mapping[str, str] = field(default_factory=lambda: {"levels": "level"})

    @property
    def fields(self) -> frozenset[str]:
        """Those that every request has."""
        fields = self.kind.model_fields.items()
        return frozenset(name for name, each in fields if each.is_required())

    def read(self, path: Path) -> Iterator[tuple[int, Any]]:
        """(line number, request) for every line that is not empty, at least one. Raises UserError
        at the first that is no request."""
        if self.reader is not None:
            yield from self.reader(path)
            return
        expected = f"Expected a JSONL file, as made by '{self.made_by}'."
        for number, record in some_of(path, json_lines(path), "request", expected):
            if not isinstance(record, dict):
                raise UserError(
                    f"{path}:{number}: expected a request, which is a JSON object, found"
                    f" {repr(record)[:60]}."
                )
            try:
                yield number, self.kind.model_validate(record)
            except ValidationError as error:
                raise UserError(f"{path}:{number}: {first_problem(error)}") from None

    def check(self, numbered: Iterable[tuple[int, Any]], place: Place, path: Path) -> None:
        """Raises UserError for the first that does not fit the place."""
        for line, request in numbered:
            if problem := self.refusal(request, place):
                raise UserError(f"{path}:{line}: {problem}")


@dataclass(frozen=True)
class NoMix:
    """A domain without settings for how its requests are drawn."""


class Draw(Protocol):
    """Requests that can be met in a world. A mix of None is the usual one."""

    def __call__(self, world: Any, count: int, seed: int, mix: Any = None) -> Iterator[Any]: ...


@dataclass(frozen=True, kw_only=True)
class Generator:
    """Worlds and requests without end: what training draws from where a recipe names no files."""

    world: Callable[[str, int], Any]  # (scale, seed)
    draw: Draw
    mix: type[Any] = NoMix  # settings of `draw`: the recipe's [data.mix]
    # sizes of worlds, the smallest first → their settings
    scales: Mapping[str, Any] = field(default_factory=lambda: {"nano": None})
    # the words of a world's names, which a tokenizer made on the spot must not merge into fixed
    # text: a model copies and compares them
    names: Callable[[Any], set[str]]
    # entries of closed lists, each one token of such a tokenizer: to see that one stands in two
    # places is then to compare two tokens
    closed_lists: tuple[str, ...] = ()


@dataclass(frozen=True)
class Player:
    """A policy without a model. `options` are the settings that it can be told (fields of
    PolicySettings), with its own values; `make` takes each of them."""

    make: Callable[..., Policy]
    options: Mapping[str, Any] = field(default_factory=dict)
    teaches: bool = False  # a cold start may imitate it, beside the expert
    # whether an episode is fit to be imitated
    keeps: Callable[[Session], bool] = lambda session: session.transcript.answer is not None
    baseline: str | None = None  # its name among those who say how hard requests are
    is_floor: bool = False  # a baseline without a thought: what it earns, a reward gives to anybody

    def __call__(self, **options: Any) -> Policy:
        return self.make(**{**self.options, **options})


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One domain: eight members that every domain has, and objects that each serve one other part
    of the house, for domains that want it."""

    name: str
    title: str  # what its requests are called in messages: "travellers' requests"
    requests: Requests
    dialects: tuple[Dialect, ...]  # the first is the default
    open: Callable[[PlaceOptions], AbstractContextManager[Place]] = open_world
    # (id, request, source of a Place or a generated world) and, where the judge has sets of rules,
    # `rules`: which of them judges, the first by default
    task: Callable[..., Task]
    # by the names of `run --policy`: the expert first, who shows that requests can be met. Recipes
    # and examinations call it "expert"
    players: Mapping[str, Player]
    # by their names in recipes, beside "dense" and "success"
    rewards: Mapping[str, Reward] = field(default_factory=dict)

    judge: Judge = Judge()
    generator: Generator | None = None
    plans: Plans | None = None
    report: ReportHooks = ReportHooks()
    credit: Credit | None = None
    live: str | None = None  # module that serves live tools over HTTP (cli/serve.py)
    desk: Desk | None = None  # what travellers are offered; without one, no page

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewards", {"dense": dense, "success": success, **self.rewards})

    def judged_under(self, rules: str | None) -> Callable[[str, Any, Any], Task]:
        """`task`, whose episodes these rules judge, by default the strictest; where there is one
        way to judge, as it is. Raises UserError for rules that it has not."""
        if not self.judge.rules:
            return self.task
        return partial(self.task, rules=self.judge.rules_named(rules))

    def generated(self) -> Generator:
        """Raises UserError where there is none."""
        if self.generator is None:
            raise UserError(f"No worlds are generated for {self.title}: name files of requests.")
        return self.generator

    def world(self, scale: str, seed: int) -> Any:
        """A generated world, for scripts. Raises UserError where none is generated."""
        return self.generated().world(scale, seed)

    def draw(self, mix: Any = None) -> Callable[[Any, int, int], Iterator[Any]]:
        """(world, how many, seed) → requests, of a mix or the usual one, for scripts."""
        return partial(self.generated().draw, mix=mix)

    @property
    def faces(self) -> tuple[Face, ...]:
        return tuple(dict.fromkeys(dialect.face for dialect in self.dialects))

    @property
    def expert(self) -> Player:
        return next(iter(self.players.values()))

    @property
    def teachers(self) -> dict[str, Player]:
        """Whom a cold start may imitate, by the names of `sft.expert`."""
        others = {name: player for name, player in self.players.items() if player.teaches}
        return {"expert": self.expert, **others}

    @property
    def baselines(self) -> dict[str, Player]:
        """Who says how hard requests are: the simple players, and the expert."""
        simple = {each.baseline: each for each in self.players.values() if each.baseline}
        return {**simple, "expert": self.expert}


def request_key(request: Any) -> str:
    """By which two requests are the same: their text, in which blanks do not count, or all that
    they ask for where they have none."""
    return " ".join(request.query.split()) or json.dumps(asked_for(request), sort_keys=True)


def asked_for(request: Any) -> dict[str, Any]:
    """The fields of a request of its domain, without what a file adds to them."""
    fields: dict[str, Any] = request.model_dump(
        by_alias=True, include=set(type(request).model_fields) - {"id"}
    )
    return fields

"""Endless streams of trips and of the expert's transcripts: what comes next depends on a number or
two, not on the past, so that a stream can be left and taken up again.

Trips are numbered. Trip n of a generated stream is in world n // per_world, so that going on at
trip 50,000 makes one world and not three thousand; trip n of a query file is in epoch n // queries,
whose order depends on seed and epoch alone. So do the rows of a file of transcripts. A generated
world is used for a few requests and thrown away, so that names and prices can only be copied from
tool answers.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_of, domains
from tripwright.domains.domain import Domain
from tripwright.domains.judging import Judged, unchanged
from tripwright.episode import Session, Task, open_session
from tripwright.errors import UserError, named
from tripwright.transcript import Transcript

# Generated worlds are numbered by their seed. Each stage draws from its own range of training
# worlds, so that no stage repeats another's trips, and neither examination nor validation, by which
# a checkpoint may be chosen, asks about a world that was trained in or that the other one asks
# about.
TRAINING_WORLDS, UNSEEN_WORLDS, WORLDS_APART = 0, 1_000_000, 100_000
VALIDATION_WORLDS = 2_000_000
SPLITS = {"train": TRAINING_WORLDS, "validation": VALIDATION_WORLDS, "test": UNSEEN_WORLDS}
MOST_OPEN = 4  # worlds kept at hand; trips that are asked for again lie near those that come next
# Trips without an answer of the expert's after which a stream of transcripts gives up: limits too
# tight for any plan would keep it looking for ever.
MOST_IN_VAIN = 200


@dataclass
class GeneratedTrips:
    """Numbered trips, `per_world` from each of the worlds first_world, first_world + 1, …, which
    are of `scales` in turn. Any can be asked for; in order is fastest."""

    domain: Domain
    scales: Sequence[str]
    first_world: int
    per_world: int
    mix: Any = None

    def __post_init__(self) -> None:
        self._generator = self.domain.generated()
        self._opened = lru_cache(MOST_OPEN)(self._open)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return map(self.at, itertools.count())

    def at(self, position: int) -> tuple[Any, Any]:
        number, place = divmod(position, self.per_world)
        world, requests = self._opened(number)
        return requests[place], world

    def _open(self, number: int) -> tuple[Any, list[Any]]:
        """A world and all its requests: each of them depends on those before it."""
        seed = self.first_world + number
        world = self._generator.world(self.scales[number % len(self.scales)], seed)
        return world, list(self._generator.draw(world, self.per_world, seed, self.mix))


def task_set(
    split: str = "train",
    count: int = 1000,
    *,
    first: int = 0,
    scale: str = "nano",
    dialect: str | None = None,
    rules: str | None = None,
    reward: str = "success",
) -> list[dict[str, Any]]:
    """Rows of a trainer's dataset, all of them JSON: requests that can be met, four in each of the
    split's generated worlds, from row `first` on. "train", "validation" and "test" share no world.
    By default the first domain's first dialect, and the strictest rules.

    {"id", "query", "world": scale, "seed", "request", "dialect", "rules", "reward"}

    `query` is what the agent is asked, `request` all of it as JSON text, for tables have one type
    to a column.
    """
    spoken = dialect or next(iter(domains().values())).dialects[0].name
    known, first_world = domain_of(spoken), named("split", split, SPLITS)
    named("scale", scale, known.generated().scales)
    made = GeneratedTrips(known, (scale,), first_world, per_world=4)
    most = made.per_world * UNSEEN_WORLDS
    if not 0 <= first <= first + count <= most:
        raise UserError(f"A split has rows 0 to {most - 1:,}: found {count:,} from {first:,} on.")
    judged_by = known.judge.rules_named(rules) if known.judge.rules else rules
    named("reward", reward, known.rewards)
    how = {"dialect": spoken, "rules": judged_by, "reward": reward}
    rows = []
    for number in range(first, first + count):
        request, _ = made.at(number)
        asked = {"query": request.query, "request": json.dumps(request.record())}
        where = {"world": scale, "seed": first_world + number // made.per_world}
        rows.append({"id": f"{split}-{number}", **asked, **where, **how})
    return rows


@lru_cache(maxsize=4)
def epoch_order(seed: int, epoch: int, count: int) -> list[int]:
    """The numbers of so many in the order of an epoch, which depends on the seed and it alone."""
    return random.Random(f"{seed}-{epoch}").sample(range(count), count)


@dataclass
class GivenTrips:
    """The requests of a file in one world, or with one source of live answers, in a new order every
    epoch."""

    place: Any
    requests: list[Any]
    seed: int

    def at(self, position: int) -> tuple[Any, Any]:
        epoch, number = divmod(position, len(self.requests))
        return self.requests[epoch_order(self.seed, epoch, len(self.requests))[number]], self.place


class Stream:
    """Goes on from its `position`, the number of the next item, which is all of its state."""

    position = 0

    def __iter__(self) -> Self:
        return self

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


@dataclass
class Trips(Stream):
    """A stream of a domain's tasks. Number n is called train-<n>.

    `per_epoch` is None where trips are made and none comes twice. `place_figures` counts what the
    place that answers has done, for the metrics of a step. `judged` makes of a task one that is
    judged otherwise: with the help of a model, or behind gates that are shut, too. `rules` is the
    set of them that judges, by default the domain's first.
    """

    domain: Domain
    source: GeneratedTrips | GivenTrips
    per_epoch: int | None = None
    place_figures: Callable[[], Mapping[str, int]] = dict
    judged: Judged = unchanged
    rules: str | None = None

    def __post_init__(self) -> None:
        self._task = self.domain.judged_under(self.rules)

    def at(self, number: int) -> Task:
        """Any trip of the stream, by its number."""
        return self.judged(self._task(f"train-{number}", *self.request_at(number)))

    def request_at(self, number: int) -> tuple[Any, Any]:
        """The same as a request and its world, or its source of live answers."""
        return self.source.at(number)

    def __next__(self) -> Task:
        task = self.at(self.position)
        self.position += 1
        return task


class TokenizedRow(NamedTuple):
    """Token ids, and a mask that is 1 on what is trained on in full."""

    token_ids: list[int]
    loss_mask: list[int]


class FileSamples(Stream):
    """Rows in a new order every epoch, for so many epochs (None: without end)."""

    def __init__(self, rows: list[TokenizedRow], seed: int, epochs: float | None = None):
        self.rows, self.seed, self.count = rows, seed, len(rows)
        self.most = None if epochs is None else round(epochs * self.count)

    def __next__(self) -> TokenizedRow:
        if self.most is not None and self.position >= self.most:
            raise StopIteration
        order = epoch_order(self.seed, self.position // self.count, self.count)
        row = self.rows[order[self.position % self.count]]
        self.position += 1
        return row


@dataclass
class ExpertTranscripts:
    """The expert's transcripts of trips, as token ids. A trip that the expert could not plan well,
    or not within the context that its pupil has, teaches nothing and is passed over."""

    trips: Trips
    dialect: Dialect
    chat: ChatFormat
    teacher: str = "expert"
    taught: int = 0  # transcripts given
    in_vain: int = 0  # trips in a row without one
    cut: int = 0  # transcripts given whose longest turn playing would cut

    @property
    def cut_turns(self) -> float:
        """The share of the transcripts so far that hold a turn longer than `max_turn_tokens`."""
        return self.cut / max(1, self.taught)

    @property
    def left_out(self) -> float:
        """The share of the trips so far that was passed over."""
        return (self.trips.position - self.taught) / max(1, self.trips.position)

    def __iter__(self) -> ExpertTranscripts:
        return self

    def __next__(self) -> Transcript:
        while True:
            request, place = self.trips.request_at(self.trips.position)
            self.trips.position += 1
            session = expert_session(request, place, self.dialect, self.chat, self.teacher)
            fits = session.length <= self.dialect.context_tokens  # nobody cuts an expert's turn
            if fits and self.trips.domain.teachers[self.teacher].keeps(session):
                self.taught, self.in_vain = self.taught + 1, 0
                said = [s for s in session.transcript.segments if s.role == "assistant"]
                most = self.dialect.max_turn_tokens
                self.cut += any(len(turn.token_ids) > most for turn in said)
                return session.transcript
            self.in_vain += 1
            if self.in_vain == MOST_IN_VAIN:
                raise UserError(
                    f"The expert finds no answer within the limits of dialect '{self.dialect.name}'"
                    f" ({self.in_vain} trips in a row, the last one ended by"
                    f" {session.transcript.stop_reason} after {session.length} tokens)."
                )

    def state_dict(self) -> dict[str, Any]:
        counts = {"taught": self.taught, "in_vain": self.in_vain, "cut": self.cut}
        return {"trips": self.trips.state_dict(), **counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trips.load_state_dict(state["trips"])
        self.taught, self.in_vain = state["taught"], state["in_vain"]
        self.cut = state.get("cut", 0)


def expert_session(
    request: Any,
    place: Any,
    dialect: Dialect,
    chat: ChatFormat | None,
    teacher: str = "expert",
) -> Session:
    """A teacher's session of one request; with a ChatFormat, as token ids whose loss mask covers
    the assistant's turns."""
    domain = domain_of(dialect)
    session = open_session(domain.task("expert", request, place), dialect, chat)
    return next(iter(domain.teachers[teacher]().play([session])))


def expert_sessions(
    trips: Iterable[tuple[Any, Any]],
    dialect: Dialect,
    chat: ChatFormat | None,
    teacher: str = "expert",
) -> Iterator[Session]:
    """Of several (request, place) of the dialect's domain."""
    return (expert_session(*trip, dialect, chat, teacher) for trip in trips)

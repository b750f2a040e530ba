"""The measure: corrupted answers that must be refused, reworded ones that must pass, counted per
corruption and per wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

# What must be among the problems, so that an answer is refused for what is wrong with it and not by
# chance.
REASONS = {
    "wrong price": ("wrong_price", "ungrounded_price", "over_budget", "wrong_bare"),
    "other train": (
        "invented_name",
        "wrong_",
        "ungrounded",
        "card_",
        "missing_",
        "not_what",
        "time_not_kept",
        "over_budget",
    ),
    "invented hotel": ("invented_name", "invented_item", "missing_stay"),
    "impossible connection": ("wrong_time", "impossible", "arrives_before"),
    "wrong date": (
        "wrong_date",
        "ungrounded_date",
        "not_what_was_asked",
        "check_in_on",
        "wrong_parameters",
        "impossible",
    ),
    "missing part": ("missing_",),
}


@dataclass(frozen=True)
class Case:
    kind: str  # the corruption, or "reworded"
    wording: str
    seed: int
    flagged: bool
    for_its_reason: bool
    kinds: tuple[str, ...]
    answer: str


class Measure:
    """`load` gives a module of this folder by its name; `judge(request, transcript)` gives a
    JointFinding."""

    def __init__(self, load: Callable[[str], ModuleType], judge: Any):
        self.trips, self.wordings, self.corruptions, self.judge = (
            load("made_trips"),
            load("wordings"),
            load("corruptions"),
            judge,
        )
        first, more = load("rewordings"), load("rewordings_more")
        self.tuned, self.last = (*first.SEEN, *more.LATER), tuple(load("rewordings_last").LAST)

    def corrupted(self, each: int, first_seed: int = 1_000_000) -> Iterator[Case]:
        renderers = (*self.tuned, *self.last)
        for place, name in enumerate(self.corruptions.CORRUPTIONS):
            for n in range(each):
                seed, render = first_seed + 1000 * place + n, renderers[n % len(renderers)]
                trip, answer = self.corruptions.corrupted(
                    name, seed, self.trips.made_trip, render, self._words
                )
                yield self._case(name, render.__name__, seed, trip, answer)

    def reworded(
        self, n: int, renderers: Iterable[Any], first_seed: int = 2_000_000
    ) -> Iterator[Case]:
        pool = tuple(renderers)
        for seed in range(first_seed, first_seed + n):
            trip, render = self.trips.made_trip(seed), pool[seed % len(pool)]
            yield self._case(
                "reworded", render.__name__, seed, trip, render(trip.facts, self._words(seed))
            )

    def _words(self, seed: int) -> Any:
        return self.wordings.Words(Random(f"words-{seed}"))

    def _case(self, kind: str, wording: str, seed: int, trip: Any, answer: str) -> Case:
        found = self.judge(
            trip.request, self.trips.transcript_of(trip.request, trip.transcript.calls, answer)
        )
        kinds = tuple(problem.kind for problem in found.problems)
        reason = any(each.startswith(REASONS.get(kind, ())) for each in kinds)
        return Case(kind, wording, seed, found.reward != 1.0, reason, kinds, answer)

"""Natural Plan's meeting planning: how many friends are met, each at their place, in their hours,
for long enough.

`official` walks through the answer's sentences with a clock of its own: a way takes what the
distance matrix says and a meeting as long as was asked for, whatever times the answer gives (only
`wait until` is read). The first step that does not fit ends the walk; the meetings before it count.
Right where they are as many as in the golden plan. Words after the first `SOLUTION:` are the plan,
or all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tripwright.agent.reasoning import without_reasoning

SOLUTION, START = "SOLUTION:", "You start"


class Friend(NamedTuple):
    place: str
    start: datetime
    end: datetime
    minutes: float


class Misstep(ValueError):
    """A step that does not fit: ends the walk."""


def official(answer: str, example: Mapping[str, Any]) -> bool:
    """Raises what the official code raises: KeyError at an unknown place or person, IndexError at a
    sentence that breaks off."""
    _, found, text = answer.partition(SOLUTION)
    met = meetings(steps_of(text.strip() if found else answer), example)
    return met == meetings(example["golden_plan"], example)


def robust(answer: str, example: Mapping[str, Any]) -> bool:
    """Without reasoning; after the last `SOLUTION:` that has a step of a plan after it, from the
    last `You start` on; what the official code dies of is a step that does not fit. As many
    meetings as the golden plan's, or more."""
    wanted = meetings(example["golden_plan"], example)
    planned = [text for text in without_reasoning(answer).split(SOLUTION) if "You " in text]
    if not planned:
        return False
    _, found, last = planned[-1].rpartition(START)
    return (
        meetings(steps_of(f"{START}{last}" if found else planned[-1]), example, forgiving=True)
        >= wanted
    )


def can_be_scored(example: Mapping[str, Any]) -> bool:
    """Raises what a malformed example makes the clock raise. A golden plan that meets nobody is
    one."""
    return (
        isinstance(example["golden_plan"], list) and meetings(example["golden_plan"], example) >= 0
    )


def steps_of(text: str) -> list[str]:
    return [step for part in text.split(".") if (step := part.strip())]


def clock(said: str) -> datetime:
    """ "9:05AM". Raises ValueError."""
    return datetime.strptime(said, "%I:%M%p")


def friends_of(example: Mapping[str, Any]) -> dict[str, Friend]:
    """By name, from `constraints` after the first: [name, place, "11:00AM to 1:30PM", minutes]."""
    friends = {}
    for name, place, hours, minutes in example["constraints"][1:]:
        times = hours.split("to")
        friends[name] = Friend(place, clock(times[0].strip()), clock(times[1].strip()), minutes)
    return friends


def meetings(steps: Sequence[str], example: Mapping[str, Any], forgiving: bool = False) -> int:
    """How many take place before the first step that does not fit. `forgiving`: a step that cannot
    be read is one that does not fit, and raises nothing."""
    place, start = example["constraints"][0]
    walk = _Walk(friends_of(example), example["dist_matrix"], place, clock(start))
    for step in steps:
        try:
            walk.take(step)
        except ValueError:
            break
        except (KeyError, IndexError):
            if not forgiving:
                raise
            break
    return walk.met


class _Walk:
    def __init__(
        self,
        friends: Mapping[str, Friend],
        minutes: Mapping[str, Mapping[str, float]],
        place: str,
        now: datetime,
    ):
        self.friends, self.minutes, self.place, self.now = friends, minutes, place, now
        self.seen: set[str] = set()
        self.met = 0

    def take(self, step: str) -> None:
        if step.startswith(START):
            return
        if step.startswith("You travel"):
            to = step.split("travel to ")[1].split(" in")[0].strip()
            self.now += timedelta(minutes=self.minutes[self.place][to])
            self.place = to
        elif step.startswith("You wait"):
            until = clock(step.split("wait until ")[1].split(".")[0].strip())
            if until <= self.now:
                raise Misstep("back in time")
            self.now = until
        elif step.startswith("You meet"):
            self._meet(step.split("meet ")[1].split(" for")[0].strip())
        else:
            raise Misstep("no step of a plan")

    def _meet(self, name: str) -> None:
        if name in self.seen:
            raise Misstep("met before")
        self.seen.add(name)
        friend = self.friends[name]
        end = self.now + timedelta(minutes=friend.minutes)
        if self.place != friend.place or self.now < friend.start or end > friend.end:
            raise Misstep("not there, or not then")
        self.met += 1
        self.now = end

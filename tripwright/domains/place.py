"""What answers the tools of a run: a closed world in a folder, or whatever else a domain opens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tripwright.errors import UserError
from tripwright.policies.settings import setting
from tripwright.tools.face import Face
from tripwright.tools.toolbox import ToolBox, Tools
from tripwright.world.store import World


class ClosedWorld(Protocol):
    """What a domain's world says of itself: two of one content hash answer alike."""

    @property
    def name(self) -> str: ...
    @property
    def content_hash(self) -> str: ...


@dataclass(frozen=True)
class PlaceOptions:
    """What is to answer the tools, as given: a world's folder or a file of live services; where
    answers of services are kept, of which day, and whether only those count. Options of the verbs
    that call tools."""

    world: Path | None = setting(None, "World folder to travel in.")
    services: Path | None = setting(
        None, "Live tools: instead of --world, a TOML file of services."
    )
    store: str | None = setting(
        None, "Live tools: keep their answers in this SQLite file or database."
    )
    snapshot: str | None = setting(
        None,
        "With --store: the day they are kept under.",
        show_default="that of the run to be continued, else today",
    )
    replay: bool = setting(
        False, "With --store: ask nobody; answers come from it alone.", "--replay"
    )

    @property
    def live(self) -> bool:
        """Whether anything but a closed world is asked for."""
        of_services = self.services, self.store, self.snapshot
        return self.replay or any(each is not None for each in of_services)


@dataclass(frozen=True)
class Place:
    """What answers the tools of a run. `source` is what a domain's `task` takes; `identity` goes
    into the run card: episodes of two places are never counted together. `figures` are counts worth
    a line in a training's metrics."""

    source: Any
    where: str
    identity: dict[str, Any]
    figures: Callable[[], dict[str, int]] = dict

    @classmethod
    def of(cls, world: ClosedWorld) -> Place:
        return cls(world, world.name, {"name": world.name, "content_hash": world.content_hash})

    def tools(self, face: Face, page_rows: int | None = None) -> Tools:
        return ToolBox(self.source, face, page_rows=page_rows)


def same_place(identity: Mapping[str, Any]) -> str | None:
    """Equal for comparable runs, from the "world" of a run card: the content hash of a closed
    world, or a hash of which services answered and of which day. Whether a day was recorded or
    replayed is no difference."""
    answered = {name: identity[name] for name in ("tools", "snapshot") if identity.get(name)}
    if not answered:
        return identity.get("content_hash")
    return hashlib.sha256(json.dumps(answered, sort_keys=True).encode()).hexdigest()


@contextmanager
def open_world(
    options: PlaceOptions, opened: Callable[[Path], Any] = World.open
) -> Iterator[Place]:
    """A closed world in a folder, the only place that most domains know. `opened` may raise OSError
    where it is no such folder."""
    if options.live:
        raise UserError(
            "The tools of this dialect answer from a closed world: leave --services, --store,"
            " --snapshot and --replay out."
        )
    if options.world is None:
        raise UserError(
            "Which world? Give its folder with --world DIR, as made by 'tripwright world build' or"
            " 'world import'."
        )
    try:
        world = opened(options.world)
    except OSError as error:
        raise UserError(f"No world at '{options.world}': {error.strerror}.") from None
    yield Place.of(world)

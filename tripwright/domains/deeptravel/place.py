"""What answers DeepTravel's tools in a run: a closed world, live services, or what they answered on
a day that was recorded."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tripwright.domains.deeptravel.sandbox.provider import (
    AnswerSource,
    Provider,
    load_services,
    services_in,
)
from tripwright.domains.deeptravel.sandbox.sandbox import (
    Sandbox,
    checked_day,
    recorded_providers,
)
from tripwright.domains.deeptravel.sandbox.store import Store, opened_store
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox
from tripwright.domains.deeptravel.worlds.worlds import CURRENCY, WorldProvider
from tripwright.domains.place import Place, PlaceOptions
from tripwright.errors import UserError
from tripwright.tools.face import Face
from tripwright.tools.toolbox import Tools
from tripwright.world.store import World


@dataclass(frozen=True)
class LiveSource:
    """`identity` goes into the run card: episodes with other tools, or another day's answers, are
    never counted together."""

    ask: AnswerSource
    where: str
    identity: dict[str, Any]
    closed: WorldProvider | None = None  # a world among the services
    currency: str = CURRENCY  # in which travellers are asked for their budgets

    @property
    def sandbox(self) -> Sandbox | None:
        return self.ask if isinstance(self.ask, Sandbox) else None

    def figures(self) -> dict[str, int]:
        """How far the sandbox has helped since this process began (row D2); nothing where there is
        none."""
        total = self.sandbox.counts.as_dict()["total"] if self.sandbox else {}
        names = ("asked", "hits", "missed", "live_calls")
        return {f"sandbox_{name}": total[name] for name in names if name in total}


@contextmanager
def live_source(options: PlaceOptions) -> Iterator[LiveSource]:
    """Raises UserError for options that do not go together, and for what load_services and the
    sandbox refuse."""
    given = [each for each in (options.world, options.services) if each is not None]
    if len(given) == 2 or not (given or options.replay):
        raise UserError(
            "Live tools need --world DIR or --services FILE, or a recorded day to --replay; found"
            f" {'both' if given else 'none'} of the first two."
        )
    if options.store is None and (options.replay or options.snapshot is not None):
        raise UserError("--replay and --snapshot are of recorded answers: give --store as well.")
    if options.snapshot is not None:
        checked_day(options.snapshot)
    providers: dict[str, Provider] = {}  # before a store is made
    if options.world is not None:
        world = WorldProvider(World.open(options.world))
        providers = dict.fromkeys(sorted(world.tools), world)
    elif options.services is not None and not options.replay:
        providers = load_services(options.services)
    if options.store is None:
        yield _source(options, providers)
        return
    with opened_store(options.store, create=not options.replay) as store:
        yield _source(options, providers, store)


def _source(
    options: PlaceOptions, providers: dict[str, Provider], store: Store | None = None
) -> LiveSource:
    """A replay without a world needs no key and no vendor's client."""
    where = str(options.services)
    file = services_in(options.services) if options.services is not None else None
    currency = file.currency if file is not None else CURRENCY
    if store is not None and not providers:
        if options.snapshot is None:
            raise UserError(
                "Which day is replayed? Give --snapshot; 'tripwright sandbox info' says which there"
                " are."
            )
        tools = tuple(file.tools) if file is not None else tuple(RECORDS)
        providers = recorded_providers(store, options.snapshot, tools)
        where = f"{store.name} of {options.snapshot}"
    closed = next((each for each in providers.values() if isinstance(each, WorldProvider)), None)
    if closed is not None and options.world is not None:
        where = closed.world.name
    identity: dict[str, Any] = {
        "tools": {tool: f"{each.name} {each.version}" for tool, each in providers.items()}
    }
    if store is None:
        whole = closed if options.world is not None else None
        return LiveSource(whole or Sandbox(providers), where, identity, closed, currency)
    first, today = next(iter(providers.values())), datetime.datetime.now(datetime.UTC).date()
    first_day = first.day if isinstance(first, WorldProvider) else today.isoformat()
    day = options.snapshot or first_day
    mode = "replay" if options.replay else "record"
    identity |= {"snapshot": day, "mode": mode, "store": store.name}
    sandbox = Sandbox(providers, store, day, replay=options.replay)
    return LiveSource(sandbox, where, identity, closed, currency)


class LivePlace(Place):
    def tools(self, face: Face, page_rows: int | None = None) -> Tools:
        return LiveToolBox(self.source.ask, face)


@contextmanager
def open_place(options: PlaceOptions) -> Iterator[Place]:
    with live_source(options) as live:
        yield LivePlace(live, live.where, live.identity, live.figures)

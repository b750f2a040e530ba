"""What answers the live tools of a run: a closed world or services, directly or through the sandbox
that remembers their answers (row D2)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tripwright.domains.deeptravel.sandbox.keys import checked_day
from tripwright.domains.deeptravel.sandbox.provider import Provider, ProviderFault
from tripwright.domains.deeptravel.sandbox.sandbox import Mode, Sandbox
from tripwright.domains.deeptravel.sandbox.services import load_services, tools_in
from tripwright.domains.deeptravel.sandbox.snapshot import recorded_providers
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.tools.live_catalog import AnswerSource
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.domain import PlaceOptions
from tripwright.errors import UserError
from tripwright.world.store import World

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # loads SQLAlchemy


@dataclass(frozen=True)
class LiveSource:
    """`identity` goes into the run card: episodes with other tools, or another day's answers, are
    never counted together."""

    ask: AnswerSource
    where: str
    identity: dict[str, Any]
    closed: WorldProvider | None = None  # a world among the services

    @property
    def sandbox(self) -> Sandbox | None:
        return self.ask if isinstance(self.ask, Sandbox) else None

    def figures(self) -> dict[str, int]:
        """How far the sandbox has helped since this process began (row D2); nothing where there is
        none."""
        if self.sandbox is None:
            return {}
        total = self.sandbox.counts.as_dict()["total"]
        return {
            f"sandbox_{name}": total[name] for name in ("asked", "hits", "missed", "live_calls")
        }


@contextmanager
def live_source(options: PlaceOptions) -> Iterator[LiveSource]:
    """Raises UserError for options that do not go together, and for what load_services and the
    sandbox refuse."""
    if options.world is not None and options.services is not None:
        raise UserError("Live tools need --world DIR or --services FILE, one of them; found both.")
    if options.world is None and options.services is None and not options.replay:
        raise UserError(
            "Live tools need --world DIR or --services FILE, or a recorded day to --replay; found"
            " none of them."
        )
    if options.store is None:
        if options.replay or options.snapshot is not None:
            raise UserError(
                "--replay and --snapshot are of recorded answers: give --store as well."
            )
        yield _source(options, _providers(options, None), None, "live")
        return
    if options.snapshot is not None:
        checked_day(options.snapshot)  # before a store is made
    from tripwright.domains.deeptravel.sandbox.store import open_store

    store = open_store(options.store, create=not options.replay)
    try:
        if options.replay and options.snapshot is None and options.world is None:
            raise UserError(
                "Which day is replayed? Give --snapshot; 'tripwright sandbox info' says which there"
                " are."
            )
        try:
            mode: Mode = "replay" if options.replay else "record"
            source = _source(options, _providers(options, store), store, mode)
        except ProviderFault as fault:  # the store can be opened and not be read
            raise UserError(str(fault)) from None
        yield source
    finally:
        store.close()


def _providers(options: PlaceOptions, store: Store | None) -> dict[str, Provider]:
    if (
        options.replay
        and options.world is None
        and options.snapshot is not None
        and store is not None
    ):
        tools = tools_in(options.services) if options.services is not None else RECORDS
        # no key and no vendor's client is needed
        return recorded_providers(store, options.snapshot, tools=tools)
    if options.services is not None:
        return load_services(options.services)
    assert options.world is not None
    provider = WorldProvider(World.open(options.world))
    return dict.fromkeys(sorted(provider.tools), provider)


def _source(
    options: PlaceOptions, providers: dict[str, Provider], store: Store | None, mode: Mode
) -> LiveSource:
    first = next(iter(providers.values()))
    day = options.snapshot or (
        first.day
        if isinstance(first, WorldProvider)
        else datetime.datetime.now(datetime.UTC).date().isoformat()
    )
    tools = {tool: f"{provider.name} {provider.version}" for tool, provider in providers.items()}
    identity: dict[str, Any] = {"tools": tools}
    if store is None:
        source: AnswerSource = first if options.world is not None else Sandbox(providers)
    else:
        source = Sandbox(providers, store, mode, day)
        identity |= {"snapshot": day, "mode": mode, "store": store.name}
    if isinstance(first, WorldProvider) and options.world is not None:
        where = first.world.name
    else:
        where = (
            f"{store.name} of {day}"
            if options.replay and store is not None
            else str(options.services)
        )
    closed = [each for each in providers.values() if isinstance(each, WorldProvider)]
    return LiveSource(source, where, identity, closed[0] if closed else None)

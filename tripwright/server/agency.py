"""From the settings of `tripwright serve` to what a worker serves. Workers are processes of their
own, which learn keys only by their variable's name."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fastapi import FastAPI

from tripwright.domains import domains
from tripwright.domains.domain import Domain, PlaceOptions
from tripwright.errors import UserError
from tripwright.evals.choose import choose_policy
from tripwright.llm.client import ChatEndpoint
from tripwright.policies.settings import PolicySettings
from tripwright.server.jobs import Agency, Planner
from tripwright.server.reading import ModelReader
from tripwright.server.study import LOOPBACK
from tripwright.server.trips import make_app

READ_SECONDS = 20.0  # for an endpoint to read what a traveller typed


@dataclass(frozen=True)
class TripServer:
    """`endpoint` is an URL, and `model` then a name; without it a checkpoint's folder."""

    world: str
    state: str
    host: str
    domain: str | None = None
    model: str | None = None
    device: str = "auto"  # of a checkpoint, and its number format
    dtype: str = "auto"
    endpoint: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    key_env: str | None = None
    log_requests: bool = False
    runs: str | None = None
    services: str | None = None
    dialect: str | None = None  # of the model

    @property
    def keys(self) -> tuple[str, ...]:
        if self.key_env is None:
            return ()
        keys = [key.strip() for key in os.environ.get(self.key_env, "").split(",")]
        if not any(keys):
            raise UserError(
                f"The environment variable '{self.key_env}' of --key-env holds no keys: set it to"
                " one, or several with commas between them."
            )
        return tuple(key for key in keys if key)


def open_agency(settings: TripServer, resources: ExitStack) -> Agency:
    with_desk = [
        domain
        for domain in domains().values()
        if domain.desk is not None and (domain.live or settings.services is None)
    ]
    names = [domain.name for domain in with_desk]
    name = settings.domain or (names[0] if names else "")
    domain = next((each for each in with_desk if each.name == name), None)
    if domain is None or domain.desk is None:
        what = "desk with live tools" if settings.services else "desk"
        whose = f"Domain '{name}' has no {what}" if name else f"No domain has a {what}"
        others = ", ".join(names) or "none"
        raise UserError(f"{whose}, so no trips can be served. Those with one: {others}.")
    where = (
        PlaceOptions(services=Path(settings.services))
        if settings.services
        else PlaceOptions(world=Path(settings.world))
    )
    place = resources.enter_context(domain.open_place(where))
    domain.desk.form(place)  # a place that offers nothing is refused now, not to every traveller
    reader = None
    if settings.endpoint:
        endpoint = ChatEndpoint(
            settings.endpoint,
            settings.model or "",
            api_key_env=settings.api_key_env,
            timeout_s=READ_SECONDS,
            max_retries=0,
        )
        reader = ModelReader(endpoint)
    return Agency(domain, domain.desk, place, _planners(settings, domain), reader)


def _planners(settings: TripServer, domain: Domain) -> dict[str, Planner]:
    """A model, where there is one, comes first and is the default."""
    assert domain.desk is not None
    by_name = {each.name: each for each in domain.dialects}
    if settings.dialect is not None and settings.dialect not in by_name:
        raise UserError(
            f"Unknown dialect '{settings.dialect}' of {domain.title}. There are"
            f" {', '.join(by_name)}."
        )
    planners = dict[str, Planner]()
    if settings.model is not None:
        dialect = by_name[settings.dialect or domain.desk.dialect]
        kind = "endpoint" if settings.endpoint else "local"
        told = PolicySettings(
            model=settings.model,
            base_url=settings.endpoint,
            api_key_env=settings.api_key_env,
            device=settings.device,
            dtype=settings.dtype,
        )
        choice = choose_policy(kind, told, dialect)
        label = f"The model {Path(settings.model).name}"
        alone = kind == "local"
        planners["model"] = Planner(label, lambda: choice.policy, dialect, choice.chat, alone)
    dialect = by_name[domain.desk.dialect]
    for name, label in domain.desk.planners.items():
        make = partial(choose_policy, name, PolicySettings(), dialect)
        planners[name] = Planner(label, lambda make=make: make().policy, dialect)  # type: ignore[misc]
    return planners


def trip_app(settings: TripServer) -> FastAPI:
    """What a worker runs."""
    agency = open_agency(settings, ExitStack())
    return make_app(
        agency,
        Path(settings.state),
        settings.keys,
        local_only=settings.host in LOOPBACK,
        log_requests=settings.log_requests,
        runs=Path(settings.runs) if settings.runs else None,
    )

"""Policies by the names they have on the command line. Only "local" needs torch, and only then is it imported (law 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.baselines import ErrandRows
from tripwright.domains.deeptravel.expert import ErrandExpert
from tripwright.domains.travelplanner.baselines import RowsPolicy, check_face
from tripwright.domains.travelplanner.expert import ExpertPolicy, ExpertStyle, style_named
from tripwright.domains.travelplanner.expert.reading import check_readable
from tripwright.domains.travelplanner.expert.style import Thoughts
from tripwright.domains.travelplanner.greedy_search import GreedySearch, check_plan_format
from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.urls import shown_url
from tripwright.policies.base import Policy
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.person import PersonPolicy
from tripwright.tools.faces import face_named

EXPERTS = ("expert", "expert-careful", "expert-brief", "errand-expert")
NAMES = (*EXPERTS, "greedy-search", "first-row", "cheapest-row", "errand-first-row", "errand-cheapest", "person", "endpoint", "local")
SAMPLING = ("endpoint", "local")  # those that a temperature says something to


@dataclass(frozen=True)
class Settings:
    """Everything that some policy can be told; what a policy has no use for must be left at None."""

    model: str | None = None
    base_url: str | None = None
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None  # an endpoint must know it: it is no parameter of OpenAI's
    # Of local, of the sights of greedy-search, and of the wording and the order of cities of the experts that decide from answers. An
    # endpoint given one seed would answer every sample of a query alike.
    seed: int = 0
    concurrency: int = 8  # endpoint: requests in flight
    rows: int = 16  # local: episodes in a batch
    native_tools: bool = True
    timeout_s: float = 120.0
    max_retries: int = 4
    requests_per_second: float | None = None  # endpoint
    thoughts: Thoughts | None = None  # this and the next two: expert-careful, expert-brief
    extra_searches: int | None = None
    compared_cities: int | None = None


@dataclass(frozen=True)
class Chosen:
    """A policy with the tokenizer format its sessions need (None for text), and what a run card says about both."""

    policy: Policy
    chat: ChatFormat | None
    identity: dict[str, Any]
    decoding: dict[str, Any]


def choose_policy(name: str, settings: Settings, dialect: Dialect) -> Chosen:
    if name not in NAMES:
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(NAMES)}.")
    decides_from_answers = name.startswith("expert-")
    if not decides_from_answers and (said := _expert_options(settings)):
        raise UserError(
            f"Policy '{name}' does not know {', '.join(said)}: leave it out, or choose --policy expert-careful or expert-brief."
        )
    if name == "endpoint":
        return _endpoint(settings, dialect)
    if name == "local":
        return _local(settings, dialect)
    if settings.model or settings.base_url:
        raise UserError(f"Policy '{name}' uses no model: leave --model and --base-url out, or choose --policy endpoint or local.")
    if name == "greedy-search":
        check_plan_format(dialect.plan_format)
        return Chosen(GreedySearch(settings.seed), None, {"kind": name}, {"seed": settings.seed})
    if decides_from_answers:
        check_readable(face_named(dialect.face))
        style = _style(name.removeprefix("expert-"), settings)
        decoding = {
            "seed": style.seed,
            "thoughts": style.thoughts,
            "extra_searches": style.max_extra_searches,
            "compared_cities": style.compared_cities,
        }
        return Chosen(ExpertPolicy(style), None, {"kind": name}, decoding)
    return Chosen(_plain(name, dialect), None, {"kind": name}, {})


def _plain(name: str, dialect: Dialect) -> Policy:
    """Those without settings. What they cannot read or write is refused here, before a run folder is made."""
    if name == "expert":
        return ExpertPolicy()
    if name == "errand-expert":
        return ErrandExpert()
    if name in ("errand-first-row", "errand-cheapest"):
        return ErrandRows("first" if name == "errand-first-row" else "cheapest")
    if name == "person":
        return PersonPolicy()
    check_face(name, face_named(dialect.face))
    return RowsPolicy("first" if name == "first-row" else "cheapest")


def _expert_options(settings: Settings) -> list[str]:
    """Those that were given, as on the command line."""
    given = {
        "--thoughts": settings.thoughts,
        "--extra-searches": settings.extra_searches,
        "--compared-cities": settings.compared_cities,
    }
    return [option for option, value in given.items() if value is not None]


def _style(name: str, settings: Settings) -> ExpertStyle:
    """The named style with what was given in place of its own values. Raises UserError for what no style takes."""
    style = style_named(name)
    return replace(
        style,
        seed=settings.seed,
        thoughts=style.thoughts if settings.thoughts is None else settings.thoughts,
        max_extra_searches=style.max_extra_searches if settings.extra_searches is None else settings.extra_searches,
        compared_cities=style.compared_cities if settings.compared_cities is None else settings.compared_cities,
    )


def _endpoint(settings: Settings, dialect: Dialect) -> Chosen:
    if not settings.base_url or not settings.model:
        raise UserError("Policy 'endpoint' needs --base-url URL (up to and including /v1) and --model NAME.")
    if settings.concurrency < 1:
        raise UserError(f"--concurrency is at least 1, found {settings.concurrency}.")
    endpoint = ChatEndpoint(
        settings.base_url,
        settings.model,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=dialect.max_turn_tokens,
        extra_body={} if settings.top_k is None else {"top_k": settings.top_k},
        requests_per_second=settings.requests_per_second,
    )
    address = shown_url(settings.base_url)
    identity = {"kind": "endpoint", "model": settings.model, "base_url": address, "native_tools": settings.native_tools}
    decoding = {"temperature": settings.temperature, "top_p": settings.top_p, "max_tokens": dialect.max_turn_tokens}
    decoding |= _top_k(settings)
    return Chosen(EndpointPolicy(endpoint, settings.concurrency, settings.native_tools), None, identity, decoding)


def _local(settings: Settings, dialect: Dialect) -> Chosen:
    if not settings.model:
        raise UserError("Policy 'local' needs --model DIR, a checkpoint folder (or a model name that transformers can find).")
    if settings.rows < 1:
        raise UserError(f"--rows is at least 1, found {settings.rows}.")
    from tripwright.inference.local import LocalPolicy, Sampling  # torch

    top_p = 1.0 if settings.top_p is None else settings.top_p
    sampling = Sampling(settings.temperature, rows=settings.rows, seed=settings.seed, top_p=top_p, top_k=settings.top_k)
    policy = LocalPolicy.load(settings.model, dialect.schemas(), sampling)
    decoding: dict[str, Any] = {"temperature": settings.temperature, "dtype": sampling.dtype}
    if settings.temperature > 0:
        decoding |= {"seed": settings.seed, "top_p": sampling.top_p, **_top_k(settings)}
    return Chosen(policy, policy.chat, {"kind": "local", "model": settings.model}, decoding)


def _top_k(settings: Settings) -> dict[str, Any]:
    """Named where it is set: cards made before there was such a setting say the same."""
    return {} if settings.top_k is None else {"top_k": settings.top_k}

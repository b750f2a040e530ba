"""Policies by the names they have on the command line: those of every domain (endpoint, local,
person) and a domain's own (its experts and baselines). Only "local" needs torch, and only then is
it imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripwright.agent.chat import (
    ChatFormat,
    EstimatedTokens,
    ExactTokens,
    TokenCounter,
    check_prompt,
    load_tokenizer,
)
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_of, domains
from tripwright.domains.domain import Domain
from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import shown_url
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.person import PersonPolicy
from tripwright.policies.settings import PolicyChoice, PolicySettings, plain, thinking_fields

SAMPLING = ("endpoint", "local")  # those that a temperature says something to


def policy_names(among: Mapping[str, Domain] | None = None) -> tuple[str, ...]:
    """Those of the domains first."""
    own = (
        name
        for domain in (domains() if among is None else among).values()
        for name in domain.policies
    )
    return (*dict.fromkeys(own), "person", "endpoint", "local")


def choose_policy(name: str, settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    """Raises UserError for a name that is none, and for what goes wrong before a run folder is
    made."""
    if name not in policy_names():
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(policy_names())}.")
    if name != "endpoint":
        settings.refuse_endpoint_options(name)
    if name in SAMPLING:
        settings.refuse_expert_options(name)
        return _endpoint(settings, dialect) if name == "endpoint" else _local(settings, dialect)
    settings.refuse_model(name)
    if name == "person":
        return plain(name, PersonPolicy)(settings, dialect)
    domain = domain_of(dialect)
    if name not in domain.policies:
        raise UserError(
            f"Policy '{name}' knows nothing of dialect '{dialect.name}'. There are"
            f" {', '.join(domain.policies)} for it."
        )
    return domain.policies[name](settings, dialect)


def _endpoint(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.base_url or not settings.model:
        raise UserError(
            "Policy 'endpoint' needs --base-url URL (up to and including /v1) and --model NAME."
        )
    if settings.concurrency < 1:
        raise UserError(f"--concurrency is at least 1, found {settings.concurrency}.")
    schemas = dialect.schemas()
    counter: TokenCounter
    if settings.tokenizer is None:
        counter = EstimatedTokens(schemas or ())
    else:
        chat = ChatFormat(load_tokenizer(settings.tokenizer), schemas)
        counter = ExactTokens(chat, str(settings.tokenizer))
    check_prompt(dialect, counter)
    thinking = thinking_fields(settings.thinking, settings.thinking_field)
    endpoint = ChatEndpoint(
        settings.base_url,
        settings.model,
        api_key_env=settings.api_key_env,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=dialect.max_turn_tokens,
        extra_body={**_top_k(settings), **thinking},
        requests_per_second=settings.requests_per_second,
    )
    address = shown_url(settings.base_url)
    identity = {
        "kind": "endpoint",
        "model": settings.model,
        "base_url": address,
        "native_tools": settings.native_tools,
        "tokens_counted_by": counter.name,
    }
    decoding = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": dialect.max_turn_tokens,
    }
    decoding |= {**_top_k(settings), **thinking}
    return PolicyChoice(
        EndpointPolicy(endpoint, settings.concurrency, settings.native_tools, counter),
        None,
        identity,
        decoding,
    )


def _local(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.model:
        raise UserError(
            "Policy 'local' needs --model DIR, a checkpoint folder (or a model name that"
            " transformers can find)."
        )
    if settings.rows < 1:
        raise UserError(f"--rows is at least 1, found {settings.rows}.")
    from tripwright.inference.local import LocalPolicy, Sampling  # torch

    top_p = 1.0 if settings.top_p is None else settings.top_p
    sampling = Sampling(
        settings.temperature,
        rows=settings.rows,
        seed=settings.seed,
        dtype=settings.dtype,
        top_p=top_p,
        top_k=settings.top_k,
    )
    policy = LocalPolicy.load(settings.model, dialect.schemas(), sampling, settings.device)
    check_prompt(dialect, ExactTokens(policy.chat, f"of {settings.model}"))
    decoding: dict[str, Any] = {"temperature": settings.temperature, "dtype": sampling.dtype}
    if settings.temperature > 0:
        decoding |= {"seed": settings.seed, "top_p": sampling.top_p, **_top_k(settings)}
    return PolicyChoice(policy, policy.chat, {"kind": "local", "model": settings.model}, decoding)


def _top_k(settings: PolicySettings) -> dict[str, Any]:
    """Named where it is set: cards made before there was such a setting say the same."""
    return {} if settings.top_k is None else {"top_k": settings.top_k}

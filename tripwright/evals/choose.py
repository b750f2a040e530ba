"""What a command line or an Inspect task names, opened: the requests of a file in a given world or
with live services, the rules that judge them, and the policy. Policies are those of every domain
(endpoint, local, person) and a domain's own (its experts and baselines). Only "local" needs torch,
and only then is it imported."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
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
from tripwright.domains import domain_of, domain_of_file, domains
from tripwright.domains.domain import Player
from tripwright.domains.judging import JudgingSettings
from tripwright.domains.place import Place, PlaceOptions
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.evals.run_card import entry_of, model_fingerprint
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import shown_url
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.person import PersonPolicy
from tripwright.policies.settings import (
    OF_ENDPOINTS,
    OF_MODELS,
    OF_PLAYERS,
    PolicyChoice,
    PolicySettings,
    thinking_fields,
)
from tripwright.runs import Run
from tripwright.tools.remote import RemoteToolBox

SAMPLING = ("endpoint", "local")  # those that a temperature says something to


def policy_names() -> tuple[str, ...]:
    """Those of the domains first."""
    own = (name for domain in domains().values() for name in domain.players)
    return (*dict.fromkeys(own), "person", *SAMPLING)


def choose_policy(name: str, settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    """Raises UserError for a name that is none, and for what goes wrong before a run folder is
    made."""
    if name not in policy_names():
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(policy_names())}.")
    if name != "endpoint":
        settings.refuse(name, OF_ENDPOINTS, "endpoint")
    if name not in SAMPLING:
        settings.refuse(name, OF_MODELS, "endpoint or local")
    players = domain_of(dialect).players
    if name not in (*SAMPLING, "person", *players):
        raise UserError(
            f"Policy '{name}' knows nothing of dialect '{dialect.name}'. There are"
            f" {', '.join(players)} for it."
        )
    player = players.get(name, Player(PersonPolicy))
    for option in OF_PLAYERS:
        if option not in player.options:
            every = (each for domain in domains().values() for each in domain.players.items())
            able = [other for other, each in every if option in each.options]
            settings.refuse(name, [option], " or ".join(able))
    if name in SAMPLING:
        return _endpoint(settings, dialect) if name == "endpoint" else _local(settings, dialect)
    told = {option: getattr(settings, option) for option in player.options}
    given = {option: value for option, value in told.items() if value is not None}
    decoding = {**player.options, **given}
    return PolicyChoice(player(**decoding), None, {"kind": name}, decoding)


def _endpoint(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.base_url or not settings.model:
        raise UserError(
            "Policy 'endpoint' needs --base-url URL (up to and including /v1) and --model NAME."
        )
    schemas = dialect.schemas()
    counter: TokenCounter
    if settings.tokenizer is None:
        counter = EstimatedTokens(schemas or ())
    else:
        chat = ChatFormat(load_tokenizer(settings.tokenizer), schemas)
        counter = ExactTokens(chat, str(settings.tokenizer))
    check_prompt(dialect, counter)
    # top_k is named where it is set
    extra: dict[str, Any] = {} if settings.top_k is None else {"top_k": settings.top_k}
    extra |= thinking_fields(settings.thinking, settings.thinking_field)
    decoding: dict[str, Any] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": dialect.max_turn_tokens,
    }
    endpoint = ChatEndpoint(
        settings.base_url,
        settings.model,
        api_key_env=settings.api_key_env,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        extra_body=extra,
        requests_per_second=settings.requests_per_second,
        **decoding,
    )
    identity = {
        "kind": "endpoint",
        "model": settings.model,
        "base_url": shown_url(settings.base_url),
        "native_tools": settings.native_tools,
        "tokens_counted_by": counter.name,
    }
    policy = EndpointPolicy(endpoint, settings.concurrency, settings.native_tools, counter)
    return PolicyChoice(policy, None, identity, decoding | extra)


def _local(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.model:
        raise UserError(
            "Policy 'local' needs --model DIR, a checkpoint folder (or a model name that"
            " transformers can find)."
        )
    from tripwright.inference.local import LocalPolicy, Sampling  # torch

    sampling = Sampling(
        settings.temperature,
        rows=settings.rows,
        seed=settings.seed,
        dtype=settings.dtype,
        top_p=1.0 if settings.top_p is None else settings.top_p,
        top_k=settings.top_k,
    )
    policy = LocalPolicy.load(settings.model, dialect.schemas(), sampling, settings.device)
    check_prompt(dialect, ExactTokens(policy.chat, f"of {settings.model}"))
    decoding: dict[str, Any] = {"temperature": settings.temperature, "dtype": sampling.dtype}
    if settings.temperature > 0:
        decoding |= {"seed": settings.seed, "top_p": sampling.top_p}
        decoding |= {} if settings.top_k is None else {"top_k": settings.top_k}
    fingerprint = model_fingerprint(settings.model)
    identity = {"kind": "local", "model": settings.model, "fingerprint": fingerprint}
    return PolicyChoice(policy, policy.chat, identity, decoding)


# ---- requests, their place and their rules


def open_tasks(
    queries: Path,
    dialect: Dialect,
    options: PlaceOptions,
    stack: ExitStack,
    samples: int = 1,
    limit: int | None = None,
    out: Path | None = None,
) -> tuple[list[Task], Place]:
    """What a run plays, and the place that answers its tools, which is closed with `stack`. `out`
    is the run's folder: an interrupted run goes on with the day that it began with.

    Raises UserError where the file holds no request of the dialect's domain, and for what the
    domain says of them.
    """
    domain, other = domain_of(dialect), domain_of_file(queries)
    # told by a field that only that domain has: a mistake of the dialect's, not of the first line
    if other is not None and other is not domain:
        raise UserError(
            f"Dialect '{dialect.name}' takes {domain.title} of '{domain.requests.made_by}', found"
            f" {other.title} in '{queries}'."
        )
    requests = domain.requests.listed(queries, limit)  # before a store is made
    if out is not None and options.store is not None and options.snapshot is None:
        # after midnight the same command still continues a run under the day that it began with
        day = entry_of(Run.at(out).card, "world").get("snapshot")
        options = replace(options, snapshot=day if isinstance(day, str) else None)
    place = stack.enter_context(domain.open(options))
    domain.requests.check(requests, place, queries)
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    tasks = [
        domain.task(f"q{line:06d}{end}", request, place.source)
        for line, request in requests
        for end in ends
    ]
    return tasks, place


def served_tools(
    url: str | None, policy: str, dialect: Dialect, place: Place, emptied: bool
) -> RemoteToolBox | None:
    """The tools at `url`, refused where they would answer otherwise than those of the world at
    hand; None without a `url`."""
    if url is None:
        return None
    domain, content_hash = domain_of(dialect), place.identity.get("content_hash")
    if content_hash is None:
        raise UserError(
            f"Dialect '{dialect.name}' has tools of its own: give --world or --services, and leave"
            " --server out."
        )
    if policy in domain.players and domain.players[policy].needs_world:
        raise UserError(
            f"Policy '{policy}' plans from the world at hand and cannot use --server. Leave it out."
        )
    if emptied:
        raise UserError("With --empty-tools nothing is asked of a server. Leave --server out.")
    return RemoteToolBox(url, dialect.face, page_rows=dialect.page_rows, world_hash=content_hash)


def settled_rules(
    dialect: Dialect, rules: str | None, judging: JudgingSettings | None = None
) -> str:
    """The set of rules that judges, or what a score says of a domain without any. Raises UserError
    for rules that it has not, and for a dialect whose answers nobody judges without a model."""
    domain = domain_of(dialect)
    if judging is None and (problem := domain.judge.refusal(dialect, None)) is not None:
        raise UserError(f"{problem} Name one with --judging FILE.")
    if not domain.judge.rules:
        if rules is not None:
            raise UserError(
                f"--rules are not of {domain.title}, which are {domain.judge.name}. Leave --rules"
                " out."
            )
        return domain.judge.name_with(judging)
    return domain.judge.rules_named(rules)

"""`tripwright run`: episodes of a policy, kept as transcripts and scored."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tripwright.cli.options import KEY_VARIABLE, Device, Dtype, Json, PlaceFlags, flag, option
from tripwright.cli.table import rate_cells, table_lines
from tripwright.domains import own_names
from tripwright.errors import UserError, counted
from tripwright.policies.settings import FIELDS, USUAL_FIELD

if TYPE_CHECKING:
    from tripwright.evals.run import Spending


@dataclass(frozen=True)
class RunFlags:
    """What is played, and how it is judged."""

    policy: str = option(..., f"Who plans: {own_names('players')}, person, endpoint, local.")
    queries: Path = option(..., "JSONL file of trip requests.")
    out: Path = option(..., "Run folder; a run found there is continued.")
    dialect: str = option(
        "planner_r1",
        f"Prompt, tool face and limits: {own_names('dialects')}.",
    )
    rules: str | None = option(
        None,
        f"Rule set of the judge: {own_names('judge.rules')}.",
        show_default="strict, where there are several",
    )
    judging: Path | None = option(
        None, "A TOML file with the model that takes part in judging (docs/judging.md)."
    )
    samples: int = option(1, "Episodes per query.", min=1)
    count: int | None = option(None, "Only the first N.", min=1)
    rounds: int = option(2, "Play unscored episodes again so often; 1 plays each once.", min=1)
    empty_tools: bool = flag("--empty-tools", "Every tool answers nothing: finds memorised worlds.")
    server: str | None = option(
        None, "URL of a 'tripwright serve tools' with the same world, to ask there."
    )
    faults: float | None = option(
        None, "Share of the tool calls that fail on purpose.", min=0, max=1
    )
    faults_seed: int = option(0, "With --faults: which calls these are.", min=0)
    quiet: bool = flag("--quiet", "No progress on stderr.")


@dataclass(frozen=True)
class PolicyFlags:
    """The model that plays, and how it is asked: fields of `policies.settings.PolicySettings`."""

    model: str | None = option(None, "endpoint: the model's name; local: a checkpoint folder.")
    base_url: str | None = option(None, "endpoint: its URL, up to and including /v1.")
    api_key_env: str = option(KEY_VARIABLE, "endpoint: environment variable with the key.")
    seed: int = option(0, "Of the sampling of 'local', and of policies that draw.", min=0)
    concurrency: int = option(8, "endpoint: episodes under way at once.", min=1)
    rows: int = option(16, "local: episodes in a batch.", min=1)
    device: Device = "auto"
    dtype: Dtype = "auto"
    timeout_s: float = option(
        120.0,
        "endpoint: seconds to wait for an answer, per attempt.",
        "--timeout",
        min=0.01,
        max=86_400,
    )
    max_retries: int = option(
        4,
        "endpoint: further attempts at a request after a fault that may pass.",
        "--retries",
        min=0,
    )
    native_tools: bool = option(
        True, "endpoint: tools as JSON functions, or described in the system prompt."
    )
    tokenizer: Path | None = option(
        None,
        "endpoint: folder of its tokenizer, to count the dialect's limits by.",
        show_default="an estimate",
    )
    thinking: str | None = option(None, "endpoint: on or off.", show_default="as the server has it")
    thinking_field: str | None = option(
        None, f"endpoint: how --thinking is sent: {', '.join(FIELDS)}.", show_default=USUAL_FIELD
    )
    requests_per_second: float | None = option(
        None, "endpoint: at most so many, retries included.", min=0.001
    )
    thoughts: str | None = option(
        None, "expert-careful, expert-brief: none, short or long reasons."
    )
    extra_searches: int | None = option(
        None, "The same: at most so many searches for a better plan than the first.", min=0
    )
    compared_cities: int | None = option(
        None, "The same: cities beyond those asked for that are looked at first.", min=0
    )


@dataclass(frozen=True)
class SamplingFlags:
    """How tokens are chosen: a paper's way, or one by one."""

    preset: str | None = option(
        None, "endpoint, local: a paper's way to sample, such as star or planner_r1.", "--decoding"
    )
    temperature: float | None = option(None, "0 is greedy.", min=0, show_default="0")
    top_p: float | None = option(None, "endpoint, local: nucleus sampling.", min=0, max=1)
    top_k: int | None = option(
        None,
        "endpoint (where the server knows it), local: the k likeliest tokens; -1: all.",
        min=-1,
    )


@dataclass(frozen=True)
class CostFlags:
    """What an endpoint's tokens cost, and may cost."""

    price_in: float | None = option(None, "endpoint: USD per million prompt tokens.", min=0)
    price_out: float | None = option(None, "endpoint: USD per million completion tokens.", min=0)
    price_cached: float | None = option(
        None,
        "endpoint: USD per million prompt tokens from its cache.",
        min=0,
        show_default="as --price-in",
    )
    max_cost_usd: float | None = option(
        None, "endpoint: stop before the next request when OUT has cost so much.", min=0
    )


def run(  # long: most of it is help
    settings: RunFlags,
    place: PlaceFlags,
    policy: PolicyFlags,
    sampling: SamplingFlags,
    cost: CostFlags,
    as_json: Json = False,
) -> None:
    """Run episodes with a policy: OUT/transcripts.jsonl, one line each, and OUT/score.json.

    Interrupted, the same command continues: what is scored is kept, what an endpoint has answered
    is not asked again (OUT/calls.jsonl), what failed for no fault of the policy's is tried again.
    Rules are strict unless --rules says otherwise.

    Examples:
      tripwright run --policy expert --queries q.jsonl --world worlds/nano --out runs/expert
      tripwright run --policy local --model runs/a/model --dialect compact --queries q.jsonl \\
        --world worlds/nano --out runs/a/test
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --thinking off --tokenizer models/Qwen3-8B --queries q.jsonl --world worlds/real \\
        --out runs/qwen3
      tripwright run --policy endpoint --model gpt-x --base-url https://api.example.com/v1 \\
        --concurrency 500 --decoding star \\
        --dialect star --price-in 0.4 --price-out 1.6 --max-cost-usd 20 --queries q.jsonl \\
          --world worlds/real --out runs/gpt-x
      tripwright run --policy greedy-search --queries q.jsonl --world worlds/real --out runs/greedy
      tripwright run --policy person --count 3 --queries q.jsonl --world worlds/nano --out runs/me
      tripwright run --policy cheapest-row --server http://localhost:8321 --queries q.jsonl \\
        --world worlds/real --out runs/cheapest
      tripwright run --policy expert-careful --thoughts long --extra-searches 6 --dialect star \\
        --queries q.jsonl --world worlds/nano \\
        --out runs/careful
      tripwright run --policy endpoint --model Qwen/Qwen2.5-7B-Instruct --dialect star \\
        --base-url http://localhost:8000/v1 --judging formatter.toml --queries q.jsonl \\
        --world worlds/real --out runs/qwen2.5
      tripwright run --policy expert --faults 0.05 --queries q.jsonl --world worlds/nano \\
        --out runs/expert_faults

    A dialect of DeepTravel's (deeptravel_cards, deeptravel_cards_compact) takes requests of
    'tripwright request make'; its answers are verified against the transcript, by rules. The
    paper's own, deeptravel, answers in free Markdown, which only an LLM judge can verify:
      tripwright run --policy errand-expert --dialect deeptravel_cards --queries requests.jsonl \\
        --world worlds/nano --out runs/errands
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --dialect deeptravel_cards \\
        --queries requests.jsonl --services live.toml --store runs/live.sqlite --out runs/live
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --dialect deeptravel --judging judge.toml --queries requests.jsonl --world worlds/nano \\
        --out runs/prose
    """
    from tripwright.evals.run import Spending
    from tripwright.llm.paid_calls import CostLimitReached, prices_of

    prices = prices_of(cost.price_in, cost.price_out, cost.price_cached)
    if prices is not None and (settings.policy != "endpoint" or policy.model is None):
        raise UserError(
            "Prices are of the tokens of --policy endpoint with a --model: leave them out."
        )
    spending = Spending(prices, cost.max_cost_usd, settings.rounds)
    try:
        score = _played(settings, place, policy, sampling, spending)
    except CostLimitReached as stop:
        print(f"tripwright: {stop}", file=sys.stderr)
        raise typer.Exit(1) from None
    typer.echo(json.dumps(score) if as_json else table(score, settings.out))
    if "warning" in score:
        print(f"warning: {score['warning']} The same command tries them again.", file=sys.stderr)
    if score["unscored"] and not score["n"]:
        raise typer.Exit(1)


def _played(  # long: what a run is made of, each on a line of its own
    settings: RunFlags,
    place_flags: PlaceFlags,
    policy: PolicyFlags,
    sampling: SamplingFlags,
    spending: Spending,
) -> dict[str, Any]:
    """The requests and the place are looked at before the policy, which may be a model to load."""
    from tripwright.domains import dialect_named, domain_of
    from tripwright.domains.place import PlaceOptions
    from tripwright.evals.choose import (
        SAMPLING,
        choose_policy,
        open_tasks,
        policy_names,
        served_tools,
        settled_rules,
    )
    from tripwright.evals.run import run as run_episodes
    from tripwright.evals.run_card import run_card
    from tripwright.llm.endpoint import shown_url
    from tripwright.policies.settings import PolicySettings, decoding_of
    from tripwright.tools.faults import Faults

    name = settings.policy
    if sampling.preset is not None and name in policy_names() and name not in SAMPLING:
        raise UserError(f"Policy '{name}' samples no tokens: leave --decoding out.")
    how = decoding_of(**vars(sampling))
    dialect = dialect_named(settings.dialect)
    domain = domain_of(dialect)
    judging = domain.judge.read_settings(dialect, settings.judging) if settings.judging else None
    rules = settled_rules(dialect, settings.rules, judging)
    with ExitStack() as resources:
        tasks, place = open_tasks(
            settings.queries,
            dialect,
            PlaceOptions(**vars(place_flags)),
            resources,
            settings.samples,
            settings.count,
            settings.out,
        )
        tools = served_tools(settings.server, name, dialect, place, settings.empty_tools)
        player = choose_policy(name, PolicySettings(**vars(policy), **vars(how)), dialect)
        card = run_card(
            player.identity,
            player.decoding,
            dialect,
            rules,
            settings.queries,
            place.identity,
            settings.samples,
            settings.empty_tools,
        )
        card |= {"tools": shown_url(settings.server)} if settings.server else {}
        card |= {"judging": judging.card()} if judging is not None else {}
        card |= {"decoding_preset": sampling.preset} if sampling.preset else {}
        judged = resources.enter_context(domain.judge.opened(judging, settings.out))
        return run_episodes(
            player.policy,
            map(judged, tasks),
            settings.out,
            dialect,
            player.chat,
            rules,
            settings.empty_tools,
            card,
            progress=not settings.quiet and name != "person",
            faults=None
            if settings.faults is None
            else Faults(probability=settings.faults, seed=settings.faults_seed),
            tools=tools,
            spending=spending,
        )


def table(score: dict[str, Any], out: Path) -> str:
    from tripwright.evals.scoreboard import judged_by

    lines = [
        f"{counted(score['n'], 'episode')}, {judged_by(score['rules'])}"
        + (f", {score['unscored']} unscored" if score["unscored"] else "")
    ]
    rows = [_row(name.replace("_", " "), rate) for name, rate in score["metrics"].items()]
    rows += [
        _row(f"final, {level}", rates["final"]) for level, rates in score.get("levels", {}).items()
    ]
    if "worst_case" in score:
        rows.append(_row("worst case final", score["worst_case"]["final"]))
    lines += table_lines(rows, "<><>")
    if "faults" in score:
        lines.append(
            f"  faults: {score['faults']['hit']} of {score['faults']['calls']} tool calls were made"
            " to fail"
        )
    if "usage" in score:
        lines.append(f"  {_usage(score['usage'])}")
    stops = ", ".join(f"{reason} {count}" for reason, count in score["stop_reasons"].items())
    return "\n".join(
        [*lines, f"  stopped by: {stops}", f"{out / 'score.json'}  {out / 'transcripts.jsonl'}"]
    )


def _usage(usage: dict[str, Any]) -> str:
    text, cost = counted(usage["requests"], "request"), usage["cost_usd"]
    if usage["prompt_tokens"] is None:
        text += f", of which the endpoint counted no tokens in {usage['uncounted_requests']:,}"
    else:
        cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
        text += f", {usage['prompt_tokens']:,} prompt{cached}"
        text += f" and {usage['completion_tokens']:,} completion tokens"
    return text if cost is None else f"{text}, ${cost:,.4f}"


def _row(name: str, rate: dict[str, Any]) -> list[str]:
    if "k" in rate or rate["value"] is None:
        return [name, *rate_cells(rate)]
    if name.startswith("pass"):  # pass@k, pass^k: shares of queries
        return [name, *rate_cells(rate)[:2], counted(rate["n"], "query")]
    return [name, f"{rate['value']:.4g}", f"[{rate['low']:.4g}, {rate['high']:.4g}]"]

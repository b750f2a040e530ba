"""`tripwright run`: episodes of a policy, kept as transcripts and scored."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.run_table import table
from tripwright.domains import dialect_named, dialects, domain_of, own_domains
from tripwright.domains.domain import PlaceOptions
from tripwright.errors import UserError
from tripwright.evals.choose import SAMPLING, choose_policy, policy_names
from tripwright.evals.run import Spending
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.tasks import open_tasks, served_tools, settled_rules
from tripwright.llm.paid_calls import CostLimitReached
from tripwright.llm.prices import Prices, read_prices
from tripwright.llm.urls import shown_url
from tripwright.policies.decoding import PRESETS, decoding_of
from tripwright.policies.settings import PolicySettings
from tripwright.tools.faults import Faults

RULES = tuple(dict.fromkeys(rules for domain in own_domains().values() for rules in domain.rules))


def run(  # long: each option is a parameter with its help
    policy: Annotated[
        str, typer.Option(help=f"Who plans: {', '.join(policy_names(own_domains()))}.")
    ],
    queries: Annotated[Path, typer.Option(help="JSONL file of trip requests.")],
    out: Annotated[Path, typer.Option(help="Run folder; a run found there is continued.")],
    world: Annotated[
        Path | None, typer.Option(help="World folder to travel in.", show_default=False)
    ] = None,
    services: Annotated[
        Path | None,
        typer.Option(
            help="deeptravel: instead of --world, a TOML file of live services.", show_default=False
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="deeptravel: keep the tools' answers in this SQLite file or database.",
            show_default=False,
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="deeptravel: the day they are kept under.",
            show_default="that of the run in OUT, else today",
        ),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="deeptravel: ask nobody; answers come from --store alone."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="endpoint: the model's name; local: a checkpoint folder.", show_default=False
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="endpoint: its URL, up to and including /v1.", show_default=False),
    ] = None,
    dialect: Annotated[
        str,
        typer.Option(help=f"Prompt, tool face and limits: {', '.join(dialects(own_domains()))}."),
    ] = "planner_r1",
    rules: Annotated[
        str | None,
        typer.Option(
            help=f"Rule set of the judge: {', '.join(RULES)}.",
            show_default=f"{RULES[0]}, where there are several",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="Episodes per query.", min=1)] = 1,
    limit: Annotated[
        int | None, typer.Option(help="Only the first N queries.", min=1, show_default=False)
    ] = None,
    decoding: Annotated[
        str | None,
        typer.Option(
            help=f"endpoint, local: a paper's way to sample: {', '.join(PRESETS)}.",
            show_default=False,
        ),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="0 is greedy.", min=0, show_default="0")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="endpoint, local: nucleus sampling.", min=0, max=1, show_default=False),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            help="endpoint (where the server knows it), local: only the k likeliest tokens.",
            min=1,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help=(
                "local: of the sampling; greedy-search: of the sights; expert-careful,"
                " expert-brief: of the wording and the order in "
                "which cities are tried."
            ),
            min=0,
        ),
    ] = 0,
    thoughts: Annotated[
        str | None,
        typer.Option(
            help="expert-careful, expert-brief: none, short or long reasons.", show_default=False
        ),
    ] = None,
    extra_searches: Annotated[
        int | None,
        typer.Option(
            help=(
                "expert-careful, expert-brief: at most so many searches for a better plan than the"
                " first."
            ),
            min=0,
            show_default=False,
        ),
    ] = None,
    compared_cities: Annotated[
        int | None,
        typer.Option(
            help=(
                "expert-careful, expert-brief: cities beyond those asked for that are looked at"
                " first."
            ),
            min=0,
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="endpoint: episodes in flight.", min=1)] = 8,
    rows: Annotated[int, typer.Option(help="local: episodes in a batch.", min=1)] = 16,
    native_tools: Annotated[
        bool,
        typer.Option(help="endpoint: tools as JSON functions, or described in the system prompt."),
    ] = True,
    timeout: Annotated[
        float,
        typer.Option(
            help="endpoint: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
        ),
    ] = 120.0,
    retries: Annotated[
        int,
        typer.Option(
            help="endpoint: further attempts at a request after a fault that may pass.", min=0
        ),
    ] = 4,
    rounds: Annotated[
        int, typer.Option(help="Play unscored episodes again so often; 1 plays each once.", min=1)
    ] = 2,
    requests_per_second: Annotated[
        float | None,
        typer.Option(
            help="endpoint: at most so many, retries included.", min=0.001, show_default=False
        ),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(help="endpoint: USD per million prompt tokens.", min=0, show_default=False),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(
            help="endpoint: USD per million completion tokens.", min=0, show_default=False
        ),
    ] = None,
    price_cached: Annotated[
        float | None,
        typer.Option(
            help="endpoint: USD per million prompt tokens from its cache.",
            min=0,
            show_default="as --price-in",
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="endpoint: a TOML or JSON table of prices by model.", show_default=False),
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(
            help="endpoint: stop before the next request when OUT has cost so much.",
            min=0,
            show_default=False,
        ),
    ] = None,
    empty_tools: Annotated[
        bool,
        typer.Option("--empty-tools", help="Every tool answers nothing: finds memorised worlds."),
    ] = False,
    tools: Annotated[
        str | None,
        typer.Option(
            help="URL of a 'tripwright serve tools' with the same world, to ask there.",
            show_default=False,
        ),
    ] = None,
    faults: Annotated[
        float | None,
        typer.Option(
            help="Share of the tool calls that fail on purpose.", min=0, max=1, show_default=False
        ),
    ] = None,
    faults_seed: Annotated[
        int, typer.Option(help="With --faults: which calls these are.", min=0)
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print score.json instead of a table.")
    ] = False,
) -> None:
    """Run episodes with a policy: OUT/transcripts.jsonl, one line each, and OUT/score.json.

    Interrupted, the same command continues: what is scored is kept, what an endpoint has answered
    is not asked again (OUT/calls.jsonl), what failed for no fault of the policy's is tried again.
    The key of an endpoint is read from OPENAI_API_KEY.

    Examples:
      tripwright run --policy expert --queries q.jsonl --world worlds/nano --out runs/expert
      tripwright run --policy local --model runs/a/model --dialect compact --queries q.jsonl \\
        --world worlds/nano --out runs/a/test
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --queries q.jsonl --world worlds/real --out runs/qwen3
      tripwright run --policy endpoint --model gpt-x --base-url https://api.example.com/v1 \\
        --concurrency 500 --decoding star \\
        --dialect star --price-in 0.4 --price-out 1.6 --max-cost-usd 20 --queries q.jsonl \\
          --world worlds/real --out runs/gpt-x
      tripwright run --policy greedy-search --queries q.jsonl --world worlds/real --out runs/greedy
      tripwright run --policy person --limit 3 --queries q.jsonl --world worlds/nano --out runs/me
      tripwright run --policy cheapest-row --tools http://localhost:8321 --queries q.jsonl \\
        --world worlds/real --out runs/cheapest
      tripwright run --policy expert-careful --thoughts long --extra-searches 6 --dialect star \\
        --queries q.jsonl --world worlds/nano \\
        --out runs/careful
      tripwright run --policy expert --faults 0.05 --queries q.jsonl --world worlds/nano \\
        --out runs/expert_faults

    A dialect of DeepTravel's (deeptravel, deeptravel_compact) takes requests of 'tripwright request
    make'; its answers are verified against the transcript, by rules:
      tripwright run --policy errand-expert --dialect deeptravel --queries requests.jsonl \\
        --world worlds/nano --out runs/errands
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --dialect deeptravel \\
        --queries requests.jsonl --services live.toml --store runs/live.sqlite --out runs/live
    """
    if decoding is not None and policy in policy_names() and policy not in SAMPLING:
        raise UserError(f"Policy '{policy}' samples no tokens: leave --decoding out.")
    how = decoding_of(decoding, temperature, top_p, top_k)
    spending = Spending(
        _prices(policy, model, price_in, price_out, price_cached, prices), max_cost_usd, rounds
    )
    spoken = dialect_named(dialect)
    judged_by = settled_rules(domain_of(spoken), rules)
    settings = PolicySettings(
        model=model,
        base_url=base_url,
        temperature=how.temperature,
        top_p=how.top_p,
        top_k=how.top_k,
        seed=seed,
        concurrency=concurrency,
        rows=rows,
        native_tools=native_tools,
        timeout_s=timeout,
        max_retries=retries,
        requests_per_second=requests_per_second,
        thoughts=thoughts,
        extra_searches=extra_searches,
        compared_cities=compared_cities,
    )
    chosen = choose_policy(policy, settings, spoken)
    fingerprint = {"fingerprint": model_fingerprint(model)} if policy == "local" and model else {}
    failing = Faults(probability=faults, seed=faults_seed) if faults is not None else None
    options = PlaceOptions(world, services, store, snapshot, replay)
    with ExitStack() as opened:
        asked = open_tasks(queries, spoken, options, opened, samples, limit, out)
        served = served_tools(tools, policy, spoken, asked.place, empty_tools)
        card = run_card(
            {**chosen.identity, **fingerprint},
            chosen.decoding,
            spoken,
            judged_by,
            queries,
            asked.place.identity,
            samples,
            empty_tools,
        )
        card |= {"tools": shown_url(tools)} if tools else {}
        card |= {"decoding_preset": decoding} if decoding else {}
        try:
            score = run_episodes(
                chosen.policy,
                asked.tasks,
                out,
                spoken,
                chosen.chat,
                judged_by,
                empty_tools,
                card,
                progress=not quiet and policy != "person",
                faults=failing,
                tools=served,
                spending=spending,
            )
        except CostLimitReached as stop:
            print(f"tripwright: {stop}", file=sys.stderr)
            raise typer.Exit(1) from None
    typer.echo(json.dumps(score) if as_json else table(score, out))
    if "warning" in score:
        print(f"warning: {score['warning']} The same command tries them again.", file=sys.stderr)
    if score["unscored"] and not score["n"]:
        raise typer.Exit(1)


def _prices(
    policy: str,
    model: str | None,
    price_in: float | None,
    price_out: float | None,
    cached: float | None,
    table: Path | None,
) -> Prices | None:
    """From the table, or from the options; None where neither is given."""
    single = {"--price-in": price_in, "--price-out": price_out}
    given = [name for name, price in single.items() if price is not None]
    if not given and cached is None and table is None:
        return None
    if policy != "endpoint" or model is None:
        raise UserError(
            "Prices are of the tokens of --policy endpoint with a --model: leave them out."
        )
    if table is not None:
        if given or cached is not None:
            raise UserError(
                "Prices come from --prices or from --price-in and --price-out, not from both."
            )
        return read_prices(table, model)
    if price_in is None or price_out is None:
        missing = next((name for name in single if name not in given), "--price-in")
        raise UserError(
            f"Prices are --price-in and --price-out, both in USD per million tokens; {missing} is"
            " missing."
        )
    return Prices(price_in, price_out, cached)

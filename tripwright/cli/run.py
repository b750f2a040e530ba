"""`tripwright run`: episodes of a policy, kept as transcripts and scored."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import typer

from tripwright.cli.options import Json, flag, option
from tripwright.cli.table import print_figures
from tripwright.domains import dialect_named, own_names
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.policies.settings import PolicySettings


def run(  # long: most of it is help
    *,
    policy: str = option(..., f"Who plans: {own_names('players')}, endpoint, local."),
    queries: Path | None = option(None, "JSONL file of trip requests."),
    out: Path | None = option(None, "Run folder; a run found there is continued."),
    check: bool = flag("--check", "Ask the endpoint once and say what it can; play nothing."),
    dialect: str = option(
        "planner_r1",
        f"Prompt, tool face and limits: {own_names('dialects')}.",
    ),
    rules: str | None = option(
        None,
        f"Rule set of the judge: {own_names('judge.rules')}.",
        show_default="the first, where there are several",
    ),
    judging: Path | None = option(
        None, "A TOML file with the model that takes part in judging (docs/judging.md)."
    ),
    samples: int = option(1, "Episodes per query.", min=1),
    count: int | None = option(None, "Only the first N.", min=1),
    rounds: int = option(2, "Play unscored episodes again so often; 1 plays each once.", min=1),
    empty_tools: bool = flag(
        "--empty-tools", "Every tool answers nothing: finds memorised worlds."
    ),
    server: str | None = option(
        None, "URL of a 'tripwright serve tools' with the same world, to ask there."
    ),
    faults: float | None = option(
        None, "Share of the tool calls that fail on purpose.", min=0, max=1
    ),
    faults_seed: int = option(0, "With --faults: which calls these are.", min=0),
    quiet: bool = flag("--quiet", "No progress on stderr."),
    place: PlaceOptions,
    settings: PolicySettings,
    as_json: Json = False,
) -> None:
    """Run episodes with a policy: OUT/transcripts.jsonl, one line each, and OUT/score.json.

    Interrupted, the same command continues: what is scored is kept, what an endpoint has answered
    is not asked again (OUT/calls.jsonl), what failed for no fault of the policy's is tried again.
    Rules are strict unless --rules says otherwise.

    Examples:
      tripwright run --policy endpoint --model gpt-x --base-url https://api.example.com/v1 --check
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
    from tripwright.evals.evaluate import choose_policy, evaluate
    from tripwright.llm.paid_calls import CostLimitReached
    from tripwright.policies.endpoint import EndpointPolicy
    from tripwright.tools.faults import Faults

    settings = replace(settings, name=policy)
    if check:
        spoken = dialect_named(dialect)
        player = choose_policy(settings, spoken).policy
        if not isinstance(player, EndpointPolicy):
            raise UserError("--check asks an endpoint: give --policy endpoint.")
        print_figures(player.check(spoken), as_json)
        return
    if queries is None or out is None:
        raise UserError("run needs --queries FILE and --out DIR; only --check goes without.")
    try:
        score = evaluate(
            settings,
            queries,
            place,
            out,
            dialect=dialect,
            rules=rules,
            judging=judging,
            samples=samples,
            count=count,
            rounds=rounds,
            empty_tools=empty_tools,
            server=server,
            faults=None if faults is None else Faults(probability=faults, seed=faults_seed),
            progress=not quiet,
        ).record
    except CostLimitReached as stop:
        print(f"tripwright: {stop}", file=sys.stderr)
        raise typer.Exit(1) from None
    print_figures(score, as_json, hidden=("constraints", "samples", "run_card", "warning"))
    if "warning" in score:
        again = "Where a fault was the cause, the same command tries again."
        print(f"warning: {score['warning']} {again}", file=sys.stderr)
    if score["unscored"] and not score["n"]:
        raise typer.Exit(1)

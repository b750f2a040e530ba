"""`tripwright run`: episodes of a policy, kept as transcripts and scored."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, flag, option
from tripwright.cli.table import rate_cells, table_lines
from tripwright.domains import own_names
from tripwright.domains.place import PlaceOptions
from tripwright.errors import counted
from tripwright.policies.settings import PolicySettings


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
        show_default="the first, where there are several",
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


def run(  # long: most of it is help
    settings: RunFlags,
    place: PlaceOptions,
    policy: PolicySettings,
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
    from tripwright.evals.evaluate import evaluate
    from tripwright.llm.paid_calls import CostLimitReached
    from tripwright.tools.faults import Faults

    faults = None
    if settings.faults is not None:
        faults = Faults(probability=settings.faults, seed=settings.faults_seed)
    try:
        score = evaluate(
            replace(policy, name=settings.policy),
            settings.queries,
            place,
            settings.out,
            dialect=settings.dialect,
            rules=settings.rules,
            judging=settings.judging,
            samples=settings.samples,
            count=settings.count,
            rounds=settings.rounds,
            empty_tools=settings.empty_tools,
            server=settings.server,
            faults=faults,
            progress=not settings.quiet,
        ).record
    except CostLimitReached as stop:
        print(f"tripwright: {stop}", file=sys.stderr)
        raise typer.Exit(1) from None
    typer.echo(json.dumps(score) if as_json else table(score, settings.out))
    if "warning" in score:
        print(f"warning: {score['warning']} The same command tries them again.", file=sys.stderr)
    if score["unscored"] and not score["n"]:
        raise typer.Exit(1)


def table(score: Mapping[str, Any], out: Path) -> str:
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


def _usage(usage: Mapping[str, Any]) -> str:
    text, cost = counted(usage["requests"], "request"), usage["cost_usd"]
    if usage["prompt_tokens"] is None:
        text += f", of which the endpoint counted no tokens in {usage['uncounted_requests']:,}"
    else:
        cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
        text += f", {usage['prompt_tokens']:,} prompt{cached}"
        text += f" and {usage['completion_tokens']:,} completion tokens"
    return text if cost is None else f"{text}, ${cost:,.4f}"


def _row(name: str, rate: Mapping[str, Any]) -> list[str]:
    if "k" in rate or rate["value"] is None:
        return [name, *rate_cells(rate)]
    if name.startswith("pass"):  # pass@k, pass^k: shares of queries
        return [name, *rate_cells(rate)[:2], counted(rate["n"], "query")]
    return [name, f"{rate['value']:.4g}", f"[{rate['low']:.4g}, {rate['high']:.4g}]"]

"""`tripwright outside multi-if`: instructions followed over three turns (row P15)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tripwright.cli.options import FirstOf, Json, ModelFlags, RunOut, SamplingFlags
from tripwright.cli.outside import (
    PolicyOption,
    SamplesOption,
    check_one_of,
    number_row,
    play,
    player,
    row,
    tell,
)
from tripwright.evals.outside.multi_if.checkers import load_checkers
from tripwright.evals.outside.multi_if.conversations import MOST_TURNS, read_dialogues
from tripwright.evals.outside.multi_if.score import score
from tripwright.evals.outside.multi_if.tasks import RULES, IfRules, dialect, tasks_of


def multi_if(  # long: each option is a parameter with its help
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Multi-IF's CSV.")],
    out: RunOut,
    model: ModelFlags,
    sampling: SamplingFlags,
    policy: PolicyOption = "endpoint",
    language: Annotated[
        list[str] | None,
        typer.Option(
            help="Only conversations in this language; may be given again.", show_default="all"
        ),
    ] = None,
    checkers: Annotated[
        Path | None,
        typer.Option(
            help="Meta's ifeval.py with the checkers.",
            show_default="that of the installed evalscope",
        ),
    ] = None,
    grading: Annotated[
        str,
        typer.Option(
            help=f"{' or '.join(RULES)}: check an answer as it is, or without its reasoning."
        ),
    ] = "official",
    turns: Annotated[
        int, typer.Option(help="Turns of a conversation, at most.", min=1, max=MOST_TURNS)
    ] = MOST_TURNS,
    samples: SamplesOption = 1,
    count: FirstOf = None,
    max_tokens: Annotated[
        int,
        typer.Option(help="Tokens of an answer, at most; a longer one is cut and counts.", min=1),
    ] = 1024,
    context_tokens: Annotated[
        int, typer.Option(help="local: tokens of a conversation, at most.", min=1)
    ] = 32768,
    as_json: Json = False,
) -> None:
    """Multi-IF: does a model still do as told in the third turn? Four rates a turn and their mean,
    in all and by language.

    The CSV is at huggingface.co/datasets/facebook/Multi-IF (CC BY-NC 2.0). The checkers come from
    evalscope (pip install 'tripwright[multi-if]', then pip install --no-deps evalscope) or from
    Meta's repository (--checkers ifeval.py). An instruction without a checker counts as not
    followed, and the score says how often. Interrupted, the same command continues.

    Examples:
      tripwright outside multi-if multiIF_20241018.csv --language English --model Qwen/Qwen3-8B \\
        --base-url http://localhost:8000/v1 \\
        --decoding planner_r1_multi_if --out runs/multi_if
      tripwright outside multi-if multiIF_20241018.csv --policy local --model runs/a/model \\
        --temperature 0.6 --top-p 0.9 --out runs/mif_a
      tripwright outside multi-if multiIF_20241018.csv --checkers Multi-IF/ifeval.py \\
        --grading robust --count 100 \\
        --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 --out runs/mif_100
    """
    check_one_of("--grading", grading, RULES)
    spoken = dialect(max_tokens, context_tokens)
    dialogues = read_dialogues(file, language or [], turns, count)
    judges = load_checkers(checkers)
    if unknown := judges.check_fit(dialogues):
        print(
            f"warning: no checker for {', '.join(unknown)}: these count as not followed",
            file=sys.stderr,
        )
    tasks = tasks_of(dialogues, judges, cast(IfRules, grading), samples)
    place = {
        "name": "multi_if",
        "turns": turns,
        "languages": sorted(language or []),
        "checkers": judges.identity,
    }
    found = play(
        player(policy, model, sampling, spoken), tasks, out, spoken, file, place, samples, score
    )
    tell(found, out, table(found), as_json)


def table(found: Mapping[str, Any]) -> str:
    """Turn by turn, then by language, then what no checker judged."""
    metrics = {
        name: figure
        for name, figure in found["metrics"].items()
        if name != "completion_tokens_mean"
    }
    words = {"final": "all turns followed", "mean": "mean of the turns"}
    lines = [
        row(words.get(name, name.replace("_", " ")), figure) for name, figure in metrics.items()
    ]
    for language, figures in found["languages"].items() if len(found["languages"]) > 1 else ():
        lines += [
            row(f"{language}, {words.get(name, name.replace('_', ' '))}", figure)
            for name, figure in figures.items()
        ]
    for title, counted in (
        ("no checker for", found["unknown_instructions"]),
        ("checkers raised", found["checker_errors"]),
    ):
        if counted:
            lines.append(
                f"  {title}: " + ", ".join(f"{name} {count}" for name, count in counted.items())
            )
    return "\n".join(
        [*lines, number_row("tokens of a conversation", found["metrics"]["completion_tokens_mean"])]
    )

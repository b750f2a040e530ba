"""`tripwright outside natural-plan`: planning in words, without tools (row P15)."""

from __future__ import annotations

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
from tripwright.errors import UserError
from tripwright.evals.outside.natural_plan.examples import Prompt, read_examples
from tripwright.evals.outside.natural_plan.tasks import (
    RULES,
    PlanRules,
    PublishedAnswers,
    dialect,
    score,
    tasks_of,
)
from tripwright.policies.settings import PolicyChoice

PROMPTS = ("5shot", "0shot")


def natural_plan(  # long: each option is a parameter with its help
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=(
                "trip_planning.json, meeting_planning.json or calendar_scheduling.json of Natural"
                " Plan."
            ),
        ),
    ],
    out: RunOut,
    model: ModelFlags,
    sampling: SamplingFlags,
    policy: PolicyOption = "endpoint",
    answers: Annotated[
        str | None,
        typer.Option(
            help=(
                "Instead of a policy: score the answers in this field of the file, such as"
                " pred_5shot_pro."
            ),
            show_default=False,
        ),
    ] = None,
    grading: Annotated[
        str, typer.Option(help=f"What decides: {' or '.join(RULES)}. Both are counted.")
    ] = "official",
    prompt: Annotated[
        str, typer.Option(help=f"Examples in the prompt: {' or '.join(PROMPTS)}.")
    ] = "5shot",
    samples: SamplesOption = 1,
    count: FirstOf = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens of an answer, at most.", min=1)] = 4096,
    context_tokens: Annotated[
        int, typer.Option(help="local: tokens of prompt and answer together, at most.", min=1)
    ] = 32768,
    as_json: Json = False,
) -> None:
    """Natural Plan: trips, meetings and calendars planned in one answer, from five examples.

    The files are at github.com/google-deepmind/natural-plan under data/ (CC BY 4.0). Official rules
    are the published scorers', mistakes included; an answer that they end with an exception at is
    failed. Robust rules leave the reasoning out, read the last answer, and know every minute.
    Interrupted, the same command continues.

    Examples:
      tripwright outside natural-plan data/trip_planning.json --model Qwen/Qwen3-8B \\
        --base-url http://localhost:8000/v1 --out runs/np_trip
      tripwright outside natural-plan data/meeting_planning.json --policy local \\
        --model runs/a/model --grading robust --samples 4 \\
        --decoding planner_r1_natural_plan --out runs/np_meeting
      tripwright outside natural-plan data/calendar_scheduling.json --answers pred_5shot_pro \\
        --out runs/np_gemini
    """
    check_one_of("--grading", grading, RULES)
    check_one_of("--prompt", prompt, PROMPTS)
    spoken = dialect(max_tokens, context_tokens)
    if answers is not None and (model.model or model.base_url or samples > 1):
        raise UserError(
            "With --answers the file's own answers are scored: leave --model, --base-url and"
            " --samples out."
        )
    examples = read_examples(file, cast(Prompt, prompt))
    if answers is not None:
        chosen = PolicyChoice(
            PublishedAnswers(examples, answers), None, {"kind": "published", "field": answers}, {}
        )
    else:
        chosen = player(policy, model, sampling, spoken)
    tasks = tasks_of(examples, cast(PlanRules, grading), cast(Prompt, prompt), samples, count)
    place = {"name": tasks[0].where, "prompt": prompt}
    found = play(chosen, tasks, out, spoken, file, place, samples, score)
    tell(found, out, table(found), as_json)


def table(found: Mapping[str, Any]) -> str:
    """What decides, both sets of rules, how hard the tasks were."""
    words = {
        "final": "solved",
        "official": "by official rules",
        "robust": "by robust rules",
        "official_raises": "official code raises",
    }
    metrics = {
        name: figure
        for name, figure in found["metrics"].items()
        if name != "completion_tokens_mean"
    }
    lines = [row(words.get(name, name), figure) for name, figure in metrics.items()]
    lines += [
        row(f"solved, {level}", figures["final"]) for level, figures in found["levels"].items()
    ]
    if found["official_errors"]:
        lines.append(
            "  raised: "
            + ", ".join(f"{name} {count}" for name, count in found["official_errors"].items())
        )
    return "\n".join(
        [*lines, number_row("tokens of an answer", found["metrics"]["completion_tokens_mean"])]
    )

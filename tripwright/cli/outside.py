"""What `tripwright outside …` verbs share: who answers, how its tokens are chosen, and what is
printed at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.agent.dialect import Dialect
from tripwright.cli.options import ModelFlags, SamplingFlags
from tripwright.errors import UserError
from tripwright.evals.choose import choose_policy
from tripwright.evals.outside.task import OutsideTask
from tripwright.evals.run import Scorer
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.scoreboard import verified_by
from tripwright.policies.decoding import decoding_of
from tripwright.policies.settings import PolicyChoice, PolicySettings

MODELS = ("endpoint", "local")

SamplesOption = Annotated[int, typer.Option(help="Answers per task.", min=1)]
PolicyOption = Annotated[str, typer.Option(help=f"Who answers: {' or '.join(MODELS)}.")]


def player(
    policy: str, model: ModelFlags, sampling: SamplingFlags, dialect: Dialect
) -> PolicyChoice:
    """With the fingerprint of a local checkpoint in its identity. Raises UserError."""
    if policy not in MODELS:
        raise UserError(
            f"Unknown policy '{policy}'. For tasks that are not trips there are"
            f" {' and '.join(MODELS)}."
        )
    how = decoding_of(**vars(sampling))
    choice = choose_policy(policy, PolicySettings(**vars(model), **vars(how)), dialect)
    if policy == "local" and model.model:
        choice.identity["fingerprint"] = model_fingerprint(model.model)
    return choice


def check_one_of(option: str, said: str, known: Sequence[str]) -> None:
    if said not in known:
        raise UserError(f"{option} is one of {', '.join(known)}, found '{said}'.")


def play(
    chosen: PolicyChoice,
    tasks: Sequence[OutsideTask],
    out: Path,
    dialect: Dialect,
    file: Path,
    place: Mapping[str, Any],
    samples: int,
    scorer: Scorer,
) -> dict[str, Any]:
    """Plays what `out` does not hold yet. `place` says what grades, and what else than `file` makes
    the tasks: two runs with different places are never counted together."""
    rules = verified_by(tasks[0].grader.name)
    card = run_card(chosen.identity, chosen.decoding, dialect, rules, file, place, samples)
    return run_episodes(
        chosen.policy, tasks, out, dialect, chosen.chat, rules, card=card, scorer=scorer
    )


def tell(score: Mapping[str, Any], out: Path, table: str, as_json: bool) -> None:
    """The score on stdout; a warning on stderr."""
    if as_json:
        typer.echo(json.dumps(score))
    else:
        stops = ", ".join(f"{reason} {count}" for reason, count in score["stop_reasons"].items())
        typer.echo(
            "\n".join(
                [
                    head(score),
                    table,
                    f"  stopped by: {stops}",
                    f"{out / 'score.json'}  {out / 'transcripts.jsonl'}",
                ]
            )
        )
    if "warning" in score:
        print(f"warning: {score['warning']} The same command tries them again.", file=sys.stderr)
    if score["unscored"] and not score["n"]:
        raise typer.Exit(1)


def head(score: Mapping[str, Any]) -> str:
    return f"{score['n']} answers, {score['rules']}" + (
        f", {score['unscored']} unscored" if score["unscored"] else ""
    )


def row(name: str, found: Mapping[str, Any]) -> str:
    """One figure with its interval: of a share its counts too."""
    if found["value"] is None:
        return f"  {name:<28} {'-':>8}"
    counts = f"  {found['k']}/{found['n']}" if "k" in found else ""
    return f"  {name:<28} {found['value']:>8.1%}  [{found['low']:.1%}, {found['high']:.1%}]{counts}"


def number_row(name: str, found: Mapping[str, Any]) -> str:
    """One mean that is no share."""
    if found["value"] is None:
        return f"  {name:<28} {'-':>8}"
    return f"  {name:<28} {found['value']:>8.4g}  [{found['low']:.4g}, {found['high']:.4g}]"

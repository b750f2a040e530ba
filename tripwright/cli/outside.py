"""What `tripwright outside …` verbs share: who answers, how its tokens are chosen, and what is
printed at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError
from tripwright.evals.choose import choose_policy
from tripwright.evals.outside.task import OutsideTask
from tripwright.evals.run import Scorer
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.scoreboard import verified_by
from tripwright.policies.decoding import PRESETS, decoding_of
from tripwright.policies.settings import PolicyChoice, PolicySettings

MODELS = ("endpoint", "local")

OutOption = Annotated[Path, typer.Option(help="Run folder; a run found there is continued.")]
PolicyOption = Annotated[str, typer.Option(help=f"Who answers: {' or '.join(MODELS)}.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="endpoint: the model's name; local: a checkpoint folder.", show_default=False
    ),
]
UrlOption = Annotated[
    str | None, typer.Option(help="endpoint: its URL, up to and including /v1.", show_default=False)
]
DecodingOption = Annotated[
    str | None,
    typer.Option(help=f"By a paper's name: {', '.join(PRESETS)}.", show_default="greedy"),
]
TemperatureOption = Annotated[
    float | None, typer.Option(help="0 is greedy.", min=0, show_default=False)
]
TopPOption = Annotated[
    float | None, typer.Option(help="Nucleus sampling.", min=0, max=1, show_default=False)
]
TopKOption = Annotated[
    int | None, typer.Option(help="Only the k most probable tokens.", min=1, show_default=False)
]
SeedOption = Annotated[int, typer.Option(help="local: of the sampling.", min=0)]
SamplesOption = Annotated[int, typer.Option(help="Answers per task.", min=1)]
LimitOption = Annotated[
    int | None, typer.Option(help="Only the first N tasks of the file.", min=1, show_default=False)
]
ConcurrencyOption = Annotated[int, typer.Option(help="endpoint: tasks in flight.", min=1)]
RowsOption = Annotated[int, typer.Option(help="local: tasks in a batch.", min=1)]
TimeoutOption = Annotated[
    float,
    typer.Option(
        help="endpoint: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
    ),
]
RetriesOption = Annotated[
    int, typer.Option(help="endpoint: further attempts after a fault.", min=0)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print score.json instead of a table.")]


@dataclass(frozen=True)
class Who:
    """The options above, as they were given."""

    policy: str
    model: str | None
    base_url: str | None
    decoding: str | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int
    concurrency: int
    rows: int
    timeout_s: float
    retries: int

    def chosen(self, dialect: Dialect) -> PolicyChoice:
        """With the fingerprint of a local checkpoint in its identity. Raises UserError."""
        if self.policy not in MODELS:
            raise UserError(
                f"Unknown policy '{self.policy}'. For tasks that are not trips there are"
                f" {' and '.join(MODELS)}."
            )
        found = decoding_of(self.decoding, self.temperature, self.top_p, self.top_k)
        settings = PolicySettings(
            self.model,
            self.base_url,
            temperature=found.temperature,
            top_p=found.top_p,
            top_k=found.top_k,
            seed=self.seed,
            concurrency=self.concurrency,
            rows=self.rows,
            timeout_s=self.timeout_s,
            max_retries=self.retries,
        )
        chosen = choose_policy(self.policy, settings, dialect)
        if self.policy == "local" and self.model:
            chosen.identity["fingerprint"] = model_fingerprint(self.model)
        return chosen


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

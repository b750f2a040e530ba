"""`tripwright verify`: is each answer of a run complete, feasible and grounded? By rules, or by an
LLM judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from tripwright.domains.deeptravel.verbs.verify_tables import summary_lines, verdict_line
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    Verifier,
)
from tripwright.domains.deeptravel.verifiers.judge import JudgePrices, LlmJudge
from tripwright.domains.deeptravel.verifiers.judge_log import JudgementLog
from tripwright.domains.deeptravel.verifiers.rubrics import load_rubrics
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.deeptravel.verifying.labels import (
    calibrate,
    check_labels,
    labelled_by,
    read_labels,
)
from tripwright.domains.deeptravel.verifying.verified import (
    VerifierInput,
    VerifierVerdict,
    read_episodes,
    summary,
    verify_all,
)
from tripwright.errors import UserError
from tripwright.files import make_parent, write_atomically
from tripwright.llm.client import ChatEndpoint
from tripwright.progress import StatusLine
from tripwright.runs import TRANSCRIPTS

FORMS = ("rules", "judge")


def verify(  # long: each option is a parameter with its help
    transcripts: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help='A run folder, or a file of {"request": …, "transcript": …} per line.',
        ),
    ],
    form: Annotated[
        str, typer.Option(help="rules (deterministic) or judge (an LLM behind an endpoint).")
    ] = "rules",
    model: Annotated[
        str | None, typer.Option(help="Judge: the model's name.", show_default=False)
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Judge: its endpoint, up to and including /v1.", show_default=False),
    ] = None,
    api_key_env: Annotated[
        str, typer.Option(help="Judge: environment variable with the key.")
    ] = "OPENAI_API_KEY",
    votes: Annotated[
        int,
        typer.Option(
            help="Judge: votes on each item; more than half decide, a tie falls to the worse.",
            min=1,
        ),
    ] = 1,
    rubrics: Annotated[
        Path | None,
        typer.Option(help="Judge: a TOML file of rubrics.", show_default="DeepTravel's"),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Judge.", min=0, max=5, show_default="the server's")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Judge: of a reply.", min=1, show_default="the server's")
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="IN OUT",
            help="Judge: USD per million tokens, to tell the cost.",
            show_default=False,
        ),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(
            help="Judge: file that keeps every vote.",
            show_default="judgements.jsonl beside --out or TRANSCRIPTS",
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Judge: requests in flight.", min=1)] = 8,
    timeout: Annotated[
        float,
        typer.Option(
            help="Judge: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
        ),
    ] = 300.0,
    retries: Annotated[int, typer.Option(help="Judge: further attempts after a fault.", min=0)] = 4,
    passing: Annotated[
        list[str] | None,
        typer.Option(
            help="Conclusion that passes; repeat it.",
            show_default="very_satisfied, with or without backup",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help='Hold the verdicts against a file: {"id": …, "trajectory": true} per line.',
            show_default=False,
        ),
    ] = None,
    against_rules: Annotated[
        bool,
        typer.Option(
            "--against-rules", help="Judge: hold its verdicts against those of the rules."
        ),
    ] = False,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn",
            help="Judge every turn, also where the verdict is clear before (for calibration).",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="JSONL file of verdicts to write.", show_default=False)
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also a line for each transcript.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object per line and a summary, instead of a table."),
    ] = False,
) -> None:
    """Verify the answers of a run: first the whole trajectory, then, where it passes, every turn
    against what its tool answered.

    The reward is 1 where the trajectory and all its turns pass, else 0, and nothing is judged once
    that is decided. What the judge could not be asked about is unscored: it leaves the rates, and
    the same command tries it again. Votes that were paid for are kept in --judgements and never
    asked for twice.

    A table says what fails first and how often; --verbose, --out and --json say it of each
    transcript.

    With --labels or --against-rules, agreement is told as a confusion table, accuracy and Cohen's
    kappa, with intervals.

    Examples:
      tripwright verify runs/a
      tripwright verify runs/a/transcripts.jsonl --out verdicts.jsonl --json
      tripwright verify runs/a/transcripts.jsonl --form judge --model deepseek-reasoner \\
        --base-url https://api.deepseek.com/v1 --votes 3
      tripwright verify runs/a/transcripts.jsonl --form judge --model Qwen/Qwen3-32B \\
        --base-url http://localhost:8000/v1 \\
        --against-rules --every-turn --labels labels.jsonl
    """
    judging = form == "judge"
    if form not in FORMS:
        raise UserError(f"--form '{form}' is not one of {', '.join(FORMS)}.")
    if judging != (model is not None) or judging != (base_url is not None):
        raise UserError(
            "--form judge needs --model and --base-url, and --form rules takes neither."
        )
    if not judging and (against_rules or rubrics or judgements or price or votes != 1):
        raise UserError(
            "--against-rules, --rubrics, --judgements, --price and --votes go with --form judge."
        )
    transcripts = transcripts / TRANSCRIPTS if transcripts.is_dir() else transcripts
    kept = judgements or (out or transcripts).with_name("judgements.jsonl")
    _check_files(transcripts, out, kept if judging else None)
    passes = _conclusions(passing) if passing else PASSING_CONCLUSIONS
    asked = read_episodes(transcripts)
    if (not judging or against_rules) and not all(each.transcript.has_rows for each in asked):
        raise UserError(
            f"'{transcripts}' has no typed rows (an older version made it): run it again, or verify"
            " it with --form judge alone."
        )
    references = {"labels": read_labels(labels)} if labels else {}
    if labels or against_rules:
        check_labels(asked, references.get("labels"))
    with ExitStack() as stack:
        verifier: Verifier = RuleVerifier()
        if model and base_url:
            endpoint = ChatEndpoint(
                base_url, model, api_key_env, timeout, retries, temperature, max_tokens=max_tokens
            )
            texts = load_rubrics(rubrics)
            verifier = LlmJudge(
                endpoint,
                texts,
                votes,
                stack.enter_context(JudgementLog(kept)),
                JudgePrices(*price) if price else None,
            )
        verdicts = _verified(
            verifier, asked, max(1, concurrency // votes) if judging else 1, every_turn, passes
        )
    told = {**summary(verdicts), "form": form, "verifier": verifier.name, "passing": list(passes)}
    if isinstance(verifier, LlmJudge):
        told["judge"] = verifier.account.record(verifier.prices)
    if against_rules:
        references["rules"] = labelled_by(RuleVerifier(), asked, passes)
    told["calibration"] = {
        name: calibrate(verdicts, reference) for name, reference in references.items()
    }
    _tell(verdicts, told, out, verbose, as_json)


def _check_files(transcripts: Path, *written: Path | None) -> None:
    named = [path for path in written if path]
    if len({path.resolve() for path in named}) < len(named):
        raise UserError(f"--out and --judgements are the same file, '{named[0]}'. Name two.")
    for path in named:
        if path.is_dir() or (path.exists() and transcripts.exists() and path.samefile(transcripts)):
            raise UserError(f"'{path}' is a folder or the file to read. Name another file.")


def _conclusions(said: list[str]) -> tuple[Conclusion, ...]:
    known = get_args(Conclusion)
    if strange := [each for each in said if each not in known]:
        raise UserError(f"--passing '{strange[0]}' is not one of {', '.join(known)}.")
    return tuple(each for each in known if each in said)


def _verified(
    verifier: Verifier,
    asked: list[VerifierInput],
    concurrency: int,
    every_turn: bool,
    passing: Sequence[Conclusion],
) -> list[VerifierVerdict]:
    status, verdicts = StatusLine(), list[VerifierVerdict]()
    for verdict in verify_all(verifier, asked, concurrency, every_turn, passing):
        verdicts.append(verdict)
        status.show(
            f"{len(verdicts)} of {len(asked)} verified,"
            f" {len(verdicts) / max(status.seconds, 0.001):.1f}/s"
        )
    status.end()
    return sorted(verdicts, key=lambda verdict: verdict.line)


def _tell(
    verdicts: list[VerifierVerdict],
    told: dict[str, Any],
    out: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    lines = [json.dumps(verdict.record(), ensure_ascii=False) for verdict in verdicts]
    if out:
        make_parent(out)
        write_atomically(out, "".join(f"{line}\n" for line in lines))
    if as_json:
        typer.echo("\n".join([*lines, json.dumps(told)]))
    else:
        rows = [*map(verdict_line, verdicts), ""] if verbose else []
        typer.echo("\n".join([*rows, *summary_lines(verdicts, told), *([str(out)] if out else [])]))
    if unscored := told["unscored"]:
        print(
            f"warning: {unscored} of {len(verdicts)} unscored. The same command tries them again.",
            file=sys.stderr,
        )

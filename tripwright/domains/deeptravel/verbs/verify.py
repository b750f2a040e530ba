"""`tripwright verify`: is each answer of a run complete, feasible and grounded? By rules, or by an
LLM judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from tripwright.cli.options import Json, Restart
from tripwright.domains.deeptravel.verbs.verify_tables import summary_lines, verdict_line
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    Verifier,
)
from tripwright.domains.deeptravel.verifiers.judge import LlmJudge
from tripwright.domains.deeptravel.verifiers.judge_log import JudgementLog
from tripwright.domains.deeptravel.verifiers.rubrics import load_rubrics
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.deeptravel.verifying.labels import (
    calibrate,
    check_labels,
    labelled_by,
    read_labels,
)
from tripwright.domains.deeptravel.verifying.verification import (
    VerifierInput,
    VerifierVerdict,
    read_episodes,
    summary,
    verify_all,
)
from tripwright.errors import UserError
from tripwright.files import check_new, make_parent, write_atomically
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.prices import prices_of
from tripwright.progress import StatusLine
from tripwright.runs import transcripts_at

FORMS = ("rules", "judge")


@dataclass(frozen=True)
class JudgeFlags:
    """The LLM judge, and how its endpoint is asked."""

    model: Annotated[
        str | None, typer.Option(help="Judge: the model's name.", show_default=False)
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(help="Judge: its endpoint, up to and including /v1.", show_default=False),
    ] = None
    api_key_env: Annotated[str, typer.Option(help="Judge: environment variable with the key.")] = (
        "OPENAI_API_KEY"
    )
    votes: Annotated[
        int,
        typer.Option(
            help="Judge: votes on each item; more than half decide, a tie falls to the worse.",
            min=1,
        ),
    ] = 1
    rubrics: Annotated[
        Path | None,
        typer.Option(help="Judge: a TOML file of rubrics.", show_default="DeepTravel's"),
    ] = None
    temperature: Annotated[
        float | None, typer.Option(help="Judge.", min=0, max=5, show_default="the server's")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="Judge: of a reply.", min=1, show_default="the server's")
    ] = None
    price_in: Annotated[
        float | None,
        typer.Option(help="Judge: USD per million prompt tokens.", min=0, show_default=False),
    ] = None
    price_out: Annotated[
        float | None,
        typer.Option(help="Judge: USD per million completion tokens.", min=0, show_default=False),
    ] = None
    judgements: Annotated[
        Path | None,
        typer.Option(
            help="Judge: file that keeps every vote.",
            show_default="judgements.jsonl beside --out or TRANSCRIPTS",
        ),
    ] = None
    concurrency: Annotated[int, typer.Option(help="Judge: requests in flight.", min=1)] = 8
    timeout: Annotated[
        float,
        typer.Option(
            help="Judge: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
        ),
    ] = 300.0
    retries: Annotated[int, typer.Option(help="Judge: further attempts after a fault.", min=0)] = 4


@dataclass(frozen=True)
class VerifyFlags:
    """By whom answers are verified, and what the verdicts are held against."""

    form: Annotated[
        str, typer.Option(help="rules (deterministic) or judge (an LLM behind an endpoint).")
    ] = "rules"
    passing: Annotated[
        list[str] | None,
        typer.Option(
            help="Conclusion that passes; repeat it.",
            show_default="very_satisfied, with or without backup",
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            help='Hold the verdicts against a file: {"id": …, "trajectory": true} per line.',
            show_default=False,
        ),
    ] = None
    against_rules: Annotated[
        bool,
        typer.Option(
            "--against-rules", help="Judge: hold its verdicts against those of the rules."
        ),
    ] = False
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn",
            help="Judge every turn, also where the verdict is clear before (for calibration).",
        ),
    ] = False
    out: Annotated[
        Path | None, typer.Option(help="JSONL file of verdicts to write.", show_default=False)
    ] = None
    restart: Restart = False
    verbose: Annotated[bool, typer.Option("--verbose", help="Also a line for each transcript.")] = (
        False
    )


def verify(  # long: half of it is help
    transcripts: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help='A run folder, or a file of {"request": …, "transcript": …} per line.',
        ),
    ],
    settings: VerifyFlags,
    judge: JudgeFlags,
    as_json: Json = False,
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
    judging = settings.form == "judge"
    _check_flags(settings, judge)
    path = transcripts_at(transcripts)
    votes_file = judge.judgements or (settings.out or path).with_name("judgements.jsonl")
    if settings.out is not None:
        check_new(settings.out, settings.restart, inputs=(path,))
    _check_files(path, settings.out, votes_file if judging else None)
    passes = _conclusions(settings.passing) if settings.passing else PASSING_CONCLUSIONS
    answers = read_episodes(path)
    if not judging or settings.against_rules:
        _check_for_rules(path, answers)
    references = {"labels": read_labels(settings.labels)} if settings.labels else {}
    if settings.labels or settings.against_rules:
        check_labels(answers, references.get("labels"))
    with ExitStack() as stack:
        verifier: Verifier = RuleVerifier()
        if judging:
            log = stack.enter_context(JudgementLog(votes_file))
            verifier = _llm_judge(judge, log)
        at_once = max(1, judge.concurrency // judge.votes) if judging else 1
        verdicts = _verified(verifier, answers, at_once, settings.every_turn, passes)
    figures = {
        **summary(verdicts),
        "form": settings.form,
        "verifier": verifier.name,
        "passing": list(passes),
    }
    if isinstance(verifier, LlmJudge):
        figures["judge"] = verifier.account.record(verifier.prices)
    if settings.against_rules:
        references["rules"] = labelled_by(RuleVerifier(), answers, passes)
    figures["calibration"] = {
        name: calibrate(verdicts, reference) for name, reference in references.items()
    }
    _tell(verdicts, figures, settings.out, settings.verbose, as_json)


def _check_flags(settings: VerifyFlags, judge: JudgeFlags) -> None:
    if settings.form not in FORMS:
        raise UserError(f"--form '{settings.form}' is not one of {', '.join(FORMS)}.")
    judging = settings.form == "judge"
    if judging != (judge.model is not None) or judging != (judge.base_url is not None):
        raise UserError(
            "--form judge needs --model and --base-url, and --form rules takes neither."
        )
    if not judging and (
        settings.against_rules
        or judge.rubrics
        or judge.judgements
        or judge.price_in is not None
        or judge.price_out is not None
        or judge.votes != 1
    ):
        raise UserError(
            "--against-rules, --rubrics, --judgements, --price-in, --price-out and --votes go with"
            " --form judge."
        )


def _check_for_rules(path: Path, answers: Sequence[VerifierInput]) -> None:
    """Raises UserError for what rules cannot judge: the whole file, not a slip in one answer."""
    if not all(each.transcript.has_rows for each in answers):
        raise UserError(
            f"'{path}' has no typed rows (an older version made it): run it again, or verify"
            " it with --form judge alone."
        )
    texts = [each.transcript.answer for each in answers if each.transcript.answer]
    if texts and not any(text.lstrip().startswith("{") for text in texts):
        raise UserError(
            f"'{path}' has answers in free words, and rules read no prose: verify it with --form"
            " judge alone, or run --dialect deeptravel_cards, whose answers rules judge."
        )


def _llm_judge(judge: JudgeFlags, log: JudgementLog) -> LlmJudge:
    endpoint = ChatEndpoint(
        str(judge.base_url),
        str(judge.model),
        judge.api_key_env,
        judge.timeout,
        judge.retries,
        judge.temperature,
        max_tokens=judge.max_tokens,
    )
    prices = prices_of(judge.price_in, judge.price_out)
    return LlmJudge(endpoint, load_rubrics(judge.rubrics), judge.votes, log, prices)


def _check_files(transcripts: Path, *written: Path | None) -> None:
    paths = [path for path in written if path]
    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError(f"--out and --judgements are the same file, '{paths[0]}'. Name two.")
    for path in paths:
        if path.is_dir() or (path.exists() and transcripts.exists() and path.samefile(transcripts)):
            raise UserError(f"'{path}' is a folder or the file to read. Name another file.")


def _conclusions(words: list[str]) -> tuple[Conclusion, ...]:
    choices = get_args(Conclusion)
    if strange := [each for each in words if each not in choices]:
        raise UserError(f"--passing '{strange[0]}' is not one of {', '.join(choices)}.")
    return tuple(each for each in choices if each in words)


def _verified(
    verifier: Verifier,
    inputs: list[VerifierInput],
    concurrency: int,
    every_turn: bool,
    passing: Sequence[Conclusion],
) -> list[VerifierVerdict]:
    status, verdicts = StatusLine(), list[VerifierVerdict]()
    for verdict in verify_all(verifier, inputs, concurrency, every_turn, passing):
        verdicts.append(verdict)
        status.show(
            f"{len(verdicts)} of {len(inputs)} verified,"
            f" {len(verdicts) / max(status.seconds, 0.001):.1f}/s"
        )
    status.end()
    return sorted(verdicts, key=lambda verdict: verdict.line)


def _tell(
    verdicts: list[VerifierVerdict],
    figures: dict[str, Any],
    out: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    lines = [json.dumps(verdict.record(), ensure_ascii=False) for verdict in verdicts]
    if out:
        make_parent(out)
        write_atomically(out, "".join(f"{line}\n" for line in lines))
    if as_json:
        typer.echo("\n".join([*lines, json.dumps(figures)]))
    else:
        rows = [*map(verdict_line, verdicts), ""] if verbose else []
        typer.echo(
            "\n".join([*rows, *summary_lines(verdicts, figures), *([str(out)] if out else [])])
        )
    if unscored := figures["unscored"]:
        print(
            f"warning: {unscored} of {len(verdicts)} unscored. The same command tries them again.",
            file=sys.stderr,
        )

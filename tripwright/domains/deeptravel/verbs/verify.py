"""`tripwright verify`: is each answer of a run complete, feasible and grounded? By rules, or by an
LLM judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Json, Restart, flag, option
from tripwright.cli.table import figure_lines, rate_cells, table_lines
from tripwright.domains import domain_named
from tripwright.domains.deeptravel.task import NAME
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    TrajectoryFinding,
    TurnFinding,
    Verifier,
    VerifierInput,
    VerifierVerdict,
    calibrate,
    check_labels,
    read_episodes,
    read_labels,
    summary,
    verify_all,
)
from tripwright.domains.deeptravel.verifiers.judge import JudgeSettings
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.errors import UserError, one_line
from tripwright.files import check_new, whole_lines, write_atomically
from tripwright.progress import StatusLine
from tripwright.runs import JUDGEMENTS, transcripts_at
from tripwright.statistics.agreement import Agreement


def verify(  # long: half of it is help
    *,
    transcripts: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help='A run folder, or a file of {"request": …, "transcript": …} per line. Of'
            " lines with one id the latest counts.",
        ),
    ],
    judging: Path | None = option(
        None, "A TOML file with an LLM judge (docs/verifying.md).", show_default="rules alone"
    ),
    labels: Path | None = option(
        None,
        'Hold the verdicts against a file: {"id": …, "trajectory": true} per line.',
        show_default=False,
    ),
    against_rules: bool = flag(
        "--against-rules", "Judge: hold its verdicts against those of the rules."
    ),
    every_turn: bool = flag(
        "--every-turn",
        "Judge every turn, also where the verdict is clear before (for calibration).",
    ),
    out: Path | None = option(None, "JSONL file of verdicts to write.", show_default=False),
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Verify the answers of a run: first the whole trajectory, then, where it passes, every turn
    against what its tool answered.

    The reward is 1 where the trajectory and all its turns pass, else 0, and nothing is judged once
    that is decided. What the judge could not be asked about is unscored: it leaves the rates, and
    the same command tries it again. Votes that were paid for are kept in judgements.jsonl beside
    --out or RUN and never asked for twice.

    A table says what fails first and how often; --out and --json say it of each transcript.

    With --labels or --against-rules, agreement is told as a confusion table, accuracy and Cohen's
    kappa, with intervals.

    Examples:
      tripwright verify runs/a
      tripwright verify runs/a/transcripts.jsonl --out verdicts.jsonl --json
      tripwright verify runs/a --judging judge.toml
      tripwright verify runs/a --judging judge.toml --against-rules --every-turn \\
        --labels labels.jsonl
    """
    judge: JudgeSettings | None = None
    if judging is not None:
        judge = domain_named(NAME).judge.read_settings(None, judging)
    elif against_rules:
        raise UserError("--against-rules holds a judge's verdicts against rules: give --judging.")
    path = transcripts_at(transcripts)
    if out is not None:
        check_new(out, restart, inputs=(path,))
    passes = judge.passing if judge is not None else PASSING_CONCLUSIONS
    answers = read_episodes(path)
    if path == transcripts:  # in a run folder an id that comes again was tried again
        _tell_repeated(path, len(answers))
    if judge is None or against_rules:
        _check_for_rules(path, answers)
    references = {"labels": read_labels(labels)} if labels else {}
    if labels or against_rules:
        check_labels(answers, references.get("labels"))
    name, account = RuleVerifier.name, dict[str, Any]()
    if judge is None:
        verdicts = _verified(RuleVerifier(), answers, 1, every_turn, passes)
    else:
        with judge.log((out or path).with_name(JUDGEMENTS)) as log:
            verifier, at_once = judge.verifier(log), judge.items_at_once
            verdicts = _verified(verifier, answers, at_once, every_turn, passes)
        name, account = verifier.name, {"judge": verifier.account()}
    figures = {**summary(verdicts), "verifier": name, "passing": list(passes), **account}
    if against_rules:
        by_rules = verify_all(RuleVerifier(), answers, every_turn=True, passing=passes)
        references["rules"] = {verdict.episode.id: verdict.label for verdict in by_rules}
    figures["calibration"] = {
        name: calibrate(verdicts, reference) for name, reference in references.items()
    }
    _tell(verdicts, figures, out, as_json)


def _tell_repeated(path: Path, answers: int) -> None:
    lines = sum(1 for _ in whole_lines(path))
    if lines > answers:
        print(
            f"warning: {lines - answers} of {lines} lines in '{path}' have the id of a later line"
            " and are not verified: of each id only the latest line counts.",
            file=sys.stderr,
        )


def _check_for_rules(path: Path, answers: Sequence[VerifierInput]) -> None:
    """Raises UserError for what rules cannot judge: the whole file, not a slip in one answer."""
    if any(call.rows is None for each in answers for call in each.transcript.calls):
        raise UserError(
            f"'{path}' has tool answers without typed rows, which rules read: verify it with"
            " --judging."
        )
    texts = [each.transcript.answer for each in answers if each.transcript.answer]
    if texts and not any(text.lstrip().startswith("{") for text in texts):
        raise UserError(
            f"'{path}' has answers in free words, and rules read no prose: verify it with"
            " --judging, or run --dialect deeptravel_cards, whose answers rules judge."
        )


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
        status.count(len(verdicts), len(inputs), "verified")
    status.end()
    return sorted(verdicts, key=lambda verdict: verdict.episode.line)


def _tell(
    verdicts: list[VerifierVerdict],
    figures: dict[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    lines = [json.dumps(verdict.record(), ensure_ascii=False) for verdict in verdicts]
    if out:
        write_atomically(out, "".join(f"{line}\n" for line in lines))
    if as_json:
        typer.echo("\n".join([*lines, json.dumps(figures)]))
    else:
        typer.echo("\n".join([*_summary_lines(verdicts, figures), *([str(out)] if out else [])]))
    if unscored := figures["unscored"]:
        print(
            f"warning: {unscored} of {len(verdicts)} unscored. The same command tries them again.",
            file=sys.stderr,
        )


# ---- tables

LONGEST_WHY = 90  # characters of a problem in a row
APART = ("passing", "calibration")  # the one is a setting, the other has a table of its own


def _first_problem(verdict: VerifierVerdict) -> tuple[str, str] | None:
    """(its kind, its words, "" where there are none); None where nothing failed, or nobody could
    say."""
    finding = verdict.finding
    if finding.reward != 0:
        return None
    failed: TrajectoryFinding | TurnFinding | None = finding.trajectory
    if verdict.passes:  # so a turn decided, or there was none
        failed = next((turn for turn in finding.turns if not turn.passes), None)
    if failed is None:
        kind = "no_tool_call" if verdict.passes else verdict.conclusion
    else:
        kind = failed.problems[0].kind if failed.problems else failed.conclusion
    words = one_line(failed.problems[0].message if failed and failed.problems else finding.reason)
    return kind, words[:LONGEST_WHY] + ("…" if len(words) > LONGEST_WHY else "")


def _summary_lines(
    verdicts: Sequence[VerifierVerdict], figures: Mapping[str, Any]
) -> Iterator[str]:
    """The figures of `summary`, of the judge and of the calibration; and what fails first, by kind,
    the most frequent first, each with one transcript to look at."""
    yield from figure_lines({name: figures[name] for name in figures if name not in APART})
    kinds: dict[str, list[str]] = {}
    for verdict in verdicts:
        if first := _first_problem(verdict):
            kinds.setdefault(first[0], []).append(f"{verdict.episode.id}: {first[1]}".rstrip(": "))
    often = sorted(kinds.items(), key=lambda each: -len(each[1]))
    rows = [[kind, str(len(examples)), examples[0]] for kind, examples in often]
    if rows:
        yield from table_lines(rows, "<><", ["what fails first", "", "for instance"])
    for name, calibration in figures["calibration"].items():
        yield from _calibration_lines(name, calibration)


def _calibration_lines(name: str, calibration: Mapping[str, Any]) -> Iterator[str]:
    compared, without = calibration["compared"], calibration["without_label"]
    yield f"against {name}: {compared} transcripts compared, {without} without a label"
    tables = {
        "trajectory": calibration["trajectory"],
        "turns": calibration["turns"],
        **calibration["rubrics"],
    }
    rows = [[key, *_agreement(each)] for key, each in tables.items() if each["n"]]
    yield from table_lines(rows, "<", ["", "kappa", "", "accuracy", "", "", "label→verdict"])


def _agreement(table: Agreement) -> list[str]:
    kappa = "undefined" if table["kappa"] is None else f"{table['kappa']:.2f}"
    interval = "" if table["low"] is None else f"[{table['low']:.2f}, {table['high']:.2f}]"
    cells = [
        f"{count} {truth}→{judge}"
        for truth, row in zip(table["labels"], table["confusion"], strict=True)
        for judge, count in zip(table["labels"], row, strict=True)
        if count
    ]
    return [kappa, interval, *rate_cells(table["accuracy"]), ", ".join(cells)]

"""What `tripwright verify` prints for people: a line for a transcript, and the table of all of
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripwright.domains.deeptravel.verifying.labels import Calibration
from tripwright.domains.deeptravel.verifying.verification import NO_ANSWER, VerifierVerdict
from tripwright.errors import counted
from tripwright.statistics.agreement import Agreement

LONGEST_WHY = 90  # characters of a problem in a row
MOST_KINDS = 12  # of problems, in the table
WIDTH = 34  # of a name in the table
NO_CALL = "no_tool_call"


def verdict_line(verdict: VerifierVerdict) -> str:
    """One transcript: its reward, its conclusion and, where it fails, the first thing that is
    wrong."""
    if verdict.unscored is not None:
        return f"{verdict.id}: unscored: {verdict.unscored}"
    turns = (
        f", {sum(turn.passes for turn in verdict.turns)} of {len(verdict.turns)} turns pass"
        if verdict.turns
        else ""
    )
    why = f": {first[1]}" if (first := _first_problem(verdict)) and first[1] else ""
    return f"{verdict.id}: reward {verdict.reward:g}, {_conclusion(verdict)}{turns}{why}"


def _conclusion(verdict: VerifierVerdict) -> str:
    return verdict.trajectory.conclusion if verdict.trajectory else NO_ANSWER


def _first_problem(verdict: VerifierVerdict) -> tuple[str, str] | None:
    """(its kind, its words, "" where there are none); None where nothing failed, or nobody could
    say."""
    if verdict.reward != 0:
        return None
    failed = next((turn for turn in verdict.turns if not turn.passes), None)
    if verdict.passes:  # so a turn decided, or there was none
        problem = failed.problems[0] if failed and failed.problems else None
        kind = failed.conclusion if failed else NO_CALL
    else:
        problem = (
            verdict.trajectory.problems[0]
            if verdict.trajectory and verdict.trajectory.problems
            else None
        )
        kind = _conclusion(verdict)
    kind = problem.kind if problem else kind
    message = problem.message if problem else verdict.reason
    words = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return kind, words[:LONGEST_WHY] + ("…" if len(words) > LONGEST_WHY else "")


def _problem_lines(verdicts: Sequence[VerifierVerdict]) -> list[str]:
    """What fails first, by kind, the most frequent first, each with one transcript to look at."""
    kinds: dict[str, list[str]] = {}
    for verdict in verdicts:
        if first := _first_problem(verdict):
            kinds.setdefault(first[0], []).append(f"{verdict.id}: {first[1]}".rstrip(": "))
    often = sorted(kinds.items(), key=lambda each: -len(each[1]))
    lines = [
        f"  {kind:<{WIDTH}}{len(examples):>6}  {examples[0]}"
        for kind, examples in often[:MOST_KINDS]
    ]
    if more := often[MOST_KINDS:]:
        lines.append(
            f"  {f'{len(more)} other kinds':<{WIDTH}}{sum(len(examples) for _, examples in more):>6}"  # noqa: E501
        )
    return (
        [
            f"{'what fails first':<{WIDTH + 2}}{sum(map(len, kinds.values())):>6}  for instance",
            *lines,
        ]
        if kinds
        else []
    )


def summary_lines(verdicts: Sequence[VerifierVerdict], figures: Mapping[str, Any]) -> list[str]:
    """The figures of `evals.verified.summary`, of the judge and of the calibration, as a table."""
    reward = figures["reward"]
    lines = [
        f"{counted(figures['n'], 'transcript')} by {figures['verifier']},"
        f" {figures['unscored']} unscored",
        f"reward {_rate(reward)}",
    ]
    if "worst_case" in figures:
        lines.append(
            f"  more than 1% unscored; if all of them had failed: {_rate(figures['worst_case'])}"
        )
    lines += [f"  {name:<{WIDTH}}{count:>6}" for name, count in figures["trajectory"].items()]
    lines += _problem_lines(verdicts)
    lines += [
        f"turns: {figures['turns']}, of which {figures['turns_saved']} were not judged, because"
        " what came before had decided"
    ]
    lines += [f"  {name:<{WIDTH}}{count:>6}" for name, count in figures["turn"].items()]
    if judge := figures.get("judge"):
        lines += _judge_lines(judge)
    for name, calibration in figures["calibration"].items():
        lines += _calibration_lines(name, calibration)
    return lines


def _judge_lines(judge: dict[str, Any]) -> list[str]:
    cost = f", {judge['usd']:.4f} USD" if "usd" in judge else ""
    tokens = f"{judge.get('prompt_tokens', 0):,} + {judge.get('completion_tokens', 0):,} tokens"
    lines = [
        f"judge: {judge['votes_asked']} votes asked for, {judge['votes_reused']} kept from before,"
        f" {tokens}{cost}"
    ]
    if judge["replies_without_count"]:
        lines.append(
            f"  the server counted no tokens in {judge['replies_without_count']} replies: tokens"
            " and cost are lower bounds"
        )
    if judge["agreement"] is not None:
        lines.append(
            f"  votes that agree with the verdict: {judge['agreement']:.1%}; unanimous:"
            f" {judge['unanimous']} of {judge['items']}"
        )
    if judge["verdict_first"] or judge["contradictions"]:
        votes = (
            f"{judge['verdict_first']} votes came before their reason, {judge['contradictions']}"
            " were better than their own rubrics"
        )
        lines.append(f"  {votes} (the worse counts)")
    return lines


def _calibration_lines(name: str, calibration: Calibration) -> list[str]:
    lines = [
        f"against {name}: {calibration['compared']} transcripts compared,"
        f" {calibration['without_label']} without a label"
    ]
    tables = {
        "trajectory": calibration["trajectory"],
        "turns": calibration["turns"],
        **calibration["rubrics"],
    }
    return lines + [f"  {key}: {_agreement(each)}" for key, each in tables.items() if each["n"]]


def _agreement(table: Agreement) -> str:
    kappa = (
        "kappa undefined (one answer only)"
        if table["kappa"] is None
        else f"kappa {table['kappa']:.2f}"
    )
    interval = "" if table["low"] is None else f" ({table['low']:.2f} to {table['high']:.2f})"
    cells = [
        f"{count} {truth}→{judge}"
        for truth, row in zip(table["labels"], table["confusion"], strict=True)
        for judge, count in zip(table["labels"], row, strict=True)
        if count
    ]
    return (
        f"{kappa}{interval}, accuracy {_rate(table['accuracy'])}; label→verdict: {', '.join(cells)}"
    )


def _rate(rate: Any) -> str:
    return (
        "-"
        if rate["value"] is None
        else (
            f"{rate['value']:.1%} ({rate['low']:.1%} to {rate['high']:.1%}), {rate['k']} of"
            f" {rate['n']}"
        )
    )

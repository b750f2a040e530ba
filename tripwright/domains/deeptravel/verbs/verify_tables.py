"""What `tripwright verify` prints for people: a line for a transcript, and the table of all of
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripwright.domains.deeptravel.verifying.labels import Calibration
from tripwright.domains.deeptravel.verifying.verification import NO_ANSWER, VerifierVerdict
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
    told = problem.message if problem else verdict.reason
    words = " ".join("".join(c if c.isprintable() else " " for c in told).split())
    return kind, words[:LONGEST_WHY] + ("…" if len(words) > LONGEST_WHY else "")


def _problem_lines(verdicts: Sequence[VerifierVerdict]) -> list[str]:
    """What fails first, by kind, the most frequent first, each with one transcript to look at."""
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        if first := _first_problem(verdict):
            found.setdefault(first[0], []).append(f"{verdict.id}: {first[1]}".rstrip(": "))
    often = sorted(found.items(), key=lambda each: -len(each[1]))
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
            f"{'what fails first':<{WIDTH + 2}}{sum(map(len, found.values())):>6}  for instance",
            *lines,
        ]
        if found
        else []
    )


def summary_lines(verdicts: Sequence[VerifierVerdict], told: Mapping[str, Any]) -> list[str]:
    """The figures of `evals.verified.summary`, of the judge and of the calibration, as a table."""
    found = told["reward"]
    lines = [
        f"{told['n']} transcripts by {told['verifier']}, {told['unscored']} unscored",
        f"reward {_rate(found)}",
    ]
    if "worst_case" in told:
        lines.append(
            f"  more than 1% unscored; if all of them had failed: {_rate(told['worst_case'])}"
        )
    lines += [f"  {name:<{WIDTH}}{count:>6}" for name, count in told["trajectory"].items()]
    lines += _problem_lines(verdicts)
    lines += [
        f"turns: {told['turns']}, of which {told['turns_saved']} were not judged, because what came"
        " before had decided"
    ]
    lines += [f"  {name:<{WIDTH}}{count:>6}" for name, count in told["turn"].items()]
    if judge := told.get("judge"):
        lines += _judge_lines(judge)
    for name, calibration in told["calibration"].items():
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
        told = (
            f"{judge['verdict_first']} votes came before their reason, {judge['contradictions']}"
            " were better than their own rubrics"
        )
        lines.append(f"  {told} (the worse counts)")
    return lines


def _calibration_lines(name: str, found: Calibration) -> list[str]:
    lines = [
        f"against {name}: {found['compared']} transcripts compared, {found['without_label']}"
        " without a label"
    ]
    tables = {"trajectory": found["trajectory"], "turns": found["turns"], **found["rubrics"]}
    return lines + [f"  {key}: {_agreement(each)}" for key, each in tables.items() if each["n"]]


def _agreement(found: Agreement) -> str:
    kappa = (
        "kappa undefined (one answer only)"
        if found["kappa"] is None
        else f"kappa {found['kappa']:.2f}"
    )
    interval = "" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})"
    cells = [
        f"{count} {truth}→{judge}"
        for truth, row in zip(found["labels"], found["confusion"], strict=True)
        for judge, count in zip(found["labels"], row, strict=True)
        if count
    ]
    return (
        f"{kappa}{interval}, accuracy {_rate(found['accuracy'])}; label→verdict: {', '.join(cells)}"
    )


def _rate(found: Any) -> str:
    return (
        "-"
        if found["value"] is None
        else (
            f"{found['value']:.1%} ({found['low']:.1%} to {found['high']:.1%}), {found['k']} of"
            f" {found['n']}"
        )
    )

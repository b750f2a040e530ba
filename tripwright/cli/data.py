"""`tripwright data`: training data collected from runs, described, exported; queries divided;
synthetic ones compared with given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, Restart, argument, check_folders, flag, option
from tripwright.cli.table import rate_cells, table_lines
from tripwright.domains import own_names
from tripwright.errors import UserError, counted
from tripwright.files import check_new
from tripwright.runs import transcripts_in


def collect(
    runs: list[Path] = argument("Run folders, of any policy.", metavar="RUN..."),
    out: Path = option(..., "JSONL file of trajectories to write."),
    rules: str | None = option(
        None,
        f"Rule set that answers must pass: {own_names('judge.rules')}.",
        show_default="the first",
    ),
    world: list[Path] | None = option(
        None, "World folder (again for each): judge answers here, instead of believing the run."
    ),
    most_per_query: int | None = option(None, "At most N of one request.", min=1),
    unfinished: bool = flag("--unfinished", "Take what a run holds that has not ended."),
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Keep the episodes that pass the rules in a clean format; say how many were left out, and why.

    Where there is one way to judge, such as a verifier, what it passed is kept: leave --rules and
    --world out. One file holds one kind of requests.

    Examples:
      tripwright data collect runs/expert --world worlds/nano --out sft.jsonl
      tripwright data collect runs/teacher runs/expert --world worlds/nano --out sft.jsonl \\
        --most-per-query 2
      tripwright data collect runs/errands --out cold_start.jsonl --most-per-query 1
    """
    if out.suffix != ".jsonl":
        raise UserError(f"--out '{out}' is no JSONL file: its name ends in .jsonl.")
    check_new(out, restart, inputs=[transcripts_in(run) for run in runs])
    check_folders(runs)
    from tripwright.data.collect import collect as collect_runs
    from tripwright.data.files import open_runs
    from tripwright.domains import open_worlds

    with open_worlds(world or ()) as worlds:
        counts = collect_runs(open_runs(runs, unfinished), out, worlds, rules, most_per_query)
    typer.echo(
        json.dumps({"out": str(out), **counts}) if as_json else "\n".join(_collected(counts, out))
    )


def _collected(counts: dict[str, Any], out: Path) -> list[str]:
    judged = f", {counts['judged_again']:,} judged here" if counts["judged_again"] else ""
    return [
        *(
            f"{run}: {found['kept']:,} of {found['episodes']:,} episodes kept"
            for run, found in counts["runs"].items()
        ),
        *(f"  {n:>7,}  {reason}" for reason, n in counts["dropped"].items()),
        f"{out}: {counted(counts['kept'], 'trajectory')} of"
        f" {counted(counts['requests'], 'request')}{judged}",
    ]


def stats(
    files: list[Path] = argument("Trajectories, as made by 'data collect'.", metavar="FILE..."),
    tokenizer: Path | None = option(None, "Folder of a tokenizer, to count its tokens."),
    as_json: Json = False,
) -> None:
    """Entries, calls, turns and lengths by difficulty, as in STAR's Table 8. Lengths are
    characters, or tokens of the tokenizer named. What else marks the requests (days; with and
    without wishes) has a table of its own.

    Examples:
      tripwright data stats sft.jsonl
      tripwright data stats sft.jsonl --tokenizer models/Qwen3-8B --json
    """
    from tripwright.data.files import read_trajectories
    from tripwright.data.statistics import statistics

    figures = statistics(read_trajectories(files), tokenizer)
    typer.echo(json.dumps(figures) if as_json else _statistics_text(figures))


def _statistics_text(figures: dict[str, Any]) -> str:
    """The columns of Table 8, and turns. Tables by other marks follow that of the levels."""
    unit, tokenizer, dialects, *marks = figures
    of = f" of '{figures[tokenizer]}'" if figures[tokenizer] else ""
    counts = ", ".join(f"{name} {n}" for name, n in figures[dialects].items())
    lines = [f"lengths in {figures[unit]}{of}; dialects: {counts}"]
    for mark in marks:
        rows = [
            (
                name,
                f"{row['n']:,} ({row['share']:.1%})",
                f"{row['requests']:,}",
                *(
                    f"{row[key]:,.1f}"
                    for key in ("tool_calls", "turns", "length", "agent_length", "plan_length")
                ),
                f"{row['length_max']:,}",
            )
            for name, row in figures[mark].items()
        ]
        columns = "entries requests calls turns length agent plan longest".split()
        lines += table_lines(rows, "<>", [mark, *columns])
    return "\n".join(lines)


def export(
    file: Path = argument("Trajectories, as made by 'data collect'.", metavar="FILE"),
    layout: str = option(..., "Whose: messages, trl, llama-factory."),
    out: Path = option(..., "A file that ends in .parquet or .jsonl."),
    restart: Restart = False,
) -> None:
    """Write trajectories as another trainer reads them. Message texts stay as they are, to the
    letter. For LLaMA-Factory, the dataset_info.json beside the file names it.

    Examples:
      tripwright data export sft.jsonl --layout messages --out export/messages.parquet
      tripwright data export sft.jsonl --layout trl --out export/trl.parquet
      tripwright data export sft.jsonl --layout llama-factory --out export/tripwright.jsonl
    """
    from tripwright.data.export import export as export_trajectories
    from tripwright.data.files import read_trajectories

    check_new(out, restart, inputs=(file,))
    count = export_trajectories(read_trajectories([file]), layout, out)
    typer.echo(f"{out}: {counted(count, 'row')}")


def split(
    files: list[Path] = argument("JSONL files of trip requests.", metavar="FILE..."),
    out: Path = option(..., "Folder for the parts, one JSONL file each."),
    parts: str = option(..., "Names and sizes, such as train:180,validation:45."),
    seed: int = option(0, "Equal seeds give equal parts.", min=0),
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Merge files of trip requests and divide them anew: no request twice, and the mix of levels
    and days kept in every part.

    Requests that have no days keep the mix of what marks them instead: with and without wishes.

    Examples:
      tripwright data split train.jsonl validation.jsonl --parts train:180,validation:45 --seed 1 \\
        --out parts
      tripwright data split requests.jsonl --parts train:450,validation:50 --seed 1 --out parts
    """
    from tripwright.data import split as splitting

    sizes = splitting.read_parts(parts)
    for name in sizes:
        check_new(out / f"{name}.jsonl", restart, inputs=files)
    merged = splitting.merge(files)
    divided = splitting.divide(merged.requests, sizes, seed)
    places = splitting.write_parts(divided, out)
    summary = {
        "requests": len(merged.requests),
        "duplicates": len(merged.duplicates),
        "differing": merged.differing,
        "left_out": len(divided[splitting.REST]),
        "parts": {
            name: {"file": str(place), "n": sizes[name], "mix": splitting.mix(divided[name])}
            for name, place in places.items()
        },
        "seed": seed,
    }
    typer.echo(json.dumps(summary) if as_json else _split_text(summary, merged.duplicates))


def _split_text(summary: dict[str, Any], duplicates: list[tuple[str, str]]) -> str:
    lines = []
    for part in summary["parts"].values():
        mix = ", ".join(f"{name}: {n}" for name, n in part["mix"].items())
        lines.append(f"{part['file']}: {counted(part['n'], 'request')} ({mix})")
    if duplicates:
        source, first = duplicates[0]
        differing = summary["differing"]
        more = f", and {differing} ask for something else by their fields" if differing else ""
        lines.append(
            f"dropped {len(duplicates)} duplicates ('{source}' has the text of '{first}'){more}"
        )
    lines.append(f"left out: {summary['left_out']} of {summary['requests']} different requests")
    return "\n".join(lines)


def reliability(
    synthetic: Path = argument("Run of a policy on synthetic queries.", metavar="RUN_A"),
    given: Path = argument("Run of the same policy on given queries.", metavar="RUN_B"),
    within: float | None = option(
        None, "Exit code 1 unless the whole interval lies within so many points.", min=0, max=100
    ),
    as_json: Json = False,
) -> None:
    """Compare the pass rate of one policy on synthetic and on given queries (STAR's check of its
    data), with intervals of 95%.

    Examples:
      tripwright data reliability runs/teacher_synthetic runs/teacher_given
      tripwright data reliability runs/teacher_synthetic runs/teacher_given --within 10 --json
    """
    check_folders([synthetic, given])
    from tripwright.data.files import open_runs
    from tripwright.data.statistics import reliability as compare

    figures = compare(*open_runs([synthetic, given]))
    difference = figures["difference"]
    inside = within is None or max(-difference["low"], difference["high"]) * 100 <= within
    limits = {} if within is None else {"within_points": within, "inside": inside}
    typer.echo(json.dumps({**figures, **limits}) if as_json else _reliability_text(figures))
    if not inside:
        if not as_json:
            typer.echo(f"the interval is not within {within:g} points")
        raise typer.Exit(1)


def _reliability_text(figures: dict[str, Any]) -> str:
    rows = [
        (name, *rate_cells(row["synthetic"]), *rate_cells(row["given"]), _points(row["difference"]))
        for name, row in (("all", figures), *figures["levels"].items())
    ]
    lines = table_lines(rows, "<>", ["", "synthetic", "", "", "given", "", "", "difference"])
    if any(figures["unscored"].values()):
        counts = ", ".join(f"{n} {which}" for which, n in figures["unscored"].items())
        lines.append(f"left out as unscored: {counts}")
    return "\n".join(lines)


def _points(difference: dict[str, float] | None) -> str:
    if difference is None:
        return "-"
    value, low, high = (100 * difference[name] for name in ("value", "low", "high"))
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"

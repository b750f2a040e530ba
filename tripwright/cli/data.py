"""`tripwright data`: training data collected from runs, described, exported; queries divided;
synthetic ones compared with given."""

from __future__ import annotations

from pathlib import Path

import typer

from tripwright.cli.options import Json, Restart, argument, check_folders, flag, option
from tripwright.cli.table import print_figures
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
    from tripwright.data.trajectories import collect as collect_runs
    from tripwright.data.trajectories import open_runs
    from tripwright.domains import open_worlds

    with open_worlds(world or ()) as worlds:
        counts = collect_runs(open_runs(runs, unfinished), out, worlds, rules, most_per_query)
    print_figures({"out": str(out), **counts}, as_json)


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
    from tripwright.data.statistics import statistics
    from tripwright.data.trajectories import read_trajectories

    print_figures(statistics(read_trajectories(files), tokenizer), as_json)


def export(
    file: Path = argument("Trajectories, as made by 'data collect'.", metavar="FILE"),
    out: Path = option(..., "A file that ends in .parquet or .jsonl."),
    restart: Restart = False,
) -> None:
    """Write trajectories as messages, with the tools and what is trained on, as other trainers read
    them. Texts stay as they are, to the letter.

    Examples:
      tripwright data export sft.jsonl --out export/messages.parquet
    """
    from tripwright.data.export import export as export_trajectories
    from tripwright.data.trajectories import read_trajectories

    check_new(out, restart, inputs=(file,))
    count = export_trajectories(read_trajectories([file]), out)
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
        "duplicates": merged.duplicates,
        "differing": merged.differing,
        "left_out": len(divided[splitting.REST]),
        "parts": {
            name: {"file": str(place), "n": sizes[name], "mix": splitting.mix(divided[name])}
            for name, place in places.items()
        },
        "seed": seed,
    }
    print_figures(summary, as_json)


def reliability(
    synthetic: Path = argument("Run of a policy on synthetic queries.", metavar="RUN_A"),
    given: Path = argument("Run of the same policy on given queries.", metavar="RUN_B"),
    as_json: Json = False,
) -> None:
    """Compare the pass rate of one policy on synthetic and on given queries (STAR's check of its
    data), with intervals of 95%.

    Examples:
      tripwright data reliability runs/teacher_synthetic runs/teacher_given
    """
    check_folders([synthetic, given])
    from tripwright.data.statistics import reliability as compare
    from tripwright.runs import Run

    print_figures(compare(Run.at(synthetic), Run.at(given)), as_json)

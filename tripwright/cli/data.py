"""`tripwright data`: training data collected from runs, described, exported; queries divided;
synthetic ones compared with given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tripwright.cli.options import Json, Restart, check_folders
from tripwright.cli.table import rate_cells, table_lines
from tripwright.domains import OWN_DIALECTS, OWN_RULES
from tripwright.errors import UserError, counted
from tripwright.files import check_new
from tripwright.runs import transcripts_in

if TYPE_CHECKING:
    from tripwright.data.collect import CollectionCounts

LAYOUTS = ("messages", "trl", "llama-factory", "verl")
ORDERS = ("first", "shortest")


@dataclass(frozen=True, kw_only=True)
class CollectFlags:
    """Which episodes are kept, and where they go."""

    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, of any policy.")
    ]
    out: Annotated[Path, typer.Option(help="JSONL file of trajectories to write.")]
    rules: Annotated[
        str | None,
        typer.Option(
            help=f"Rule set that answers must pass: {', '.join(OWN_RULES)}.", show_default="strict"
        ),
    ] = None
    world: Annotated[
        list[Path] | None,
        typer.Option(
            help="World folder (again for each): judge answers here, instead of believing the run."
        ),
    ] = None
    most_per_query: Annotated[int | None, typer.Option(help="At most N of one request.", min=1)] = (
        None
    )
    choose: Annotated[str, typer.Option(help=f"Which of them: {', '.join(ORDERS)}.")] = "first"
    dedup: Annotated[
        bool, typer.Option("--dedup", help="Of a request's episodes with the same turns, only one.")
    ] = False
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Take what a run holds that has not ended.")
    ] = False
    restart: Restart = False


def collect(settings: CollectFlags, as_json: Json = False) -> None:
    """Keep the episodes that pass the rules in a clean format; say how many were left out, and why.

    Where there is one way to judge, such as a verifier, what it passed is kept: leave --rules and
    --world out. One file holds one kind of requests.

    Examples:
      tripwright data collect runs/expert --world worlds/nano --out sft.jsonl
      tripwright data collect runs/teacher runs/expert --world worlds/nano --out sft.jsonl \\
        --dedup --most-per-query 2 --choose shortest
      tripwright data collect runs/errands --out cold_start.jsonl --most-per-query 1
    """
    if settings.choose not in ORDERS:
        raise UserError(f"Unknown choice '{settings.choose}'. Available: {', '.join(ORDERS)}.")
    if settings.out.suffix != ".jsonl":
        raise UserError(f"--out '{settings.out}' is no JSONL file: its name ends in .jsonl.")
    check_new(settings.out, settings.restart, inputs=[transcripts_in(run) for run in settings.runs])
    check_folders(settings.runs)
    from tripwright.data.collect import EpisodeSelection
    from tripwright.data.collect import collect as collect_runs
    from tripwright.data.files import open_runs
    from tripwright.domains.folders import open_worlds

    choice = EpisodeSelection(settings.dedup, settings.most_per_query, settings.choose)
    with open_worlds(settings.world or ()) as worlds:
        counts = collect_runs(
            open_runs(settings.runs, settings.unfinished),
            settings.out,
            worlds,
            settings.rules,
            choice,
        )
    typer.echo(
        json.dumps({"out": str(settings.out), "rules": counts.rules, **counts.record()})
        if as_json
        else _collected_table(counts, settings.out)
    )


def _collected_table(collected: CollectionCounts, out: Path) -> str:
    lines = [
        f"{run}: {counts['kept']:,} of {counts['episodes']:,} episodes kept"
        for run, counts in collected.by_run.items()
    ]
    lines += [f"  {n:>7,}  {reason}" for reason, n in collected.dropped.most_common()]
    note = f", {collected.judged_again:,} judged here" if collected.judged_again else ""
    return "\n".join(
        [
            *lines,
            f"{out}: {counted(collected.kept, 'trajectory')} of"
            f" {counted(collected.requests, 'request')}{note}",
        ]
    )


def stats(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Trajectories, as made by 'data collect'."),
    ],
    tokenizer: Annotated[
        Path | None, typer.Option(help="Folder of a tokenizer, to count its tokens.")
    ] = None,
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
    from tripwright.data.statistics import ruler, statistics

    figures = statistics(read_trajectories(files), ruler(tokenizer))
    typer.echo(json.dumps(figures) if as_json else _statistics_text(figures))


def _statistics_text(figures: dict[str, Any]) -> str:
    """The columns of Table 8, and turns. Tables by other marks follow that of the levels."""
    of = f" of '{figures['tokenizer']}'" if figures["tokenizer"] else ""
    dialects = ", ".join(f"{name} {n}" for name, n in figures["dialects"].items())
    lines = [f"lengths in {figures['unit']}{of}; dialects: {dialects}"]
    for mark in [name for name in figures if name not in ("unit", "tokenizer", "dialects")]:
        columns = "entries requests calls turns length agent plan longest".split()
        rows = [
            (
                name,
                f"{row['n']:,} ({row['share']:.1%})",
                f"{row['requests']:,}",
                f"{row['tool_calls']:.1f}",
                f"{row['turns']:.1f}",
                f"{row['length']:,.1f}",
                f"{row['agent_length']:,.1f}",
                f"{row['plan_length']:,.1f}",
                f"{row['length_max']:,}",
            )
            for name, row in figures[mark].items()
        ]
        lines += table_lines(rows, "<>", [mark, *columns])
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class ExportFlags:
    """What is exported, and for whom."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Trajectories; for verl, a JSONL file of trip requests."
        ),
    ]
    layout: Annotated[str, typer.Option(help=f"Whose: {', '.join(LAYOUTS)}.")]
    out: Annotated[Path, typer.Option(help="A folder, or a file that ends in .parquet or .jsonl.")]
    restart: Restart = False
    split: Annotated[str, typer.Option(help="Name of the file in the folder.")] = "train"
    dialect: Annotated[
        str | None,
        typer.Option(help=f"verl: {', '.join(OWN_DIALECTS)}.", show_default="of the requests"),
    ] = None
    world: Annotated[
        Path | None, typer.Option(help="verl: the world, to be checked and named in the rows.")
    ] = None


def export(settings: ExportFlags) -> None:
    """Write trajectories (or, for verl, trip requests) as another trainer reads them. Message texts
    stay as they are, to the letter.

    Examples:
      tripwright data export sft.jsonl --layout messages --out export/messages.parquet
      tripwright data export sft.jsonl --layout trl --out export/trl
      tripwright data export sft.jsonl --layout llama-factory --out export/llama_factory
      tripwright data export queries.jsonl --layout verl --world worlds/nano --out export/verl
      tripwright data export requests.jsonl --layout verl --dialect deeptravel_cards_compact \\
        --world worlds/nano --out export/verl_errands
    """
    from tripwright.data.export import check_layout, check_split, place_of, verl_rows, write_rows
    from tripwright.data.export import export as export_trajectories
    from tripwright.data.files import read_trajectories
    from tripwright.domains import dialect_named, domain_of_file, domains
    from tripwright.domains.folders import open_worlds

    check_layout(settings.layout)
    check_split(settings.split)
    path = place_of(settings.out, settings.split, settings.layout)
    check_new(path, settings.restart, inputs=(settings.file,))
    if settings.layout == "verl":
        domain = domain_of_file(settings.file) or next(iter(domains().values()))
        spoken = dialect_named(settings.dialect) if settings.dialect else domain.dialects[0]
        with open_worlds([settings.world] if settings.world else []) as worlds:
            place = worlds[0] if worlds else None
            rows = write_rows(
                verl_rows(settings.file, spoken, place, settings.split),
                path,
                settings.layout,
            )
    else:
        if flags := [
            name
            for name, value in (("--dialect", settings.dialect), ("--world", settings.world))
            if value is not None
        ]:
            raise UserError(
                f"{flags[0]} is for --layout verl: trajectories hold what they were made with."
                " Leave it out."
            )
        path, rows = export_trajectories(
            read_trajectories([settings.file]), settings.layout, settings.out, settings.split
        )
    typer.echo(f"{path}: {counted(rows, 'row')}")


def split(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="JSONL files of trip requests.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the parts, one JSONL file each.")],
    parts: Annotated[str, typer.Option(help="Names and sizes, such as train:180,validation:45.")],
    seed: Annotated[int, typer.Option(help="Equal seeds give equal parts.", min=0)] = 0,
    keep: Annotated[
        str | None,
        typer.Option(
            help=(
                "Whose mix is kept, the first best: level, and what else marks the requests (days;"
                " wishes)."
            ),
            show_default="all",
        ),
    ] = None,
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

    sizes = read_parts(parts)
    for name in sizes:
        check_new(out / f"{name}.jsonl", restart, inputs=files)
    merged = splitting.merge(files)
    marks = read_keep(keep, merged.marks)
    divided = splitting.divide(merged.requests, sizes, seed, marks)
    places = splitting.write_parts(divided, out, files)
    summary = {
        "requests": len(merged.requests),
        "duplicates": len(merged.duplicates),
        "differing": merged.differing,
        "left_out": len(divided[splitting.REST]),
        "parts": {
            name: {
                "file": str(places[name]),
                "n": len(divided[name]),
                "mix": splitting.mix(divided[name], marks),
            }
            for name in sizes
        },
        "seed": seed,
    }
    typer.echo(json.dumps(summary) if as_json else _split_table(summary, merged.duplicates))


def _split_table(summary: dict[str, Any], duplicates: list[tuple[str, str]]) -> str:
    lines = []
    for part in summary["parts"].values():
        lines.append(
            f"{part['file']}: {counted(part['n'], 'request')}"
            f" ({', '.join(f'{name}: {n}' for name, n in part['mix'].items())})"
        )
    if duplicates:
        source, first = duplicates[0]
        more = (
            f", and {summary['differing']} of them ask for something else by their fields"
            if summary["differing"]
            else ""
        )
        lines.append(
            f"dropped {len(duplicates)} duplicates ('{source}' has the text of '{first}'){more}"
        )
    lines.append(f"left out: {summary['left_out']} of {summary['requests']} different requests")
    return "\n".join(lines)


def read_parts(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for piece in text.split(","):
        name, _, size = piece.strip().partition(":")
        if (
            not name.replace("_", "").replace("-", "").isalnum()
            or not size.isdecimal()
            or int(size) < 1
            or name in sizes
        ):
            raise UserError(
                f"--parts '{text}' are not names and sizes such as train:180,validation:45."
            )
        sizes[name] = int(size)
    return sizes


def read_keep(text: str | None, keeps: Sequence[str]) -> list[str]:
    """`keeps`: those that there are; None: all of them."""
    marks = [piece.strip() for piece in text.split(",")] if text is not None else list(keeps)
    if len(set(marks)) < len(marks) or any(name not in keeps for name in marks):
        raise UserError(
            f"--keep '{text}' is not {' or '.join(keeps)}, or both with a comma between."
        )
    return marks


def reliability(
    synthetic: Annotated[
        Path, typer.Argument(metavar="RUN_A", help="Run of a policy on synthetic queries.")
    ],
    given: Annotated[
        Path, typer.Argument(metavar="RUN_B", help="Run of the same policy on given queries.")
    ],
    within: Annotated[
        float | None,
        typer.Option(
            help="Exit code 1 unless the whole interval lies within so many points.", min=0, max=100
        ),
    ] = None,
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
    from tripwright.data.reliability import reliability as compare

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
    mixed = figures["at_given_mix"]
    at_mix = _points(mixed) if mixed else "cannot be said, a level of theirs is missing"
    lines = [
        *table_lines(rows, "<>", ["", "synthetic", "", "", "given", "", "", "difference"]),
        f"at the given queries' mix of levels: {at_mix}",
    ]
    if any(figures["unscored"].values()):
        counts = ", ".join(f"{n} {which}" for which, n in figures["unscored"].items())
        lines.append(f"left out as unscored: {counts}")
    return "\n".join([*lines, figures["verdict"]])


def _points(difference: dict[str, float] | None) -> str:
    if difference is None:
        return "-"
    value, low, high = (100 * difference[name] for name in ("value", "low", "high"))
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"

"""`tripwright query word`: structured requests → the same requests in new words, by the grammar or
by models."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.domains.travelplanner.queries.back_translation import (
    Pool,
    Wording,
    WordingRejection,
    back_translate_all,
    word_checked,
)
from tripwright.domains.travelplanner.queries.reading import Gazetteer
from tripwright.domains.travelplanner.queries.wording import Style, unwordable
from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.errors import UserError
from tripwright.files import Journal, write_atomically
from tripwright.llm.client import ChatEndpoint
from tripwright.progress import StatusLine
from tripwright.world.store import World

STYLES: tuple[Style, ...] = ("rich", "plain")
MOST_SHOWN = 10  # lines without a wording that are told one by one


@dataclass(frozen=True)
class Asked:
    """One line of the input. `made_from` is the fingerprint of it and of the settings: a text is
    kept only while both stay the same."""

    line: int
    query: Query
    made_from: str


@dataclass(frozen=True)
class Way:
    """How requests are worded: by the grammar in `style`, or by the `pool`, with the grammar where
    `fallback` says so."""

    style: Style
    seed: int
    pool: Pool | None
    retries: int
    concurrency: int
    fallback: bool

    @property
    def names(self) -> tuple[str, ...]:
        """What makes texts differ: who words them, not where that one lives."""
        models = (
            [
                f"{each.model} x{weight:g}"
                for each, weight in zip(self.pool.endpoints, self._weights, strict=True)
            ]
            if self.pool
            else []
        )
        grammar = [f"grammar:{self.style}"] if self.fallback or not self.pool else []
        return (*models, *grammar, f"seed {self.seed}")

    @property
    def _weights(self) -> Sequence[float]:
        return (self.pool.weights or [1] * len(self.pool.endpoints)) if self.pool else []


def word(
    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES.jsonl",
            help="Requests with their fields, one per line; their texts are replaced.",
        ),
    ],
    world: Annotated[
        Path,
        typer.Option(
            help="World folder they are for: its names are looked for when a text is read back."
        ),
    ],
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    style: Annotated[
        str, typer.Option(help="The grammar's: rich (thousands of frames) or plain (three).")
    ] = "rich",
    model: Annotated[
        list[str] | None,
        typer.Option(help="Let this model word them. Repeat it for several.", show_default=False),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            help="Its endpoint, up to and including /v1: one for all, or one per --model.",
            show_default=False,
        ),
    ] = None,
    api_key_env: Annotated[
        list[str] | None,
        typer.Option(
            help="Variable with its key: one for all, or one per --model. [OPENAI_API_KEY]",
            show_default=False,
        ),
    ] = None,
    weight: Annotated[
        list[float] | None,
        typer.Option(
            help="Its share, one per --model; without, they take turns.", show_default=False
        ),
    ] = None,
    fallback: Annotated[
        bool,
        typer.Option(
            "--fallback", help="With models: the grammar words what they did not get right."
        ),
    ] = False,
    retries: Annotated[
        int,
        typer.Option(
            help="With models: further attempts after a wrong text, what was wrong being told.",
            min=0,
        ),
    ] = 3,
    faults: Annotated[
        int,
        typer.Option(help="With models: further attempts after a fault of the endpoint.", min=0),
    ] = 4,
    concurrency: Annotated[int, typer.Option(help="With models: requests in flight.", min=1)] = 8,
    temperature: Annotated[float, typer.Option(help="With models.", min=0, max=5)] = 1.0,
    timeout: Annotated[
        float,
        typer.Option(
            help="With models: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
        ),
    ] = 120.0,
    seed: Annotated[
        int,
        typer.Option(
            help="Equal seeds give equal texts of the grammar, and equal shares of the models.",
            min=0,
        ),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Put trip requests into words, and keep a text only if every field is read back from it
    exactly.

    Without --model the grammar words them. With models each text that drops, changes or adds
    something is sent back with what is wrong; what is still wrong after the retries is left out, or
    worded by the grammar with --fallback. "worded_by" in the output says who it was. A request
    whose endpoint did not answer is unscored: it is left out too. The same command tries again what
    was left out.

    Examples:
      tripwright query word queries.jsonl --world worlds/nano --out worded.jsonl
      tripwright query word queries.jsonl --world worlds/nano --out worded.jsonl \\
        --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
      tripwright query word queries.jsonl --world worlds/nano --out worded.jsonl --fallback \\
        --model small --base-url http://localhost:8000/v1 --weight 1 --model large \\
          --base-url http://localhost:8001/v1 --weight 3
    """
    if style not in STYLES:
        raise UserError(f"--style '{style}' is not one of {', '.join(STYLES)}.")
    if out.is_dir():
        raise UserError(f"'{out}' is a folder. Name a JSONL file for --out.")
    if out.exists() and queries.exists() and out.samefile(queries):
        raise UserError(f"--out '{out}' is the file to read. Name another one.")
    endpoints = _endpoints(
        model or [], base_url or [], api_key_env or [], temperature, timeout, faults
    )
    if (weight or fallback) and not endpoints:
        raise UserError("--weight and --fallback go with --model: the grammar alone has neither.")
    pool = Pool(endpoints, weight, seed) if endpoints else None
    way = Way(style, seed, pool, retries, concurrency, fallback)
    place = World.open(world)
    asked = list(_read(queries, way, place))
    if not asked:
        raise UserError(
            f"No queries in '{queries}'. Expected a JSONL file, one query record per line."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    counts = _word_all(asked, way, Gazetteer(place.cities), out)
    typer.echo(json.dumps({"out": str(out), **counts}) if as_json else _told(counts, out))
    if left := counts["queries"] - counts["accepted"]:
        print(f"warning: {left} not in {out}. The same command tries them again.", file=sys.stderr)


def _endpoints(
    models: list[str],
    urls: list[str],
    keys: list[str],
    temperature: float,
    timeout_s: float,
    faults: int,
) -> list[ChatEndpoint]:
    if bool(models) != bool(urls):
        raise UserError(
            "--model and --base-url go together: an endpoint needs both, the grammar neither."
        )
    for name, given in (("--base-url", urls), ("--api-key-env", keys)):
        if len(given) not in (
            (0, 1, len(models)) if name == "--api-key-env" else (1, len(models)) if models else (0,)
        ):
            raise UserError(
                f"{len(given)} {name} for {len(models)} --model: expected one for all, or one for"
                " each."
            )
    if keys and not models:
        raise UserError("--api-key-env goes with --model: the grammar needs no key.")

    def of(given: list[str], at: int, otherwise: str) -> str:
        return given[at if len(given) > 1 else 0] if given else otherwise

    return [
        ChatEndpoint(
            of(urls, at, ""),
            name,
            of(keys, at, "OPENAI_API_KEY"),
            timeout_s=timeout_s,
            max_retries=faults,
            temperature=temperature,
        )
        for at, name in enumerate(models)
    ]


def _read(path: Path, way: Way, world: World) -> Iterator[Asked]:
    states = set(world.cities.values())
    for line, query in iter_queries(path):
        if problem := unwordable(query):
            raise UserError(f"{path}:{line}: no text can say this request: {problem}.")
        kind = "city" if query.visiting_city_number == 1 else "state"
        for name, known, what in (
            (query.org, world.cities, "city"),
            (query.dest, world.cities if kind == "city" else states, kind),
        ):
            if name not in known:
                raise UserError(
                    f"{path}:{line}: '{name}' is no {what} of the world '{world.name}'."
                )
        record = {name: value for name, value in query.record().items() if name != "query"}
        told = json.dumps([record, way.names], sort_keys=True)
        yield Asked(line, query, hashlib.sha256(told.encode()).hexdigest()[:16])


def _word_all(asked: list[Asked], way: Way, places: Gazetteer, out: Path) -> dict[str, Any]:
    """A journal, so that a kill loses only what was in flight; put in order at the end."""
    made, status, shown = list[Wording](), StatusLine(), 0
    of_line, kept = {each.line: each for each in asked}, dict[int, dict[str, Any]]()

    def take(record: Any) -> None:
        wording = record["wording"]
        if of_line[wording["line"]].made_from != wording["made_from"]:
            raise ValueError
        kept[wording["line"]] = record

    foreign = (
        f"was not made from these requests by {', '.join(way.names)}. Choose another file for"
        " --out."
    )
    in_use = f"Another process is writing '{out}'. Wait for it, or choose another file for --out."
    with Journal(out, take, foreign, in_use) as journal:
        if kept:
            print(f"{len(kept)} of {len(asked)} requests are there already", file=sys.stderr)
        for each, worded in _worded([each for each in asked if each.line not in kept], way, places):
            made.append(worded)
            if worded.text is not None:
                kept[each.line] = _record(each, worded)
                journal.append(kept[each.line])
            elif (shown := shown + 1) <= MOST_SHOWN:
                print(
                    f"line {each.line}: {'unscored' if worded.unscored else 'rejected'}:"
                    f" {worded.problem}",
                    file=sys.stderr,
                )
            status.show(
                f"{len(kept)} of {len(asked)} requests worded,"
                f" {len(made) / max(status.seconds, 0.001):.1f}/s"
            )
    status.end()
    write_atomically(
        out, "".join(json.dumps(kept[line], ensure_ascii=False) + "\n" for line in sorted(kept))
    )
    return _counts(len(asked), list(kept.values()), made)


def _worded(waiting: list[Asked], way: Way, places: Gazetteer) -> Iterator[tuple[Asked, Wording]]:
    if way.pool is None:
        for each in waiting:
            yield (
                each,
                word_checked(each.query, places, index=each.line, seed=way.seed, style=way.style),
            )
        return
    asked = ((each, each.line, each.query) for each in waiting)
    for each, worded in back_translate_all(
        way.pool, asked, places, retries=way.retries, concurrency=way.concurrency
    ):
        if worded.text is None and not worded.unscored and way.fallback:
            by_grammar = word_checked(
                each.query, places, index=each.line, seed=way.seed, style=way.style
            )
            yield (
                each,
                Wording(
                    by_grammar.text,
                    by_grammar.worded_by,
                    (*worded.rejected, *by_grammar.rejected),
                    by_grammar.problem,
                ),
            )
        else:
            yield each, worded


def _record(asked: Asked, worded: Wording) -> dict[str, Any]:
    record = {**asked.query.record(), "query": worded.text, "worded_by": worded.worded_by}
    wording = {
        "line": asked.line,
        "made_from": asked.made_from,
        "rejected": [asdict(each) for each in worded.rejected],
    }
    return {**record, "wording": wording}


def _counts(asked: int, records: list[dict[str, Any]], made: list[Wording]) -> dict[str, Any]:
    """Of the whole file, earlier starts included; requests that were left out count as this start
    found them."""
    rejections = [
        WordingRejection(each["model"], tuple(each["fields"]), each["said"])
        for record in records
        for each in record["wording"]["rejected"]
    ]
    rejections += [
        rejection for worded in made if worded.text is None for rejection in worded.rejected
    ]
    unscored = sum(worded.unscored for worded in made)
    accepted_by = Counter(record["worded_by"] for record in records)
    rejected_by = Counter(each.model for each in rejections)
    by_model = {
        name: {"accepted": accepted_by[name], "rejected_texts": rejected_by[name]}
        for name in sorted({*accepted_by, *rejected_by}, key=str)
    }
    return {
        "queries": asked,
        "accepted": len(records),
        "rejected": asked - len(records) - unscored,
        "unscored": unscored,
        "rejected_texts": len(rejections),
        "rejected_texts_by_field": dict(
            Counter(field for each in rejections for field in each.fields).most_common()
        ),
        "by_model": by_model,
    }


def _told(counts: dict[str, Any], out: Path) -> str:
    lines = [
        f"{counts['queries']} requests: {counts['accepted']} worded, {counts['rejected']} rejected,"
        f" {counts['unscored']} unscored"
    ]
    lines += [
        f"  {name}: {each['accepted']} accepted, {each['rejected_texts']} texts rejected"
        for name, each in counts["by_model"].items()
    ]
    if by_field := counts["rejected_texts_by_field"]:
        lines.append(
            "  rejected for " + ", ".join(f"{field} {count}" for field, count in by_field.items())
        )
    return "\n".join([*lines, str(out)])

"""`tripwright query word`: structured requests → the same requests in new words, by the grammar or
by models."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import KEY_VARIABLE, Json
from tripwright.cli.table import table_lines
from tripwright.domains.travelplanner.queries.back_translation import (
    Pool,
    WordingMethod,
    requests_to_word,
    word_all,
)
from tripwright.domains.travelplanner.queries.reading import Gazetteer
from tripwright.domains.travelplanner.queries.wording import Style
from tripwright.errors import UserError, counted
from tripwright.files import check_new, make_parent
from tripwright.llm.client import ChatEndpoint
from tripwright.world.store import World


@dataclass(frozen=True, kw_only=True)
class WordingFlags:
    """Which requests are worded, and by whom."""

    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES.jsonl",
            help="Requests with their fields, one per line; their texts are replaced.",
        ),
    ]
    world: Annotated[
        Path,
        typer.Option(
            help="World folder they are for: its names are looked for when a text is read back."
        ),
    ]
    out: Annotated[Path, typer.Option(help="JSONL file to write.")]
    style: Annotated[
        Style, typer.Option(help="The grammar's: rich (thousands of frames) or plain (three).")
    ] = "rich"
    model: Annotated[
        list[str] | None,
        typer.Option(help="Let this model word them. Several take turns.", show_default=False),
    ] = None
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            help="Its endpoint, up to and including /v1: one for all, or one per --model.",
            show_default=False,
        ),
    ] = None
    api_key_env: Annotated[
        list[str] | None,
        typer.Option(
            help="Variable with its key: one for all, or one per --model. [OPENAI_API_KEY]",
            show_default=False,
        ),
    ] = None
    fallback: Annotated[
        bool,
        typer.Option(
            "--fallback", help="With models: the grammar words what they did not get right."
        ),
    ] = False
    retries: Annotated[
        int,
        typer.Option(
            help="With models: further attempts after a wrong text, what was wrong being told.",
            min=0,
        ),
    ] = 3
    faults: Annotated[
        int,
        typer.Option(help="With models: further attempts after a fault of the endpoint.", min=0),
    ] = 4
    concurrency: Annotated[int, typer.Option(help="With models: requests in flight.", min=1)] = 8
    timeout: Annotated[
        float,
        typer.Option(
            help="With models: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
        ),
    ] = 120.0
    seed: Annotated[
        int,
        typer.Option(
            help="Equal seeds give equal texts of the grammar, and equal shares of the models.",
            min=0,
        ),
    ] = 0


def word(
    settings: WordingFlags,
    as_json: Json = False,
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
        --model small --base-url http://localhost:8000/v1 \\
        --model large --base-url http://localhost:8001/v1
    """
    # a file of ours is gone on with; any other is refused when it is opened
    check_new(settings.out, restart=True, inputs=(settings.queries,))
    endpoints = _endpoints(settings)
    if settings.fallback and not endpoints:
        raise UserError("--fallback goes with --model: without one the grammar words them all.")
    pool = Pool(endpoints, settings.seed) if endpoints else None
    options = (settings.retries, settings.concurrency, settings.fallback)
    method = WordingMethod(settings.style, settings.seed, pool, *options)
    place = World.open(settings.world)
    requests = list(requests_to_word(settings.queries, method, place))
    if not requests:
        raise UserError(
            f"No queries in '{settings.queries}'. Expected a JSONL file, one query record per line."
        )
    make_parent(settings.out)
    counts = word_all(requests, method, Gazetteer(place.cities), settings.out)
    typer.echo(
        json.dumps({"out": str(settings.out), **counts}) if as_json else _told(counts, settings.out)
    )
    if left := counts["queries"] - counts["accepted"]:
        print(
            f"warning: {left} not in {settings.out}. The same command tries them again.",
            file=sys.stderr,
        )


def _endpoints(settings: WordingFlags) -> list[ChatEndpoint]:
    models, urls = settings.model or [], settings.base_url or []
    keys = settings.api_key_env or []
    if not models and (urls or keys):
        raise UserError("--base-url and --api-key-env go with --model: the grammar needs neither.")
    urls = urls * len(models) if len(urls) == 1 else urls
    keys = (keys or [KEY_VARIABLE]) * len(models) if len(keys) < 2 else keys
    if not len(models) == len(urls) == len(keys):
        raise UserError(
            f"{len(models)} --model need a --base-url and an --api-key-env each, or one for all."
        )
    return [
        ChatEndpoint(
            url,
            name,
            api_key_env=key,
            timeout_s=settings.timeout,
            max_retries=settings.faults,
            temperature=1.0,
        )
        for name, url, key in zip(models, urls, keys, strict=True)
    ]


def _told(counts: dict[str, Any], out: Path) -> str:
    lines = [
        f"{counted(counts['queries'], 'request')}: {counts['accepted']} worded,"
        f" {counts['rejected']} rejected, {counts['unscored']} unscored"
    ]
    rows = (
        [name, str(each["accepted"]), str(each["rejected_texts"])]
        for name, each in counts["by_model"].items()
    )
    lines += table_lines(rows, "<>", ["", "accepted", "texts rejected"])
    if by_field := counts["rejected_texts_by_field"]:
        fields = ", ".join(f"{field} {count}" for field, count in by_field.items())
        lines.append(f"  rejected for {fields}")
    return "\n".join([*lines, str(out)])

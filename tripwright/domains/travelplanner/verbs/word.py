"""`tripwright query word`: structured requests → the same requests in new words, by the grammar or
by a model."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tripwright.cli.options import Json, argument, flag, option
from tripwright.cli.table import print_figures
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.back_translation import (
    Wording,
    Writer,
    back_translate,
    word_checked,
)
from tripwright.domains.travelplanner.queries.wording import Style, unwordable
from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.domains.travelplanner.verbs.format import ModelFlags
from tripwright.errors import UserError
from tripwright.files import Journal, check_new, write_json_lines
from tripwright.llm.endpoint import map_unordered
from tripwright.progress import StatusLine
from tripwright.world.store import World

MOST_SHOWN = 10  # lines without a wording that are told one by one
ANOTHER = "Choose another file for --out."


@dataclass(frozen=True)
class WordingFlags(ModelFlags):
    """Which requests are worded, and by whom."""

    queries: Path = argument(
        "Requests with their fields, one per line; their texts are replaced.",
        metavar="QUERIES.jsonl",
    )
    world: Path = option(
        ..., "World folder they are for: its names are looked for when a text is read back."
    )
    out: Path = option(..., "JSONL file to write.")
    style: Style = option("rich", "The grammar's: rich (thousands of frames) or plain (three).")
    fallback: bool = flag(
        "--fallback", "With a model: the grammar words what it did not get right."
    )
    corrections: int = option(
        3, "With a model: further attempts after a wrong text, what was wrong being told.", min=0
    )
    seed: int = option(0, "Equal seeds give equal texts of the grammar.", min=0)


def word(
    settings: WordingFlags,
    as_json: Json = False,
) -> None:
    """Put trip requests into words, and keep a text only if every field is read back from it
    exactly.

    Without --model the grammar words them. With one each text that drops, changes or adds
    something is sent back with what is wrong; what is still wrong after --corrections is left out,
    or worded by the grammar with --fallback. "worded_by" in the output says who it was. A request
    whose endpoint did not answer is unscored: it is left out too. The same command tries again what
    was left out.

    Examples:
      tripwright query word queries.jsonl --world worlds/nano --out worded.jsonl
      tripwright query word queries.jsonl --world worlds/nano --out worded.jsonl \\
        --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
    """
    # a file of ours is gone on with; any other is refused when it is opened
    check_new(settings.out, restart=True, inputs=(settings.queries,))
    endpoint = settings.endpoint(temperature=1.0)
    writer = Writer(endpoint, settings.seed) if endpoint else None
    if settings.fallback and writer is None:
        raise UserError("--fallback goes with --model: without one the grammar words them all.")
    place = World.open(settings.world)
    requests = list(_requests(settings, place))
    counts = _word_all(requests, settings, writer, Gazetteer(place.cities))
    print_figures({"out": str(settings.out), **counts}, as_json)
    if left := counts["queries"] - counts["accepted"]:
        print(
            f"warning: {left} not in {settings.out}. The same command tries them again.",
            file=sys.stderr,
        )


# ---- a file of requests, made line by line so that a kill loses only what was in flight


@dataclass(frozen=True)
class RequestToWord:
    """One line of the input. `made_from` is the fingerprint of it and of the settings: a text is
    kept only while both stay the same."""

    line: int
    query: Query
    made_from: str


def _writers(settings: WordingFlags) -> tuple[str, ...]:
    """What makes texts differ: who words them, not where that one lives."""
    model = [settings.model] if settings.model else []
    grammar = [f"grammar:{settings.style}"] if settings.fallback or not model else []
    return (*model, *grammar, f"seed {settings.seed}")


def _requests(settings: WordingFlags, world: World) -> Iterator[RequestToWord]:
    states = set(world.cities.values())
    for line, query in iter_queries(settings.queries):
        where = f"{settings.queries}:{line}"
        if problem := unwordable(query):
            raise UserError(f"{where}: no text can say this request: {problem}.")
        kind = "city" if query.visiting_city_number == 1 else "state"
        for name, places, what in (
            (query.org, world.cities, "city"),
            (query.dest, world.cities if kind == "city" else states, kind),
        ):
            if name not in places:
                raise UserError(f"{where}: '{name}' is no {what} of the world '{world.name}'.")
        record = {name: value for name, value in query.record().items() if name != "query"}
        source = json.dumps([record, _writers(settings)], sort_keys=True)
        yield RequestToWord(line, query, hashlib.sha256(source.encode()).hexdigest()[:16])


def _word_all(
    requests: list[RequestToWord], settings: WordingFlags, writer: Writer | None, places: Gazetteer
) -> dict[str, Any]:
    """A journal, put in order at the end."""
    out, wordings, status, problem_count = settings.out, list[Wording](), StatusLine(), 0
    of_line, records = {each.line: each for each in requests}, dict[int, dict[str, Any]]()

    def take(record: Any) -> None:
        wording = record["wording"]
        if of_line[wording["line"]].made_from != wording["made_from"]:
            raise ValueError
        records[wording["line"]] = record

    foreign = f"was not made from these requests by {', '.join(_writers(settings))}. {ANOTHER}"
    with Journal(out, take, foreign, f"Another process is writing '{out}'. {ANOTHER}") as journal:
        if records:
            print(f"{len(records)} of {len(requests)} requests are there already", file=sys.stderr)
        waiting = [each for each in requests if each.line not in records]
        for each, worded in _worded(waiting, settings, writer, places):
            wordings.append(worded)
            if worded.text is not None:
                records[each.line] = _record(each, worded)
                journal.append(records[each.line])
            elif (problem_count := problem_count + 1) <= MOST_SHOWN:
                lead = "unscored" if worded.unscored else "rejected"
                print(f"line {each.line}: {lead}: {worded.problem}", file=sys.stderr)
            before = len(records) - len(wordings)
            status.count(len(records), len(requests), "requests worded", before=before)
    status.end()
    write_json_lines(out, (records[line] for line in sorted(records)))
    return _counts(len(requests), list(records.values()), wordings)


def _worded(
    waiting: list[RequestToWord], settings: WordingFlags, writer: Writer | None, places: Gazetteer
) -> Iterable[tuple[RequestToWord, Wording]]:
    """In the order they finish, `concurrency` at once."""

    def by_grammar(each: RequestToWord) -> Wording:
        how = {"index": each.line, "seed": settings.seed}
        return word_checked(each.query, places, style=settings.style, **how)

    def by_model(each: RequestToWord) -> tuple[RequestToWord, Wording]:
        assert writer is not None
        how = {"index": each.line, "retries": settings.corrections}
        worded = back_translate(each.query, writer, places, **how)
        if worded.text is None and not worded.unscored and settings.fallback:
            ours = by_grammar(each)
            worded = replace(ours, rejected=(*worded.rejected, *ours.rejected))
        return each, worded

    if writer is None:
        return ((each, by_grammar(each)) for each in waiting)
    return map_unordered(by_model, waiting, settings.concurrency)


def _record(request: RequestToWord, worded: Wording) -> dict[str, Any]:
    rejected = [asdict(each) for each in worded.rejected]
    return {
        **request.query.record(),
        "query": worded.text,
        "worded_by": worded.worded_by,
        "wording": {"line": request.line, "made_from": request.made_from, "rejected": rejected},
    }


def _counts(
    request_count: int, records: list[dict[str, Any]], wordings: list[Wording]
) -> dict[str, Any]:
    """Of the whole file, earlier starts included; requests that were left out count as this start
    found them."""
    rejections = [
        *(each for record in records for each in record["wording"]["rejected"]),
        *(asdict(each) for left in wordings if left.text is None for each in left.rejected),
    ]
    unscored = sum(worded.unscored for worded in wordings)
    return {
        "queries": request_count,
        "accepted": len(records),
        "rejected": request_count - len(records) - unscored,
        "unscored": unscored,
        "rejected_texts": len(rejections),
        "rejected_texts_by_field": dict(
            Counter(field for each in rejections for field in each["fields"]).most_common()
        ),
        "worded_by": dict(Counter(record["worded_by"] for record in records)),
    }

"""A file of requests in new words, made line by line so that a kill loses only what was in
flight."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
from tripwright.progress import StatusLine
from tripwright.world.store import World

MOST_SHOWN = 10  # lines without a wording that are told one by one


@dataclass(frozen=True)
class RequestToWord:
    """One line of the input. `made_from` is the fingerprint of it and of the settings: a text is
    kept only while both stay the same."""

    line: int
    query: Query
    made_from: str


@dataclass(frozen=True)
class WordingMethod:
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


def requests_to_word(path: Path, way: WordingMethod, world: World) -> Iterator[RequestToWord]:
    states = set(world.cities.values())
    for line, query in iter_queries(path):
        if problem := unwordable(query):
            raise UserError(f"{path}:{line}: no text can say this request: {problem}.")
        kind = "city" if query.visiting_city_number == 1 else "state"
        for name, places, what in (
            (query.org, world.cities, "city"),
            (query.dest, world.cities if kind == "city" else states, kind),
        ):
            if name not in places:
                raise UserError(
                    f"{path}:{line}: '{name}' is no {what} of the world '{world.name}'."
                )
        record = {name: value for name, value in query.record().items() if name != "query"}
        source = json.dumps([record, way.names], sort_keys=True)
        yield RequestToWord(line, query, hashlib.sha256(source.encode()).hexdigest()[:16])


def word_all(
    requests: list[RequestToWord], way: WordingMethod, places: Gazetteer, out: Path
) -> dict[str, Any]:
    """A journal, so that a kill loses only what was in flight; put in order at the end."""
    wordings, status, problem_count = list[Wording](), StatusLine(), 0
    of_line, records = {each.line: each for each in requests}, dict[int, dict[str, Any]]()

    def take(record: Any) -> None:
        wording = record["wording"]
        if of_line[wording["line"]].made_from != wording["made_from"]:
            raise ValueError
        records[wording["line"]] = record

    foreign = (
        f"was not made from these requests by {', '.join(way.names)}. Choose another file for"
        " --out."
    )
    in_use = f"Another process is writing '{out}'. Wait for it, or choose another file for --out."
    with Journal(out, take, foreign, in_use) as journal:
        if records:
            print(f"{len(records)} of {len(requests)} requests are there already", file=sys.stderr)
        for each, worded in _worded(
            [each for each in requests if each.line not in records], way, places
        ):
            wordings.append(worded)
            if worded.text is not None:
                records[each.line] = _record(each, worded)
                journal.append(records[each.line])
            elif (problem_count := problem_count + 1) <= MOST_SHOWN:
                print(
                    f"line {each.line}: {'unscored' if worded.unscored else 'rejected'}:"
                    f" {worded.problem}",
                    file=sys.stderr,
                )
            status.show(
                f"{len(records)} of {len(requests)} requests worded,"
                f" {len(wordings) / max(status.seconds, 0.001):.1f}/s"
            )
    status.end()
    write_atomically(
        out,
        "".join(json.dumps(records[line], ensure_ascii=False) + "\n" for line in sorted(records)),
    )
    return _counts(len(requests), list(records.values()), wordings)


def _worded(
    waiting: list[RequestToWord], way: WordingMethod, places: Gazetteer
) -> Iterator[tuple[RequestToWord, Wording]]:
    if way.pool is None:
        for each in waiting:
            yield (
                each,
                word_checked(each.query, places, index=each.line, seed=way.seed, style=way.style),
            )
        return
    requests = ((each, each.line, each.query) for each in waiting)
    for each, worded in back_translate_all(
        way.pool, requests, places, retries=way.retries, concurrency=way.concurrency
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


def _record(request: RequestToWord, worded: Wording) -> dict[str, Any]:
    record = {**request.query.record(), "query": worded.text, "worded_by": worded.worded_by}
    wording = {
        "line": request.line,
        "made_from": request.made_from,
        "rejected": [asdict(each) for each in worded.rejected],
    }
    return {**record, "wording": wording}


def _counts(
    request_count: int, records: list[dict[str, Any]], wordings: list[Wording]
) -> dict[str, Any]:
    """Of the whole file, earlier starts included; requests that were left out count as this start
    found them."""
    rejections = [
        WordingRejection(each["model"], tuple(each["fields"]), each["said"])
        for record in records
        for each in record["wording"]["rejected"]
    ]
    rejections += [
        rejection for worded in wordings if worded.text is None for rejection in worded.rejected
    ]
    unscored = sum(worded.unscored for worded in wordings)
    accepted_by = Counter(record["worded_by"] for record in records)
    rejected_by = Counter(each.model for each in rejections)
    by_model = {
        name: {"accepted": accepted_by[name], "rejected_texts": rejected_by[name]}
        for name in sorted({*accepted_by, *rejected_by}, key=str)
    }
    return {
        "queries": request_count,
        "accepted": len(records),
        "rejected": request_count - len(records) - unscored,
        "unscored": unscored,
        "rejected_texts": len(rejections),
        "rejected_texts_by_field": dict(
            Counter(field for each in rejections for field in each.fields).most_common()
        ),
        "by_model": by_model,
    }

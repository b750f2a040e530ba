"""`tripwright format`: a file of itineraries in words → a file of plans."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tripwright.cli.options import KEY_VARIABLE, Json, argument, option
from tripwright.cli.table import print_figures
from tripwright.domains.travelplanner.plan.formatter import format_all
from tripwright.domains.travelplanner.plan.itinerary import FormattedPlan, plan_of_text
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.lines import BadLine, read_query
from tripwright.errors import UserError, described
from tripwright.files import Journal, check_new, json_lines, some_of, write_atomically
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.http import named_key
from tripwright.policies.settings import URL_NAMES
from tripwright.progress import StatusLine
from tripwright.runs import episode_lines, transcripts_at
from tripwright.world.store import World

PARSER = "parser"
ANOTHER = "Choose another file for --out."
EXPECTED = 'Expected a JSONL file with {"query": …, "itinerary": …} per line.'


@dataclass(frozen=True)
class ItineraryInput:
    """One line of the input. `made_from` is its fingerprint: a plan is kept only while its
    itinerary stays the same. `episode` is the record it comes from, where a run was given."""

    line: int
    record: Any
    query: Query | str  # a text is taken as it is
    text: str
    made_from: str
    episode: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFlags:
    """A model that does a verb's work, in place of what is built in."""

    model: str | None = option(None, "Let this model do it.", show_default=False)
    base_url: str | None = option(
        None, "The model's endpoint, up to and including /v1.", *URL_NAMES, show_default=False
    )
    api_key_env: str = option(KEY_VARIABLE, "With a model: environment variable with the key.")
    concurrency: int = option(8, "With a model: requests in flight.", min=1)
    timeout: float = option(
        120.0, "With a model: seconds to wait for an answer, per attempt.", min=0.01, max=86_400
    )
    retries: int = option(4, "With a model: further attempts after a fault.", min=0)

    def endpoint(self, temperature: float) -> ChatEndpoint | None:
        if (self.model is None) != (self.base_url is None):
            needs = "an endpoint needs both, what is built in neither"
            raise UserError(f"--model and --base-url go together: {needs}.")
        if self.model is None or self.base_url is None:
            return None
        return ChatEndpoint(
            self.base_url,
            self.model,
            api_key_env=named_key(self.api_key_env),
            timeout_s=self.timeout,
            max_retries=self.retries,
            temperature=temperature,
        )


def format_itineraries(
    itineraries: Path = argument(
        'JSONL, {"query": …, "itinerary": "…" or null} per line; or a run folder.',
        metavar="FILE|RUN",
    ),
    out: Path = option(
        ..., 'JSONL of plans to write, {"query": …, "plan": …} per line, as \'score\' reads them.'
    ),
    world: Path | None = option(
        None,
        "With a model: world folder that tells which city a place without one lies in.",
        show_default=False,
    ),
    *,
    settings: ModelFlags,
    as_json: Json = False,
) -> None:
    """Turn itineraries in words into plans in the official format.

    The built-in parser reads the layout of dialect 'star', that of TravelPlanner's own prompts, and
    a list of days as JSON or as a Python literal, alone or in a fence; it says what it expected.
    With --model an endpoint reads free wordings. What cannot be read has a plan of null and a
    "problem" in the output: it counts as not delivered. An itinerary that the endpoint could not be
    asked about is unscored: it is left out, and the same command tries it again. Of a run folder,
    each answer is read, and its line is the episode with the new plan, for
    'score' and for 'study make --formatted'.

    Examples:
      tripwright format itineraries.jsonl --out plans.jsonl
      tripwright format itineraries.jsonl --out plans.jsonl --model Qwen/Qwen3-8B \\
        --base-url http://localhost:8000/v1
      tripwright format runs/star --out runs/star_by_qwen.jsonl --model Qwen/Qwen3-8B \\
        --base-url http://localhost:8000/v1
    """
    check_new(out, restart=True, inputs=(itineraries,))
    endpoint, source = settings.endpoint(temperature=0.0), itineraries
    place = World.open(world) if world else None
    file, read = (transcripts_at(source), _of_run) if source.is_dir() else (source, _of_file)
    inputs = list(some_of(file, read(file), "itinerary", EXPECTED))
    counts = _formatted(endpoint, inputs, out, settings.concurrency, place)
    print_figures(counts, as_json)
    if counts["unscored"]:
        unscored = f"{counts['unscored']} unscored, not in {out}"
        print(f"warning: {unscored}. The same command tries them again.", file=sys.stderr)


def _of_file(path: Path) -> Iterator[ItineraryInput]:
    for number, record in json_lines(path):
        try:
            if (
                not isinstance(record, dict)
                or "query" not in record
                or not isinstance(record.get("itinerary", 0), str | None)
            ):
                wanted = 'an object with "query" and "itinerary" (text or null)'
                raise BadLine(f"expected {wanted}, found {described(record)}")
            asked = record["query"]
            query = asked if isinstance(asked, str) else read_query(asked)
        except BadLine as problem:
            raise UserError(f"{path}:{number}: {problem}.") from None
        made_from = _fingerprint(record)
        yield ItineraryInput(number, asked, query, record["itinerary"] or "", made_from)


def _of_run(path: Path) -> Iterator[ItineraryInput]:
    """The answers of a run's episodes; an unscored one has none, for a fault of our side."""
    for line in episode_lines(path):
        if line.record().get("verdict") is not None:
            yield line.read(partial(_answered, line.place.number))


def _answered(number: int, record: dict[str, Any]) -> ItineraryInput:
    if record["domain"] != "travelplanner":
        of = f"Episode '{record['id']}' is of domain {record['domain']}"
        raise UserError(f"{of}: only TravelPlanner's itineraries become plans.")
    request, answer = record["request"], record["transcript"]["answer"]
    digest = _fingerprint([record["id"], request, answer])
    query = Query.model_validate(request)
    return ItineraryInput(number, request, query, answer or "", digest, record)


def _fingerprint(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


# ---- by the parser or by a model


def _formatted(
    endpoint: ChatEndpoint | None,
    inputs: list[ItineraryInput],
    out: Path,
    concurrency: int,
    world: World | None,
) -> dict[str, int]:
    """A journal, so that a kill loses only what was in flight; put in order at the end."""
    name = endpoint.model if endpoint else PARSER
    made_from = {each.line: each.made_from for each in inputs}
    records, unscored, status = dict[int, dict[str, Any]](), 0, StatusLine()

    def take(record: Any) -> None:
        if (record["made_from"], record["formatter"]) != (made_from[record["line"]], name):
            raise ValueError
        records[record["line"]] = record

    foreign = f"was not made from these itineraries by '{name}'. {ANOTHER}"
    with Journal(out, take, foreign, f"Another process is writing '{out}'. {ANOTHER}") as journal:
        waiting = [each for each in inputs if each.line not in records]
        read: Iterable[tuple[ItineraryInput, FormattedPlan]] = (
            (each, plan_of_text(each.text)) for each in waiting
        )
        if endpoint:
            asked = ((each, each.query, each.text) for each in waiting)
            read = format_all(endpoint, asked, concurrency, city_lookup(world) if world else None)
        for each, formatted in read:
            unscored += formatted.unscored
            if not formatted.unscored:
                records[each.line] = _record(each, formatted, name)
                journal.append(records[each.line])
            if formatted.plan is None:
                lead = "unscored: " if formatted.unscored else ""
                print(f"line {each.line}: {lead}{formatted.problem}", file=sys.stderr, flush=True)
            done, before = len(records) + unscored, len(inputs) - len(waiting)
            status.count(done, len(inputs), "itineraries", before=before)
    status.end()
    write_atomically(out, "".join(json.dumps(records[line]) + "\n" for line in sorted(records)))
    plans = sum(record["plan"] is not None for record in records.values())
    return {
        "itineraries": len(records) + unscored,
        "plans": plans,
        "unreadable": len(records) - plans,
        "unscored": unscored,
    }


def _record(itinerary: ItineraryInput, formatted: FormattedPlan, formatter: str) -> dict[str, Any]:
    line = {"line": itinerary.line, "query": itinerary.record, "plan": formatted.plan}
    record = {**itinerary.episode, **line}
    problem = {"problem": formatted.problem} if formatted.problem else {}
    return {**record, **problem, "formatter": formatter, "made_from": itinerary.made_from}

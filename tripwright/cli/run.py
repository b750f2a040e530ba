"""`tripwright run`: episodes of a policy, kept as transcripts and scored."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tripwright.agent.dialect import DIALECTS, Dialect, dialect_named
from tripwright.agent.policies.choose import NAMES, Settings, choose_policy
from tripwright.agent.policies.expert.style import Thoughts
from tripwright.constraints.evaluate import RULES, Rules, check_rules
from tripwright.episode import Job, Task
from tripwright.errand import Errand
from tripwright.errors import UserError
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.scoreboard import VERIFIED, judged_by, verified_by
from tripwright.files import json_object
from tripwright.queries.request_file import iter_requests
from tripwright.tools.faults import Faults
from tripwright.tools.live_source import LiveOptions, LiveSource, live_source
from tripwright.tools.remote import RemoteToolBox
from tripwright.trip.query import iter_queries
from tripwright.trip.request import TravelRequest
from tripwright.world.store import World


def run(  # long: each option is a parameter with its help
    policy: Annotated[str, typer.Option(help=f"Who plans: {', '.join(NAMES)}.")],
    queries: Annotated[Path, typer.Option(help="JSONL file of trip requests.")],
    out: Annotated[Path, typer.Option(help="Run folder; a run found there is continued.")],
    world: Annotated[Path | None, typer.Option(help="World folder to travel in.", show_default=False)] = None,
    services: Annotated[
        Path | None, typer.Option(help="deeptravel: instead of --world, a TOML file of live services.", show_default=False)
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="deeptravel: keep the tools' answers in this SQLite file or database.", show_default=False)
    ] = None,
    snapshot: Annotated[
        str | None, typer.Option(help="deeptravel: the day they are kept under.", show_default="that of the run in OUT, else today")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="deeptravel: ask nobody; answers come from --store alone.")] = False,
    model: Annotated[str | None, typer.Option(help="endpoint: the model's name; local: a checkpoint folder.", show_default=False)] = None,
    base_url: Annotated[str | None, typer.Option(help="endpoint: its URL, up to and including /v1.", show_default=False)] = None,
    dialect: Annotated[str, typer.Option(help=f"Prompt, tool face and limits: {', '.join(DIALECTS)}.")] = "planner_r1",
    rules: Annotated[str, typer.Option(help=f"Rule set of the judge: {', '.join(RULES)}.")] = "official",
    samples: Annotated[int, typer.Option(help="Episodes per query.", min=1)] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first N queries.", min=1, show_default=False)] = None,
    temperature: Annotated[float, typer.Option(help="0 is greedy.", min=0)] = 0.0,
    top_p: Annotated[float | None, typer.Option(help="endpoint, local: nucleus sampling.", min=0, max=1, show_default=False)] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="local: of the sampling; expert-careful, expert-brief: of the wording and the order in which cities are tried.", min=0
        ),
    ] = 0,
    thoughts: Annotated[
        str | None, typer.Option(help="expert-careful, expert-brief: none, short or long reasons.", show_default=False)
    ] = None,
    extra_searches: Annotated[
        int | None,
        typer.Option(
            help="expert-careful, expert-brief: at most so many searches for a better plan than the first.", min=0, show_default=False
        ),
    ] = None,
    compared_cities: Annotated[
        int | None,
        typer.Option(
            help="expert-careful, expert-brief: cities beyond those asked for that are looked at first.", min=0, show_default=False
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="endpoint: episodes in flight.", min=1)] = 8,
    rows: Annotated[int, typer.Option(help="local: episodes in a batch.", min=1)] = 16,
    native_tools: Annotated[bool, typer.Option(help="endpoint: tools as JSON functions, or described in the system prompt.")] = True,
    timeout: Annotated[float, typer.Option(help="endpoint: seconds to wait for an answer, per attempt.", min=0.01, max=86_400)] = 120.0,
    retries: Annotated[int, typer.Option(help="endpoint: further attempts after a fault.", min=0)] = 4,
    empty_tools: Annotated[bool, typer.Option("--empty-tools", help="Every tool answers nothing: finds memorised worlds.")] = False,
    tools: Annotated[
        str | None, typer.Option(help="URL of a 'tripwright serve tools' with the same world, to ask there.", show_default=False)
    ] = None,
    faults: Annotated[
        float | None, typer.Option(help="Share of the tool calls that fail on purpose.", min=0, max=1, show_default=False)
    ] = None,
    faults_seed: Annotated[int, typer.Option(help="With --faults: which calls these are.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print score.json instead of a table.")] = False,
) -> None:
    """Run episodes with a policy: OUT/transcripts.jsonl, one line each, and OUT/score.json.

    Interrupted, the same command continues: what is scored is kept, what failed for no fault of the policy's is tried again. The key
    of an endpoint is read from OPENAI_API_KEY.

    Examples:
      tripwright run --policy expert --queries q.jsonl --world worlds/nano --out runs/expert
      tripwright run --policy local --model runs/a/model --dialect compact --queries q.jsonl --world worlds/nano --out runs/a/test
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --queries q.jsonl --world worlds/real --out runs/qwen3
      tripwright run --policy cheapest-row --tools http://localhost:8321 --queries q.jsonl --world worlds/real --out runs/cheapest
      tripwright run --policy expert-careful --thoughts long --extra-searches 6 --dialect star --queries q.jsonl --world worlds/nano \
        --out runs/careful
      tripwright run --policy expert --faults 0.05 --queries q.jsonl --world worlds/nano --out runs/expert_faults

    A dialect of DeepTravel's (deeptravel, deeptravel_compact) takes requests of 'tripwright request make'; its answers are verified
    against the transcript, by rules:
      tripwright run --policy errand-expert --dialect deeptravel --queries requests.jsonl --world worlds/nano --out runs/errands
      tripwright run --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 --dialect deeptravel \
        --queries requests.jsonl --services live.toml --store runs/live.sqlite --out runs/live
    """
    check_rules(rules)
    spoken = dialect_named(dialect)
    expert = (cast(Thoughts | None, thoughts), extra_searches, compared_cities)
    settings = Settings(model, base_url, temperature, top_p, seed, concurrency, rows, native_tools, timeout, retries, *expert)
    chosen = choose_policy(policy, settings, spoken)
    identity = dict(chosen.identity)
    if policy == "local" and model:
        identity["fingerprint"] = model_fingerprint(model)
    failing = Faults(probability=faults, seed=faults_seed) if faults is not None else None
    jobs: Sequence[Job]
    with ExitStack() as opened:
        if spoken.plan_format == "recommendations":
            if tools is not None:
                raise UserError(f"Dialect '{dialect}' has tools of its own: give --world or --services, and leave --tools out.")
            if rules != "official":
                raise UserError(f"--rules are of plans; what judges dialect '{dialect}' is a verifier. Leave --rules out.")
            _check_kind(queries, "org", f"Dialect '{dialect}' takes requests of 'tripwright request make', found TravelPlanner queries")
            asked = read_requests_of(queries, limit)  # before a store is made
            options = LiveOptions(world, services, store, snapshot or _day_of(out, store), replay)
            live, served = opened.enter_context(live_source(options)), None
            jobs = errands(asked, live, samples)
            rules, place = verified_by(jobs[0].verifier.name), live.identity
        else:
            if services is not None or store is not None or snapshot is not None or replay:
                raise UserError(f"--services, --store, --snapshot and --replay are of dialect 'deeptravel', found '{dialect}'.")
            if world is None:
                raise UserError("Which world? Give its folder with --world DIR, as made by 'tripwright world build' or 'world import'.")
            _check_kind(queries, "origin", f"Dialect '{dialect}' takes queries of 'tripwright query make', found travellers' requests")
            found = World.open(world)
            jobs = read_tasks(queries, found, samples, limit)
            served = _served(tools, spoken, found, policy, empty_tools)
            place = {"name": found.name, "content_hash": found.content_hash}
        card = run_card(identity, chosen.decoding, spoken, rules, queries, place, samples, empty_tools)
        card |= {"tools": tools} if tools else {}
        score = run_episodes(
            chosen.policy, jobs, out, spoken, chosen.chat, cast(Rules, rules), empty_tools, card, faults=failing, tools=served
        )
    typer.echo(json.dumps(score) if as_json else table(score, out))
    if "warning" in score:
        print(f"warning: {score['warning']} The same command tries them again.", file=sys.stderr)


def _day_of(out: Path, store: str | None) -> str | None:
    """The day under which an interrupted run in `out` keeps its answers: after midnight the same command still continues it."""
    path = out / "run_card.json"
    place = (json_object(path) or {}).get("world") if store is not None and path.is_file() else None
    day = place.get("snapshot") if isinstance(place, dict) else None
    return day if isinstance(day, str) else None


def _check_kind(queries: Path, other: str, said: str) -> None:
    """A file of the other kind, told by a field that only that kind has, is a mistake of the dialect's and not of the file's first line."""
    if not queries.is_file():
        return
    with queries.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        record = json.loads(first)
    except ValueError:  # for the reader to say
        return
    if isinstance(record, dict) and other in record:
        raise UserError(f"{said} in '{queries}'.")


def _served(url: str | None, dialect: Dialect, world: World, policy: str, empty_tools: bool) -> RemoteToolBox | None:
    """The tools at `url`, refused where they would answer otherwise than those of the world at hand."""
    if url is None:
        return None
    if policy == "expert":
        raise UserError("Policy 'expert' plans from the world at hand and cannot use --tools. Leave --tools out.")
    if empty_tools:
        raise UserError("With --empty-tools nothing is asked of a server. Leave --tools out.")
    return RemoteToolBox(url, dialect.face, page_rows=dialect.page_rows, world_hash=world.content_hash)


def read_tasks(queries: Path, world: World, samples: int, limit: int | None) -> list[Task]:
    """Ids are line numbers of the query file (and numbers of the samples), so that they survive interruptions."""
    found = list(iter_queries(queries))[:limit]
    if not found:
        raise UserError(f"No queries in '{queries}'. Expected a JSONL file, one query record per line.")
    if not any(query.org in world.cities for _, query in found):
        raise UserError(f"None of the {len(found)} queries of '{queries}' starts in a city of world '{world.name}': is it the right world?")
    for line, query in found:
        if len(query.date) != query.days:
            raise UserError(f"{queries}:{line}: the request is for {query.days} days and gives {len(query.date)} dates.")
    many = samples > 1
    return [Task(f"q{line:06d}" + (f"-s{sample:02d}" if many else ""), query, world) for line, query in found for sample in range(samples)]


def read_requests_of(queries: Path, limit: int | None) -> list[tuple[int, TravelRequest]]:
    """(line number, request), at least one."""
    found = list(iter_requests(queries))[:limit]
    if not found:
        raise UserError(f"No requests in '{queries}'. Expected a JSONL file, as 'tripwright request make' writes it.")
    return found


def errands(found: list[tuple[int, TravelRequest]], live: LiveSource, samples: int) -> list[Errand]:
    """Ids are line numbers, and numbers of the samples."""
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [Errand(f"q{line:06d}{end}", request, live.ask, live.where) for line, request in found for end in ends]


def table(score: dict[str, Any], out: Path) -> str:
    lines = [f"{score['n']} episodes, {judged_by(score['rules'])}" + (f", {score['unscored']} unscored" if score["unscored"] else "")]
    verified = score["rules"].startswith(VERIFIED)
    lines += [_row(_words(name, verified), found) for name, found in score["metrics"].items()]
    lines += [_row(f"final, {level}", found["final"]) for level, found in score["levels"].items()]
    lines += [_row(f"worst case {name.replace('_', ' ')}", found) for name, found in score.get("worst_case", {}).items() if name == "final"]
    if "faults" in score:
        lines.append(f"  faults: {score['faults']['hit']} of {score['faults']['calls']} tool calls were made to fail")
    stops = ", ".join(f"{reason} {count}" for reason, count in score["stop_reasons"].items())
    return "\n".join([*lines, f"  stopped by: {stops}", f"{out / 'score.json'}  {out / 'transcripts.jsonl'}"])


def _words(metric: str, verified: bool) -> str:
    """A verifier's facts are the trajectory's and the turns', where rules of plans have commonsense and hard constraints."""
    words = metric.replace("_", " ")
    return words.replace("commonsense", "trajectory").replace("hard", "turns") if verified else words


def _row(name: str, found: dict[str, Any]) -> str:
    if found["value"] is None:
        return f"  {name:<24} {'-':>8}"
    if "k" in found:
        return f"  {name:<24} {found['value']:>8.1%}  [{found['low']:.1%}, {found['high']:.1%}]  {found['k']}/{found['n']}"
    return f"  {name:<24} {found['value']:>8.4g}  [{found['low']:.4g}, {found['high']:.4g}]"

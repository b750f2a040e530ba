"""The product in Python: a policy plays requests in a world (`play`) and is scored on them
(`evaluate`); one answer is judged (`judge`); a plan is found exactly (`solve`). All take what a
caller has at hand: names, paths, records or objects.

Below, what is named is opened: the policy, the requests, their place and their rules. Policies are
those of every domain (endpoint, local) and a domain's own. Only "local" needs torch, and
only then is it imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import ValidationError

from tripwright import episode
from tripwright.agent.chat import (
    ChatFormat,
    EstimatedTokens,
    ExactTokens,
    TokenCounter,
    check_prompt,
    load_tokenizer,
)
from tripwright.agent.dialect import Dialect
from tripwright.domains import dialect_named, domain_of, domain_of_file, domain_of_request, domains
from tripwright.domains.domain import Domain, Solved
from tripwright.domains.judging import JudgingSettings
from tripwright.domains.place import Place, PlaceOptions
from tripwright.episode import Episode, Policy, Task
from tripwright.errors import UserError, first_problem, named
from tripwright.evals.run import floor, run
from tripwright.evals.run_card import SAMPLED, model_fingerprint, queries_entry, run_card
from tripwright.files import check_folder, write_atomically
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import shown_url
from tripwright.llm.http import named_key
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.settings import (
    CURES,
    LENGTHS,
    OF_ENDPOINTS,
    OF_LOCAL,
    OF_MODELS,
    OF_PLAYERS,
    SERVER,
    PolicyChoice,
    PolicySettings,
    thinking_fields,
)
from tripwright.runs import DIFFICULTY, RECIPE, Run, model_in, object_in
from tripwright.tools.faults import Faults
from tripwright.tools.remote import RemoteToolBox
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import Verdict

Requests = str | Path | Iterable[Any]  # a file, or requests, also as their records
Where = str | Path | PlaceOptions | Any  # a world's folder, any other place, or an open world
AnyPolicy = str | PolicySettings | Policy


@dataclass(frozen=True)
class Metric:
    """A figure with its 95% interval. A rate is `k` of `n`; a mean has no `k`. `value` is None
    where nothing was measured."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    k: int | None = None


class Score(Mapping[str, Metric]):
    """The metrics of a run by their names, as `score["final"].value`; `record` is all of its
    score.json."""

    def __init__(self, record: Mapping[str, Any]):
        self.record = record
        self.n: int = record["n"]  # scored episodes
        self.unscored: int = record["unscored"]  # our side failed: in no rate
        self.rules: str = record["rules"]

    def __getitem__(self, metric: str) -> Metric:
        return Metric(**self.record["metrics"][metric])

    def __iter__(self) -> Iterator[str]:
        return iter(self.record["metrics"])

    def __len__(self) -> int:
        return len(self.record["metrics"])

    def __repr__(self) -> str:
        rate = self["final"]
        value = "unknown" if rate.value is None else f"{rate.value:.1%}"
        interval = "" if rate.low is None else f" [{rate.low:.1%}, {rate.high:.1%}]"
        return f"Score(final {value}{interval}, n {self.n}, unscored {self.unscored}, {self.rules})"


def play(
    policy: AnyPolicy,
    requests: Requests,
    world: Where,
    *,
    dialect: str | Dialect | None = None,
    rules: str | None = None,
    samples: int = 1,
    faults: Faults | None = None,
) -> Iterator[Episode]:
    """Episodes of a policy, judged, in the order in which they finish. Nothing is kept on disk.

        world = tripwright.load_world("worlds/nano7")
        for episode in tripwright.play("cheapest-row", "worlds/nano7.jsonl", world):
            print(episode.passed, episode.transcript.answer)

    `policy`: a name of `tripwright run --policy`, the settings of a model, or an object with `name`
    and `play(sessions)`. `requests`: a file, or requests as objects or records. `world`: its
    folder, or the open world. `dialect` (prompt, tool face, limits) and `rules` are by default the
    first of the requests' domain. With `samples` every request is played so often; `faults` makes
    tools fail on purpose. Raises UserError for what is wrong with any of them.
    """
    spoken, asked = read_requests(requests, dialect)
    judged_by = settled_rules(spoken, rules)
    with open_place(world, domain_of(spoken)) as place:
        tasks = open_tasks(asked, place, spoken, judged_by, samples)
        player = choose_policy(policy, spoken)
        yield from episode.play(player.policy, tasks, spoken, player.chat, faults=faults)


def evaluate(  # long: most of it is help
    policy: AnyPolicy,
    queries: Requests,
    world: Where,
    out: str | Path | None = None,
    *,
    dialect: str | Dialect | None = None,
    rules: str | None = None,
    judging: Path | None = None,
    samples: int = 1,
    count: int | None = None,
    rounds: int = 2,
    empty_tools: bool = False,
    server: str | None = None,
    faults: Faults | None = None,
    progress: bool = False,
) -> Score:
    """Plays the first `count` queries and scores the policy on them, with 95% intervals.

        model = tripwright.PolicySettings(model="Qwen/Qwen3-8B", base_url="http://localhost:8000/v1")
        score = tripwright.evaluate(model, "validation.jsonl", "worlds/real", out="runs/qwen3")
        print(score["final"].value, score["final"].low, score["final"].high)

    Arguments as for `play`. With `out` everything is kept in that run folder, and the same call
    goes on with a run that was stopped there; what an endpoint has answered is not asked again.
    `judging`: a TOML file with a model that takes part in judging (docs/judging.md). Episodes in
    which our side fails are played `rounds` times, then they are unscored. `empty_tools`: every
    tool answers nothing, which finds memorised worlds. `server`: URL of a `tripwright serve tools`
    with the same world, to ask there.

    Raises UserError for what is wrong with any of them, and CostLimitReached, one of them, where
    the `max_cost_usd` of an endpoint is used up.
    """
    spoken, asked = read_requests(queries, dialect, count)
    domain, path = domain_of(spoken), Path(queries) if isinstance(queries, str | Path) else None
    judge = domain.judge.read_settings(spoken, judging) if judging else None
    judged_by = settled_rules(spoken, rules, judge)
    settings = as_settings(policy)
    with ExitStack() as stack:
        folder = Path(out or stack.enter_context(TemporaryDirectory(prefix="tripwright-")))
        check_folder(folder)
        if (folder / RECIPE).exists():
            raise UserError(f"'{folder}' holds a training. Give the run a folder of its own.")
        place = stack.enter_context(open_place(world, domain, folder))
        tasks = open_tasks(asked, place, spoken, judged_by, samples, path)
        tools = served_tools(server, spoken, place, empty_tools)
        player = choose_policy(policy, spoken)
        card = run_card(
            player.identity,
            player.decoding,
            spoken,
            judged_by,
            queries_entry(path or [request for _, request in asked]),
            place.identity,
            samples,
            empty_tools,
            tools=server and shown_url(server),
            judging=judge and judge.card(),
            decoding_preset=settings.preset,
        )
        judged = stack.enter_context(domain.judge.opened(judge, folder))
        record = run(
            player.policy,
            map(judged, tasks),
            folder,
            spoken,
            player.chat,
            empty_tools,
            card,
            progress,
            faults,
            tools,
            settings.prices,
            rounds,
        )
        # where a model judges nobody pays for the floor
        if out and not judge and (reached := floor(tasks[::samples], spoken)):
            write_atomically(folder / DIFFICULTY, json.dumps({"floor": reached}, indent=2))
        return Score(record)


def judge(
    answer: str | list[Any] | Transcript | None,
    request: Any,
    world: Where,
    *,
    dialect: str | Dialect | None = None,
    rules: str | None = None,
) -> Verdict:
    """The verdict of one answer: which facts it meets, which it breaks and why.

        for line in map(json.loads, open("plans.jsonl")):
            print(tripwright.judge(line["plan"], line["query"], world).final)

    `answer`: the text that an agent would give in `dialect`; a plan as data, in TravelPlanner's
    format or in Planner-R1's schema; or a whole transcript, for a domain that holds an answer
    against what the tools said. `request` is one of its domain, or its record. Raises UserError
    for a request of another world, and where a model that takes part in judging fails.
    """
    spoken, asked = read_requests([request], dialect)
    domain, judged_by = domain_of(spoken), settled_rules(spoken, rules)
    with open_place(world, domain) as place:
        (task,) = open_tasks(asked, place, spoken, judged_by)
        if not isinstance(answer, str | Transcript):
            if not isinstance(answer, list | None):
                raise UserError(
                    "An answer is a text, a list of days, a transcript or None, found"
                    f" {type(answer).__name__}."
                )
            if domain.plans is None:
                raise UserError(f"An answer to {domain.title} is a text or a transcript.")
            return domain.plans.judge(task.request, answer, place.source, judged_by)
        if isinstance(answer, str):
            answer = Transcript(stop_reason=StopReason.ANSWER, answer=answer)
        verdict = task.judged(answer, spoken.plan_format).verdict
    if verdict is None:
        raise UserError(f"The answer could not be judged: {answer.fault}.")
    return verdict


def solve(
    request: Any,
    world: Where,
    cheapest: bool = False,
    *,
    k: int | None = None,
    why: bool = False,
    rules: str | None = None,
) -> Solved:
    """A plan that meets every wish of a request within its budget, or why there is none.

        solved = tripwright.solve(query, world, cheapest=True)
        print(solved["status"], solved["cost_usd"])

    Comfortable where the budget allows it, or with `cheapest` the proved cheapest. `k`: also the k
    cheapest ones. `why`: also what conflicts, and single changes that help (seconds). `rules`: by
    default the strictest that the judge has; TravelPlanner's "livable" asks for more. Raises
    UserError in a domain without plans as data, and for rules that nothing plans by.
    """
    spoken, ((_, asked),) = read_requests([request])
    domain = domain_of(spoken)
    if domain.plans is None:
        raise UserError(f"There is no exact planner for {domain.title}.")
    with open_place(world, domain) as place:
        domain.requests.check([(1, asked)], place, Path("requests"))
        kept = domain.judge.rules_named(rules)
        return domain.plans.solve(asked, place.source, cheapest, k, why, kept)


# ---- the policy


def policy_names() -> tuple[str, ...]:
    """Those of the domains first."""
    own = (name for domain in domains().values() for name in domain.players)
    return (*dict.fromkeys(own), *SAMPLED)


def as_settings(policy: AnyPolicy) -> PolicySettings:
    """The settings of a policy that is given by its name, by them, or as an object."""
    if isinstance(policy, PolicySettings):
        return policy
    if not isinstance(policy, str) and not (hasattr(policy, "name") and hasattr(policy, "play")):
        raise UserError(
            "Expected a policy by its name, the settings of a model, or an object with 'name' and"
            f" 'play(sessions)', found {type(policy).__name__}."
        )
    return PolicySettings(name=policy if isinstance(policy, str) else policy.name)


def choose_policy(policy: AnyPolicy, dialect: Dialect) -> PolicyChoice:
    """Raises UserError for an unknown name, and for what goes wrong before a run folder is
    made."""
    settings = as_settings(policy)
    name = settings.policy
    if not isinstance(policy, str | PolicySettings):
        return PolicyChoice(policy, getattr(policy, "chat", None), {"kind": name}, {})
    if name not in policy_names():
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(policy_names())}.")
    if name != "endpoint":
        settings.refuse(name, OF_ENDPOINTS, "endpoint")
    if name != "local":
        settings.refuse(name, OF_LOCAL, "local")
    if name not in SAMPLED:
        settings.refuse(name, OF_MODELS, "endpoint or local")
        if settings.preset is not None:
            raise UserError(f"Policy '{name}' samples no tokens: leave --decoding out.")
    players = domain_of(dialect).players
    if name not in (*SAMPLED, *players):
        raise UserError(
            f"Policy '{name}' knows nothing of dialect '{dialect.name}'. There are"
            f" {', '.join(players)} for it."
        )
    own_options = {} if name in SAMPLED else players[name].options
    for option in OF_PLAYERS:
        if option not in own_options:
            every = (each for domain in domains().values() for each in domain.players.items())
            able = [other for other, each in every if option in each.options]
            settings.refuse(name, [option], " or ".join(able))
    if name in SAMPLED:
        return _endpoint(settings, dialect) if name == "endpoint" else _local(settings, dialect)
    told = {option: getattr(settings, option) for option in own_options}
    given = {option: value for option, value in told.items() if value is not None}
    decoding = {**own_options, **given}
    return PolicyChoice(players[name](**decoding), None, {"kind": name}, decoding)


def _endpoint(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.base_url or not settings.model:
        raise UserError(
            "Policy 'endpoint' needs --base-url URL (up to and including /v1) and --model NAME."
        )
    schemas = dialect.schemas()
    counter: TokenCounter
    if settings.tokenizer is None:
        counter = EstimatedTokens(schemas or ())
    else:
        chat = ChatFormat(load_tokenizer(settings.tokenizer), schemas)
        counter = ExactTokens(chat, str(settings.tokenizer))
    check_prompt(dialect, counter)
    # top_k is named where it is set
    how = settings.decoding
    extra: dict[str, Any] = {} if how.top_k is None else {"top_k": how.top_k}
    extra |= thinking_fields(settings.thinking, settings.thinking_field)
    decoding: dict[str, Any] = {
        "temperature": None if settings.preset == SERVER else how.temperature,
        "top_p": how.top_p,
        "max_tokens": dialect.max_turn_tokens,
    }
    endpoint = ChatEndpoint(
        settings.base_url,
        settings.model,
        api_key_env=named_key(settings.api_key_env),
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        extra_body=extra,
        max_tokens_field=named("--max-tokens-field", settings.max_tokens_field, LENGTHS),
        cures=CURES,
        requests_per_second=settings.requests_per_second,
        **decoding,
    )
    identity = {
        "kind": "endpoint",
        "model": settings.model,
        "base_url": shown_url(settings.base_url),
        "native_tools": settings.native_tools,
        "tokens_counted_by": counter.name,
    }
    spares = named("--filtered", settings.filtered or "failed", {"failed": False, "unscored": True})
    identity |= {"filtered": "unscored"} if spares else {}  # which changes rates
    policy = EndpointPolicy(endpoint, settings.concurrency, settings.native_tools, counter, spares)
    return PolicyChoice(policy, None, identity, decoding | extra)


def _local(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
    if not settings.model:
        raise UserError(
            "Policy 'local' needs --model DIR, a checkpoint folder (or a model name that"
            " transformers can find)."
        )
    from tripwright.inference.local import LocalPolicy, Sampling, load_to_sample  # torch

    how = settings.decoding
    sampling = Sampling(
        how.temperature,
        rows=settings.rows,
        seed=settings.seed,
        dtype=settings.dtype,
        top_p=1.0 if how.top_p is None else how.top_p,
        top_k=how.top_k,
    )
    folder = model_in(settings.model, settings.step)
    model, tokenizer = load_to_sample(folder, settings.device, sampling.dtype)
    chat = ChatFormat(tokenizer, dialect.schemas())
    policy = LocalPolicy(model, chat, sampling, name=str(folder))
    check_prompt(dialect, ExactTokens(chat, f"of {folder}"))
    decoding: dict[str, Any] = {"temperature": how.temperature, "dtype": sampling.dtype}
    if how.temperature > 0:
        decoding |= {"seed": settings.seed, "top_p": sampling.top_p}
        decoding |= {} if how.top_k is None else {"top_k": how.top_k}
    fingerprint = model_fingerprint(folder)
    identity = {"kind": "local", "model": str(folder), "fingerprint": fingerprint}
    return PolicyChoice(policy, chat, identity, decoding)


# ---- requests, their place and their rules


def read_requests(
    requests: Requests, dialect: str | Dialect | None = None, count: int | None = None
) -> tuple[Dialect, list[tuple[int, Any]]]:
    """The first `count` requests, each behind its number in the file, and the dialect that is
    named, else the first of their domain. Raises UserError where there are none, or of another
    domain than the dialect's."""
    if isinstance(requests, Mapping) or hasattr(requests, "query"):
        raise UserError("Expected requests in a file or in a list, found one by itself.")
    path = Path(requests) if isinstance(requests, str | Path) else None
    given = [] if isinstance(requests, str | Path) else list(requests)[:count]
    if path is None and not given:
        raise UserError("No requests are given.")
    other = domain_of_file(path) if path else domain_of_request(given[0])
    spoken = dialect_named(dialect) if isinstance(dialect, str) else dialect
    domain, where = domain_of(spoken) if spoken else other, f"'{path}'" if path else "what is given"
    if domain is None:  # else its reader says what is wrong with a file
        if path is not None and not path.is_file():
            raise UserError(f"No request file at '{path}'.")
        raise UserError(f"No domain knows the requests in {where}. Name a dialect.")
    # told by a field that only that domain has: a mistake of the dialect's, not of the first line
    if spoken and other is not None and other is not domain:
        raise UserError(
            f"Dialect '{spoken.name}' takes {domain.title} of '{domain.requests.made_by}', found"
            f" {other.title} in {where}."
        )
    if path is not None:
        return spoken or domain.dialects[0], list(domain.requests.read(path))[:count]
    kind = domain.requests.kind
    try:
        found = [e if isinstance(e, kind) else kind.model_validate(e) for e in given]
    except ValidationError as error:
        raise UserError(f"Not one of {domain.title}: {first_problem(error)}") from None
    return spoken or domain.dialects[0], list(enumerate(found, start=1))


def open_tasks(
    requests: list[tuple[int, Any]],
    place: Place,
    dialect: Dialect,
    rules: str,
    samples: int = 1,
    path: Path | None = None,
) -> list[Task]:
    """What a run plays, judged by these rules (of `settled_rules`); `path` is the file of the
    requests. Raises UserError for what the domain says of them in this place."""
    domain = domain_of(dialect)
    task = domain.judged_under(rules)
    domain.requests.check(requests, place, path or Path("requests"))
    if samples < 1:
        raise UserError(f"Each request is played at least once, found samples={samples}.")
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [
        task(f"q{line:06d}{end}", request, place.source)
        for line, request in requests
        for end in ends
    ]


@contextmanager
def open_place(where: Where, domain: Domain, out: Path | None = None) -> Iterator[Place]:
    """What answers the tools. `out` is the run's folder: an interrupted run goes on with the day
    that it began with."""
    if isinstance(where, str | Path):
        where = PlaceOptions(world=Path(where))
    elif not isinstance(where, PlaceOptions):
        if not (hasattr(where, "name") and hasattr(where, "content_hash")):
            raise UserError(f"Expected a world or its folder, found {type(where).__name__}.")
        yield Place.of(where)
        return
    if out is not None and where.store is not None and where.snapshot is None:
        # after midnight the same command still continues a run under the day that it began with
        day = object_in(Run.at(out).card, "world").get("snapshot")
        where = replace(where, snapshot=day if isinstance(day, str) else None)
    with domain.open(where) as place:
        yield place


def served_tools(
    url: str | None, dialect: Dialect, place: Place, emptied: bool
) -> RemoteToolBox | None:
    """The tools at `url`, refused where they would answer otherwise than those of the world at
    hand; None without a `url`."""
    if url is None:
        return None
    content_hash = place.identity.get("content_hash")
    if content_hash is None:
        raise UserError(
            f"Dialect '{dialect.name}' has tools of its own: give --world or --services, and leave"
            " --server out."
        )
    if emptied:
        raise UserError("With --empty-tools nothing is asked of a server. Leave --server out.")
    return RemoteToolBox(url, dialect.face, page_rows=dialect.page_rows, world_hash=content_hash)


def settled_rules(
    dialect: Dialect, rules: str | None, judging: JudgingSettings | None = None
) -> str:
    """The set of rules that judges, or what a score says of a domain without any. Raises UserError
    for rules that it has not, and for a dialect whose answers nobody judges without a model."""
    domain = domain_of(dialect)
    if judging is None and (problem := domain.judge.refusal(dialect, None)) is not None:
        raise UserError(f"{problem} Name one with --judging FILE.")
    if not domain.judge.rules:
        if rules is not None:
            raise UserError(
                f"--rules are not of {domain.title}, which are {domain.judge.name}. Leave --rules"
                " out."
            )
        return domain.judge.name_with(judging)
    return domain.judge.rules_named(rules)

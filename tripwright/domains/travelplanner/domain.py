"""TravelPlanner as a domain: what the registry knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from tripwright.agent.dialect import Dialect
from tripwright.domains.domain import (
    Credit,
    Domain,
    Generator,
    Plans,
    Player,
    ReportHooks,
    Requests,
)
from tripwright.domains.judging import Judge, Judged, JudgingModel
from tripwright.domains.travelplanner import baselines, written_work
from tripwright.domains.travelplanner.credit import FIELDS, LOOKS_AT, places_of
from tripwright.domains.travelplanner.desk import DESK
from tripwright.domains.travelplanner.dialects import DIALECTS
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.expert.turns import (
    BRIEF,
    CAREFUL,
    COMPARING,
    SPENDER,
    ExpertStyle,
)
from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES, at_most
from tripwright.domains.travelplanner.plan.formatter import Formatter, FormatterSettings
from tripwright.domains.travelplanner.plan_view import plan_page
from tripwright.domains.travelplanner.planning import judge_plan, solve_query
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, asked_queries, why_elsewhere
from tripwright.domains.travelplanner.rewards import REWARDS
from tripwright.domains.travelplanner.rules.evaluate import RULES, VERSIONS, judge
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, FACT_TITLES, HARD_NAMES
from tripwright.domains.travelplanner.task import NAME, TripTask
from tripwright.domains.travelplanner.ungrounded import GROUNDINGS
from tripwright.episode import Episode
from tripwright.verdict import ALSO_PASSES, Verdict
from tripwright.world.generator import load_world, names_of_world
from tripwright.world.scales import CUISINES, SCALES
from tripwright.world.store import World


def _teacher(style: ExpertStyle) -> Player:
    return Player(partial(ExpertPolicy, style), teaches=True)


def _deciding(style: ExpertStyle) -> Player:
    """An expert that decides from answers."""

    def make(extra_searches: int, **options: Any) -> ExpertPolicy:
        return ExpertPolicy(replace(style, max_extra_searches=extra_searches, **options))

    own = {
        "seed": style.seed,
        "thoughts": style.thoughts,
        "extra_searches": style.max_extra_searches,
        "compared_cities": style.compared_cities,
    }
    return Player(make, own)


@contextmanager
def _formatting(settings: FormatterSettings, path: Path | None) -> Iterator[Judged]:
    """Row S2: a model reads the itineraries that agents answer with."""
    with settings.log(path) as log:
        by: dict[str, Any] = {"formatter": Formatter(settings, log)}
        by["judged_at_once"] = settings.concurrency
        yield lambda task: replace(cast(TripTask, task), **by)


def _reads_no_words(dialect: Dialect, settings: FormatterSettings | None) -> str | None:
    if settings is None or dialect.plan_format != "json":
        return None
    return f"Dialect '{dialect.name}' answers in JSON, which no model need read."


def _figures(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Pass rates under each set of rules, whichever the reward goes by, and the gaps between them;
    how true the work is that is shown."""
    official, strict, livable = (
        sum(_passes(episode, rules) for episode in episodes) / len(episodes)
        for rules in ("official", "strict", "livable")
    )
    return {
        "official_pass_rate": official,
        "strict_pass_rate": strict,
        "livable_pass_rate": livable,
        "strict_gap": official - strict,
        "livable_gap": strict - livable,
        **written_work.figures(episodes),
    }


def _passes(episode: Episode, rules: str) -> bool:
    if (verdict := episode.verdict) is not None:
        known = {**verdict.details.get(ALSO_PASSES, {}), verdict.rules: verdict.final}
        if rules in known:
            return bool(known[rules])
    task = cast(TripTask, episode.task)
    return judge(task.request, episode.more.get("plan"), task.world, rules).final


def _judge_again(record: Mapping[str, Any], world: World, rules: str) -> Verdict:
    query, plan = Query.model_validate(record["request"]), record["plan"]
    problem = record["verdict"]["groups"][0]["facts"]["schema"]["message"]
    return judge(query, plan, world, rules, problem)


DOMAIN = Domain(
    name=NAME,
    title="TravelPlanner's queries",
    dialects=DIALECTS,
    requests=Requests(
        Query,
        made_by="tripwright query make",
        reader=asked_queries,
        refusal=lambda query, place: why_elsewhere(query, place.source),
        slices={"levels": "level", "days": "days"},
    ),
    task=TripTask,
    players={
        "expert": Player(ExpertPolicy),
        "expert-spender": _teacher(SPENDER),
        "expert-comparing": _teacher(COMPARING),
        "expert-careful": _deciding(CAREFUL),
        "expert-brief": _deciding(BRIEF),
        "greedy-search": Player(baselines.GreedySearch, {"seed": 0}),
        "first-row": Player(partial(baselines.RowsPolicy, "first"), baseline="first_row"),
        "cheapest-row": Player(partial(baselines.RowsPolicy, "cheapest"), baseline="cheapest_row"),
        "fixed-plan": Player(baselines.FIXED_PLAN, baseline="fixed_plan", is_floor=True),
        "meal-at-home": Player(baselines.MEAL_AT_HOME, baseline="meal_at_home", is_floor=True),
    },
    rewards=REWARDS,
    judge=Judge(
        rules=RULES,
        versions=VERSIONS,
        facts={"commonsense": COMMONSENSE_NAMES, "hard": HARD_NAMES},
        again=_judge_again,
        model=JudgingModel(FormatterSettings, _formatting),
        refusal=_reads_no_words,
        figures=_figures,
    ),
    plans=Plans(judge_plan, solve_query, at_most),
    credit=Credit(places_of, LOOKS_AT, FIELDS, answer_fields={"current_city": "city"}),
    generator=Generator(
        world=load_world,
        draw=make_queries,
        mix=Mix,
        scales=SCALES,
        names=names_of_world,
        closed_lists=(
            *CUISINES,
            *FORBIDDEN_BY_RULE.values(),
            *sorted(set().union(*ROOM_TYPES.values())),
        ),
    ),
    report=ReportHooks(
        titles=FACT_TITLES,
        labels={
            "org": "From",
            "dest": "To",
            "days": "Days",
            "date": "Dates",
            "visiting_city_number": "Cities to visit",
            "people_number": "People",
            "budget": "Budget (USD)",
            "house rule": "House rule",
            "room type": "Room",
            "cuisine": "Cuisines",
            "transportation": "Transport",
        },
        page=plan_page,
        ungrounded=(*GROUNDINGS, *written_work.GROUNDINGS),
    ),
    desk=DESK,
)

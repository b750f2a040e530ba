"""Careful and brief experts pass from what they have read alone, turn back at dead ends, and play
the same game every time. With a plan they look further only at what can make it cheaper; that there
is none they say only where there is none, and why in words that hold."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, sight, stay, trip
from tripwright.domains import dialect_named, face_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy, ExpertStyle
from tripwright.domains.travelplanner.expert.careful import play_careful
from tripwright.domains.travelplanner.oracle.planner import Solution, solve
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, Session, close_session, open_session, play
from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import ToolBox
from tripwright.transcript import StopReason
from tripwright.world.store import World

CAREFUL, BRIEF = STYLES["careful"], STYLES["brief"]
# a tight budget over three cities can need more searches than a dialect allows
LONG: dict[str, Any] = {"max_calls": 90, "max_turns": 91}
ENDLESS: dict[str, Any] = {"max_calls": 150, "max_turns": 151, "context_tokens": 1_000_000}
NANO = 11  # of `world`
COUNTS = {3: 24, 5: 18, 7: 18}  # of days


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    asked = [make_queries(world, n, days, Mix(days=(days,))) for days, n in COUNTS.items()]
    return [query for queries in asked for query in queries]


def episodes(
    world: World,
    queries: list[Query],
    dialect: str,
    style: ExpertStyle,
    faults: Faults | None = None,
    **changed: Any,
) -> list[Episode]:
    tasks = [TripTask(str(i), query, world) for i, query in enumerate(queries)]
    spoken = replace(dialect_named(dialect), **changed)
    return list(play(ExpertPolicy(style), tasks, spoken, faults=faults))


def said_by(session: Session | Episode) -> str:
    """All of the agent's turns."""
    segments = session.transcript.segments
    return "\n".join(segment.text for segment in segments if segment.role == "assistant")


def played(
    query: Query,
    world: World,
    style: ExpertStyle = CAREFUL,
    dialect: str = "planner_r1",
    **changed: Any,
) -> tuple[Session, Solution | None]:
    spoken = replace(dialect_named(dialect), **{**ENDLESS, **changed})
    session = open_session(TripTask("q", query, world), spoken)
    return session, play_careful(session, style)


def last(session: Session) -> str:
    return session.transcript.segments[-1].text


def passes(episode: Episode) -> bool:
    query, world = episode.task.request, episode.task.world
    return episode.more["plan"] is not None and all(
        judge(query, episode.more["plan"], world, rules).final for rules in ("official", "strict")
    )


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_of(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each)]
    return [] if value == "-" or isinstance(value, bool) else [str(value)]


def is_in(text: str, read: str) -> bool:
    """Numbers as whole numbers: 12 is not in 120."""
    if not text.isdigit():
        return text in read
    return re.search(rf"(?<!\d)(?<!\d[,.]){text}(?!\d)", read) is not None


def unread(episode: Episode) -> list[str]:
    """What a call or the plan says that was neither in the request nor in an earlier answer."""
    query = episode.task.request
    modes = "self-driving driving taxi flight"
    read = json.dumps([query.query, query.org, query.dest, query.date, modes], ensure_ascii=False)
    missing = []
    for segment in episode.transcript.segments:
        if segment.call is not None:
            asked = {k: v for k, v in segment.call.arguments.items() if k != "page"}
            missing += [text for text in texts_of(asked) if not is_in(text, read)]
        if segment.role == "tool":
            read += "\n" + segment.text.replace("\\n", "\n").replace('\\"', '"')
    answer = episode.transcript.answer or ""
    plan = json.loads(answer) if answer.startswith("[") else []
    named = [texts_of({k: v for k, v in day.items() if k != "days"}) for day in plan]
    return missing + [text for texts in named for text in texts if not is_in(text, read)]


@pytest.mark.parametrize(
    ("dialect", "style", "share"),
    [
        ("planner_r1", CAREFUL, 1),
        ("compact", BRIEF, 2),
        ("star", CAREFUL, 3),
        ("planner_r1", BRIEF, 3),
        ("compact", CAREFUL, 3),
    ],
)
def test_it_passes_and_has_read_whatever_it_says(world, queries, dialect, style, share):
    for episode in episodes(world, queries[::share], dialect, style, **LONG):
        assert passes(episode), episode.task.request.query
        assert not unread(episode)


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
def test_within_the_limits_of_the_dialects_it_mostly_passes_and_never_gives_a_bad_plan(
    world, queries, dialect
):
    found = episodes(world, queries[::3], dialect, CAREFUL)
    assert all(passes(episode) for episode in found if episode.more["plan"] is not None)
    assert sum(map(passes, found)) >= 0.95 * len(found)


def test_three_days_fit_the_small_dialect(world, queries):
    for style in (CAREFUL, BRIEF):
        assert all(map(passes, episodes(world, queries[:20], "compact", style)))


@pytest.mark.parametrize("dialect", ["planner_r1", "compact", "star"])
def test_it_turns_pages(world, queries, dialect):
    found = episodes(world, queries[::7], dialect, CAREFUL, page_rows=3, **LONG)
    assert all(passes(episode) and not unread(episode) for episode in found)
    assert any("page" in call.arguments for episode in found for call in episode.transcript.calls)


def test_the_same_seed_plays_the_same_and_another_speaks_otherwise(world, queries):
    some = queries[24:30]
    first, again, other = (
        [episode.transcript.to_json() for episode in episodes(world, some, "star", style)]
        for style in (CAREFUL, CAREFUL, replace(CAREFUL, seed=1))
    )
    assert first == again and first != other


def test_length_is_set_by_thoughts_and_extra_searches(world, queries):
    def size(style: ExpertStyle) -> tuple[int, int]:
        found = episodes(world, queries[24:30], "planner_r1", replace(style, compared_cities=1))
        said = sum(len(said_by(episode)) for episode in found)
        return sum(len(episode.transcript.calls) for episode in found), said

    sizes = [
        size(replace(BRIEF, thoughts=thoughts, max_extra_searches=extra))
        for extra in (0, 2)
        for thoughts in ("none", "short", "long")
    ]
    assert sizes[0][0] == sizes[1][0] == sizes[2][0] < sizes[3][0] == sizes[4][0] == sizes[5][0]
    assert sizes[0][1] < sizes[1][1] < sizes[2][1] < sizes[5][1]


# ---- tools that fail


@pytest.mark.parametrize("style", [CAREFUL, BRIEF])
def test_unanswered_calls_are_made_again(world, queries, style):
    faults = Faults(probability=0.2)
    found = episodes(world, queries[::5], "star", style, faults, **LONG)
    assert all(map(passes, found))
    turns = [s.text for e in found for s in e.transcript.segments if s.role == "assistant"]
    assert all(re.match("<think>[A-Z]", turn) for turn in turns)  # brief as it is: row S1
    assert sum(call.fault is not None for e in found for call in e.transcript.calls) > 20


def test_a_search_is_given_up_when_its_tool_never_answers(world, queries):
    faults = Faults(probability=1.0)
    for episode in episodes(world, queries[24:27], "planner_r1", CAREFUL, faults, **LONG):
        assert episode.more["plan"] is None or passes(episode)
        assert episode.transcript.stop_reason is StopReason.ANSWER


# ---- dead ends


def test_it_plays_with_tools_that_have_no_world_here(world, queries):
    class Elsewhere:
        def __init__(self) -> None:
            self.box = ToolBox(world, face_named("star"))
            self.face, self.schemas = self.box.face, self.box.schemas

        def call(self, name: str, arguments: Any) -> ToolAnswer:
            return self.box.call(name, arguments)

    task = TripTask("q", queries[30], world)
    for style, is_possible in ((CAREFUL, True), (STYLES["direct"], False)):
        session = open_session(task, dialect_named("star"), tools=Elsewhere())
        if is_possible:
            (played,) = ExpertPolicy(style).play([session])
            assert passes(close_session(played))
        else:
            with pytest.raises(UserError, match="cannot play with tools that run elsewhere"):
                list(ExpertPolicy(style).play([session]))


def state(
    cities: Sequence[str],
    roads: list[tuple[str, ...]],
    stays: list[tuple[str, ...]],
    flights: list[tuple[str, ...]] | None = None,
    covered: list[tuple[str, str, str]] | None = None,
) -> World:
    """Home, and a state of cities with nine restaurants and three sights each."""
    return made_world(
        {"Home": "Elsewhere", **dict.fromkeys(cities, "Trapland")},
        flights or [],
        roads,
        [meal(f"{city} Table {n}", city, usd=10 + n) for city in cities for n in range(9)],
        [sight(f"{city} Tower {n}", city) for city in cities for n in range(3)],
        stays,
        covered_searches=covered,
    )


def inn(city: str, night_usd: str = "80", name: str = "Inn", **changed: str) -> tuple[str, ...]:
    return stay(f"{city} {name}", city, night_usd, **{"rules": "No smoking", **changed})


def near_and_far(stays: list[tuple[str, ...]], km: Sequence[int] = (40, 200, 400)) -> World:
    """Three cities that one can drive to, of which Near is the cheapest to reach."""
    ways = [(city, "3 hours", f"{each} km") for city, each in zip(THREE, km, strict=True)]
    roads = [("Home", *way) for way in ways] + [(way[0], "Home", *way[1:]) for way in ways]
    roads += [(a, b, "1 hours", "100 km") for a in THREE for b in THREE if a != b]
    return state(THREE, roads, stays)


THREE = ("Near", "Middle", "Far")


def request(days: int, cities: int, budget: int, **changed: Any) -> Query:
    fields = {"org": "Home", "dest": "Near" if days <= 3 else "Trapland", "days": days}
    fields |= {"visiting_city_number": cities, "budget": budget, "level": "easy"}
    return trip(**fields, query=f"Home to Trapland, {days} days.", **changed)


PETS = {"house rule": "pets", "room type": "private room"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (inn("Near", "20", room="Entire home/apt"), "no stay in Near keeps the stated preferences"),
        (inn("Near", "20", rules="No pets"), "no stay in Near keeps the stated preferences"),
        (inn("Near", "20", nights="9"), "no stay in Near .* with at most . minimum nights"),
        (inn("Near", "1900"), r"above the budget of \$1,500"),
    ],
)
def test_a_city_that_has_no_valid_place_is_left_again(row, reason):
    world = near_and_far([row, inn("Middle"), inn("Far")])
    query = request(5, 2, 1500, local_constraint=PETS)
    session, _ = played(query, world, replace(CAREFUL, compared_cities=3))
    searches = [c for c in session.transcript.calls if c.name == "search_accommodations"]
    asked = [call.arguments.get("city") for call in searches]
    # the cheapest way is looked at first
    assert asked[0] == "Near" and set(asked[1:]) == {"Middle", "Far"}
    assert re.search(reason, said_by(session), re.IGNORECASE)
    episode = close_session(session)
    assert passes(episode) and "Near" not in (episode.transcript.answer or "")


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [({}, "No plan is possible"), ({"max_calls": 3}, "with the calls that I had")],
)
def test_that_there_is_no_plan_is_said_only_when_all_was_seen(dialect, changed, said):
    world = near_and_far([inn("Middle"), inn("Far")])
    query = request(5, 2, 100, local_constraint=PETS)
    session, found = played(query, world, dialect=dialect, **changed)
    assert found is None and said in last(session)
    assert session.transcript.stop_reason is StopReason.ANSWER
    assert close_session(session).more["plan"] is None


@pytest.mark.parametrize("days", range(2, 8))
def test_it_finds_a_plan_exactly_where_the_planner_does(world, days):
    """As made, and with so little money that about half of the requests cannot be met."""
    made = make_queries(world, 5, days, Mix(days=(next(n for n in (3, 5, 7) if n >= days),)))
    counts = {True: 0, False: 0}
    for query in made:
        visits = min(query.visiting_city_number, days - 1)
        update = {"days": days, "date": query.date[:days], "visiting_city_number": visits}
        shorter = query.model_copy(update=update)
        cost = solve(shorter, world).cost_usd
        for budget in (query.budget, int(cost or 0) // 2, int(cost or 0) + 1):
            asked = shorter.model_copy(update={"budget": budget})
            is_possible = cost is not None and cost <= budget
            session, _ = played(asked, world)
            episode = close_session(session)
            assert passes(episode) is is_possible, last(session)
            assert (episode.more["plan"] is not None) is is_possible
            assert ("No plan is possible" in last(session)) is not is_possible
            counts[is_possible] += 1
    assert min(counts.values()) >= 3


def test_it_names_the_dead_end_and_claims_no_more_than_it_has_seen():
    there: list[tuple[str, ...]] = [("Home", "Near", "3 hours", "200 km")]
    cities, stays = ("Near", "Far"), [inn("Near"), inn("Far")]
    no_way_back = state(cities, there, stays)
    session, _ = played(request(3, 1, 2000), no_way_back)
    assert "no way from Near to Home" in last(session)
    assert "No plan is possible" in last(session)
    both_ways = state(cities, [*there, ("Near", "Home", "3 hours", "200 km")], stays)
    poor, _ = played(request(3, 1, 50), both_ways)
    assert re.search(r"costs \$\d+ or more, the budget is \$50", last(poor))
    many, _ = played(request(7, 3, 2000), no_way_back)
    assert "3 cities asked for, but a trip of 7 days to Trapland can visit 2" in last(many)


@pytest.mark.parametrize("dialect", ["planner_r1", "compact", "star"])
def test_what_a_tool_cannot_tell_is_never_said_to_be_missing(dialect):
    flown = [flight("F1", "Home", "Near", 90)]
    known, asked = [("Home", "Near", DATES[0])], request(3, 1, 2000)
    world = state(("Near",), [], [inn("Near")], flown, known)
    session, _ = played(asked, world, dialect=dialect)
    said = said_by(session)
    assert "the flights of 2022-03-03 are not known" in said and "no flight on" not in said
    assert "No plan is possible" not in last(session)
    assert "I found no plan for this trip in what is known" in last(session)
    known.append(("Near", "Home", DATES[2]))
    world = state(("Near",), [], [inn("Near")], flown, known)
    surely, _ = played(asked, world, dialect=dialect)
    assert "no way from Near to Home" in last(surely) and "No plan is possible" in last(surely)
    assert "no flight on 2022-03-03" in last(surely)


def test_at_the_limit_it_announces_nothing_that_it_will_not_do(world):
    stopped = 0
    for query in make_queries(world, 6, 3, Mix(days=(7,))):
        poor = query.model_copy(update={"budget": query.budget * 2 // 3})
        for calls in range(4, 14, 3):
            session, _ = played(poor, world, max_calls=calls, max_turns=calls + 1)
            answer = session.transcript.answer or ""
            if "I found no plan" in answer:
                assert last(session) == f"<answer>{answer}</answer>"
                stopped += 1
    assert stopped > 5


# ---- a plan compared


def compared(query: Query, world: World, extra: int) -> tuple[Session, Solution, float, str]:
    """The session, the plan, its cost in US dollars and what was said."""
    style = replace(CAREFUL, compared_cities=3, max_extra_searches=extra)
    session, plan = played(query, world, style)
    assert passes(close_session(session)) and plan is not None and plan.cost_usd is not None
    return session, plan, plan.cost_usd, said_by(session)


@pytest.mark.parametrize("far_usd", ["50", "1200"])
def test_another_place_to_stay_is_compared_and_taken_where_it_is_cheaper(far_usd):
    stays = [inn("Near", "100"), inn("Middle", "900"), inn("Far", far_usd)]
    world = near_and_far(stays, (100, 110, 120))
    query = request(5, 2, 5000)
    session, _, first_usd, _ = compared(query, world, 0)
    assert not any(call.arguments == {"city": "Far"} for call in session.transcript.calls)
    session, plan, cost_usd, said = compared(query, world, 8)
    assert any(call.arguments == {"city": "Far"} for call in session.transcript.calls)
    if far_usd == "50":
        assert cost_usd < first_usd and "Far" in [stop.city for stop in plan.cities]
        steps = re.findall(r"That is cheaper: \$([\d,]+) instead of \$([\d,]+)\.", said)
        assert steps[0][1] == f"{first_usd:,.0f}" and steps[-1][0] == f"{cost_usd:,.0f}"
    else:
        assert cost_usd == first_usd and "so I keep the plan" in said


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_comparison_never_mixes_ways_that_exclude_each_other_and_never_costs_more(world, days):
    rivals = 0
    for query in make_queries(world, 20 if days == 3 else 6, days, Mix(days=(days,))):
        _, plain, plain_usd, _ = compared(query, world, 0)
        session, _, further_usd, said = compared(query, world, 4)
        calls = [call.arguments for call in session.transcript.calls]
        rivals += "may cost less" in said
        # one city by car: nothing is cheaper
        if plain.legs[0].mode == "self-driving" and days == 3:
            assert not any("taxi" in each.values() for each in calls)
            assert "may cost less" not in said
        if "may cost less" in said:
            assert re.search(r"so I keep the plan|That is cheaper", said)
        assert further_usd <= plain_usd
    assert rivals >= 1

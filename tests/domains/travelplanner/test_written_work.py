"""Steps that a policy writes are held to the rows it was shown (row B13)."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.domains.travelplanner.written_work import (
    KINDS,
    figures,
    first_wrong_step,
    written_steps,
    wrong_steps,
)
from tripwright.episode import Episode, play
from tripwright.tools.faults import Faults
from tripwright.transcript import Segment, Transcript
from tripwright.world.generator import build_tables
from tripwright.world.store import World

COMPACT, LONG = dialect_named("compact"), dialect_named("compact_long")


OF_CITIES = {each for each in KINDS if each.startswith(("city", "cost", "way"))} - {"way: choice"}
PLAYED: dict[Any, list[Episode]] = {}


def episodes(
    world_seed: int, count: int, dialect: Any, mix: Mix, style: str = "direct"
) -> list[Episode]:
    """Played once, and copied for each test, which may change what was said."""
    key = world_seed, count, dialect.name, dialect.max_turns, mix, style
    if key not in PLAYED:
        world = World.in_memory(build_tables("nano", world_seed))
        queries = make_queries(world, count, world_seed, mix)
        tasks = [TripTask(str(number), query, world) for number, query in enumerate(queries)]
        expert = ExpertPolicy(STYLES[style])
        PLAYED[key] = list(play(expert, tasks, replace(dialect, shows_work="long")))
    return [replace(e, transcript=copied(e.transcript)) for e in PLAYED[key]]


def copied(transcript: Transcript) -> Transcript:
    segments = [
        replace(s, call=s.call and replace(s.call, arguments=dict(s.call.arguments)))
        for s in transcript.segments
    ]
    return replace(transcript, segments=segments)


def untrue(episode: Episode) -> list[str]:
    """The kinds of the steps that are not true."""
    steps = written_steps(asked(episode), episode.transcript)
    return [step.kind for step in steps if not step.is_true]


def untrue_after(played: list[Episode], change: Callable[[str], str]) -> list[list[str]]:
    """`untrue` of each episode in which the change alters a note, the first that it does."""
    found = list[list[str]]()
    for episode in played:
        notes = (s for s in episode.transcript.segments if s.role == "assistant")
        note = next((s for s in notes if change(s.text) != s.text), None)
        if note is not None:
            note.text = change(note.text)
            found.append(untrue(episode))
    return found


@pytest.mark.parametrize(
    ("style", "dialect", "world_seed", "days"),
    [
        *(
            ("direct", dialect, 4, days)
            for dialect in ("planner_r1", "planner_r1_steps", "compact", "star")
            for days in ((3,), (5,))
        ),
        ("comparing", "compact_long", 4, (5, 7)),
        ("comparing", "planner_r1", 101, (5, 7)),  # no way on one day, and one on another
        ("comparing", "star", 302, (5, 7)),  # nothing is left to compare
    ],
)
def test_every_step_of_the_expert_is_true(style, dialect, world_seed, days):
    mix = Mix(days=days, levels=(1, 2, 4))
    longer = replace(dialect_named(dialect), context_tokens=99_000, max_turns=99, max_calls=98)
    played = episodes(world_seed, 15, longer, mix, style)
    steps = [step for e in played for step in written_steps(asked(e), e.transcript)]
    assert [step for step in steps if not step.is_true] == []
    of_style = {*KINDS} if style == "comparing" else {*KINDS} - OF_CITIES
    assert {step.kind for step in steps} == of_style and len(steps) > 10 * len(played)


@pytest.mark.parametrize(
    ("dialect", "shown", "faults", "seen", "page_rows"),
    [
        ("planner_r1", "none", 0.0, True, None),  # choices alone
        ("compact_long", "long", 0.3, True, None),  # turns are said again
        ("compact_long", "long", 0.0, False, None),  # two cities have nothing to see
        ("star", "long", 0.0, True, 1),  # a row a page
    ],
)
def test_steps_are_true_where_less_is_shown(dialect, shown, faults, seen, page_rows):
    tables = build_tables("nano", 4)
    bare = () if seen else sorted({row[-1] for row in tables.attractions})[::3]
    sights = [row for row in tables.attractions if row[-1] not in bare]
    world = World.in_memory(replace(tables, attractions=sights))
    queries = make_queries(world, 12, 4, Mix(days=(5, 7), levels=(1, 2, 4)))
    tasks = [TripTask(str(number), query, world) for number, query in enumerate(queries)]
    longer = replace(dialect_named(dialect), context_tokens=99_000, max_turns=99, max_calls=98)
    played = play(
        ExpertPolicy(STYLES["comparing"]),
        tasks,
        replace(longer, shows_work=shown, page_rows=page_rows),
        faults=Faults(probability=faults),
    )
    steps = [step for e in played for step in written_steps(asked(e), e.transcript)]
    assert [step for step in steps if not step.is_true] == []
    assert len(steps) > 100 and {"cost: asked", "way: trip"} <= {step.kind for step in steps}


def test_names_may_hold_full_stops():
    """As St. Louis does."""
    cities = World.in_memory(build_tables("nano", 31)).cities
    tables = build_tables("nano", 31)
    renamed = {
        name: [
            tuple(f"St. {text}" if text in cities else text for text in row)
            for row in getattr(tables, name)
        ]
        for name in "cities flights grounds restaurants attractions accommodations".split()
    }
    world = World.in_memory(replace(tables, **renamed))
    queries = make_queries(world, 4, 31, Mix(days=(5,)))
    tasks = [TripTask(str(number), query, world) for number, query in enumerate(queries)]
    played = list(play(ExpertPolicy(STYLES["comparing"]), tasks, LONG))
    steps = [step for e in played for step in written_steps(asked(e), e.transcript)]
    assert [step for step in steps if not step.is_true] == []
    assert {step.kind for step in steps} >= OF_CITIES and "St. " in played[0].transcript.answer


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (" ok; ", "1 ok; ", "price"),  # a digit too many
        (" dear", " ok", "price"),
        (" none no", " 1 ok", "price"),
        ("U V ", "V ", "asked"),
        ("day 4, ", "day 3, ", "asked"),
        (" Stay: ", " Stay: New ", "choice"),
    ],
)
def test_what_is_not_true_of_cities_is_found(old, new, kind):
    mark = ". day "  # a comparison follows

    def change(text: str) -> str:
        before, _, after = text.partition(mark)
        return before + (mark + after).replace(old, new, 1) if " Stay: " in text else text

    found = untrue_after(episodes(4, 12, LONG, Mix(days=(7,)), style="comparing"), change)
    assert len(found) >= 2 and {kinds[0] for kinds in found} == {f"city: {kind}"}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Go: home ", "Go: home U", "way: choice"),
        (" home no. ", " home 33 self-driving. ", "way: choice"),
        ("Back: ", "Back: 1", "way: choice"),
        ("Cost: ", "Cost: 1", "cost: term"),
        (" left ", "0 left ", "cost: sum"),
    ],
)
def test_what_is_not_true_of_ways_and_costs_is_found(old, new, kind):
    played = episodes(4, 12, LONG, Mix(days=(5,)), style="comparing")
    found = untrue_after(played, lambda text: text.replace(old, new, 1))
    # after a cost the sum was not asked of what is said now
    further = {"cost: asked"} if kind == "cost: term" else set()
    assert len(found) >= 3
    assert all(kinds[0] == kind and {*kinds[1:]} <= further for kinds in found)


def test_a_city_that_nobody_has_looked_at_is_not_compared():
    played = episodes(4, 24, LONG, Mix(days=(5,)), style="comparing")
    old, new = r": U (\d) nights \d+ ok; ", r": Z \1 nights 12 ok; "
    found = untrue_after(played, lambda text: re.sub(old, new, text))
    assert len(found) >= 2 and {kinds[0] for kinds in found} == {"city: asked"}


def test_that_there_is_no_way_is_of_the_last_search():
    found = 0
    for episode in episodes(101, 40, LONG, Mix(days=(5, 7)), style="comparing"):
        none = set[str]()
        for segment in episode.transcript.segments:
            go = re.match(r"Go: (\w+ \w) [^.]+", segment.text)
            if segment.role != "assistant" or go is None:
                continue
            if go[0].endswith(" no"):
                none.add(go[1])
            elif go[1] in none:
                segment.text = segment.text.replace(go[0], f"Go: {go[1]} no", 1)
                assert untrue(episode)[0] == "way: choice"
                found += 1
                break
    assert found


def test_a_way_of_an_earlier_try_leads_from_where_one_was_then():
    found = 0
    for episode in episodes(4, 24, LONG, Mix(days=(7,)), style="comparing"):
        path, said = list[str](), dict[tuple[str, str], str]()
        for segment in episode.transcript.segments:
            go = re.match(r"Go: (\w+) (\w) [^.]+", segment.text)
            if segment.role != "assistant" or go is None or go[0].endswith(" no"):
                continue
            here, there = go.groups()
            path = [*path[: path.index(here) + 1], there] if here in path else [there]
            other = next((w for (h, t), w in said.items() if t == there and h not in path), None)
            if other is not None and here != "home" and not other.startswith("Go: home"):
                segment.text = segment.text.replace(go[0], other)
                assert untrue(episode)[0] == "way: choice"
                found += 1
                break
            said[here, there] = go[0]
    assert found >= 2


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        (r"^", "1", ["cost: asked", "cost: sum"]),  # of the budget
        (r"\+\d\*\([^()]+\)(?=\+)", "", ["cost: asked"]),  # all meals but the last
        (r"\+[^+]+(?=\+\d\*\()", "", ["cost: asked"]),  # the way home
    ],
)
def test_what_is_left_is_of_the_budget_and_of_all_costs(old, new, wrong):
    found = 0
    for episode in episodes(4, 6, LONG, Mix(days=(7,)), style="comparing"):
        call = next(call for call in episode.transcript.calls if call.name == "calculator")
        call.arguments["expression"], changes = re.subn(
            old, new, call.arguments["expression"], count=1
        )
        assert untrue(episode) == wrong * changes
        found += changes
    assert found >= 3


def test_prose_is_no_step():
    found = list[str]()
    for episode in episodes(4, 3, LONG, Mix(days=(5,)), style="comparing"):
        for segment in episode.transcript.segments:
            if segment.role == "assistant":
                note, tag, call = segment.text.partition("<tool_call>")
                prose = "Each of the roads is ok." if note.startswith("home U ") else ""
                segment.text = prose + tag + call
        found += untrue(episode)
    assert found == []


def test_any_text_and_any_arguments_can_be_read():
    for episode in episodes(4, 6, LONG, Mix(days=(5, 7)), style="comparing"):
        draw = random.Random(episode.task.request.query)
        for _ in range(6):
            segments = [replace(segment) for segment in episode.transcript.segments]
            for segment in segments:
                if segment.role == "assistant":
                    cut = sorted(draw.choices(range(len(segment.text) + 1), k=2))
                    segment.text = segment.text[: cut[0]] + segment.text[cut[1] :]
                if segment.call is not None and draw.random() < 0.3:
                    arguments = list(segment.call.arguments.items())[1:]
                    segment.call = replace(segment.call, arguments=dict(arguments))
            written_steps(asked(episode), replace(episode.transcript, segments=segments))


def test_a_request_that_nobody_can_read_has_no_steps():
    (episode,) = episodes(4, 1, COMPACT, Mix())
    wishes = asked(episode).local_constraint.model_copy(update={"room_type": "suite"})
    query = asked(episode).model_copy(update={"local_constraint": wishes})
    assert written_steps(asked(episode), episode.transcript)
    assert written_steps(query, episode.transcript) == []
    for field, value in {"days": 10**9, "budget": 10**400}.items():
        endless = asked(episode).model_copy(update={field: value})
        assert written_steps(endless, episode.transcript) == []


def test_a_walk_that_finds_no_meal_is_true_at_the_end_of_its_rows_alone():
    mix = Mix(days=(5, 7), levels=(0, 1, 2))

    def change(text: str) -> str:
        walk, sign, rest = text.partition(": none. Eat: none.")
        rows = walk.rpartition("; ")
        return f"{rows[0]}. {walk.rpartition('. ')[2]}{sign}{rest}" if sign and rows[1] else text

    played = [e for seed in (4, 5, 6) for e in episodes(seed, 12, LONG, mix, style="comparing")]
    found = untrue_after(played, change)
    assert len(found) >= 2 and {*map(tuple, found)} == {("meal: choice",)}


def test_ways_that_are_not_there_are_no_part_of_a_trip():
    """Nobody knows what a trip is, or costs, whose way was never shown: no second wrong step."""
    episode = next(iter(episodes(4, 1, LONG, Mix(days=(5,)), style="comparing")))
    whole = written_steps(asked(episode), episode.transcript)
    note = next(s for s in episode.transcript.segments if s.text.startswith("Go: "))
    note.text = note.text.replace("Go: ", "Go: 1", 1)
    assert len(written_steps(asked(episode), episode.transcript)) == len(whole) - 2


def asked(episode: Episode) -> Query:
    return cast(Query, episode.task.request)


@pytest.fixture(scope="module")
def wished() -> Episode:
    """One whose walks have every kind of step, and more than one row for a stay."""
    return next(
        episode
        for episode in episodes(4, 60, COMPACT, Mix(levels=(0, 0, 1)))
        if {step.kind for step in written_steps(asked(episode), episode.transcript)}
        == {*KINDS} - OF_CITIES
        and " no; B " in _stay_note(episode).text
    )


def _stay_note(episode: Episode) -> Segment:
    return next(s for s in episode.transcript.segments if " Stay: " in s.text)


def with_note(episode: Episode, change: Callable[[str], str]) -> Episode:
    note = _stay_note(episode)
    changed = replace(note, text=change(note.text))
    assert changed.text != note.text
    segments = [changed if s is note else s for s in episode.transcript.segments]
    return replace(episode, transcript=replace(episode.transcript, segments=segments))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda text: text.replace(" people", "0 people").replace(" person", "0 person"), "asked"),
        (lambda text: text.replace(" no; B ", " ok; B ", 1), "row"),  # judged wrongly
        (lambda text: text.replace(" no; B ", " no; C ", 1), "row"),  # a row is left out
        (lambda text: text.replace(" no; B ", " no; Z ", 1), "row"),  # there is no such row
        (lambda text: text.replace(": A ", ": A 9", 1), "row"),  # a digit too many
        (lambda text: text.replace(". <tool_call>", "x. <tool_call>", 1), "choice"),
    ],
)
def test_what_is_not_true_is_found_where_it_stands(wished, change, kind):
    episode = with_note(wished, change)
    wrong = [s for s in written_steps(asked(wished), episode.transcript) if not s.is_true]
    assert wrong and wrong[0].kind == f"stay: {kind}"
    assert first_wrong_step(episode.record()) == {
        each: (int(each == f"stay: {kind}"), 1) for each in KINDS
    }
    counted = wrong_steps(episode.record())
    assert counted is not None and counted[f"stay: {kind}"][0] >= 1


def test_a_row_that_is_passed_over_leaves_the_choice_true():
    """The walk goes on from the row that it names."""
    changed = 0
    for episode in episodes(4, 30, COMPACT, Mix(levels=(0, 0, 1))):
        rows = _stay_note(episode).text.partition(": ")[2].partition(". Stay")[0].split("; ")
        if len(rows) > 2:
            less = with_note(episode, lambda text, r=rows: text.replace(f"{r[-2]}; ", "", 1))
            wrong = [s for s in written_steps(asked(episode), less.transcript) if not s.is_true]
            assert [step.said for step in wrong] == rows[-1:]
            changed += 1
    assert changed >= 3


@pytest.mark.parametrize(
    ("said", "kinds"),
    [(" dear", {"stay: row", "meal: row"}), (" eaten", {"meal: row"}), (" free", {"meal: asked"})],
)
def test_rows_in_any_order_are_held_to_what_was_found_before(said, kinds):
    """A row that is dear or eaten, and a meal that is free, said to be otherwise."""
    played = episodes(4, 9, dialect_named("planner_r1_steps"), Mix())
    instead = {" free": "0 free"}.get(said, " ok")
    found = untrue_after(played, lambda text: text.replace(said, instead, 1))
    assert len(found) >= 8 and {wrong[0] for wrong in found} <= kinds


def test_a_training_step_counts_them(wished):
    whole = figures([wished])
    assert whole == {"true_steps": 1.0, "first_wrong_step": {}}
    half = figures([wished, with_note(wished, lambda text: text.replace(" no; B ", " ok; B ", 1))])
    steps = len(written_steps(asked(wished), wished.transcript))
    assert half["true_steps"] == pytest.approx(1 - 1 / (2 * steps))
    assert half["first_wrong_step"] == {"stay: row": 0.5}


def test_whoever_shows_no_work_has_no_steps():
    world = World.in_memory(build_tables("nano", 4))
    tasks = [TripTask(str(n), q, world) for n, q in enumerate(make_queries(world, 3, 4, Mix()))]
    longer = replace(COMPACT, context_tokens=32_000, max_turns=99, max_calls=98)
    for policy in (RowsPolicy("first"), ExpertPolicy(STYLES["careful"])):  # no notes, prose
        played = list(play(policy, tasks, longer))
        assert len(played) == 3 and figures(played) == {}
        records = [episode.record() for episode in played]
        assert all(wrong_steps(r) is None and first_wrong_step(r) is None for r in records)

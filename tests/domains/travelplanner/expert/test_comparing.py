"""The expert that compares: it plans from answers alone, and adds up before it answers."""

import json
import re
from dataclasses import replace

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy
from tripwright.domains.travelplanner.expert.direct import comparing_turns
from tripwright.domains.travelplanner.expert.work import DEAR, OK
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.task import BUDGET_SPENT, TripTask
from tripwright.episode import Episode, play
from tripwright.world.generator import build_tables
from tripwright.world.store import World

LONG = replace(dialect_named("compact_long"), context_tokens=99_000, max_calls=98, max_turns=99)


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    """30 trips each of 3, 5 and 7 days."""
    tasks = [
        TripTask(f"{days} {number}", query, world)
        for days in (3, 5, 7)
        for seed in (21, 22, 23)
        for world in [World.in_memory(build_tables("nano", seed))]
        for number, query in enumerate(make_queries(world, 10, seed, Mix(days=(days,))))
    ]
    return list(play(ExpertPolicy(STYLES["comparing"]), tasks, LONG))


def of_days(played: list[Episode], *days: int) -> list[Episode]:
    return [episode for episode in played if episode.task.request.days in days]


def test_it_passes_nearly_all_trips(played):
    """All that fails is the budget: it compares and does not search."""
    assert all(episode.passed for episode in of_days(played, 3))
    for days in (5, 7):
        assert sum(episode.passed for episode in of_days(played, days)) >= 25
    for episode in of_days(played, 5, 7):
        if episode.verdict is not None and episode.transcript.answer is not None:
            broken = {
                name
                for group in episode.verdict.groups
                for name in group.asked
                if (group.facts or {})[name].passed is False
            }
            assert broken <= {"valid_cost"}


def test_a_budget_that_no_calculator_takes_needs_no_sum():
    world = World.in_memory(build_tables("nano", 21))
    (query,) = make_queries(world, 1, 21, Mix(days=(5,)))
    task = TripTask("rich", query.model_copy(update={"budget": 1e19}), world)
    (episode,) = play(ExpertPolicy(STYLES["comparing"]), [task], LONG)
    assert episode.passed


def test_the_sum_is_what_the_judge_charges(played):
    summed = 0
    for episode in of_days(played, 5, 7):
        sums = [call for call in episode.transcript.calls if call.name == "calculator"]
        if not sums or "measures" not in episode.more:
            continue
        left, budget = json.loads(sums[-1].result)["result"], episode.task.request.budget
        share = episode.more["measures"][BUDGET_SPENT][0]
        assert budget - left == pytest.approx(share * budget, abs=0.51)
        said = [s.text for s in episode.transcript.segments if s.role == "assistant"][-1]
        assert said.startswith(f"{left:g} left {OK if left >= 0 else DEAR}.")
        summed += 1
    assert summed >= 50


def test_nights_of_two_cities_and_of_three_begin_differently(played):
    said = {5: "", 7: ""}
    for episode in of_days(played, *said):
        texts = (s.text for s in episode.transcript.segments if s.role == "assistant")
        said[episode.task.request.days] += "".join(texts)
    assert "3 and 1; 2 and 2; 1 and 3 nights." in said[5] and " and " not in said[7]
    assert "3, 2, 1; 2, 2, 2; 1, 2, 3; 2, 3, 1; 3, 1, 2 nights." in said[7]
    assert ", 3 and 1 nights, " in said[5] and ", 3, 2, 1 nights, " in said[7]


def test_ways_are_asked_for_right_before_they_are_said(played):
    again = 0
    for episode in of_days(played, 5, 7):
        for segment in episode.transcript.segments:
            if segment.role == "assistant":
                said = [each.start() for each in re.finditer("Go: |Back: ", segment.text)]
                assert said in ([], [0])
        calls = [(call.name, json.dumps(call.arguments)) for call in episode.transcript.calls]
        again += len(calls) > len({*calls})
        once = [call for call in calls if call[0] in ("get_cities", "search_accommodations")]
        assert len({*once}) == len(once)
    assert again  # by another trip


def test_it_names_what_it_read_day_by_day(played):
    for episode in of_days(played, 5, 7):
        said = [s.text for s in episode.transcript.segments if s.role == "assistant"][-1]
        plan = said.partition(" Plan: day ")[2].partition(" <answer>")[0]
        days = [day for day in plan.split("; day ") if day]
        assert not episode.passed or [day.split()[0] for day in days] == [
            f"{day}," for day in range(1, episode.task.request.days + 1)
        ]
        for words, day in zip(days, json.loads(episode.transcript.answer or "[]"), strict=False):
            named = [*day["attraction"], day["breakfast"], day["lunch"], day["dinner"]]
            places = re.sub(r"\b(breakfast|lunch|dinner) \(.\) ", "", words).removesuffix(".")
            assert "-" in named or places.endswith(", ".join(named))
        read = "\n".join(call.result for call in episode.transcript.calls)
        for day in json.loads(episode.transcript.answer or "[]"):
            places = [day["accommodation"], day["breakfast"], day["lunch"], day["dinner"]]
            assert all(name == "-" or name in read for name in places)


def test_what_has_a_way_is_added_up_or_given_up_for_what_was_read(played):
    given_up = 0
    for episode in of_days(played, 5, 7):
        texts = [s.text for s in episode.transcript.segments if s.role == "assistant"]
        said = " ".join(texts)
        nothing = "Eat: none.", "See: none."
        for trip in said.split("Trip: ")[1:]:
            assert any(end in trip for end in ("calculator", *nothing))
        assert said.count("Back: ") - said.count(" home no.") == said.count("Trip: ")
        given_up += sum(map(said.count, nothing))
        if "Eat: none." in said:
            first = next(n for n, text in enumerate(texts) if "Eat: none." in text)
            assert any("search_restaurants" in text for text in texts[:first])
    assert given_up


def test_a_city_without_a_way_from_or_to_home_is_no_end_again(played):
    """By car, or otherwise."""
    refused = 0
    for episode in of_days(played, 5, 7):
        texts = [s.text for s in episode.transcript.segments if s.role == "assistant"]
        for family in re.split("Drive: |Fly: |Taxi: ", " ".join(texts))[1:]:
            without = re.findall(r"Go: home . no\.|Back: . home no\.", family)
            assert len({*without}) == len(without)
            refused += len(without)
    assert refused


def test_a_request_that_cannot_be_met_is_refused_in_words(played):
    task = of_days(played, 5)[0].task
    for change, why in (
        ({"dest": "Atlantis"}, "'Atlantis'"),
        ({"date": task.request.date[:3]}, "gives 3 dates"),
    ):
        query = task.request.model_copy(update=change)
        (turn,) = comparing_turns(query, task.world, LONG)
        assert turn.startswith("No plan is possible: ") and why in turn


def test_to_one_city_it_goes_as_the_expert_does(played):
    trips = of_days(played, 3)
    direct = play(ExpertPolicy(), [episode.task for episode in trips], LONG)
    for ours, theirs in zip(trips, direct, strict=True):
        assert [s.text for s in ours.transcript.segments] == [
            s.text for s in theirs.transcript.segments
        ]


def test_no_trip_is_given_up_for_its_cuisines(played):
    """A city that does not serve them is passed over before one asks for a way there."""
    refused = 0
    for episode in of_days(played, 5, 7):
        texts = [s.text for s in episode.transcript.segments if s.role == "assistant"]
        if episode.task.request.local_constraint.cuisine:
            refused += " ".join(texts).count("Eat: none.")
            assert not [text for text in texts if "Eat: none." in text and "Go: " in text]
            for trip in " ".join(texts).split("Trip: ")[1:]:
                assert "Eat: none." not in trip.partition(" left ")[0]
    assert refused

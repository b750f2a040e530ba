"""The grammar: thousands of frames, each text read back field by field by the reader that knows
nothing of the grammar."""

import random
import re
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.made import DATES, trip
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE
from tripwright.domains.travelplanner.queries.reading import mismatches
from tripwright.domains.travelplanner.queries.wording import (
    ROOM_TYPE,
    TRANSPORTATION,
    Style,
    phrases,
    unwordable,
    word_query,
)
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.world.generator import build_world
from tripwright.world.scales import CUISINES

PLACES = {"Homer": "Homeland", "Aston Mills": "Homeland", "Westland": "Eastland"}
PLACES |= {"Aston": "Westland", "St. Bede": "Westland"}


def drawn(
    rng: random.Random,
    cities: Sequence[str],
    states: Sequence[str],
    odd: bool = False,
    **given: Any,
) -> Query:
    """A structured request; `odd` ones have lengths, dates, parties and budgets that the benchmark
    never has."""
    count = rng.choice((1, 2, 3))
    days = rng.choice((1, 2, 4, 5, 7, 8, 11, 14, 18, 21)) if odd else 2 * count + 1
    first = date(2022, 3, 1) + timedelta(rng.randrange(400 if odd else 25))
    org = rng.choice(cities)
    wishes = {
        "house rule": rng.choice([None, *FORBIDDEN_BY_RULE]),
        "room type": rng.choice([None, *ROOM_TYPE]),
        "transportation": rng.choice([None, *TRANSPORTATION]),
        "cuisine": rng.choice((None, rng.sample(CUISINES, rng.randint(1, 4)))),
    }
    dest = rng.choice([city for city in cities if city != org] if count == 1 else states)
    fields: dict[str, Any] = {"org": org, "dest": dest, "days": days, "visiting_city_number": count}
    fields |= {"date": [(first + timedelta(day)).isoformat() for day in range(days)]}
    fields |= {"people_number": rng.randint(1, 40 if odd else 8)}
    fields |= {"budget": rng.randrange(100, 20_000, 10 if odd else 100)}
    if odd and rng.random() < 0.5:
        fields["budget"] = rng.randrange(10_000, 2_000_000) / 100
    asked = dict.fromkeys(wishes) if rng.random() < 0.25 else wishes
    return Query.model_validate({**fields, "local_constraint": asked, "query": "", **given})


def wrong(query: Query, style: Style, rng: random.Random, places: Gazetteer) -> list[str]:
    text = word_query(rng, query, style)
    return [f"{text}\n  {mismatch}" for mismatch in mismatches(query, text, places)]


@pytest.mark.parametrize("style", ["rich", "plain"])
@pytest.mark.parametrize("odd", [False, True])
def test_the_text_alone_gives_every_field_back(style, odd):
    rng, places = random.Random(3), Gazetteer(PLACES)
    cities, states = list(PLACES), sorted(set(PLACES.values()))
    for _ in range(250):
        assert wrong(drawn(rng, cities, states, odd), style, rng, places) == []


def test_every_name_of_the_real_world_is_read_in_every_role(real_world):
    rng, places = random.Random(4), Gazetteer(real_world.cities)
    cities, states = list(real_world.cities), list(real_world.states)
    found = []
    for name in cities:
        other = rng.choice([city for city in cities if city != name])
        for org, dest in ((name, other), (other, name)):
            ends = {"org": org, "dest": dest}
            found += wrong(drawn(rng, cities, states, **ends, **several(1)), "rich", rng, places)
    for state in states:
        found += wrong(drawn(rng, cities, states, dest=state, **several(2)), "rich", rng, places)
    assert {"St. Petersburg", "Islip", "Martha's Vineyard"} <= set(cities)
    assert found == []


def several(cities: int) -> dict[str, Any]:
    days = 2 * cities + 1
    return {"visiting_city_number": cities, "days": days, "date": DATES[:days]}


def test_the_names_of_a_generated_world_are_read(tmp_path):
    world = build_world(tmp_path / "world", "nano", 5)
    rng, places = random.Random(6), Gazetteer(world.cities)
    cities, states = list(world.cities), list(world.states)
    for _ in range(200):
        assert wrong(drawn(rng, cities, states), "rich", rng, places) == []


def test_thousands_of_frames_and_equal_seeds_give_equal_texts():
    asked = {"dest": "Westland", "people_number": 4}
    query = drawn(random.Random(1), ["Homer", "Aston"], ["Westland"], **several(2), **asked)
    texts = [word_query(random.Random(seed), query, "rich") for seed in range(1500)]
    assert len(set(texts)) > 1475
    assert texts[:50] == [word_query(random.Random(seed), query, "rich") for seed in range(50)]
    openings = {text.split(" Homer")[0][:40] for text in texts}
    assert len(openings) > 300


def test_the_grammar_says_nothing_twice_runs_on_or_leads_the_wrong_way():
    rng = random.Random(9)
    for _ in range(800):
        text = word_query(rng, drawn(rng, ["Homer", "Aston"], ["Westland"]), "rich")
        sentences = re.split(r"(?<=[.?!]) ", text)
        leads = [sentence.startswith(tuple(phrases()["lead_ins"])) for sentence in sentences]
        assert not any(both == (True, True) for both in pairwise(leads)), text
        assert all(len(re.findall(", and (we|I )", each)) < 2 for each in sentences), text
        assert not re.search(r"ending in|departing from \w+ to |starting from \w+ to ", text), text
        left = [at for at, each in enumerate(sentences) if each.startswith("Everything else")]
        people = (("us", "We"), ("me", "I"))
        said = phrases()["closings"]
        closings = {each.format(us=us, We=we) for each in said for us, we in people}
        assert all(set(sentences[at + 1 :]) <= closings for at in left), text


def test_the_phrasing_of_the_training_requests_occurs():
    dates = ["2022-03-16", "2022-03-17", "2022-03-18"]
    query = trip(date=dates, people_number=1, budget=1700)
    texts = (word_query(random.Random(seed), query, "rich") for seed in range(3000))
    said = "\n".join(texts).lower()
    phrases = """from March 16th to March 18th, 2022; between March 16th and March 18th, 2022;
        from the 16th to the 18th of March, 2022; 2022-03-16; for a single person;
        I will be traveling alone; I have no specific preferences; my new budget is adjusted to $;
        has been adjusted from $; Please help me plan a; Could you; Thank you!; spanning 3 days;
        for three days"""
    for phrase in phrases.split(";"):
        assert phrase.strip().lower() in said


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"local_constraint": {"house rule": "no smoking"}}, "'no smoking' has no wording"),
        ({"local_constraint": {"cuisine": ["Martian"]}}, "cuisine 'Martian' has no wording"),
        ({"local_constraint": {"room type": "suite"}}, "room type 'suite' has no wording"),
        ({"days": 61}, "a trip of 61 days is longer than 60"),
        ({"budget": -5}, "a budget of -5 is no amount"),
        ({"budget": 9.999}, "a budget of 9.999 is no amount"),
        ({"people_number": 100}, "more than 99 people or cities"),
    ],
)
def test_what_no_text_can_say_is_named(given, problem):
    query = drawn(random.Random(1), ["Homer", "Aston"], ["Westland"])
    assert unwordable(query) is None
    if wishes := given.get("local_constraint"):
        given = {"local_constraint": LocalConstraint.model_validate(wishes)}
    assert problem in (unwordable(query.model_copy(update=given)) or "")

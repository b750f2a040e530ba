"""Fields from a request's text: exact where the text says them, refused where it does not."""

import json
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.reading import CouldNotInfer, complete, grammar
from tripwright.domains.travelplanner.query import read_queries
from tripwright.errors import UserError
from tripwright.world.scales import CUISINES

FIELDS = "days date visiting_city_number org dest people_number budget local_constraint".split()
STATES = {"Homer": "Homeland", "Aston": "Westland", "St. Bede": "Westland", "Sayre": "Oakland"}
PLACES = Gazetteer(STATES | {"Westland": "Eastland", "Aston Mills": "Homeland"})
TRIP = "a 3-day trip from Homer to Aston from March 3rd to March 5th, 2022"


def read(text: str, **given: Any) -> dict[str, Any]:
    return complete({"query": text, **given}, PLACES).record


def wishes(text: str) -> dict[str, Any]:
    """What is asked for in a text that says everything else."""
    asked = read(f"Plan {TRIP} for 2 people with a budget of $900. {text}")["local_constraint"]
    return {kind: wish for kind, wish in asked.items() if wish is not None}


def test_every_training_request_is_read_exactly(travelplanner, real_world):
    records = read_lines(travelplanner / "queries" / "train.jsonl")
    places = Gazetteer(real_world.cities)
    assert len(records) == 45
    for record in records:
        found = complete({"query": record["query"]}, places)
        assert set(found.inferred) >= {*FIELDS} - {"local_constraint"}
        for field in FIELDS:
            assert found.record[field] == record[field], (record["idx"], field)


def test_a_given_value_wins_and_is_not_called_inferred():
    one = {"query": f"Plan {TRIP} for 2 people, $900."}
    found = complete(one | {"budget": 5, "people_number": None, "date": None}, PLACES)
    assert found.record["budget"] == 5
    assert found.record["people_number"] is None  # the official code has an answer to a null party
    assert found.record["date"] == ["2022-03-03", "2022-03-04", "2022-03-05"]
    assert not {"budget", "people_number"} & set(found.inferred)
    wishes = {"house rule", "cuisine", "room type", "transportation"}
    assert {"date", "org"} | wishes <= set(found.inferred)
    given = {"visiting_city_number": 1, "org": ["Boston"]}
    assert complete(one | given, PLACES).record["org"] == ["Boston"]


def test_a_whole_record_needs_no_text():
    record = read(f"Plan {TRIP}, $900.") | {"query": None}
    found = complete(record, PLACES)
    assert (found.record, found.inferred) == (record, ())


# field → texts and what each says, one a line
SAID = {
    "date": """
        from Homer to Aston, March 30th to April 1st, 2022 = 2022-03-30 2022-03-31 2022-04-01
        from Homer to Aston, the 3rd to the 5th of March 2022 = 2022-03-03 2022-03-04 2022-03-05
        a 3-day trip from Homer to Aston starting on March 3, 2022 = 2022-03-03 2022-03-04 2022-03-05
        from Homer to Aston, December 30th, 2022 to January 1st, 2023 = 2022-12-30 2022-12-31 2023-01-01
        from Homer to Aston, 2022-12-30 to 2023-01-01 = 2022-12-30 2022-12-31 2023-01-01
    """,  # noqa: E501
    "days": """
        from Homer to Aston between March 3 and 5, 2022 = 3
        a week-long trip from Homer to 3 cities in Westland from 2022-03-03 to 2022-03-09 = 7
    """,
    "org": """
        a 3-day trip, March 3-5, 2022. My starting point is Homer, my destination is Aston = Homer
        starting in St. Bede and heading to Aston Mills, March 3-5, 2022 = St. Bede
    """,
    "dest": """
        a 3-day trip, March 3-5, 2022. Destination: Aston. Starting point: Homer = Aston
        five days, leaving Homer for two different cities in Westland, March 3rd to 7th, 2022 = Westland
        {TRIP}, returning to Homer = Aston
        visiting Westland from Homer for 3 days, March 3-5, 2022 = Westland
        starting in St. Bede and heading to Aston Mills, March 3-5, 2022 = Aston Mills
        We live in Homer and would see 3 cities in Westland in 7 days, March 3-9, 2022, as a group of 4 = Westland
    """,  # noqa: E501
    "visiting_city_number": """
        five days from Homer for two exploring three cities in Westland, March 3-7, 2022 = 3
        seven days from Homer for two visiting cities in Westland, March 3-9, 2022 = 3
    """,
    "people_number": """
        {TRIP} for a couple = 2
        {TRIP} for a party of five = 5
        {TRIP} for two, please = 2
        {TRIP}. I travel alone = 1
        {TRIP}, please = 1
        {TRIP} for two over 3 days = 2
    """,
    "budget": """
        {TRIP}. The budget was $1,000; our new budget is $1,250.50, for 2 people = 1250.5
        {TRIP} for 1,300 dollars = 1300
        {TRIP}. The budget has been raised from $1,000 to $1,250 = 1250
        {TRIP}. My budget was revised from 1,000 dollars to 1,250 dollars = 1250
        {TRIP}. Instead of the $1,000 first planned, my revised budget is $1,250 = 1250
        {TRIP}. My budget was $1,000; my new budget is $1,250 = 1250
        {TRIP}. I now have $1,250 instead of $1,000 = 1250
    """,
}


def cases(texts_by_field: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (field, text.strip().replace("{TRIP}", TRIP))
        for field, texts in texts_by_field.items()
        for text in texts.strip().splitlines()
    ]


@pytest.mark.parametrize(("field", "said"), cases(SAID))
def test_how_things_may_be_said(field, said):
    text, expected = said.split(" = ")
    found = read(text if "$" in text or "dollars" in text else f"{text}. Budget: $900.")[field]
    assert (" ".join(found) if field == "date" else str(found)) == expected


# ---- what is refused: field → texts, one a line


UNDECIDED = {
    "budget": """
        {TRIP}
        {TRIP}, $900 or $950
        {TRIP} for $900 per person
        {TRIP} with $900 for each of us
        {TRIP}. The budget is from $800 to $900
        {TRIP}. The new budget is not $800 but $900
        {TRIP}. The new budget replaces $800 with $900
        {TRIP} for $3k
        {TRIP} for 2 people. We now owe $300 less; budget $2,000
        {TRIP} for 2 people, $1700-2000
        {TRIP} for 2 people, 1,700 to 2,000 dollars
        {TRIP} for 2 people with $1,700 excluding flights
        {TRIP} for 2 people with $900 for food
        {TRIP} for 2 people with A$900
    """,
    "date": """
        from Homer to Aston, December 31st to January 1st, 2023, $900
        3 days from Homer to Aston, $900
        a 4-day trip from Homer to Aston from March 3rd to March 5th, 2022, $900
        3 days from Homer to Aston. Leave after March 3rd, 2022, $900
        a 3-day trip from Homer to Aston, returning on March 5th, 2022, $900
        3 days from Homer to Aston from 3/3/2022 to March 5th, 2022, $900
    """,
    "days": """
        from Homer to Aston, the 31st to January 1st, 2023 or 2022-12-31, $900
        from Homer to Aston from March 3rd to March 5th, $900
        from Homer to Aston from February 27th to February 30th, 2022, $900
    """,
    "people_number": """
        Plan {TRIP} for us, $900
        {TRIP} for my wife and me, $900
        {TRIP} for a group of 4, or for 5 people, $900
        {TRIP} for 2 adults and one child, $900
        {TRIP} for two couples, $900
        {TRIP} for a couple and their two friends, $900
        {TRIP} for 2 or 3 people, $900
        {TRIP} for 2-4 people, $900
        {TRIP} with my family, $900
        {TRIP}, $900. I travel alone with my family
    """,
    "visiting_city_number": """
        4 days from Homer to Westland, March 3-6, 2022, $900
        {TRIP} for 3 adults near Sioux City, $900
        5 days from Homer to Westland, March 3-7, 2022, $900, at least 2 cities
    """,
    "org": """
        3 days from Rivendell to Aston, March 3-5, 2022, $900
        3 days from Aston Beach to Homer, March 3-5, 2022, $900
    """,
    "dest": """
        3 days from Homer to Aston or to Sayre, March 3-5, 2022, $900
        3 days from Homer to Aston, March 3-5, 2022, $900. We want to see Homer
        5 days from Homer to Westland, March 3-7, 2022, $900, not Aston
        5 days from Homer to Westland, March 3-7, 2022, $900. Avoid Aston
        5 days from Homer to Westland, March 3-7, 2022, $900. Aston is a must
        5 days from Homer to 2 cities near Aston, March 3-7, 2022, $900
    """,
}


@pytest.mark.parametrize(("field", "text"), cases(UNDECIDED))
def test_what_is_not_said_is_not_guessed(field, text):
    with pytest.raises(CouldNotInfer) as refused:
        read(text)
    assert {field, "text"} & {*refused.value.problems} and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "a 3-day " * 1000])
def test_an_empty_and_an_endless_text_are_refused_as_a_whole(text):
    with pytest.raises(CouldNotInfer, match="could not infer days, date") as refused:
        read(text)
    assert refused.value.problems == {}


def test_a_refusal_says_which_fields_and_what_was_read_all_the_same():
    with pytest.raises(CouldNotInfer) as refused:
        read(f"Plan {TRIP} for us, $900 or $950. We have pets and smoke.")
    assert set(refused.value.problems) == {"people_number", "budget", "text"}
    assert (refused.value.fields["org"], refused.value.fields["days"]) == ("Homer", 3)
    assert "people_number" not in refused.value.fields


NO_FLIGHT = {"transportation": "no flight"}
NO_DRIVING = {"transportation": "no self-driving"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We have no specific preferences about house rules, cuisine or transportation.", {}),
        ("We are open to flights, and we do not mind driving.", {}),
        ("We would prefer a journey that does not involve flying.", NO_FLIGHT),
        ("Flights are off the table.", NO_FLIGHT),
        ("We don\u2019t plan to self-drive but are open to flights.", NO_DRIVING),
        ("Please plan a journey without any flights.", NO_FLIGHT),
        ("We cannot drive, so we will not be driving on this trip.", NO_DRIVING),
        ("Rooms must not be shared.", {"room type": "not shared room"}),
        (
            "We prefer non-shared rooms that are pet-friendly.",
            {"room type": "not shared room", "house rule": "pets"},
        ),
        ("A party of 2 needs a place to host parties.", {"house rule": "parties"}),
        (
            "Guests must be allowed, and whole apartments would be nice.",
            {"house rule": "visitors", "room type": "entire room"},
        ),
        (
            "For food, we like Italian and, most of all, French. And Indian dishes too.",
            {"cuisine": ["Italian", "French", "Indian"]},
        ),
    ],
)
def test_wishes(text, expected):
    assert wishes(text) == expected


UNCLEAR = {
    "house rule": """
        Only non-smoking rooms, please.
        We bring pets and want to smoke.
        Our kids love museums.
        Smoking should not be allowed.
        Parties are forbidden.
    """,
    "cuisine": """
        We do not eat Indian food.
        We would like to see the French Quarter.
        Indian food is not to our taste.
        We dislike Chinese food.
    """,
    "room type": """
        Private rooms, or entire rooms.
        No private rooms.
        Private rooms are not needed.
        Shared rooms are not a problem.
        We do not mind sharing a room.
    """,
    "transportation": """
        Flights are not a problem.
        No flights before noon, please.
        No flights unless there is no road.
        We do not need to avoid flights.
        We will neither fly nor drive: no flights and no self-driving.
    """,
}


@pytest.mark.parametrize(("kind", "text"), cases(UNCLEAR))
def test_ambiguous_wishes_are_refused(kind, text):
    with pytest.raises(CouldNotInfer) as refused:
        wishes(text)
    assert {*refused.value.problems} <= {kind, "text"}


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("A wheelchair accessible place would be good.", ["wheelchair", "accessible"]),
        ("We travel with a baby.", ["baby"]),
        ("We do not care for the pool.", ["not", "pool"]),
        ("Bring 7 umbrellas.", ["7", "bring", "umbrellas"]),
        ("Make it $2k.", ["$", "2", "k"]),
    ],
)
def test_a_word_that_no_phrase_knows_is_named(text, unread):
    with pytest.raises(CouldNotInfer) as refused:
        wishes(text)
    for word in unread:
        assert repr(word) in refused.value.problems["text"]


def test_no_word_that_could_turn_a_wish_means_nothing():
    _, meaningless = grammar()
    turning = (
        "not no never without but except unless although though mind only if whether or nor neither"
        " instead less more before after breakfast pool public"
    )
    wished = "flight flights fly drive driving car pet pets smoking children kids visitors private"
    assert not {*meaningless} & {*turning.split(), *wished.split(), *map(str.lower, CUISINES)}


def test_the_phrase_that_holds_more_words_is_read():
    assert wishes("We would like entire rooms.") == {"room type": "entire room"}
    assert read("Starting in Homer, 3 days in Aston from 2022-03-03, $900.")["org"] == "Homer"


def test_a_record_of_the_test_split_is_read_from_its_text(tmp_path):
    """As published: where it starts and goes, its days and its text."""
    record = {"org": "Homer", "dest": "Aston", "days": 3, "level": "easy"}
    record["date"] = ["2022-03-03", "2022-03-04", "2022-03-05"]
    text = f"Plan {TRIP} for 2 people with a budget of $900. No flights, please."
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps(record | {"query": text}) + "\n")
    (query,) = read_queries(file)
    assert (query.people_number, query.budget, query.visiting_city_number) == (2, 900, 1)
    assert query.local_constraint.transportation == "no flight"

    file.write_text(json.dumps(record | {"query": f"{text} With a pool."}) + "\n")
    with pytest.raises(UserError, match="'pool'"):
        read_queries(file)

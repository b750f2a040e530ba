"""Every intent can be read out of the words again, however they were chosen, and words that say two
things are refused."""

import random
from datetime import date
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import words
from tripwright.domains.deeptravel.requests.words import (
    UnreadableRequest,
    read_request,
    word_request,
)

CITIES = "Suzhou|St. Louis|New York|Coeur d'Alene|Winston-Salem|苏州|Fond du Lac".split("|")
NAMES = (
    "Lake Inn|Hilton|the Bean|Arts and Crafts House|Cozy, quiet room near 5th Ave.|B&B O'Hare|"
    "Room for the nights|7 Days Inn|Café 24/7|While Away Lodge|Near Park"
).split("|")
CLOCKS = st.tuples(st.integers(0, 23), st.sampled_from((0, 15, 30, 59))).map(
    lambda time: f"{time[0]:02d}:{time[1]:02d}"
)
AMOUNTS = st.integers(1, 99_999_99).map(lambda cents: cents / 100) | st.integers(1, 20_000).map(
    float
)


ROUND_TRIP: dict[str, Any] = {"origin": "A", "destination": "B", "depart_date": "2026-06-26"}
ROUND_TRIP |= {"return_date": "2026-06-28"}


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


@st.composite
def requests(draw: st.DrawFn) -> TravelRequest:
    origin, destination = draw(st.permutations(CITIES))[:2]
    day = draw(st.dates(min_value=date(2022, 1, 1), max_value=date(2030, 1, 1)))
    nights = draw(st.integers(1, 14))
    shape = draw(st.sampled_from(("one_way", "stay", "dates", "nights")))
    fields: dict[str, object] = {"one_way": {}, "stay": {"nights": nights}}.get(
        shape, {"return_date": str(date.fromordinal(day.toordinal() + nights))}
    )
    if shape == "nights":
        fields = {**fields, "nights": nights}
    wishes = {
        name: draw(maybe(CLOCKS))
        for name in ("depart_after", "arrive_by", "return_after", "return_by")
    }
    names = draw(st.permutations(NAMES))
    return TravelRequest(
        origin=origin,
        destination=destination,
        depart_date=str(day),
        party_size=draw(st.integers(1, 99)),
        transport=draw(st.sampled_from((None, "flight", "train"))),
        total_budget=draw(maybe(AMOUNTS)),
        nightly_budget=draw(maybe(AMOUNTS)),
        hotel=draw(st.sampled_from((None, names[0]))),
        hotel_near=draw(st.sampled_from((None, names[1]))),
        visit=names[2 : 2 + draw(st.integers(0, 2))],
        **fields,
        **wishes,
    )


# shrinking takes minutes
QUICK = settings(
    max_examples=250, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)


@QUICK
@given(requests(), st.integers(0, 1_000_000))
def test_every_intent_is_read_out_of_the_words(request, seed):
    text = word_request(random.Random(seed), request)
    assert read_request(text) == request.model_copy(update={"query": text})


def test_equal_dice_give_equal_words_and_others_many():
    request = TravelRequest(**ROUND_TRIP, arrive_by="15:00", party_size=2)
    assert word_request(random.Random(3), request) == word_request(random.Random(3), request)
    assert len({word_request(random.Random(seed), request) for seed in range(300)}) > 290


def test_nobody_has_a_meeting_before_eight():
    request = TravelRequest(**ROUND_TRIP, return_after="05:30")
    texts = [word_request(random.Random(seed), request) for seed in range(100)]
    assert not any("meeting" in text for text in texts)
    later = request.model_copy(update={"return_after": "17:30"})
    assert any("meeting" in word_request(random.Random(seed), later) for seed in range(100))


PLAIN = "Please plan a trip from Suzhou to Wuhan on 2026-06-26, returning on 2026-06-28."


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("Take me to Wuhan.", "where from"),
        (PLAIN.replace("2026-06-28", "2026-02-30"), "day"),
        (PLAIN[: PLAIN.index("2026")] + "9999-12-31, returning after 3 nights.", "10000"),
        (f"{PLAIN} We are 3 people. There are 4 of us.", "more than one party size"),
        (f"{PLAIN} I must arrive by 15:00. I have to be there by 4 pm.", "more than one arrive by"),
        (f"{PLAIN} It has to be by train. It has to be by plane.", "more than one transport"),
        (
            f"{PLAIN} My total budget is USD 90. A room may cost up to EUR 20 a night.",
            "two currencies",
        ),
        (PLAIN.replace("2026-06-26", "Monday, June 26, 2026"), "no Monday"),
    ),
)
def test_words_that_do_not_say_one_thing_are_refused(text, problem):
    with pytest.raises(UnreadableRequest, match=problem):
        read_request(text)


@pytest.mark.parametrize(
    "changed",
    (
        {"origin": "Port to Nowhere"},
        {"hotel": 'The "Inn"'},
        {"visit": ("A", "B", "C")},
        {"return_date": "2026-06-28", "nights": 5},
        {"nights": 0},
        {"total_budget": 10.001},
        {"currency": "CNY"},
    ),
)
def test_what_no_words_can_say_gets_none(changed):
    way = {"origin": "A", "destination": "B", "depart_date": "2026-06-26"}
    request = TravelRequest(**{**way, **changed})
    for seed in range(20):
        with pytest.raises(UnreadableRequest):
            word_request(random.Random(seed), request)


def test_other_currencies_are_said_and_read():
    request = TravelRequest(
        origin="A", destination="B", depart_date="2026-06-26", currency="CNY", total_budget=1200.5
    )
    assert read_request(word_request(random.Random(1), request)).currency == "CNY"


@pytest.mark.parametrize(
    ("said", "clock"),
    (
        ("noon", "12:00"),
        ("12 am", "00:00"),
        ("12:30 pm", "12:30"),
        ("3 p.m.", "15:00"),
        ("15:00", "15:00"),
    ),
)
def test_clocks(said, clock):
    assert words.clock_read(said) == clock

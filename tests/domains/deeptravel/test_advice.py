"""An answer is written as markdown and read back as it was, in both forms, whatever its names
hold."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tripwright.domains.deeptravel.answer.advice import (
    Advice,
    AdvicePart,
    Card,
    HotelStay,
    LocalLeg,
    PlaceVisit,
    RideAdvice,
    condensed,
)
from tripwright.domains.deeptravel.answer.advice_reading import NotAdvice, read_markdown
from tripwright.domains.deeptravel.answer.advice_writing import duration, write_markdown

WORDS = st.sampled_from(
    "Ashelmont Hôtel St. O'Hare #7 (east) B&B 24/7 on at from, arrives: departs * 苏州 ~ to 19:00"
    " 12 - [x]".split()
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join).map(lambda name: f"{name} Inn")
TEXTS = st.just("") | NAMES
DAYS = st.dates(min_value=date(2022, 1, 1), max_value=date(2030, 12, 30)).map(str)
CLOCKS = st.times().map(lambda time: f"{time:%H:%M}")
CARDS = st.lists(st.builds(Card, st.integers(1, 9), st.integers(1, 60)), max_size=2).map(tuple)
NOTES = st.just("") | NAMES.map(lambda name: f"No way to {name}")
AMOUNTS = st.integers(1, 9_999_999).map(lambda cents: cents / 100)


@st.composite
def ways(draw: st.DrawFn, day: str, other: str) -> RideAdvice:
    price = draw(st.none() | AMOUNTS)
    towns = draw(st.sampled_from((("", ""), ("Suzhou", "Wuhan"), ("St. John (east)", "New York"))))
    number = draw(st.sampled_from(("G3124", "TW 214", "TW 214, TW 38", "RE 1 (4711)")))
    leaves, lands = (f"{draw(st.sampled_from((day, other)))}T{draw(CLOCKS)}" for _ in "12")
    places = draw(TEXTS), draw(TEXTS)
    minutes, mode = (
        draw(st.none() | st.integers(0, 3000)),
        draw(st.sampled_from(("flight", "train"))),
    )
    currency = "" if price is None else draw(st.sampled_from(("USD", "CNY")))
    return RideAdvice(
        number,
        mode,
        leaves,
        lands,
        minutes,
        price,
        currency,
        towns[0],
        places[0],
        towns[1],
        places[1],
        draw(TEXTS),
        draw(CARDS),
    )


@st.composite
def stays(draw: st.DrawFn) -> HotelStay:
    price = draw(st.none() | AMOUNTS)
    return HotelStay(
        draw(NAMES),
        draw(TEXTS),
        draw(TEXTS),
        price,
        "" if price is None else "USD",
        draw(TEXTS),
        draw(CARDS),
    )


LEGS = st.builds(
    LocalLeg, st.sampled_from(("driving", "walking")), AMOUNTS, TEXTS, st.none() | AMOUNTS
)
VISITS = st.builds(PlaceVisit, NAMES, TEXTS, st.none() | LEGS, TEXTS, CARDS)


@st.composite
def parts(draw: st.DrawFn, kind: str) -> AdvicePart:
    day, other = draw(DAYS), draw(DAYS)
    kinds = {
        "outbound": ways(day, other),
        "return": ways(day, other),
        "stay": stays(),
        "visits": VISITS,
    }
    items = draw(st.lists(kinds[kind], min_size=kind == "visits", max_size=2))
    if kind == "visits" and draw(st.booleans()):
        return AdvicePart("visits", items=tuple(items), note=draw(NOTES))
    return AdvicePart(kind, day, draw(st.none() | DAYS), tuple(items), draw(NOTES))


# shrinking takes minutes
QUICK = settings(
    max_examples=60, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
ADVICE = st.builds(
    Advice,
    TEXTS,
    st.tuples(
        parts("outbound"), parts("stay"), parts("return"), parts("visits"), parts("visits")
    ).flatmap(lambda all_parts: st.sampled_from([all_parts[:n] for n in range(6)])),
    st.lists(NAMES, max_size=3).map(tuple),
)


@QUICK
@given(ADVICE)
def test_what_is_written_is_read_back(advice: Advice) -> None:
    assert read_markdown(write_markdown(advice)) == advice


@QUICK
@given(ADVICE)
def test_the_compact_form_is_told_apart_and_keeps_what_it_says(advice: Advice) -> None:
    assert read_markdown(write_markdown(advice, compact=True)) == condensed(advice)
    assert condensed(condensed(advice)) == condensed(advice)


FULL = """\
From Suzhou to Wuhan on 2026-06-26 and back on 2026-06-28, for two.

### Outbound recommendations (2026-06-26)
#### G3124 train (Suzhou → Wuhan)
- **Recommendation**: departs Suzhou station 06:54, arrives Wuhan station 11:02 (4 h 8 min)
- **Price**: 233 CNY per person
- **Why**: arrives before 15:00 and is the cheapest that does
- **Evidence**: [call 1, row 3]

### Stay recommendations (2026-06-26 to 2026-06-28)
#### Lake Inn
- **Recommendation**: 4 East Road; room: double, up to 2 guests
- **Price**: 480 CNY for one room, 2 nights
- **Evidence**: [call 2, row 1], [call 4, row 1]

### Visits (2026-06-27)
#### Yellow Crane Tower
- **Way there**: 22 min driving, 9.5 km from Lake Inn
- **Evidence**: [call 5, row 1]

### Risks and alternatives
- Prices were read on 2026-06-20."""
COMPACT = """\
### Outbound (2026-06-26)
- train G3124 06:54-11:02 233 CNY [call 1, row 3]
### Stay (2026-06-26 to 2026-06-28)
- Lake Inn 480 CNY [call 2, row 1], [call 4, row 1]
### Visits (2026-06-27)
- Yellow Crane Tower, 22 min driving [call 5, row 1]
### Risks
- Prices were read on 2026-06-20."""


def test_the_two_forms_by_eye() -> None:
    advice = read_markdown(FULL)
    assert write_markdown(advice) == FULL
    assert write_markdown(advice, compact=True) == COMPACT
    (way,) = advice.of_kind("outbound")
    assert isinstance(way, RideAdvice)
    assert (way.depart_place, way.minutes, way.price, way.evidence) == (
        "Suzhou station",
        248,
        233,
        (Card(1, 3),),
    )


@pytest.mark.parametrize(
    ("arrives", "full", "compact"),
    (
        # the clock says so by itself
        ("2026-06-27T01:05", "arrives 01:05 on 2026-06-27", "23:10-01:05 90 USD"),
        # a flight to the west
        ("2026-06-26T22:40", "arrives 22:40 (", "23:10-22:40 (-1 day) 90 USD"),
        ("2026-06-27T23:40", "arrives 23:40 on 2026-06-27", "23:10-23:40 (+1 day) 90 USD"),
    ),
)
def test_an_arrival_on_another_day_says_so_where_the_clock_does_not(
    arrives: str, full: str, compact: str
) -> None:
    part = AdvicePart(
        "outbound",
        "2026-06-26",
        items=(RideAdvice("TW 1", "flight", "2026-06-26T23:10", arrives, 115, 90, "USD"),),
    )
    advice = Advice(parts=(part,))
    assert full in write_markdown(advice)
    assert f"- flight TW 1 {compact}" in write_markdown(advice, compact=True)
    assert read_markdown(write_markdown(advice, compact=True)) == condensed(advice)


def test_a_line_break_in_a_name_cannot_begin_a_part() -> None:
    part = AdvicePart(
        "stay", "2026-06-26", "2026-06-28", (HotelStay("Inn\n### Risks and alternatives\n- none"),)
    )
    read = read_markdown(write_markdown(Advice(parts=(part,))))
    assert not read.risks and len(read.parts) == 1


@pytest.mark.parametrize(
    "text",
    (
        FULL.replace("06:54", "early"),
        FULL.replace("recommendations (2026-06-26)", "recommendations"),
        FULL.replace("233 CNY per person", "about 233"),
        FULL.replace("- Prices", "Prices"),
        COMPACT.replace("train G3124 ", ""),
        FULL + "\n### Stay recommendations (2026-06-26 to 2026-06-28)",
    ),
)
def test_another_format_is_refused(text: str) -> None:
    with pytest.raises(NotAdvice):
        read_markdown(text)


def test_more_than_two_recommendations_are_found() -> None:
    part = AdvicePart("stay", "2026-06-26", items=(HotelStay("A"), HotelStay("B"), HotelStay("C")))
    assert Advice(parts=(part,)).too_many == (part,)
    assert not Advice(
        parts=(AdvicePart("stay", "2026-06-26", items=(HotelStay("A"), HotelStay("B"))),)
    ).too_many


@pytest.mark.parametrize(
    ("minutes", "said"), ((45, "45 min"), (120, "2 h"), (248, "4 h 8 min"), (0, "0 min"))
)
def test_durations(minutes: int, said: str) -> None:
    assert duration(minutes) == said


def test_a_day_that_is_none_is_not_advice() -> None:
    with pytest.raises(NotAdvice):
        read_markdown("### Outbound (2022-13-45)\n- flight F1 06:54-08:12 99 USD [call 1, row 1]")

"""Words by what they are worth to a verifier: which may be capitalised without being a name, and
which make a name of what stands beside.

A capitalised word that is neither of a tool answer, nor of the request, nor in these lists is taken
for a name, and a name needs a row. So a missing word costs a sound answer, never the other way
round.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}

NUMBERS: dict[str, int] = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * n
    for n, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}

# A run of capitalised words that holds one of these and another word is the name of something that
# can be booked or visited.
MAKES_A_NAME = set(
    "hotel inn hostel lodge suites suite resort motel guesthouse hostal pension villa palace"
    " residence residences apartments plaza tower towers airport airlines airways air railways"
    " railway museum park garden gardens cathedral church temple castle market square bridge"
    " gallery theatre theater cafe café restaurant bistro bar pavilion lighthouse zoo aquarium"
    " stadium beach terminal university library avenue street road lane boulevard".split()
)

# In small letters a word beside one of these may be a name: houses, and what they stand at.
LODGINGS = frozenset("hotel inn hostel lodge suites resort motel guesthouse hostal".split())
SITES = frozenset(
    "plaza palace park garden gardens tower towers castle cathedral villa residence pavilion market"
    " bridge lighthouse".split()
)
VENUES = (
    LODGINGS
    | SITES
    | frozenset(
        "museum gallery theatre theater cafe café restaurant bistro bar church temple zoo aquarium"
        " airlines airways".split()
    )
)
# a name may follow them: "hotel lumina"
FORENAMES = frozenset("hotel hostal café cafe restaurant bistro bar".split())
NAME_LIKE = frozenset(
    "grand royal imperial golden silver continental majestic excelsior metropole ambassador"
    " splendid astoria bristol ritz".split()
)

# Capitalised anywhere without being a name: labels, currencies, what counts and cites.
LABELS = set(
    "i ok am pm tv wifi wi-fi usd eur gbp cny jpy us day option options plan call calls row rows"
    " evidence source sources price prices why where recommendation recommendations recommended"
    " outbound return stay stays visit visits risk risks alternative alternatives flight flights"
    " train trains hotel hotels note notes tip tips step leg legs total outward homeward inbound"
    " accommodation transport transportation itinerary summary budget backup fallback route address"
    " room rating duration departure departs arrival arrives check-in check-out checkin checkout"
    " service q a b c dep arr dest mr mrs ms mx dr pp nr ref approx incl eta etd tl tldr".split()
    + list(MONTHS)
    + list(WEEKDAYS)
)

# Comforts that a row must mention before an answer may promise them.
AMENITIES = (
    "breakfast",
    "wifi",
    "wi-fi",
    "swimming pool",
    "pool",
    "gym",
    "fitness",
    "spa",
    "sauna",
    "parking",
    "free cancellation",
    "refundable",
    "airport shuttle",
    "sea view",
    "ocean view",
    "lake view",
    "river view",
    "balcony",
    "kitchen",
    "pets allowed",
    "pet-friendly",
)


@cache
def common_words() -> frozenset[str]:
    """English words that may begin a sentence or a label, or stand in a title. From a file that was
    counted from technical prose and filled up with words of travel; read on first use."""
    return frozenset(
        (Path(__file__).parent / "common_words.txt").read_text(encoding="utf-8").split()
    )


def small_numbers() -> Iterator[tuple[str, int]]:
    """Number words to ninety-nine, the longer ones first."""
    tens = [(word, value) for word, value in NUMBERS.items() if value >= 20]
    for word, value in tens:
        for unit, small in NUMBERS.items():
            if 0 < small < 10:
                yield f"{word}[ -]{unit}", value + small
    for word, value in sorted(NUMBERS.items(), key=lambda each: -len(each[0])):
        yield word, value

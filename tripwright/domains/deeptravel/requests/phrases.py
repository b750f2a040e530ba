"""Tables of phrases with slots from which travellers' requests are worded, and how each slot is
written and read (row D8).

Slots {we} {our} {us} {are} are the speaker's words. Every phrase is also a pattern:
`request_reading` finds the intents with the same tables, so that nothing can be said here which is
not read there. Two phrases for different intents must never match the same words.
"""

from __future__ import annotations

from typing import Literal

Mark = Literal["?", "."]
GREETINGS = (
    "Hello!",
    "Hi there!",
    "Good morning.",
    "Hello, I hope you can help.",
    "Hi, a quick one.",
)
CLOSINGS = (
    "Thank you!",
    "Thanks in advance.",
    "Many thanks.",
    "I look forward to your suggestions.",
    "Thanks a lot for your help.",
)
LEAD_INS = ("Also, ", "In addition, ", "Besides, ", "Another thing: ")

# (words before "a trip", what ends the sentence)
ASKS: tuple[tuple[str, Mark], ...] = (
    ("Please plan", "."),
    ("Please arrange", "."),
    ("Please help {us} plan", "."),
    ("Please put together", "."),
    ("Could you plan", "?"),
    ("Could you arrange", "?"),
    ("Could you help {us} organise", "?"),
    ("Can you set up", "?"),
    ("Can you put together", "?"),
    ("Would you arrange", "?"),
    ("{We} need", "."),
    ("{We} would like", "."),
    ("{We} {are} looking for", "."),
    ("Find {us}", "."),
)
NOUNS = (
    "a trip",
    "a business trip",
    "a journey",
    "travel arrangements",
    "a travel plan",
    "an itinerary for a trip",
)
GOING = (
    "{We} need to travel",
    "{We} have to get",
    "{We} will be travelling",
    "{We} {are} going",
    "{We} plan to go",
    "{We} would like to go",
)
ROUTES = ("from {org} to {dest}", "to {dest} from {org}")

# When, by shape. {depart} and {back} are days, {nights} a number of nights ("three nights").
WHEN_ONE_WAY = (
    "on {depart}, one way",
    "on {depart}, one way only",
    "one way on {depart}",
    "on {depart} with no return needed",
)
WHEN_STAY = (
    "on {depart}, staying {nights}, with no return needed",
    "one way on {depart}, with a hotel for {nights}",
    "on {depart}, one way, with a stay of {nights}",
)
WHEN_BACK = (
    "from {depart} to {back}",
    "from {depart} until {back}",
    "leaving on {depart} and returning on {back}",
    "leaving on {depart} and coming back on {back}",
    "on {depart}, returning on {back}",
    "on {depart}, with the return on {back}",
    "departing {depart} and back home on {back}",
)
WHEN_NIGHTS = (
    "on {depart} for {nights} and back again",
    "on {depart}, returning after {nights}",
    "leaving on {depart} and coming back after {nights}",
    "for {nights} from {depart}, there and back",
)

# The party; nobody who names no company travels in one.
ALONE_CLAUSE = ("I am travelling alone", "It is just me", "The trip is for one person")
PARTY_INLINE = ("for {n} people", "for a group of {n}", "for {n} travellers", "for a party of {n}")
PARTY_GOING = ("as a group of {n}", "as a party of {n}")  # after the verb
PARTY_CLAUSE = (
    "There are {n} of us",
    "We are {n} people",
    "We will be {n} travellers",
    "The trip is for {n} people",
    "We travel as a party of {n}",
)

# Wishes. {t} is a clock time, {usd} an amount, {hotel} and {place} names.
WISHES: dict[str, tuple[str, ...]] = {
    "flight": (
        "{We} want to fly both ways",
        "{We} would rather fly than take the train",
        "Flights only, please",
        "It has to be by plane",
        "{We} prefer to go by air",
    ),
    "train": (
        "{We} want to go by rail",
        "{We} would rather take the train than fly",
        "Trains only, please",
        "It has to be by train",
        "{We} do not fly, so please only trains",
    ),
    "depart_after": (
        "{We} cannot set off before {t}",
        "{We} can only set off after {t}",
        "The outbound departure must not be before {t}",
        "{We} {are} busy until {t} on the day of departure",
        "Please nothing that leaves before {t} on the way there",
    ),
    "arrive_by": (
        "{We} must arrive by {t}",
        "{We} have to be there by {t}",
        "{We} have an appointment there at {t} on the day of arrival and must not be late",
        "The outbound arrival must not be after {t}",
        "{We} should get there no later than {t}",
    ),
    "return_after": (
        "On the way back {we} cannot leave before {t}",
        "For the return, nothing before {t}, please",
        "{Our} last meeting ends at {t} on the day {we} come back, so the return must leave later",
        "The return departure must not be before {t}",
    ),
    "return_by": (
        "{We} have to be home by {t}",
        "{We} need to be back home no later than {t} on the last day",
        "The return arrival must not be after {t}",
        "On the last day {we} want to be home by {t}",
    ),
    "total_budget": (
        "{Our} total budget is {usd}",
        "Everything together must not cost more than {usd}",
        "{We} can spend at most {usd} on transport and hotel in all",
        "The whole trip should stay within {usd}",
        "{We} have {usd} for everything",
    ),
    "nightly_budget": (
        "The hotel should cost at most {usd} a night",
        "{We} do not want to pay more than {usd} per night for the room",
        "A room may cost up to {usd} a night",
        "For the hotel, {usd} per night is the limit",
    ),
    "hotel": (
        "{We} want to stay at {hotel}",
        "Please book {hotel} for the nights there",
        "The hotel should be {hotel}",
        "As for the hotel, {we} would like {hotel}",
    ),
    "hotel_near": (
        "The hotel should be near {place}",
        "{We} would like to sleep close to {place}",
        "Please find a hotel close to {place}",
        "A hotel in walking or short driving distance of {place} would be best",
    ),
    "visit": (
        "{We} want to see {place}",
        "{We} would like to visit {place} while {we} {are} there",
        "Please include a visit to {place} and say how to get there",
        "{We} would not want to miss {place}",
    ),
    "visit_two": (
        "{We} want to see {place} and {place2}",
        "{We} would like to visit {place} and {place2} while {we} {are} there",
        "Please include visits to {place} and {place2} and say how to get to each",
        "Two places {we} would not want to miss are {place} and {place2}",
    ),
}
# phrases with these words are for hours when people work
BY_DAY = ("meeting", "appointment", "busy")
# these begin a sentence
UNJOINED = (
    "Please",
    "On the way",
    "Trains",
    "Flights",
    "For the",
    "As for",
    "Two places",
    "On the last",
)

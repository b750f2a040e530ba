"""How a text for travellers tells a journey → the official transportation text. "Flight [F12] from
A to B | Departure: 08:00", "Drive from A to B (5h 40m, $30)", "Depart from A on Flight [F12] at
17:48, arriving in B at 19:56."

The subtle thing is where a city's name ends: 'St. Petersburg' holds a full stop and 'Reno(Nevada)'
a parenthesis, so a sentence ends a name only before a word that begins a detail, and a parenthesis
only after a blank. A mode nobody sells tickets for ('Train') is kept as written, so that the judge
sees it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class UnreadableItinerary(ValueError):
    """A line that is not understood; the message says what is missing, the caller quotes the
    line."""


@dataclass(frozen=True)
class ItineraryJourney:
    origin: str
    destination: str
    text: str  # as the official format writes it


_END = (
    r"(?=\s*(?:[\[|,;]|\s\(|$|\.$|\s[-–—]\s|\.\s+(?:cost|price|duration|distance|depart|arriv|flight|avg|total|check)"
    r"|\s(?:on|at|by|via|with|for|using|in|depart\w*|arriv\w*|leaving)\s))"
)
_CITY = r"[^\s|,;\[\]()$][^|,;\[\]$]*?"
_FROM_TO = re.compile(rf"\bfrom ({_CITY}) to ({_CITY}){_END}", re.IGNORECASE)
_DEPART_ARRIVE = re.compile(
    rf"\b(?>depart(?:ing|ure)? (?:from )?({_CITY}) (?:on|by|via|with|aboard) ).*?\barriv\w+"
    rf" (?:in|at) ({_CITY}){_END}",
    re.IGNORECASE,
)
_ARROW = re.compile(rf"({_CITY}) ?(?:→|->|–>) ?({_CITY}){_END}")
_MODES = {
    "flight": re.compile(r"\b(?:flight|fly|flying|plane)\b", re.IGNORECASE),
    "Taxi": re.compile(r"\b(?:taxi|cab)\b", re.IGNORECASE),
    "Self-driving": re.compile(r"\b(?:self[- ]driv\w+|drive|driving|own car)\b", re.IGNORECASE),
}
_OTHER_MODE = re.compile(r"\b(train|bus|ferry|boat|shuttle|coach|subway|walk)\b", re.IGNORECASE)
_FLIGHT_NUMBER = re.compile(
    r"\bflight(?: number| no\.?)?:?"
    r" ?(?:\[([^\[\]]+)\]|#?([A-Z]{1,3}\d+)\b)|\[([A-Z]{1,3}\d+)\]|\b([A-Z]{1,2}\d{3,})\b",
    re.IGNORECASE,
)
FARE = "Fare per person"
_TIME = r"\d{1,2}:\d{2}(?: ?[AaPp]\.?[Mm]\b\.?)?"
_DEPARTURE = re.compile(
    rf"\b(?:departure|depart\w*|leav\w+)(?: time)?:? (?:at )?({_TIME})", re.IGNORECASE
)
_ARRIVAL = re.compile(
    rf"\barriv\w+(?: time)?:? (?:(?:in|at) [^|]*?\bat |at )?({_TIME})", re.IGNORECASE
)
_DEPART_AT = re.compile(rf"\bat ({_TIME})(?=.*\barriv)", re.IGNORECASE)
_SPAN = re.compile(rf"({_TIME}) ?(?:-|–|—|→|to) ?({_TIME})")
_DURATION = re.compile(
    r"\b(\d+ ?(?:hours?|hrs?|h)\b(?: ?\d+ ?(?:minutes?|mins?|m)\b)?|\d+ ?(?:minutes?|mins?)\b)",
    re.IGNORECASE,
)
_DISTANCE = re.compile(r"\b(\d[\d,.]* ?(?:km|miles|mi)\b)", re.IGNORECASE)
_MONEY = re.compile(r"\\?\$ ?(\d[\d,]*(?:\.\d+)?)|\bcost: ?(\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)


def plain(text: str) -> str:
    """Without emphasis and repeated blanks: for everything but names, which keep every
    character."""
    return " ".join(text.replace("**", "").replace("__", "").split())


def names_a_journey(text: str) -> bool:
    words = plain(text)
    return bool(_FROM_TO.search(words) or _DEPART_ARRIVE.search(words) or _ARROW.search(words))


def read_route(text: str) -> tuple[str, str] | None:
    """'from A to B', 'A to B' or 'A → B', and nothing else."""
    route = plain(text)
    match = re.fullmatch(r"(?:from )?(.+?)(?: to | ?(?:→|->|–>) ?)(.+)", route, re.IGNORECASE)
    if not match or re.search(r" to |→|->", match[2]) or re.search(r"[|,;\[\]]", route):
        return None
    return match[1], match[2]


def read_journey(text: str) -> ItineraryJourney:
    words = plain(text)
    mode = _mode(words)
    origin, destination = _route(words, mode)
    route = f"from {origin} to {destination}"
    if mode == "flight":
        return ItineraryJourney(
            origin,
            destination,
            f"Flight Number: {_flight_number(words)}, {route}{_times(words)}{_fare(words)}",
        )
    return ItineraryJourney(origin, destination, f"{mode}, {route}{_road_details(words)}")


def _mode(text: str) -> str:
    modes = [mode for mode, words in _MODES.items() if words.search(text)]
    if len(modes) > 1:
        raise UnreadableItinerary("names two ways of travelling")
    if modes:
        return modes[0]
    if other := _OTHER_MODE.search(text):
        return other[1].capitalize()
    raise UnreadableItinerary("does not say how: by flight, taxi or self-driving")


def _route(text: str, mode: str) -> tuple[str, str]:
    match = _FROM_TO.search(text) or _DEPART_ARRIVE.search(text)
    if not match:
        bare = _FLIGHT_NUMBER.sub(" ", text)
        for words in (_MODES.get(mode, _OTHER_MODE), re.compile(r"^\W+")):
            bare = words.sub("", bare)
        match = _ARROW.match(bare.strip())
    if not match:
        raise UnreadableItinerary("does not say from where to where")
    origin, destination = match[1].strip(), match[2].strip()
    if re.search(r" to |→|->", destination):
        raise UnreadableItinerary("names more than two cities")
    return origin, destination


def _flight_number(text: str) -> str:
    """Empty where none is given: still a flight, and one that no table holds."""
    numbers = {
        next(group for group in match.groups() if group) for match in _FLIGHT_NUMBER.finditer(text)
    }
    if len(numbers) > 1:
        raise UnreadableItinerary(f"names several flights ({', '.join(sorted(numbers))})")
    return numbers.pop() if numbers else ""


def _times(text: str) -> str:
    departure, arrival, span = (
        _DEPARTURE.search(text) or _DEPART_AT.search(text),
        _ARRIVAL.search(text),
        _SPAN.search(text),
    )
    if not departure and not arrival and span:
        return f", Departure Time: {span[1]}, Arrival Time: {span[2]}"
    times = (("Departure Time", departure), ("Arrival Time", arrival))
    return "".join(f", {label}: {match[1]}" for label, match in times if match)


def _segments(text: str) -> dict[str, str]:
    """'… | Duration: 2 hours | …' → {'duration': '2 hours'}: our own rendering, and the layouts
    that follow it."""
    pairs = (segment.partition(": ") for segment in text.split(" | ")[1:])
    return {key.strip().lower(): value.strip() for key, colon, value in pairs if colon}


def _fare(text: str) -> str:
    """What our own rendering says of a flight. A bare '$542' elsewhere may be the whole party's,
    and is not read."""
    segments = _segments(text)
    fare = segments.get(FARE.lower(), "").removeprefix("$")
    if not fare.isdigit() or not segments.get("duration") or not segments.get("distance"):
        return ""
    return f", duration: {segments['duration']}, distance: {segments['distance']}, cost: {fare}"


def _road_details(text: str) -> str:
    claims = {
        key: value for key, value in _segments(text).items() if key in ("duration", "distance")
    }
    for key, pattern in (("duration", _DURATION), ("distance", _DISTANCE)):
        if key not in claims and (match := pattern.search(text)):
            claims[key] = match[1]
    if money := _MONEY.search(text):
        claims["cost"] = (money[1] or money[2]).replace(",", "")
    return "".join(
        f", {key}: {claims[key]}" for key in ("duration", "distance", "cost") if key in claims
    )

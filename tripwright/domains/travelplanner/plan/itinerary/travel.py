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


class Unreadable(ValueError):
    """A line that is not understood; the message says what is missing, the caller quotes the
    line."""


@dataclass(frozen=True)
class Journey:
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
    said = plain(text)
    return bool(_FROM_TO.search(said) or _DEPART_ARRIVE.search(said) or _ARROW.search(said))


def read_route(text: str) -> tuple[str, str] | None:
    """'from A to B', 'A to B' or 'A → B', and nothing else."""
    said = plain(text)
    found = re.fullmatch(r"(?:from )?(.+?)(?: to | ?(?:→|->|–>) ?)(.+)", said, re.IGNORECASE)
    if not found or re.search(r" to |→|->", found[2]) or re.search(r"[|,;\[\]]", said):
        return None
    return found[1], found[2]


def read_journey(text: str) -> Journey:
    said = plain(text)
    mode = _mode(said)
    origin, destination = _route(said, mode)
    route = f"from {origin} to {destination}"
    if mode == "flight":
        return Journey(
            origin,
            destination,
            f"Flight Number: {_flight_number(said)}, {route}{_times(said)}{_fare(said)}",
        )
    return Journey(origin, destination, f"{mode}, {route}{_road_details(said)}")


def _mode(said: str) -> str:
    modes = [mode for mode, words in _MODES.items() if words.search(said)]
    if len(modes) > 1:
        raise Unreadable("names two ways of travelling")
    if modes:
        return modes[0]
    if other := _OTHER_MODE.search(said):
        return other[1].capitalize()
    raise Unreadable("does not say how: by flight, taxi or self-driving")


def _route(said: str, mode: str) -> tuple[str, str]:
    found = _FROM_TO.search(said) or _DEPART_ARRIVE.search(said)
    if not found:
        bare = _FLIGHT_NUMBER.sub(" ", said)
        for words in (_MODES.get(mode, _OTHER_MODE), re.compile(r"^\W+")):
            bare = words.sub("", bare)
        found = _ARROW.match(bare.strip())
    if not found:
        raise Unreadable("does not say from where to where")
    origin, destination = found[1].strip(), found[2].strip()
    if re.search(r" to |→|->", destination):
        raise Unreadable("names more than two cities")
    return origin, destination


def _flight_number(said: str) -> str:
    """Empty where none is given: still a flight, and one that no table holds."""
    found = {
        next(group for group in match.groups() if group) for match in _FLIGHT_NUMBER.finditer(said)
    }
    if len(found) > 1:
        raise Unreadable(f"names several flights ({', '.join(sorted(found))})")
    return found.pop() if found else ""


def _times(said: str) -> str:
    departure, arrival, span = (
        _DEPARTURE.search(said) or _DEPART_AT.search(said),
        _ARRIVAL.search(said),
        _SPAN.search(said),
    )
    if not departure and not arrival and span:
        return f", Departure Time: {span[1]}, Arrival Time: {span[2]}"
    times = (("Departure Time", departure), ("Arrival Time", arrival))
    return "".join(f", {label}: {found[1]}" for label, found in times if found)


def _segments(said: str) -> dict[str, str]:
    """'… | Duration: 2 hours | …' → {'duration': '2 hours'}: our own rendering, and the layouts
    that follow it."""
    pairs = (segment.partition(": ") for segment in said.split(" | ")[1:])
    return {key.strip().lower(): value.strip() for key, colon, value in pairs if colon}


def _fare(said: str) -> str:
    """What our own rendering says of a flight. A bare '$542' elsewhere may be the whole party's,
    and is not read."""
    stated = _segments(said)
    fare = stated.get(FARE.lower(), "").removeprefix("$")
    if not fare.isdigit() or not stated.get("duration") or not stated.get("distance"):
        return ""
    return f", duration: {stated['duration']}, distance: {stated['distance']}, cost: {fare}"


def _road_details(said: str) -> str:
    stated = {
        key: value for key, value in _segments(said).items() if key in ("duration", "distance")
    }
    for key, pattern in (("duration", _DURATION), ("distance", _DISTANCE)):
        if key not in stated and (found := pattern.search(said)):
            stated[key] = found[1]
    if money := _MONEY.search(said):
        stated["cost"] = (money[1] or money[2]).replace(",", "")
    return "".join(
        f", {key}: {stated[key]}" for key in ("duration", "distance", "cost") if key in stated
    )

"""The words of a traveller's request: written by a grammar, and read back by the same tables (row
D8).

Slots {we} {our} {us} {are} are the speaker's words. Every phrase is also a pattern by which the
reader finds the intents, so that nothing can be said here which is not read. Two phrases for
different intents must never match the same words. A text that the grammar did not write may still
be read, as a person may edit one; where it says one intent twice, or lacks one that every request
has, it is refused and not guessed at.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date as Date
from functools import cache
from typing import Any, Literal, get_args

from pydantic import ValidationError

from tripwright.domains.deeptravel.request import Transport, TravelRequest
from tripwright.domains.deeptravel.requests.intents import nights_of, shape_of
from tripwright.domains.wording import MONTHS, NUMBERS, TOGETHER, capitalised, ordinal, speaker

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


# ---- slots: each is written in several ways, and every one of them is read

_MONTH = "|".join(MONTHS)
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAY = rf"(?:(?:{'|'.join(_WEEKDAYS)}), )?"
DAY = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|{_WEEKDAY}(?:(?:{_MONTH}) {_ORDINAL}, \d{{4}}|{_ORDINAL} (?:of"
    rf" )?(?:{_MONTH}) \d{{4}}))"
)
NUMBER = rf"(?:\d{{1,2}}|{'|'.join(NUMBERS)})"
NIGHTS = rf"(?:{NUMBER} nights?)"
CLOCK = r"(?:\d{1,2}:\d{2}(?: [ap]m)?|\d{1,2} [ap]\.?m\.?|noon)"
USD = r"(?:\$[\d,]+(?:\.\d{2})?|(?:[A-Z]{3}) [\d,]+(?:\.\d{2})?|[\d,]+(?:\.\d{2})? dollars)"
_CAPITAL, _WORD = r"[^\W_a-z]", r"[\w'’&/+-]"  # a name begins with a capital or a digit
_NOT_IN_NAMES = r"(?!(?i:and|while|would be best|for the nights)\b)"
_BARE = rf"{_CAPITAL}{_WORD}*(?: {_NOT_IN_NAMES}{_WORD}+)*"
NAME = rf"(?:\"[^\"]+\"|{_BARE}?)"
_NOT_IN_CITIES = r"(?!(?:to|from|on|one|leaving|departing|for|until)\b)"
CITY = rf"(?:{_CAPITAL}[\w'’.&/-]*(?: {_NOT_IN_CITIES}[\w'’.&/-]+)*?)"

SLOTS = {
    "org": CITY,
    "dest": CITY,
    "depart": DAY,
    "back": DAY,
    "nights": NIGHTS,
    "n": NUMBER,
    "t": CLOCK,
    "usd": USD,
    "hotel": NAME,
    "place": NAME,
    "place2": NAME,
}
_ALONE = speaker(1)
_VOICE = {slot: f"(?:{word}|{_ALONE[slot]})" for slot, word in TOGETHER.items()}
_VOICE |= {capitalised(slot): f"(?i:{found})" for slot, found in _VOICE.items()}


def voiced(phrase: str, party_size: int) -> str:
    """The phrase with the speaker's words; its other slots stay."""
    for slot, word in speaker(party_size).items():
        phrase = phrase.replace(f"{{{slot}}}", word).replace(
            f"{{{capitalised(slot)}}}", capitalised(word)
        )
    return phrase


def pattern(phrase: str) -> str:
    """A regular expression for everything that the phrase can say, in a group for each of its
    slots."""
    parts = re.split(r"\{(\w+)\}", phrase)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [_VOICE.get(slot) or f"(?P<{slot}>{SLOTS[slot]})" for slot in parts[1::2]]
    return "".join(parts)


def day_said(rng: random.Random, day: str) -> str:
    date = Date.fromisoformat(day)
    month = MONTHS[date.month - 1]
    weekday = f"{_WEEKDAYS[date.weekday()]}, " if rng.random() < 0.15 else ""
    ways = (
        f"{weekday}{month} {date.day}, {date.year}",
        f"{weekday}{month} {ordinal(date.day)}, {date.year}",
        f"{weekday}{date.day} {month} {date.year}",
        f"the {ordinal(date.day)} of {month} {date.year}".removeprefix("the "),
        day,
    )
    return rng.choice(ways)


def day_read(text: str) -> str:
    """Raises ValueError for a day that is in no calendar, or that is not the day of the week it is
    said to be."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return Date.fromisoformat(text).isoformat()
    month = next(number for number, name in enumerate(MONTHS, start=1) if name in text)
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    date = Date(max(numbers), month, min(numbers))
    weekday, comma, _ = text.partition(", ")
    if comma and weekday in _WEEKDAYS and weekday != _WEEKDAYS[date.weekday()]:
        raise ValueError(f"{date} is no {weekday}")
    return date.isoformat()


def number_said(rng: random.Random, count: int) -> str:
    return NUMBERS[count - 1] if 0 < count <= len(NUMBERS) and rng.random() < 0.5 else str(count)


def number_read(text: str) -> int:
    return NUMBERS.index(text) + 1 if text in NUMBERS else int(text)


def nights_said(rng: random.Random, count: int) -> str:
    return f"{number_said(rng, count)} night{'s' * (count != 1)}"


def clock_said(rng: random.Random, clock: str) -> str:
    hour, minute = int(clock[:2]), int(clock[3:])
    if clock == "12:00" and rng.random() < 0.4:
        return "noon"
    half, on_dial = "pm" if hour >= 12 else "am", hour % 12 or 12
    if minute == 0 and rng.random() < 0.4:
        return f"{on_dial} {half}"
    return f"{on_dial}:{minute:02d} {half}" if rng.random() < 0.4 else clock


def clock_read(text: str) -> str:
    if text == "noon":
        return "12:00"
    hour, minute = (int(digits) for digits in (re.findall(r"\d+", text) + ["0"])[:2])
    if "m" in text:
        hour = hour % 12 + 12 * ("p" in text)
    return f"{hour:02d}:{minute:02d}"


def money_said(rng: random.Random, value: float, currency: str) -> str:
    amount = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
    if currency != "USD":
        return f"{currency} {amount}"
    return rng.choice((f"${amount}", f"${amount}", f"USD {amount}", f"{amount} dollars"))


def money_read(text: str) -> tuple[float, str]:
    currency = re.search(r"\b[A-Z]{3}\b", text)
    return float(re.sub(r"[^\d.]", "", text)), currency[0] if currency else "USD"


def name_said(name: str) -> str:
    """In quotation marks where the words alone would not say where it ends."""
    return name if re.fullmatch(_BARE, name) else f'"{name}"'


def name_read(text: str) -> str:
    return text.strip('"')


# ---- writing

LONGEST_NAME = 120
FIRST_HOUR, LAST_HOUR = "08:00", "20:00"  # of a meeting


def word_request(rng: random.Random, request: TravelRequest) -> str:
    """One text for these intents. Equal states of `rng` give equal texts. Raises ValueError for
    what `unwordable` names."""
    if problem := unwordable(request):
        raise ValueError(problem)
    main, clauses = _main(rng, request)
    wishes = [_clause(rng, request, phrases, words) for phrases, words in _wished(rng, request)]
    rng.shuffle(wishes)
    mixed = clauses and rng.random() < 0.3
    sentences = [*clauses, *_joined(rng, wishes)]
    if mixed:
        rng.shuffle(sentences)
    texts = [main, *sentences] if rng.random() < 0.85 else _main_last(rng, main, sentences)
    if rng.random() < 0.15:
        texts.insert(0, rng.choice(GREETINGS))
    if rng.random() < 0.2:
        texts.append(rng.choice(CLOSINGS))
    return " ".join(texts)


def unwordable(request: TravelRequest) -> str | None:
    """Why the grammar cannot say this request, None where it can."""
    for city in (request.origin, request.destination):
        if not re.fullmatch(CITY, city):
            return f"the name of the city {city[:60]!r} cannot be told from the words around it"
    names = [request.hotel, request.hotel_near, *request.visit]
    if bad := next(
        (
            name
            for name in names
            if name and ('"' in name or not name.strip() or len(name) > LONGEST_NAME)
        ),
        None,
    ):
        return f"the name {bad[:60]!r} has quotation marks or is too long"
    if len(request.visit) > 2:
        return "more than two places to visit"
    if request.return_date is not None and nights_of(request) != nights_of(
        request.model_copy(update={"nights": None})
    ):
        return "the nights are not those between the two days"
    if (request.return_date is None and request.nights == 0) or nights_of(request) < 0:
        return "a stay of no nights"
    return _odd_budget(request)


def _odd_budget(request: TravelRequest) -> str | None:
    budgets = [
        budget for budget in (request.total_budget, request.nightly_budget) if budget is not None
    ]
    if any(round(budget, 2) != budget or budget > 999_999_999 for budget in budgets):
        return "a budget is no amount in whole cents"
    if request.currency != "USD" and not budgets:
        return "a currency other than USD, without a budget to say it in"
    return None


def _main(rng: random.Random, request: TravelRequest) -> tuple[str, list[str]]:
    """The sentence with the route and the days, and those that the party may need besides."""
    values = {
        "org": request.origin,
        "dest": request.destination,
        "depart": day_said(rng, request.depart_date),
    }
    shape = shape_of(request)
    if shape == "one_way":
        when = rng.choice(WHEN_ONE_WAY)
    elif shape == "one_way_stay":
        when, values["nights"] = rng.choice(WHEN_STAY), nights_said(rng, nights_of(request))
    elif request.nights is not None:
        when, values["nights"] = rng.choice(WHEN_NIGHTS), nights_said(rng, request.nights)
    else:
        assert request.return_date is not None
        when, values["back"] = rng.choice(WHEN_BACK), day_said(rng, request.return_date)
    going = rng.random() < 0.35
    start, end = (rng.choice(GOING), ".") if going else _ask(rng)
    party, clauses = _party(rng, request.party_size, PARTY_GOING if going else PARTY_INLINE)
    phrase = " ".join(filter(None, (start, party, rng.choice(ROUTES), when)))
    return voiced(phrase, request.party_size).format(**values) + end, clauses


def _ask(rng: random.Random) -> tuple[str, str]:
    ask, end = rng.choice(ASKS)
    return f"{ask} {rng.choice(NOUNS)}", end


def _party(rng: random.Random, party_size: int, inline: tuple[str, ...]) -> tuple[str, list[str]]:
    """Words for the main sentence, or a sentence of its own; for one person often neither."""
    if party_size == 1:
        return "", [f"{rng.choice(ALONE_CLAUSE)}."] if rng.random() < 0.3 else []
    n = number_said(rng, party_size)
    if rng.random() < 0.6:
        return rng.choice(inline).format(n=n), []
    return "", [f"{rng.choice(PARTY_CLAUSE).format(n=n)}."]


def _wished(rng: random.Random, request: TravelRequest) -> list[tuple[str, dict[str, str]]]:
    """The table of phrases for each wish, and what goes into its slots."""
    wishes: list[tuple[str, dict[str, str]]] = []
    if request.transport:
        wishes.append((request.transport, {}))
    for wish in ("depart_after", "arrive_by", "return_after", "return_by"):
        if clock := getattr(request, wish):
            wishes.append((wish, {"t": clock_said(rng, clock)}))
    for wish in ("total_budget", "nightly_budget"):
        if (budget := getattr(request, wish)) is not None:
            wishes.append((wish, {"usd": money_said(rng, budget, request.currency)}))
    if request.hotel:
        wishes.append(("hotel", {"hotel": name_said(request.hotel)}))
    if request.hotel_near:
        wishes.append(("hotel_near", {"place": name_said(request.hotel_near)}))
    if request.visit:
        names = dict(zip(("place", "place2"), map(name_said, request.visit), strict=False))
        wishes.append(("visit" if len(names) == 1 else "visit_two", names))
    return wishes


def _clause(rng: random.Random, request: TravelRequest, phrases: str, words: dict[str, str]) -> str:
    table = WISHES[phrases]
    if "t" in words and not FIRST_HOUR <= clock_read(words["t"]) <= LAST_HOUR:
        table = tuple(phrase for phrase in table if not any(word in phrase for word in BY_DAY))
    return voiced(rng.choice(table), request.party_size).format(**words)


def _joined(rng: random.Random, wishes: list[str]) -> list[str]:
    """The wishes as sentences: some with a word to lead in, some two in one."""
    sentences: list[str] = []
    for wish in wishes:
        before = sentences[-1] if sentences else ""
        may_join = not wish.startswith(UNJOINED)
        joinable = may_join and before and ", and " not in before and rng.random() < 0.3
        if joinable:
            sentences[-1] = f"{before[:-1]}, and {_lower(wish)}."
        elif rng.random() < 0.15 and may_join:
            sentences.append(f"{rng.choice(LEAD_INS)}{_lower(wish)}.")
        else:
            sentences.append(f"{wish}.")
    return sentences


def _lower(sentence: str) -> str:
    return sentence if sentence.startswith(("I ", "I'")) else sentence[0].lower() + sentence[1:]


def _main_last(rng: random.Random, main: str, sentences: list[str]) -> list[str]:
    """Somebody may begin with what matters to them."""
    place = rng.randint(0, len(sentences))
    return [*sentences[:place], main, *sentences[place:]]


# ---- reading

_END = r"(?=[.,;?!](?:\s|$)|$| and say | for the nights | while | would be best)"
_OF_ROUTE = {  # slot → field
    "org": "origin",
    "dest": "destination",
    "depart": "depart_date",
    "back": "return_date",
    "nights": "nights",
}
_NAMES = ("{hotel}", "{place}", "{place2}")
_PARTIES = (*PARTY_INLINE, *PARTY_GOING, *PARTY_CLAUSE)


class UnreadableRequest(ValueError):
    """What the words do not say, or say twice."""


def read_request(text: str) -> TravelRequest:
    """The request that the words ask for, without id and level. Raises Unreadable."""
    match, is_back = _route(text)
    groups = match.groupdict()
    fields: dict[str, Any] = {
        "origin": groups["org"],
        "destination": groups["dest"],
        "party_size": _party_read(text),
        "query": text,
    }
    try:
        fields["depart_date"] = day_read(groups["depart"])
        if groups.get("nights"):
            fields["nights"] = number_read(groups["nights"].split()[0])
        if groups.get("back"):
            fields["return_date"] = day_read(groups["back"])
        elif "nights" in fields and is_back:
            fields["return_date"] = Date.fromordinal(
                Date.fromisoformat(fields["depart_date"]).toordinal() + fields["nights"]
            ).isoformat()
        for kind in WISHES:
            fields |= _wish(text, kind, fields)
        return TravelRequest(**fields)
    except ValidationError as error:
        raise UnreadableRequest(error.errors()[0]["msg"]) from None
    except ValueError as error:
        raise UnreadableRequest(str(error)) from None


def read_where(text: str) -> Iterator[tuple[int, int, str]]:
    """Which characters of a text that can be read say which field: cities and days alone, parties
    and wishes with the words around them. Raises UnreadableRequest."""
    match, _ = _route(text)
    for slot, field in _OF_ROUTE.items():
        if match.groupdict().get(slot):
            yield *match.span(slot), field
    for pattern in _patterns(_PARTIES):
        yield from ((*match.span(), "party_size") for match in pattern.finditer(text))
    for kind in WISHES:
        yield from ((*match.span(), _field(kind)) for match in _found(text, kind))


def _route(text: str) -> tuple[re.Match[str], bool]:
    """The longest reading of the route and the days: "on {depart}, one way" may go on with a
    stay. And whether there is a way back."""
    matches = [(match, tables) for pattern, tables in _routes() for match in pattern.finditer(text)]
    if not matches:
        raise UnreadableRequest(
            "expected where from, where to and when, as in 'from A to B on 2026-06-26, returning on"
            " 2026-06-28'"
        )
    start = min(match.start() for match, _ in matches)
    here = [(match, back) for match, back in matches if match.start() == start]
    return max(
        here, key=lambda entry: (entry[0].end(), -len(entry[0]["org"]) - len(entry[0]["dest"]))
    )


@cache
def _routes() -> list[tuple[re.Pattern[str], bool]]:
    tables = (
        (WHEN_ONE_WAY, False),
        (WHEN_STAY, False),
        (WHEN_BACK, True),
        (WHEN_NIGHTS, True),
    )
    return [
        (re.compile(rf"\b{pattern(f'{route} {when}')}(?=[.,;?!]|\s|$)"), back)
        for whens, back in tables
        for when in whens
        for route in ROUTES
    ]


def _party_read(text: str) -> int:
    matches = (match for pattern in _patterns(_PARTIES) for match in pattern.finditer(text))
    counts = {number_read(match["n"]) for match in matches}
    if len(counts) > 1:
        raise UnreadableRequest(
            f"the party is said to be of {' and of '.join(map(str, sorted(counts)))}"
        )
    return counts.pop() if counts else 1


def _wish(text: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The field that this kind of wish sets; {} where the words do not say it."""
    matches = list(_found(text, kind))
    values = {tuple(match.groupdict().values()) for match in matches}
    if not matches:
        return {}
    field = _field(kind)
    if len(values) > 1 or field in fields:
        raise UnreadableRequest(f"the words say more than one {field.replace('_', ' ')}")
    value = matches[0].groupdict()
    if field == "transport":
        return {field: kind}
    if "t" in value:
        return {field: clock_read(value["t"])}
    if "usd" in value:
        amount, currency = money_read(value["usd"])
        if fields.get("currency", currency) != currency:
            raise UnreadableRequest("the words say amounts in two currencies")
        return {field: amount, "currency": currency}
    names = tuple(name_read(name) for name in value.values())
    return {field: names if field == "visit" else names[0]}


def _field(kind: str) -> str:
    return "transport" if kind in get_args(Transport) else kind.removesuffix("_two")


def _found(text: str, kind: str) -> Iterator[re.Match[str]]:
    """One place to visit is no reading of words that say two."""
    for pattern in _patterns(WISHES[kind]):
        for match in pattern.finditer(text):
            if kind == "visit" and any(
                two.start() == match.start() for two in _found(text, "visit_two")
            ):
                continue
            yield match


@cache
def _patterns(phrases: tuple[str, ...]) -> list[re.Pattern[str]]:
    """The first letter in either case: a phrase may follow another one. What a name ends with is
    said by what follows."""
    ends = {phrase: _END if phrase.endswith(_NAMES) else "" for phrase in phrases}
    return [
        re.compile(rf"\b(?:{_either_case(pattern(phrase))}){end}") for phrase, end in ends.items()
    ]


def _either_case(pattern: str) -> str:
    first = pattern[0]
    return f"[{first.upper()}{first.lower()}]{pattern[1:]}" if first.isalpha() else pattern

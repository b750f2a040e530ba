"""Writes a traveller's request in natural English, by grammar: every intent is said once, and can
be read out of the words again (row D8)."""

from __future__ import annotations

import random
import re

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import phrases as p
from tripwright.domains.deeptravel.requests import slots as slots
from tripwright.domains.deeptravel.requests.intents import nights_of, shape_of

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
    if clauses and rng.random() < 0.3:
        sentences = [*clauses, *_joined(rng, wishes)]
        rng.shuffle(sentences)
    else:
        sentences = [*clauses, *_joined(rng, wishes)]
    texts = [main, *sentences] if rng.random() < 0.85 else _main_last(rng, main, sentences)
    if rng.random() < 0.15:
        texts.insert(0, rng.choice(p.GREETINGS))
    if rng.random() < 0.2:
        texts.append(rng.choice(p.CLOSINGS))
    return " ".join(texts)


def unwordable(request: TravelRequest) -> str | None:
    """Why the grammar cannot say this request, None where it can."""
    for city in (request.origin, request.destination):
        if not re.fullmatch(slots.CITY, city):
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
    if (problem := _odd_budget(request)) is not None:
        return problem
    return None


def _odd_budget(request: TravelRequest) -> str | None:
    budgets = [
        budget for budget in (request.total_budget, request.nightly_budget) if budget is not None
    ]
    if any(round(budget, 2) != budget or budget > 999_999_999 for budget in budgets):
        return "a budget is no amount in whole cents"
    return (
        "a currency other than USD, without a budget to say it in"
        if request.currency != "USD" and not budgets
        else None
    )


def _main(rng: random.Random, request: TravelRequest) -> tuple[str, list[str]]:
    """The sentence with the route and the days, and those that the party may need besides."""
    values = {
        "org": request.origin,
        "dest": request.destination,
        "depart": slots.day_said(rng, request.depart_date),
    }
    shape = shape_of(request)
    if shape == "one_way":
        when = rng.choice(p.WHEN_ONE_WAY)
    elif shape == "one_way_stay":
        when, values["nights"] = rng.choice(p.WHEN_STAY), slots.nights_said(rng, nights_of(request))
    elif request.nights is not None:
        when, values["nights"] = rng.choice(p.WHEN_NIGHTS), slots.nights_said(rng, request.nights)
    else:
        assert request.return_date is not None
        when, values["back"] = rng.choice(p.WHEN_BACK), slots.day_said(rng, request.return_date)
    going = rng.random() < 0.35
    start, end = (rng.choice(p.GOING), ".") if going else _ask(rng)
    party, clauses = _party(rng, request.party_size, p.PARTY_GOING if going else p.PARTY_INLINE)
    phrase = " ".join(filter(None, (start, party, rng.choice(p.ROUTES), when)))
    return slots.voiced(phrase, request.party_size).format(**values) + end, clauses


def _ask(rng: random.Random) -> tuple[str, str]:
    ask, end = rng.choice(p.ASKS)
    return f"{ask} {rng.choice(p.NOUNS)}", end


def _party(rng: random.Random, party_size: int, inline: tuple[str, ...]) -> tuple[str, list[str]]:
    """Words for the main sentence, or a sentence of its own; for one person often neither."""
    if party_size == 1:
        return "", [f"{rng.choice(p.ALONE_CLAUSE)}."] if rng.random() < 0.3 else []
    n = slots.number_said(rng, party_size)
    if rng.random() < 0.6:
        return rng.choice(inline).format(n=n), []
    return "", [f"{rng.choice(p.PARTY_CLAUSE).format(n=n)}."]


def _wished(rng: random.Random, request: TravelRequest) -> list[tuple[str, dict[str, str]]]:
    """The table of phrases for each wish, and what goes into its slots."""
    wishes: list[tuple[str, dict[str, str]]] = []
    if request.transport:
        wishes.append((request.transport, {}))
    for wish in ("depart_after", "arrive_by", "return_after", "return_by"):
        if clock := getattr(request, wish):
            wishes.append((wish, {"t": slots.clock_said(rng, clock)}))
    for wish in ("total_budget", "nightly_budget"):
        if (budget := getattr(request, wish)) is not None:
            wishes.append((wish, {"usd": slots.money_said(rng, budget, request.currency)}))
    if request.hotel:
        wishes.append(("hotel", {"hotel": slots.name_said(request.hotel)}))
    if request.hotel_near:
        wishes.append(("hotel_near", {"place": slots.name_said(request.hotel_near)}))
    if request.visit:
        names = dict(zip(("place", "place2"), map(slots.name_said, request.visit), strict=False))
        wishes.append(("visit" if len(names) == 1 else "visit_two", names))
    return wishes


def _clause(rng: random.Random, request: TravelRequest, phrases: str, words: dict[str, str]) -> str:
    table = p.WISHES[phrases]
    if "t" in words and not FIRST_HOUR <= slots.clock_read(words["t"]) <= LAST_HOUR:
        table = tuple(phrase for phrase in table if not any(word in phrase for word in p.BY_DAY))
    return slots.voiced(rng.choice(table), request.party_size).format(**words)


def _joined(rng: random.Random, wishes: list[str]) -> list[str]:
    """The wishes as sentences: some with a word to lead in, some two in one."""
    sentences: list[str] = []
    for wish in wishes:
        before = sentences[-1] if sentences else ""
        joinable = (
            not wish.startswith(p.UNJOINED)
            and before
            and ", and " not in before
            and rng.random() < 0.3
        )
        if joinable:
            sentences[-1] = f"{before[:-1]}, and {_lower(wish)}."
        elif rng.random() < 0.15 and not wish.startswith(p.UNJOINED):
            sentences.append(f"{rng.choice(p.LEAD_INS)}{_lower(wish)}.")
        else:
            sentences.append(f"{wish}.")
    return sentences


def _lower(sentence: str) -> str:
    return sentence if sentence.startswith(("I ", "I'")) else sentence[0].lower() + sentence[1:]


def _main_last(rng: random.Random, main: str, sentences: list[str]) -> list[str]:
    """Somebody may begin with what matters to them."""
    place = rng.randint(0, len(sentences))
    return [*sentences[:place], main, *sentences[place:]]

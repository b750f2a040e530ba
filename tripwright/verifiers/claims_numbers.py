"""The numbers in an answer's words: clock times, durations, prices, dates, nights, people, distances, ratings, stops, evidence cards.

Every digit ends up in a claim: what no pattern knows is a `bare` number, and that needs support like any other. A pattern sees the text
with what was read before it blanked out, so each digit is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tripwright.verifiers.claims_words import AMENITIES, MONTHS, NUMBERS, WEEKDAYS, small_numbers

Kind = Literal[
    "card",
    "time",
    "minutes",
    "price",
    "date",
    "weekday",
    "nights",
    "people",
    "rooms",
    "km",
    "rating",
    "stops",
    "days",
    "next_day",
    "best",
    "amenity",
    "bare",
]
BLANK = "\x00"


@dataclass(frozen=True)
class Claim:
    """`values` are the readings that the words allow, any of which may be true: minutes after midnight for a time, minutes, money, km;
    of a date the ISO texts with 0 for what is not said (`0000-06-26`)."""

    kind: Kind
    values: tuple[float | str, ...]
    start: int
    end: int
    said: str
    step: float = 0.0  # the unit of the rounding said: 1 for "120 dollars", 0.1 for "119.5", 60 for "two hours"
    hedge: str = ""  # "about", "over" or "under"
    currency: str = ""


_WORD_VALUES = {re.sub(r"\[ -\]", " ", word): value for word, value in small_numbers()}
_WORDS = "|".join(word for word, _ in small_numbers())
_NUM = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_SPOKEN = (  # "a hundred and five", "one thousand two hundred"
    rf"(?:\b(?:{_WORDS}|an?|\d{{1,3}})[ -](?:hundred|thousand)(?:(?:,? and|,)?[ -](?:{_WORDS}|hundred|thousand)\b)*(?![a-z]))"
)
_FRACTION = r"(?:\d*\s?[½¼¾])"
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_MONEY = rf"(?:{_SPOKEN}|\d{{1,3}}(?:\.\d{{3}})+,\d\d(?![\d,])|\d+,\d\d(?![\d,])|{_NUM})"  # also with a comma for the decimals: "1.234,50"
_N = rf"(?:{_SPOKEN}|{_FRACTION}|{_NUM}|\b(?:{_WORDS})\b)"
_CURRENCIES = {
    "$": "USD",
    "us$": "USD",
    "usd": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "bucks": "USD",
    "us dollars": "USD",
    "€": "EUR",
    "eur": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "gbp": "GBP",
    "pounds": "GBP",
    "¥": "CNY",
    "cny": "CNY",
    "rmb": "CNY",
    "yuan": "CNY",
    "jpy": "JPY",
    "yen": "JPY",
    "chf": "CHF",
    "francs": "CHF",
    "cad": "CAD",
    "aud": "AUD",
    "sek": "SEK",
    "nok": "NOK",
    "dkk": "DKK",
    "pln": "PLN",
    "inr": "INR",
    "brl": "BRL",
    "mxn": "MXN",
}
_CURRENCY = "|".join(sorted((re.escape(name) for name in _CURRENCIES), key=len, reverse=True))
_SIGN = "|".join(sorted((re.escape(name) for name in _CURRENCIES if len(name) < 4), key=len, reverse=True))  # what stands before a number
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WEEKDAY = "|".join(sorted((name for name in WEEKDAYS if len(name) > 5), key=len, reverse=True))
_SHORT_WEEKDAY = "|".join(sorted((name for name in WEEKDAYS if len(name) <= 5), key=len, reverse=True))
_HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HOURS = rf"(?:{_HOUR}|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty[ -](?:one|two|three)|twenty)"
_MINUTES = "|".join(word for word, value in small_numbers() if 10 <= value <= 59)
_HALF = r"(?:\s*(?P<half>a\.m\.|p\.m\.|a\.m\b|p\.m\b|am\b|pm\b)|,?\s*(?:in the (?P<part>morning|afternoon|evening)|(?P<night>at night)))"
_HEDGE = re.compile(
    r"(about|around|roughly|approximately|approx\.?|circa|ca\.|some|~|≈|just over|a little over|slightly over|a bit over"
    r"|just under|nearly|almost"
    r"|just after|shortly after|just before|shortly before)\s*(?:at\s+)?$"
)
_OVER = ("just over", "a little over", "slightly over", "a bit over", "just after", "shortly after")
_UNDER = ("just under", "nearly", "almost", "just before", "shortly before")


def number(text: str) -> float:
    """Of digits with separators, with a fraction, or of number words."""
    if text[-1] in _FRACTIONS:
        return float(text[:-1].strip() or 0) + _FRACTIONS[text[-1]]
    if "hundred" in text or "thousand" in text:
        return _spoken(text)
    word = _WORD_VALUES.get(text.replace("-", " "))
    return float(_pointed(text).replace(",", "")) if word is None else float(word)


def _spoken(text: str) -> float:
    total = part = 0.0
    for word in re.findall(r"[a-z]+|\d+", text):
        if word == "hundred":
            part = (part or 1.0) * 100
        elif word == "thousand":
            total, part = total + (part or 1.0) * 1000, 0.0
        elif word != "and":
            part += 1.0 if word in ("a", "an") else float(word) if word.isdigit() else NUMBERS[word]
    return total + part


def _pointed(text: str) -> str:
    """A comma before two last digits stands for the point."""
    whole, comma, decimals = text.rpartition(",")
    return f"{whole.replace('.', '')}.{decimals}" if comma and len(decimals) == 2 else text


def _step(text: str) -> float:
    _, point, decimals = _pointed(text).partition(".")
    return 10.0 ** -len(decimals) if point else 1.0


Read = Callable[["re.Match[str]"], tuple[tuple[float | str, ...], float, str]]


def _clock(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    """Hour and minute, with whatever says which half of the day it is. Without it an hour in words may be of either half."""
    named = match.groupdict()
    spoken = named["hour"]
    hour, minute = int(number(spoken)), int(number((named.get("minute") or "0").replace("oh ", "")))
    if relation := named.get("relation"):
        before, word = relation.replace(" minutes", "").rsplit(" ", 1)
        minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(before) or int(number(before))
        minute = minutes if word in ("past", "after") else -minutes
    half = (named.get("half") or "").replace(".", "") or {"morning": "am", "afternoon": "pm", "evening": "pm"}.get(
        named.get("part") or "", ""
    )
    if named.get("night"):
        half = "pm" if 6 <= hour < 12 else "am"
    if hour > 24 or minute > 59 or (half and hour > 12 and half == "am"):
        return (), 1.0, ""
    if half and hour <= 12:
        return ((hour % 12 + (12 if half == "pm" else 0)) * 60.0 + minute,), 1.0, ""
    in_words = not spoken.isdigit() or named.get("relation") or "clock" in match[0]
    hours = {hour % 12, hour % 12 + 12} if in_words and hour <= 12 else {hour}
    return tuple((each * 60.0 + minute) % 1440 for each in sorted(hours)), 1.0, ""


def _dotted(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    hour, minute = float(match["hour"] or match["hour2"]), float(match["minute"] or match["minute2"])
    return ((60 * hour + minute,) if hour < 24 else ()), 1.0, ""


def _price(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    named = match.groupdict()
    currency = _CURRENCIES[(named.get("before") or named.get("after") or "").strip()] if named.get("before") or named.get("after") else ""
    return (number(named["amount"]),), _step(named["amount"]) if named["amount"][0].isdigit() else 1.0, currency


def _hours_and_minutes(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    hours = 1.0 if match["hours"] in ("an", "a", "one") else number(match["hours"])
    return (60 * hours + number(match["minutes"]),), 1.0, ""


def _hours(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    said = match["hours"]
    return (60 * (1.0 if said == "an" else number(said)),), 60 * (_step(said) if said[0].isdigit() else 1.0), ""


def _hours_and_part(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    said, part = match["hours"], 30.0 if "half" in match["part"] else 15.0
    return (60 * (1.0 if said in ("an", "one") else number(said)) + part,), part, ""


def _fixed(value: float, step: float = 1.0) -> Read:
    return lambda match: ((value,), step, "")


def _counted(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    said = match["n"]
    return (0.0 if said in ("no", "zero", "without") else number(said),), _step(said) if said[0].isdigit() else 1.0, ""


def _distance(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    scale = 1.0 if match["unit"].startswith("k") else 1.609344 if match["unit"].startswith("mi") else 0.001
    return (number(match["n"]) * scale,), (_step(match["n"]) if match["n"][0].isdigit() else 1.0) * scale, ""


def _date(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    named = match.groupdict()
    year = int(named.get("year") or 0)
    if named.get("first"):  # 26/06/2026 or 06/26/2026
        pairs = {(int(named["first"]), int(named["second"])), (int(named["second"]), int(named["first"]))}
        days = [(month, day) for month, day in sorted(pairs) if 1 <= month <= 12 and 1 <= day <= 31]
    else:
        month = named.get("month") or ""
        days = [(MONTHS.get(month.lower()) or int(month or 0), int(named["day"]) or 99)]  # 0 stands for "not said"
        if named.get("until"):
            if re.search(rf"\b(?:{_MONTH})\.? (?:the )?$", match.string[max(0, match.start() - 16) : match.start()]):
                return (), 1.0, ""  # "August 14 to 18 August" is two days, not a range of two numbers
            days.append((days[0][0], int(named["until"])))
    return tuple(f"{year:04d}-{month:02d}-{day:02d}" for month, day in days), 1.0, "range" if named.get("until") else ""


def _weekday(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    return (float(WEEKDAYS[match["name"].lower()]),), 1.0, ""


def _card(match: re.Match[str]) -> tuple[tuple[float | str, ...], float, str]:
    rows = [int(n) for n in re.findall(r"\d+", match["rows"])]
    return tuple(f"{int(match['call'])}:{row}" for row in rows), 1.0, ""


_ND = r"(?:st|nd|rd|th)"
_TABLE: tuple[tuple[Kind, str, Read], ...] = (
    ("card", r"\bcall\s*#?\s*(?P<call>\d+)\s*[,;:/.]?\s*(?:and\s+)?rows?\s*#?\s*(?P<rows>\d+(?:\s*(?:,|and|&)\s*\d+\b(?![:.]\d))*)", _card),
    ("card", r"\[(?P<call>\d{1,3})[:.,/]\s?(?P<rows>\d{1,4})\]", _card),
    ("date", r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:t(?=\d{2}:))?", _date),
    ("date", r"\b(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})\b", _date),
    (
        "date",
        rf"(?<!day )\b(?P<day>\d{{1,2}}){_ND}?\s*(?:-|to"
        rf"|until)\s*(?P<until>\d{{1,2}}){_ND}?(?: of)? (?P<month>{_MONTH})\b(?:\.?,? (?P<year>20\d\d))?",
        _date,
    ),
    (
        "date",
        rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}}){_ND}?\s*(?:-"
        rf"|to)\s*(?P<until>\d{{1,2}}){_ND}?\b(?! (?:of )?(?:{_MONTH})\b)(?![:.]\d|\s*[ap]\.?m\b)(?:,? (?P<year>20\d\d))?",
        _date,
    ),
    ("date", rf"\b(?P<day>\d{{1,2}}){_ND}?(?: of)? (?P<month>{_MONTH})\b(?:\.?,? (?P<year>20\d\d)\b)?", _date),
    ("date", rf"\b(?P<month>{_MONTH})\.? (?:the )?(?P<day>\d{{1,2}}){_ND}?\b(?![:.]\d|\s*[ap]\.?m\b)(?:,? (?P<year>20\d\d)\b)?", _date),
    ("date", r"\b(?P<first>\d{1,2})[./](?P<second>\d{1,2})[./](?P<year>20\d\d)\b", _date),
    ("date", rf"\bthe (?P<day>\d{{1,2}}){_ND}\b(?! (?:option|choice|row|call))", _date),
    ("weekday", rf"\b(?P<name>{_WEEKDAY})\b", _weekday),
    (
        "weekday",
        rf"\b(?P<name>{_SHORT_WEEKDAY})\b(?=[.,]?\s*{BLANK})|(?<={BLANK})[ ,(]{{0,2}}\b(?P<name2>{_SHORT_WEEKDAY})\b",
        lambda m: ((float(WEEKDAYS[(m["name"] or m["name2"])]),), 1.0, ""),
    ),
    (
        "time",
        rf"\b(?P<relation>(?:half|a quarter|quarter|five|ten|twenty|twenty[ -]five)(?: minutes)? (?:past|to"
        rf"|after)) (?P<hour>{_HOUR}|\d{{1,2}})\b{_HALF}?",
        _clock,
    ),
    (
        "time",  # "departs six fifty-four"
        rf"\b(?P<hour>{_HOURS})[ -](?P<minute>oh (?:{_HOUR})|(?:{_MINUTES}))\b(?!\s*-?(?:hundred|thousand|minutes?|mins?|hours?|km"
        rf"|kilomet|met(?:er"
        rf"|re)|miles?|per ?cent|%|stars?|people|persons?|guests?|nights?|days?|{_CURRENCY}))",
        _clock,
    ),
    (
        "time",
        rf"(?:(?<=departs )|(?<=arrives )|(?<=leaves )|(?<=leaving )|(?<=arriving )|(?<=departing )|(?<=departs at )|(?<=arrives at )"
        rf"|(?<=leaves at ))(?P<hour>{_HOURS})\b(?=\s*(?:$|[.,;)]|and\b|sharp\b))",
        _clock,
    ),
    ("time", r"\b(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?::\d{2})?" + _HALF, _clock),
    ("time", r"\b(?P<hour>\d{1,2})" + _HALF, _clock),
    ("time", r"\b(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2})?\b(?:\s?(?:h|hrs|hours)\b)?", _clock),
    ("price", rf"(?P<before>[$€£¥]|us\$|(?<!\d\s)(?:{_SIGN}))\s?(?P<amount>{_MONEY})(?!\d)", _price),
    ("price", rf"(?P<amount>{_MONEY}|{_N})\s?-?(?P<after>{_CURRENCY})(?![a-z])(?<![$€£¥](?=\s?\d))", _price),
    (
        "price",
        r"\b(?:(?:rooms?|trains?|rides?|flights?|hotel|stay|tickets?|fare|price|journey|entry|admission)(?: is| are|:) free\b"
        r"(?! (?:to|from|until|of (?!charge)))|free of charge|for free\b(?! (?:cancel|wi-?fi|break))|costs? nothing)",
        _fixed(0.0),
    ),
    ("nights", r"\bnights\s*[:=-]\s*(?P<n>\d{1,3})\b", _counted),
    ("nights", r"\b(?P<n>\d{1,2})n\b", _counted),
    ("people", r"\b(?:travell?ers|guests|people|adults|passengers|party(?: size)?)\s*[:=-]\s*(?P<n>\d{1,3})\b", _counted),
    ("stops", r"\b(?:stops|transfers|changes)\s*[:=]\s*(?P<n>\d{1,2})\b", _counted),
    ("rooms", r"\brooms\s*[:=]\s*(?P<n>\d{1,2})\b", _counted),
    ("minutes", r"\bminutes\s*[:=-]\s*(?P<n>\d{1,4})\b", _counted),
    ("next_day", r"\(?\+\s?1(?: day)?\)?|\b(?:the )?(?:next|following) day\b", _fixed(1.0)),
    ("rating", rf"(?P<n>{_NUM})\s*(?:/|of|out of)\s*(?:5|five)\b(?:\.0)?(?: stars)?", _counted),
    ("rating", rf"(?P<n>{_N})[ -]?stars?\b", _counted),
    ("rating", r"(?<![\d.,])(?P<n>[0-5](?:\.\d)?)\s?[⭐★]", _counted),
    ("rating", rf"(?:\brat(?:ed|ing|es|e)(?: it| of| at| is)?:?|[⭐★])\uFE0F?\s*(?P<n>{_NUM})\b(?!:)", _counted),
    ("time", rf"\b(?P<hour>{_HOUR}|\d{{1,2}})\s*o'clock{_HALF}?", _clock),
    ("time", rf"\b(?P<hour>{_HOUR}){_HALF}", _clock),
    ("time", r"\b(?:12 )?(?:noon|midday)\b", _fixed(720.0)),
    ("time", r"\b(?:12 )?midnight\b", _fixed(0.0)),
    (
        "minutes",
        rf"(?P<hours>{_N}|\ban)\s*-?(?:hours?|hrs?|h)\b\.?\s*,?\s*(?:and )?(?P<minutes>{_N})\s*-?(?:minutes?|mins?|m)\b",
        _hours_and_minutes,
    ),
    ("minutes", r"\b(?P<hours>\d{1,2})\s?h\s?(?P<minutes>\d{2})\b", _hours_and_minutes),
    ("minutes", r"\bthree quarters of an hour\b", _fixed(45.0, 15.0)),
    ("minutes", r"\b(?:a )?quarter of an hour\b", _fixed(15.0, 15.0)),
    ("minutes", r"\b(?:half an|a half|half)[ -]hour\b", _fixed(30.0, 30.0)),
    ("minutes", rf"(?P<hours>{_N}|\ban)(?: hours?)? and (?P<part>a half|a quarter)(?: hours?)?\b", _hours_and_part),
    ("minutes", rf"(?P<hours>{_N}|\ban)\s*-?(?:hours?|hrs?|h)\b", _hours),
    ("minutes", rf"(?P<n>{_N})\s*-?(?:minutes?|mins?)\b", _counted),
    ("km", rf"(?P<n>{_N})\s*-?(?P<unit>km|kilomet(?:er|re)s?|met(?:er|re)s?|miles?|mi|m)\b", _distance),
    ("nights", rf"(?P<n>{_N})[ -]?nights?\b", _counted),
    ("nights", r"\b(?:a )?single night\b", _fixed(1.0)),
    ("people", rf"(?P<n>{_N})\s*-?(?:people|persons?|travell?ers?|guests?|adults?|passengers?|pax|of (?:us|you))\b", _counted),
    ("people", r"(?<![\w.])[x×*]\s?(?P<n>\d{1,2})\b(?![.,]?\d|\s?%)", _counted),  # "143 USD x 2"
    ("people", rf"\b(?:for|party of) (?P<n>{_N})(?=\s*(?:[,.;)!]|$|in total|together))", _counted),
    ("rooms", rf"(?P<n>{_N})\s+(?:(?:double|twin|single|private|separate|river view) )?rooms?\b", _counted),
    ("stops", rf"(?P<n>{_N}|\bno\b|\bwithout)\s*-?(?:a )?(?:stops?|changes?|changing|transfers?|layovers?)\b", _counted),
    ("stops", r"\b(?:direct|non-?stop)\b", _fixed(0.0)),
    ("days", rf"(?P<n>{_N})\s*-?days?\b", _counted),
    (
        "best",
        r"(?<!one of the )(?<!among the )(?<!not the )(?<!at the )\b(?P<word>cheapest|lowest[- ](?:price|fare)|fastest|quickest"
        r"|shortest|earliest|"
        r"(?:best|highest|top)[- ]rated)\b",
        lambda match: ((match["word"].replace("-", " "),), 0.0, ""),
    ),
    ("amenity", rf"\b(?P<word>{'|'.join(AMENITIES)})\b", lambda match: ((match["word"],), 0.0, "")),
    ("price", rf"\b(?:prices?|fare|costs?|amounts? to)\b\s*(?:is|of|at|:)?\s*(?P<amount>{_NUM})(?![\d:%])", _price),
    (  # "the 11.00 train", "due at 15.12": with a dot only where the words say that it is a time
        "time",
        r"(?<=\bat )(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)\b(?!\.?\d)"
        r"|\b(?P<hour2>\d{1,2})\.(?P<minute2>[0-5]\d)(?= (?:train|flight|service|departure|h\b|hrs))",
        _dotted,
    ),
)
_PATTERNS = [(kind, re.compile(pattern), read) for kind, pattern, read in _TABLE]
_ORDER = re.compile(
    r"\bdays \d{1,2}(?: to |-| and | through )\d{1,2}\b"
    r"|\b(?:day|option|step|plan|leg|part|choice|no\.|number|alternative|recommendation|outbound|return|hotel|stay|visit)\s*#?\d{1,2}\b"
    rf"|\b(?:1st|2nd|3rd)\b|#\d{{1,2}}\b|\(\d\)|{_N}\s+(?:[a-z-]+\s)?(?:options?|recommendations?|choices|alternatives"
    rf"|possibilities|parts?|legs?|steps?|seats?|tickets?)\b"
)
_BARE = re.compile(r"\b(?:hundreds?|thousands?|millions?|dozens?)\b|[½¼¾]|[^\s\x00|()\[\]]*\d[^\s\x00|()\[\]]*")


def read_numbers(text: str) -> list[Claim]:
    """The claims of one line in the order of the words. Names are already blanked out in `text`."""
    left, found = text.lower(), list[Claim]()
    if len(left) != len(text):  # a letter whose lower case is longer: places would shift
        left = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    for kind, pattern, read in _PATTERNS:
        for match in pattern.finditer(left):
            values, step, extra = read(match)
            if not values:
                continue
            found.append(_claim(kind, match, values, step, extra, text, left))
            left = left[: match.start()] + BLANK * (match.end() - match.start()) + left[match.end() :]
    left = _ORDER.sub(lambda match: BLANK * len(match[0]), left)
    for match in _BARE.finditer(left):
        found.append(Claim("bare", (match[0].strip(".,;:!?"),), match.start(), match.end(), text[match.start() : match.end()]))
    return sorted(found, key=lambda claim: claim.start)


def _claim(kind: Kind, match: re.Match[str], values: tuple[float | str, ...], step: float, extra: str, text: str, left: str) -> Claim:
    hedge = _HEDGE.search(left[max(0, match.start() - 20) : match.start()])
    word = hedge[1] if hedge else ""
    how = "over" if word in _OVER else "under" if word in _UNDER else "about" if word else ""
    start = match.start() - (len(hedge[0]) if hedge else 0)
    return Claim(kind, values, start, match.end(), text[match.start() : match.end()].strip(), step, how, extra)


assert set(NUMBERS) <= set(_WORD_VALUES)

"""The numbers in an answer's words: clock times, durations, prices, dates, nights, people,
distances, ratings, stops, evidence cards.

Every digit ends up in a claim: what no pattern knows is a `bare` number, and that needs support
like any other. A pattern sees the text with what was read before it blanked out, so each digit is
read once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tripwright.domains.deeptravel.verifiers.claims_numerals import (
    CURRENCY,
    HALF,
    HOUR,
    HOURS,
    MINUTES,
    MONEY,
    MONTH,
    NUM,
    SHORT_WEEKDAY,
    SIGN,
    WEEKDAY,
    N,
)
from tripwright.domains.deeptravel.verifiers.claims_reads import (
    Read,
    fixed,
    read_card,
    read_clock,
    read_counted,
    read_date,
    read_distance,
    read_dotted,
    read_hours,
    read_hours_and_minutes,
    read_hours_and_part,
    read_price,
    read_span,
    read_unpointed,
    read_weekday,
    vague,
)
from tripwright.domains.deeptravel.verifiers.claims_words import AMENITIES, WEEKDAYS

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
    """`values` are the readings that the words allow, any of which may be true: minutes after
    midnight for a time, minutes, money, km; of a date the ISO texts with 0 for what is not said
    (`0000-06-26`)."""

    kind: Kind
    values: tuple[float | str, ...]
    start: int
    end: int
    said: str
    # the unit of the rounding said: 1 for "120 dollars", 0.1 for "119.5", 60 for "two hours"
    step: float = 0.0
    hedge: str = ""  # "about", "over" or "under"
    currency: str = ""


_HEDGE = re.compile(
    r"(about|around|roughly|approximately|approx\.?|circa|ca\.|some|~|≈|just over|a little"
    r" over|slightly over|a bit over"
    r"|just under|nearly|almost"
    r"|just after|shortly after|just before|shortly before)\s*(?:at\s+)?$"
)
_HEDGE_AFTER = re.compile(r",? (?:or so|or thereabouts|more or less|give or take)\b")
_OVER = ("just over", "a little over", "slightly over", "a bit over", "just after", "shortly after")
_UNDER = ("just under", "nearly", "almost", "just before", "shortly before")
_ND = r"(?:st|nd|rd|th)"
_TABLE: tuple[tuple[Kind, str, Read], ...] = (
    (
        "card",
        r"\bcall\s*#?\s*(?P<call>\d+)\s*[,;:/.]?\s*(?:and\s+)?rows?\s*#?\s*(?P<rows>\d+(?:\s*(?:,|and|&)\s*\d+\b(?![:.]\d))*)",
        read_card,
    ),
    ("card", r"\[(?P<call>\d{1,3})[:.,/]\s?(?P<rows>\d{1,4})\]", read_card),
    ("date", r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:t(?=\d{2}:))?", read_date),
    ("date", r"\b(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})\b", read_date),
    (
        "date",
        rf"(?<!day )\b(?P<day>\d{{1,2}}){_ND}?\s*(?:-|to"
        rf"|until)\s*(?P<until>\d{{1,2}}){_ND}?(?: of)? (?P<month>{MONTH})\b(?:\.?,?"
        r" (?P<year>20\d\d))?",
        read_date,
    ),
    (
        "date",
        rf"\b(?P<month>{MONTH})\.? (?P<day>\d{{1,2}}){_ND}?\s*(?:-"
        rf"|to)\s*(?P<until>\d{{1,2}}){_ND}?\b(?! (?:of"
        rf" )?(?:{MONTH})\b)(?![:.]\d|\s*[ap]\.?m\b)(?:,? (?P<year>20\d\d))?",
        read_date,
    ),
    (
        "date",
        rf"\b(?P<day>\d{{1,2}}){_ND}?(?: of)? (?P<month>{MONTH})\b(?:\.?,? (?P<year>20\d\d)\b)?",
        read_date,
    ),
    (
        "date",
        (
            rf"\b(?P<month>{MONTH})\.? (?:the"
            rf" )?(?P<day>\d{{1,2}}){_ND}?\b(?![:.]\d|\s*[ap]\.?m\b)(?:,? (?P<year>20\d\d)\b)?"
        ),
        read_date,
    ),
    ("date", r"\b(?P<first>\d{1,2})[./](?P<second>\d{1,2})[./](?P<year>20\d\d)\b", read_date),
    (
        "date",
        r"(?<![\d/.])(?P<first>\d{2})/(?P<second>\d{2})(?![\d/]|\s?(?:stars?|points?)\b)",
        read_date,
    ),
    ("date", rf"\bthe (?P<day>\d{{1,2}}){_ND}\b(?! (?:option|choice|row|call))", read_date),
    ("weekday", rf"\b(?P<name>{WEEKDAY})\b", read_weekday),
    (
        "weekday",
        (
            rf"\b(?P<name>{SHORT_WEEKDAY})\b(?=[.,]?\s*{BLANK})|(?<={BLANK})["
            rf" ,(]{{0,2}}\b(?P<name2>{SHORT_WEEKDAY})\b"
        ),
        lambda m: ((float(WEEKDAYS[(m["name"] or m["name2"])]),), 1.0, ""),
    ),
    (
        "time",
        rf"\b(?P<relation>(?:half|a quarter|quarter|five|ten|twenty|twenty[ -]five)(?: minutes)?"
        rf" (?:past|to"
        rf"|after)) (?P<hour>{HOUR}|\d{{1,2}})\b{HALF}?",
        read_clock,
    ),
    (
        "time",  # "departs six fifty-four"
        rf"\b(?P<hour>{HOURS})[ -](?P<minute>oh"
        rf" (?:{HOUR})|(?:{MINUTES}))\b(?!\s*-?(?:hundred|thousand|minutes?|mins?|hours?|km"
        rf"|kilomet|met(?:er"
        rf"|re)|miles?|per ?cent|%|stars?|people|persons?|guests?|nights?|days?|{CURRENCY}))",
        read_clock,
    ),
    (
        "time",
        rf"(?:(?<=departs )|(?<=arrives )|(?<=leaves )|(?<=leaving )|(?<=arriving )|(?<=departing"
        rf" )|(?<=departs at )|(?<=arrives at )"
        rf"|(?<=leaves at ))(?P<hour>{HOURS})\b(?=\s*(?:$|[.,;)]|and\b|sharp\b))",
        read_clock,
    ),
    ("time", r"\b(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?::\d{2})?" + HALF, read_clock),
    ("time", r"\b(?P<hour>\d{1,2})" + HALF, read_clock),
    (
        "time",
        r"\b(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2})?\b(?:\s?(?:h|hrs|hours)\b)?",
        read_clock,
    ),
    (
        "price",
        rf"(?P<before>[$€£¥]|us\$|(?<!\d\s)(?:{SIGN}))\s?(?P<amount>{MONEY})(?!\d)",
        read_price,
    ),
    (
        "price",
        rf"(?P<amount>{MONEY}|{N})\s?-?(?P<after>{CURRENCY})(?![a-z])(?<![$€£¥](?=\s?\d))",
        read_price,
    ),
    (
        "price",
        r"\b(?:(?:rooms?|trains?|rides?|flights?|hotel|stay|tickets?|fare|price|journey|entry|admission)(?:"
        r" is| are|:) free\b"
        r"(?! (?:to|from|until|of (?!charge)))|free of charge|for free\b(?!"
        r" (?:cancel|wi-?fi|break))|costs? nothing)",
        fixed(0.0),
    ),
    ("nights", r"\bnights\s*[:=-]\s*(?P<n>\d{1,3})\b", read_counted),
    ("nights", r"\b(?P<n>\d{1,2})n\b", read_counted),
    (
        "people",
        (
            r"\b(?:travell?ers|guests|people|adults|passengers|party(?:"
            r" size)?)\s*[:=-]\s*(?P<n>\d{1,3})\b"
        ),
        read_counted,
    ),
    ("stops", r"\b(?:stops|transfers|changes)\s*[:=]\s*(?P<n>\d{1,2})\b", read_counted),
    ("rooms", r"\brooms\s*[:=]\s*(?P<n>\d{1,2})\b", read_counted),
    ("minutes", r"\bminutes\s*[:=-]\s*(?P<n>\d{1,4})\b", read_counted),
    ("next_day", r"\(?\+\s?1(?: day)?\)?|\b(?:the )?(?:next|following) day\b", fixed(1.0)),
    ("rating", rf"(?P<n>{NUM})\s*(?:/|of|out of)\s*(?:5|five)\b(?:\.0)?(?: stars)?", read_counted),
    ("rating", rf"(?P<n>{N})[ -]?stars?\b", read_counted),
    ("rating", r"(?<![\d.,])(?P<n>[0-5](?:\.\d)?)\s?[⭐★]", read_counted),
    (
        "rating",
        rf"(?:\brat(?:ed|ing|es|e)(?: it| of| at| is)?:?|[⭐★])\uFE0F?\s*(?P<n>{NUM})\b(?!:)",
        read_counted,
    ),
    ("time", rf"\b(?P<hour>{HOUR}|\d{{1,2}})\s*o'clock{HALF}?", read_clock),
    ("time", rf"\b(?P<hour>{HOUR}){HALF}", read_clock),
    ("time", r"\b(?:12 )?(?:noon|midday)\b", fixed(720.0)),
    ("time", r"\b(?:12 )?midnight\b", fixed(0.0)),
    (
        "minutes",
        rf"(?P<low>{N})\s*(?:-|to|or)\s*(?P<high>{N})\s*-?(?P<unit>hours?|hrs?|h|minutes?|mins?)\b",
        read_span,
    ),
    ("minutes", r"\ban hour or two\b", vague(60, 120, 10)),
    ("minutes", r"\b(?:a )?couple of hours\b", vague(120, 120, 60)),
    ("minutes", r"\b(?:a few|some) hours\b", vague(180, 300, 30)),
    ("minutes", r"\bseveral hours\b", vague(180, 480, 30)),
    (
        "minutes",
        r"\bhours(?= (?:away|from|by|of travel|on (?:the|a) (?:train|road|bus|way)))",
        vague(120, 900, 30),
    ),
    ("minutes", r"\bhalf (?:a|the|of the) day\b", vague(300, 420, 30)),
    ("minutes", r"\b(?:a )?couple of minutes\b", vague(2, 3, 1)),
    ("minutes", r"\b(?:a few|some|several) minutes\b", vague(2, 10, 1)),
    (
        "minutes",
        (
            rf"(?P<hours>{N}|\ban)\s*-?(?:hours?|hrs?|h)\b\.?\s*,?\s*(?:and"
            rf" )?(?P<minutes>{N})\s*-?(?:minutes?|mins?|m)\b"
        ),
        read_hours_and_minutes,
    ),
    ("minutes", r"\b(?P<hours>\d{1,2})\s?h\s?(?P<minutes>\d{2})\b", read_hours_and_minutes),
    ("minutes", r"\bthree quarters of an hour\b", fixed(45.0, 15.0)),
    ("minutes", r"\b(?:a )?quarter of an hour\b", fixed(15.0, 15.0)),
    ("minutes", r"\b(?:half an|a half|half)[ -]hour\b", fixed(30.0, 30.0)),
    (
        "minutes",
        rf"(?P<hours>{N}|\ban)(?: hours?)? and (?P<part>a half|a quarter)(?: hours?)?\b",
        read_hours_and_part,
    ),
    ("minutes", rf"(?P<hours>{N}|\ban)\s*-?(?:hours?|hrs?|h)\b", read_hours),
    ("minutes", rf"(?P<n>{N})\s*-?(?:minutes?|mins?)\b", read_counted),
    (
        "km",
        rf"(?P<n>{N})\s*-?(?P<unit>km|kilomet(?:er|re)s?|met(?:er|re)s?|miles?|mi|m)\b",
        read_distance,
    ),
    ("nights", rf"(?P<n>{N})[ -]?nights?\b", read_counted),
    ("nights", r"\b(?:a )?single night\b", fixed(1.0)),
    (
        "people",
        (
            rf"(?P<n>{N})\s*-?(?:people|persons?|travell?ers?|guests?|adults?|passengers?|pax|of"
            r" (?:us|you))\b"
        ),
        read_counted,
    ),
    # "143 USD x 2"
    ("people", r"(?<![\w.])[x×*]\s?(?P<n>\d{1,2})\b(?![.,]?\d|\s?%)", read_counted),
    (
        "people",
        rf"\b(?:for|party of) (?P<n>{N})(?=\s*(?:[,.;)!]|$|in total|together))",
        read_counted,
    ),
    (
        "rooms",
        rf"(?P<n>{N})\s+(?:(?:double|twin|single|private|separate|river view) )?rooms?\b",
        read_counted,
    ),
    (
        "stops",
        (
            rf"(?P<n>{N}|\bno\b|\bwithout)\s*-?(?:a"
            r" )?(?:stops?|changes?|changing|transfers?|layovers?)\b"
        ),
        read_counted,
    ),
    ("stops", r"\b(?:direct|non-?stop)\b", fixed(0.0)),
    ("days", rf"(?P<n>{N})\s*-?days?\b", read_counted),
    (
        "best",
        r"(?<!one of the )(?<!among the )(?<!not the )(?<!at the )\b(?P<word>cheapest|lowest[-"
        r" ](?:price|fare)|fastest|quickest"
        r"|shortest|earliest|"
        r"(?:best|highest|top)[- ]rated)\b",
        lambda match: ((match["word"].replace("-", " "),), 0.0, ""),
    ),
    ("amenity", rf"\b(?P<word>{'|'.join(AMENITIES)})\b", lambda match: ((match["word"],), 0.0, "")),
    (
        "price",
        rf"\b(?:prices?|fare|costs?|amounts? to)\b\s*(?:is|of|at|:)?\s*(?P<amount>{NUM})(?![\d:%])",
        read_price,
    ),
    (
        "time",
        r"(?<![\d.,:])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?![\d.,:]\d|\d)(?:\s?(?:h|hrs|hours)\b)?",
        read_unpointed,
    ),
    (  # "the 11.00 train", "due at 15.12": with a dot only where the words say that it is a time
        "time",
        r"(?<=\bat )(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)\b(?!\.?\d)"
        r"|\b(?P<hour2>\d{1,2})\.(?P<minute2>[0-5]\d)(?="
        r" (?:train|flight|service|departure|h\b|hrs))",
        read_dotted,
    ),
)
_PATTERNS = [(kind, re.compile(pattern), read) for kind, pattern, read in _TABLE]
_ORDER = re.compile(
    r"\bdays \d{1,2}(?: to |-| and | through )\d{1,2}\b"
    r"|\b(?:day|option|step|plan|leg|part|choice|no\.|number|alternative|recommendation|outbound|return|hotel|stay|visit)\s*#?\d{1,2}\b"
    rf"|\b(?:1st|2nd|3rd)\b|#\d{{1,2}}\b|\(\d\)|{N}\s+(?:[a-z-]+\s)?(?:options?|recommendations?|choices|alternatives"
    rf"|possibilities|parts?|legs?|steps?|seats?|tickets?)\b"
)
_BARE = re.compile(
    r"\b(?:hundreds?|thousands?|millions?|dozens?)\b|[½¼¾]|[^\s\x00|()\[\]]*\d[^\s\x00|()\[\]]*"
)


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
            left = (
                left[: match.start()] + BLANK * (match.end() - match.start()) + left[match.end() :]
            )
    left = _ORDER.sub(lambda match: BLANK * len(match[0]), left)
    for match in _BARE.finditer(left):
        found.append(
            Claim(
                "bare",
                (match[0].strip(".,;:!?"),),
                match.start(),
                match.end(),
                text[match.start() : match.end()],
            )
        )
    return sorted(found, key=lambda claim: claim.start)


def _claim(
    kind: Kind,
    match: re.Match[str],
    values: tuple[float | str, ...],
    step: float,
    extra: str,
    text: str,
    left: str,
) -> Claim:
    hedge = _HEDGE.search(left[max(0, match.start() - 20) : match.start()])
    word = hedge[1] if hedge else ""
    how = (
        "over"
        if word in _OVER
        else "under"
        if word in _UNDER
        else "about"
        if word or extra == "vague"
        else ""
    )
    start, end = match.start() - (len(hedge[0]) if hedge else 0), match.end()
    if after := _HEDGE_AFTER.match(left, end):
        how, end = how or "about", after.end()
    return Claim(
        kind,
        values,
        start,
        end,
        text[match.start() : match.end()].strip(),
        step,
        how,
        "" if extra == "vague" else extra,
    )

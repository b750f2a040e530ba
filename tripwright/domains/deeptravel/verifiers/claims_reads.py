"""From the words that a pattern has found to what they say: the values that they allow, the unit of
their rounding, and a word more (the currency of a price, "range" of two days, "vague")."""

from __future__ import annotations

import re
from collections.abc import Callable

from tripwright.domains.deeptravel.verifiers.claims_numerals import (
    CURRENCIES,
    MONTH,
    number,
    step_of,
)
from tripwright.domains.deeptravel.verifiers.claims_words import MONTHS, WEEKDAYS

Found = tuple[tuple[float | str, ...], float, str]
_ENDS_BEFORE = re.compile(
    r"\b(?:dep|arr|departs?|arrives?|departing|arriving|departure|arrival|leaves?|leaving)\b[^.;!?\d]*$"
)
Read = Callable[["re.Match[str]"], Found]


def read_clock(match: re.Match[str]) -> Found:
    """Hour and minute, with whatever says which half of the day it is. Without it an hour in words
    may be of either half."""
    named = match.groupdict()
    spoken = named["hour"]
    hour, minute = int(number(spoken)), int(number((named.get("minute") or "0").replace("oh ", "")))
    if relation := named.get("relation"):
        before, word = relation.replace(" minutes", "").rsplit(" ", 1)
        minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(before) or int(number(before))
        minute = minutes if word in ("past", "after") else -minutes
    half = (named.get("half") or "").replace(".", "") or {
        "morning": "am",
        "afternoon": "pm",
        "evening": "pm",
    }.get(named.get("part") or "", "")
    if named.get("night"):
        half = "pm" if 6 <= hour < 12 else "am"
    if hour > 24 or minute > 59 or (half and hour > 12 and half == "am"):
        return (), 1.0, ""
    if half and hour <= 12:
        return ((hour % 12 + (12 if half == "pm" else 0)) * 60.0 + minute,), 1.0, ""
    in_words = not spoken.isdigit() or named.get("relation") or "clock" in match[0]
    hours = {hour % 12, hour % 12 + 12} if in_words and hour <= 12 else {hour}
    return tuple((each * 60.0 + minute) % 1440 for each in sorted(hours)), 1.0, ""


def read_dotted(match: re.Match[str]) -> Found:
    hour, minute = (
        float(match["hour"] or match["hour2"]),
        float(match["minute"] or match["minute2"]),
    )
    return ((60 * hour + minute,) if hour < 24 else ()), 1.0, ""


def read_unpointed(match: re.Match[str]) -> Found:
    """ "DEP LARKHAM 0639", "at 0639 hrs": four digits only where the words before or after say that
    they are a time."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    if not (_ENDS_BEFORE.search(before) or match[0][-1].isalpha()):
        return (), 1.0, ""
    return (60.0 * int(match["hour"]) + int(match["minute"]),), 1.0, ""


def read_price(match: re.Match[str]) -> Found:
    named = match.groupdict()
    currency = (
        CURRENCIES[(named.get("before") or named.get("after") or "").strip()]
        if named.get("before") or named.get("after")
        else ""
    )
    return (
        (number(named["amount"]),),
        step_of(named["amount"]) if named["amount"][0].isdigit() else 1.0,
        currency,
    )


def read_hours_and_minutes(match: re.Match[str]) -> Found:
    hours = 1.0 if match["hours"] in ("an", "a", "one") else number(match["hours"])
    return (60 * hours + number(match["minutes"]),), 1.0, ""


def read_hours(match: re.Match[str]) -> Found:
    said = match["hours"]
    return (
        (60 * (1.0 if said == "an" else number(said)),),
        60 * (step_of(said) if said[0].isdigit() else 1.0),
        "",
    )


def read_hours_and_part(match: re.Match[str]) -> Found:
    said, part = match["hours"], 30.0 if "half" in match["part"] else 15.0
    return (60 * (1.0 if said in ("an", "one") else number(said)) + part,), part, ""


def read_span(match: re.Match[str]) -> Found:
    """ "Two to three hours", "10-15 min": any value between, in tens where hours are meant."""
    low, high, unit = (
        number(match["low"]),
        number(match["high"]),
        60.0 if match["unit"].startswith("h") else 1.0,
    )
    step = 10.0 if unit > 1 else 1.0
    if not low < high <= low + (1.0 if unit > 1 else 10.0):
        return (), 1.0, ""  # wider, it says nothing
    return (
        tuple(low * unit + step * n for n in range(int((high - low) * unit / step) + 1)),
        step,
        "vague",
    )


def vague(low: float, high: float, step: float) -> Read:
    """Words for no certain number of minutes: any from `low` to `high`, in steps of `step`."""
    values = tuple(float(low + step * n) for n in range(int((high - low) / step) + 1))
    return lambda match: (values, step, "vague")


def fixed(value: float, step: float = 1.0) -> Read:
    return lambda match: ((value,), step, "")


def read_counted(match: re.Match[str]) -> Found:
    said = match["n"]
    return (
        (0.0 if said in ("no", "zero", "without") else number(said),),
        step_of(said) if said[0].isdigit() else 1.0,
        "",
    )


def read_distance(match: re.Match[str]) -> Found:
    scale = (
        1.0
        if match["unit"].startswith("k")
        else 1.609344
        if match["unit"].startswith("mi")
        else 0.001
    )
    return (
        (number(match["n"]) * scale,),
        (step_of(match["n"]) if match["n"][0].isdigit() else 1.0) * scale,
        "",
    )


def read_date(match: re.Match[str]) -> Found:
    named = match.groupdict()
    year = int(named.get("year") or 0)
    if named.get("first"):  # 26/06/2026 or 06/26/2026
        pairs = {
            (int(named["first"]), int(named["second"])),
            (int(named["second"]), int(named["first"])),
        }
        days = [(month, day) for month, day in sorted(pairs) if 1 <= month <= 12 and 1 <= day <= 31]
    else:
        month = named.get("month") or ""
        # 0 stands for "not said"
        days = [(MONTHS.get(month.lower()) or int(month or 0), int(named["day"]) or 99)]
        if named.get("until"):
            if re.search(
                rf"\b(?:{MONTH})\.? (?:the )?$",
                match.string[max(0, match.start() - 16) : match.start()],
            ):
                # "August 14 to 18 August" is two days, not a range of two numbers
                return (), 1.0, ""
            days.append((days[0][0], int(named["until"])))
    return (
        tuple(f"{year:04d}-{month:02d}-{day:02d}" for month, day in days),
        1.0,
        "range" if named.get("until") else "",
    )


def read_weekday(match: re.Match[str]) -> Found:
    return (float(WEEKDAYS[match["name"].lower()]),), 1.0, ""


def read_card(match: re.Match[str]) -> Found:
    rows = [int(n) for n in re.findall(r"\d+", match["rows"])]
    return tuple(f"{int(match['call'])}:{row}" for row in rows), 1.0, ""

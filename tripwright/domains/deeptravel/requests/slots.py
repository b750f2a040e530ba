"""Writes dates, times, numbers, prices and names of a request in several ways each, and reads every
one of them back."""

from __future__ import annotations

import random
import re
from datetime import date as Date

from tripwright.domains.wording import MONTHS, NUMBERS, TOGETHER, capitalised, ordinal, speaker

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
    return "".join(
        (
            (_VOICE[text] if text in _VOICE else f"(?P<{text}>{SLOTS[text]})")
            if place % 2
            else re.escape(text)
        )
        for place, text in enumerate(parts)
    )


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

"""How numbers are written: digits with separators, fractions, words; currencies, months, weekdays
and hours as parts of patterns."""

from __future__ import annotations

import re

from tripwright.domains.deeptravel.verifiers.claims_words import (
    MONTHS,
    NUMBERS,
    WEEKDAYS,
    small_numbers,
)

WORD_VALUES = {re.sub(r"\[ -\]", " ", word): value for word, value in small_numbers()}
WORDS = "|".join(word for word, _ in small_numbers())
NUM = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
SPOKEN = (  # "a hundred and five", "one thousand two hundred"
    rf"(?:\b(?:{WORDS}|an?|\d{{1,3}})[ -](?:hundred|thousand)(?:(?:,? and|,)?["
    rf" -](?:{WORDS}|hundred|thousand)\b)*(?![a-z]))"
)
FRACTION = r"(?:\d*\s?[½¼¾])"
FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
SPACED = r"(?<![\d.,:/'])\d{1,3}(?:[ ']\d{3})+(?:[.,]\d\d)?(?![\d'])"  # "1 556.00", "1'556"
# Also with a comma for the decimals: "1.234,50".
MONEY = rf"(?:{SPOKEN}|{SPACED}|\d{{1,3}}(?:\.\d{{3}})+,\d\d(?![\d,])|\d+,\d\d(?![\d,])|{NUM})"
N = rf"(?:{SPOKEN}|{FRACTION}|{NUM}|\b(?:{WORDS})\b)"
CURRENCIES = {
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
CURRENCY = "|".join(sorted((re.escape(name) for name in CURRENCIES), key=len, reverse=True))
# what stands before a number
SIGN = "|".join(
    sorted((re.escape(name) for name in CURRENCIES if len(name) < 4), key=len, reverse=True)
)
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
WEEKDAY = "|".join(sorted((name for name in WEEKDAYS if len(name) > 5), key=len, reverse=True))
SHORT_WEEKDAY = "|".join(
    sorted((name for name in WEEKDAYS if len(name) <= 5), key=len, reverse=True)
)
HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
HOURS = (
    rf"(?:{HOUR}|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty["
    r" -](?:one|two|three)|twenty)"
)
MINUTES = "|".join(word for word, value in small_numbers() if 10 <= value <= 59)
HALF = (
    r"(?:\s*(?P<half>a\.m\.|p\.m\.|a\.m\b|p\.m\b|am\b|pm\b)|,?\s*(?:in the"
    r" (?P<part>morning|afternoon|evening)|(?P<night>at night)))"
)


def number(text: str) -> float:
    """Of digits with separators, with a fraction, or of number words."""
    if text[-1] in FRACTIONS:
        return float(text[:-1].strip() or 0) + FRACTIONS[text[-1]]
    if "hundred" in text or "thousand" in text:
        return _spoken(text)
    word = WORD_VALUES.get(text.replace("-", " "))
    if word is None and text[0].isdigit():
        text = re.sub(r"(?<=\d)[ '](?=\d{3})", "", text)
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


def step_of(text: str) -> float:
    _, point, decimals = _pointed(text).partition(".")
    return 10.0 ** -len(decimals) if point else 1.0

"""A closed grammar of requests, and never a guess: phrases, and words that mean nothing.

Every word of a text belongs to a phrase, or means nothing there; what is left is of none. A word
means nothing only in a sentence of which a phrase speaks of a subject that it is listed under: a
"restaurant" beside a cuisine, never beside smoking. Among the ways to read a text the one with the
fewest words of neither kind is taken, then the one with the fewest that mean nothing, then the one
with the fewest phrases. A "not" or a "but" that no phrase holds is itself of none.

In the tables a phrase stands under the field that it gives, or under "field = value"; [x] may be
missing, (x|y) is one of them, and {slot} is one of the slots there or here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from tripwright.domains.wording import MONTHS, NUMBERS
from tripwright.world.scales import CUISINES

# ---- words


class Word(NamedTuple):
    """`plain`: lower case; a number is "#3", in words too, an amount "$1700", a place its
    name between two "@", the end of a sentence "." or "?"."""

    plain: str
    start: int
    end: int


_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]{1,2})?(?![\w]|[.,][0-9])"
_WORD = (
    r"(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})(?![\w-])"
    rf"|(?<![A-RT-Za-rt-z])\$ ?(?P<usd>{_NUMBER})"  # US$, not A$
    rf"|(?P<ordinal>[0-9]{{1,2}})(?:st|nd|rd|th)\b|(?P<number>{_NUMBER})"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)|(?P<end>[.!?;])"
    r"|(?<=[0-9hdt]) ?(?P<to>[-\u2013]) ?(?=[0-9])"
    r"|[\s,:()\"\u201c\u201d\u2014\u2013'-]|(?P<other>\S)"
)
_SHORTENED = {"won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not"}
_SHORT_ENDINGS = ("'s", "'d", "'ll", "'re", "'m", "'ve")


class Gazetteer:
    """The cities and states of a world, as texts name them."""

    def __init__(self, cities: Mapping[str, str]):
        self.state_of, self.cities, self.states = cities, set(cities), set(cities.values())
        names = sorted(self.cities | self.states, key=len, reverse=True)
        names_pattern = rf"(?P<place>(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w))|"
        self._word = re.compile((names_pattern if names else "") + _WORD)

    def words(self, text: str) -> list[Word]:
        words = list[Word]()
        for match in self._word.finditer(text):
            if match.lastgroup is None:
                continue
            for plain in _plain(match.lastgroup, match[match.lastgroup]):
                if words and plain == f"@{self.state_of.get(words[-1].plain[1:-1])}@":
                    words[-1] = words[-1]._replace(end=match.end())  # "Houston, Texas"
                else:
                    words.append(Word(plain, *match.span()))
        return words


NOWHERE = Gazetteer({})


def _plain(kind: str, said: str) -> list[str]:
    match kind:
        case "place":
            return [f"@{said}@"]
        case "usd":
            return [f"${said.replace(',', '')}"]
        case "number":
            return [f"#{said.replace(',', '')}"]
        case "ordinal":
            return [f"#{said}th"]
        case "end" | "to":
            return ["to" if kind == "to" else said.replace("!", ".")]
    word = said.lower()
    if word in NUMBERS:
        return [f"#{NUMBERS.index(word) + 1}"]
    if word in _SHORTENED:
        return _SHORTENED[word].split()
    if word.endswith("n't"):
        return [word[:-3], "not"]
    return [word.removesuffix(next((end for end in _SHORT_ENDINGS if word.endswith(end)), ""))]


# ---- phrases


class Phrase(NamedTuple):
    """`field` is the one that it gives, or UNCLEAR, "home" (back where one started), "last date";
    "nothing", "subject" and "food" give none."""

    field: str
    value: str | None  # where the phrase itself is the value
    pattern: re.Pattern[str]
    subjects: frozenset[str]  # that a sentence with it speaks of
    company: frozenset[str]  # subjects: it is understood where its sentence speaks of one of them


# what a sentence speaks of with a phrase of these fields; with one of the others, of the trip
SUBJECTS = {"nothing": "any", "house rule": "rooms", "room type": "rooms"}
SUBJECTS |= {field: field for field in ("cuisine", "food", "transportation", "budget")}

UNCLEAR = "unclear"  # the field of phrases that are known to leave open what is meant
NOTHING = Phrase("nothing", None, re.compile(""), frozenset(), frozenset())  # a word alone


class Said(NamedTuple):
    """A phrase of a text, or (`phrase` None) a word that belongs to none."""

    phrase: Phrase | None
    words: tuple[Word, ...]

    @property
    def field(self) -> str:
        return UNCLEAR if self.phrase is None else self.phrase.field

    @property
    def text(self) -> str:
        return " ".join(word.plain.strip("@#") for word in self.words)

    @property
    def value(self) -> Any:
        """Of a phrase, for its field: a name, a number, or what the phrase stands for."""
        assert self.phrase is not None
        if self.phrase.value is not None:
            fixed = self.phrase.value
            return int(fixed) if fixed.isdigit() else fixed
        if self.phrase.field == "cuisine":
            return self.words[-1].plain.capitalize()
        marked = next(word.plain for word in self.words if word.plain[0] in "@#$")
        if marked[0] == "$" or self.phrase.field == "budget":
            return float(marked[1:])
        return int(marked[1:]) if marked[0] == "#" else marked[1:-1]


class Piece(NamedTuple):
    """A part of a phrase, as a pattern over plain words, each of them followed by a blank."""

    pattern: str
    firsts: frozenset[str]  # what its first word may be, as `_key` has it
    may_be_missing: bool

    def then(self, other: Piece) -> Piece:
        firsts = self.firsts | other.firsts if self.may_be_missing else self.firsts
        both_missing = self.may_be_missing and other.may_be_missing
        return Piece(self.pattern + other.pattern, firsts, both_missing)


EMPTY = Piece("", frozenset(), True)
KINDS = "#$@%~0123456789"  # of words, by what they begin with


def _key(plain: str) -> str:
    """The word, or of which kind it is."""
    return plain[0] if plain[0] in KINDS else plain


class Grammar(NamedTuple):
    phrases: Mapping[str, Sequence[Phrase]]  # by what their first word may be
    meaningless: Mapping[str, frozenset[str]]  # in sentences that speak of which subjects, by word


def made_grammar(
    templates: Iterable[tuple[str, str]],
    own_slots: Mapping[str, str],
    meaningless: Mapping[str, str],
    more: Mapping[str, Piece] | None = None,
) -> Grammar:
    """Of (field, template). `more`: slots of a reader's own."""
    numbers, digits = frozenset("#"), frozenset("0123456789")
    slots = {
        "n": Piece("#[0-9]{1,2} ", numbers, False),
        "day": Piece("#[0-9]{1,2}(?:th)? ", numbers, False),
        "year": Piece("#[12][0-9]{3} ", numbers, False),
        "iso": Piece("[0-9]{4}-[0-9]{2}-[0-9]{2} ", digits, False),
        "usd": Piece(r"\$[0-9.]+ ", frozenset("$"), False),
        "amount": Piece("#[0-9.]+ ", numbers, False),
        "place": Piece("@[^@]+@ ", frozenset("@"), False),
        "month": _piece("|".join(MONTHS), {}),
        "cuisine": _piece("|".join(CUISINES), {}),
        **(more or {}),
    }
    for name, template in own_slots.items():
        slots[name] = _piece(template, slots)
    phrases: dict[str, list[Phrase]] = {}
    for field, template in templates:
        piece = _piece(template, slots)
        field, _, company = field.partition(" with ")
        field, _, value = field.partition(" = ")
        subjects = frozenset({"any", value if field == "subject" else SUBJECTS.get(field, "trip")})
        phrase = Phrase(
            field, value or None, re.compile(piece.pattern), subjects, frozenset(company.split())
        )
        for first in piece.firsts:
            phrases.setdefault(first, []).append(phrase)
    found: dict[str, set[str]] = {}
    for subject, words in meaningless.items():
        for word in words.split():
            found.setdefault(word, set()).add(subject)
    return Grammar(phrases, {word: frozenset(subjects) for word, subjects in found.items()})


def _piece(template: str, slots: Mapping[str, Piece]) -> Piece:
    return _alternatives(iter(re.findall(r"\{\w+\}|[][()|]|[^][(){}|\s]+", template)), slots)


def _alternatives(signs: Iterator[str], slots: Mapping[str, Piece]) -> Piece:
    """Up to the bracket that ends them."""
    found = [EMPTY]
    for sign in signs:
        if sign in ")]":
            break
        if sign == "|":
            found.append(EMPTY)
        elif sign in "([":
            inner = _alternatives(signs, slots)
            optional = inner._replace(pattern=f"{inner.pattern}?", may_be_missing=True)
            found[-1] = found[-1].then(inner if sign == "(" else optional)
        elif sign.startswith("{"):
            found[-1] = found[-1].then(slots[sign[1:-1].lower()])
        else:
            for plain, _, _ in NOWHERE.words(sign):
                word = Piece(re.escape(plain) + " ", frozenset({_key(plain)}), False)
                found[-1] = found[-1].then(word)
    return Piece(
        f"(?:{'|'.join(piece.pattern for piece in found)})",
        frozenset().union(*(piece.firsts for piece in found)),
        any(piece.may_be_missing for piece in found),
    )


class ReadingCost(NamedTuple):
    """Of a way to read words; the least is taken."""

    unread: int
    meaningless: int
    phrases: int

    def behind(self, phrase: Phrase | None) -> ReadingCost:
        unread, meaningless, phrases = self
        if phrase is NOTHING:
            return ReadingCost(unread, meaningless + 1, phrases)
        return ReadingCost(unread + (phrase is None), meaningless, phrases + 1)


def read_phrases(text: str, places: Gazetteer, grammar: Grammar) -> list[Said]:
    """The text as phrases: as few words of none as can be, then as few that mean nothing, then
    as few phrases."""
    words = places.words(text.replace("\u2019", "'"))
    phrases, meaningless = grammar
    joined = "".join(f"{word.plain} " for word in words)
    offsets = [0, *accumulate(len(word.plain) + 1 for word in words)]
    word_at = {offset: index for index, offset in enumerate(offsets)}
    # of the words from each on: what they cost, where the first phrase ends, and which it is
    best: list[tuple[ReadingCost, int, Phrase | None]] = [(ReadingCost(0, 0, 0), 0, None)] * (
        len(words) + 1
    )
    for index in reversed(range(len(words))):
        means_nothing = words[index].plain == "." or words[index].plain in meaningless
        choices = [(index + 1, NOTHING if means_nothing else None)]
        for phrase in phrases.get(_key(words[index].plain), ()):
            if match := phrase.pattern.match(joined, offsets[index]):
                choices.append((word_at[match.end()], phrase))
        best[index] = min(
            ((best[end][0].behind(phrase), end, phrase) for end, phrase in choices),
            key=lambda choice: choice[0],
        )
    said, sentence, index = list[Said](), list[Said](), 0
    while index < len(words):
        _, end, chosen = best[index]
        sentence.append(Said(chosen, tuple(words[index:end])))
        index = end
        if index == len(words) or sentence[-1].words[0].plain in (".", "?"):
            said += _in_company(sentence, meaningless)
            sentence = []
    return said


def _in_company(
    sentence: Sequence[Said], meaningless: Mapping[str, frozenset[str]]
) -> Iterator[Said]:
    """The sentence, with words that mean nothing only where it speaks of one of their subjects."""
    subjects = frozenset().union(*(each.phrase.subjects for each in sentence if each.phrase))
    for each in sentence:
        company = each.phrase.company if each.phrase else None
        if each.phrase is NOTHING:
            company = meaningless.get(each.words[0].plain)  # none for the end of a sentence
        yield each._replace(phrase=None) if company and not company & subjects else each


def named_dates(words: Sequence[Word]) -> Iterator[tuple[int | None, int | None, int]]:
    """(year, month, day) of each day in a phrase; the first two may stand with another."""
    found = list[list[int | None]]()
    month = None
    for word in (word.plain for word in words):
        if word[0].isdigit():
            found.append([int(part) for part in word.split("-")])
        elif word.capitalize() in MONTHS:
            month = MONTHS.index(word.capitalize()) + 1
            if found and found[-1][1] is None:
                found[-1][1], month = month, None  # "the 8th of March"
        elif word[1:].isdigit() and len(word) == 5 and found:
            found[-1][0] = int(word[1:])
        elif word[0] == "#":
            found.append([None, month, int(word[1:].removesuffix("th"))])
            month = None
    yield from ((year, month, day or 0) for year, month, day in found)

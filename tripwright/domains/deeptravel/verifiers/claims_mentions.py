"""Names in an answer's words: which rows of the tool answers they are, and which names stand in no
tool answer at all.

Identity is never tolerant. "TW 214" may be written "TW214", and a hotel's "The" or "Hotel" may be
left out where only one row can be meant; a name that goes on ("Mill Inn Annex"), a look-alike
letter or another digit is another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims_form import look_alike, plain
from tripwright.domains.deeptravel.verifiers.claims_lower import lower_names
from tripwright.domains.deeptravel.verifiers.claims_numbers import BLANK
from tripwright.domains.deeptravel.verifiers.claims_words import LABELS, MAKES_A_NAME, common_words
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow

_TYPES = ("hotel", "inn", "hostel", "suites", "lodge", "resort")
_RANK = ("ride", "hotel", "place", "other", "route", "page")
_TOKEN = re.compile(r"[^\W\d_][^\W_]*(?:['’&.-][^\W_]+)*'?")
_SHORTEST_SHOUT = 5  # words; a shorter line in capitals may be a name by itself
_SMALL = set(
    "a an the it this that you we i'd if at by for to and of in on or near best your our my top"
    " first second with from de la le".split()
)


@dataclass(frozen=True)
class Entity:
    """Something that can be recommended: all rows that have this name."""

    name: str
    rows: tuple[EvidenceRow, ...] = field(hash=False)
    # rows of another kind with this name: a hotel's entry among the places
    also: tuple[EvidenceRow, ...] = field(default=(), hash=False)

    @property
    def kind(self) -> str:
        return self.rows[0].kind


@dataclass(frozen=True)
class Mention:
    """A name in the words: of an `entity`, or (None) a text that some rows or the request hold: a
    city, a station, an address."""

    start: int
    end: int
    text: str
    entity: Entity | None


def key_of(name: str) -> str:
    return re.sub(r"[\s-]+", "", plain(name)).casefold()


class Names:
    """All that the tool answers and the request name, ready to be found in a line."""

    def __init__(self, answered: Iterable[CallEvidence], request: TravelRequest):
        rows = [row for call in answered for row in call.rows]
        by_key: dict[str, list[EvidenceRow]] = {}
        for row in rows:
            if row.name and re.search(r"\w", row.name):
                by_key.setdefault(key_of(row.name), []).append(row)
        cities = {
            key_of(row.text(label))
            for row in rows
            for label in ("city", "depart_city", "arrive_city")
        }
        cities |= {key_of(request.origin), key_of(request.destination)}
        self.entities = {key: _entity(found) for key, found in by_key.items() if key not in cities}
        self.aliases = _aliases(self.entities)
        self.request_names = _request_names(request)
        ends = {
            plain(row.text(end))
            for row in rows
            if row.kind == "route"
            for end in ("origin", "destination", "city", "mode")
        }
        self.free = {key_of(name) for name in self.request_names | ends}
        self.query_words = {word.casefold() for word in _TOKEN.findall(plain(request.query))}
        self.prose = plain(" ".join(row.prose for row in rows if row.kind in ("page", "other")))
        said = {
            plain(text) for row in rows for text in row.said if re.search(r"[^\W\d_]", text)
        } | self.request_names
        said |= {street for row in rows if (street := street_of(row))}
        names = {
            entity.name for entity in self.entities.values() if re.search(r"[^\W\d_]", entity.name)
        }
        self.of_items = _pattern(names | {entity.name for entity in self.aliases.values()})
        self._all = _pattern(said | names | set(self._alias_texts()))

    def _alias_texts(self) -> Iterator[str]:
        yield from self.aliases

    def find(self, text: str) -> list[Mention]:
        """Longest names first; none overlaps another."""
        found = []
        for match in self._all.finditer(text) if self._all else ():
            said = match[0]
            key = key_of(said)
            entity = self.entities.get(key) or self._by_alias(text, match)
            known = self.entities.get(key)
            if (
                known is not None
                and known.name.isalpha()
                and known.name.lower() in common_words()
                and said.islower()
            ):
                continue  # a place that is called "Market" is not meant by every market
            if entity is None and not self._is_said(said):
                continue
            found.append(Mention(match.start(), match.end(), said, entity))
        return found

    def numbered(self, text: str) -> Entity | None:
        """A ride whose number is digits only."""
        return self.entities.get(key_of(text))

    def _is_said(self, said: str) -> bool:
        return key_of(said) not in {key_of(alias) for alias in self.aliases}

    def _by_alias(self, text: str, match: re.Match[str]) -> Entity | None:
        """A shortened name, where no capitalised word goes on with it."""
        entity = self.aliases.get(match[0].lower())
        if entity is None or match[0].islower():
            return None
        before, after = text[: match.start()].rstrip(" "), text[match.end() :].lstrip(" ")
        goes_on = re.match(r"[A-Z0-9]", after) is not None or (
            re.search(r"(?:^|[^.!?:])\s[A-Z][\w']*$", " " + before) is not None
            and not re.search(r"(?:The|Hotel|At|In|Stay|Book)$", before)
        )
        return None if goes_on else entity

    def strange(self, text: str, title: bool) -> Iterator[str]:
        """Names of one line that are in no row. `text` has names, claims and labels that are known
        blanked out. Of a line all in capitals every word must be one, and stands for itself in
        small letters."""
        if text.isupper() and len(text.split()) > _SHORTEST_SHOUT:
            yield from (
                match[0]
                for match in _TOKEN.finditer(text)
                if look_alike(match[0]) or not self._plain(match[0].lower())
            )
            yield from lower_names(text.lower(), self._common)
            return
        for begin, words in _runs(text):
            run = " ".join(words)
            lower = [word.lower().partition("'")[0] for word in words]
            odd = [word for word in words if look_alike(word)]
            opens = _opens(text, begin)
            # "COST ESTIMATE", with which a line begins
            shouted = run.isupper() and not text[:begin].strip(" \"'([*#-")
            # "Travel Memo: …"
            label = opens and text[begin + len(run) :].lstrip(" *").startswith(":")
            if odd:
                yield odd[0]
            elif run.lower() in self.prose and len(run) > 2:
                continue
            elif (len(words) > 1 and _makes_a_name(lower)) or not all(
                self._fine(word, title or label or shouted or (n == 0 and opens))
                for n, word in enumerate(lower)
            ):
                yield run
        yield from lower_names(text, self._common)

    def _plain(self, word: str) -> bool:
        return len(word) < 2 or self._common(word.partition("'")[0]) or word.endswith(("ing", "ly"))

    def _common(self, word: str) -> bool:
        return (
            word in common_words()
            or word in LABELS
            or word in _SMALL
            or word in MAKES_A_NAME
            or word in self.query_words
        )

    def _fine(self, word: str, opens: bool) -> bool:
        if word in LABELS or word in _SMALL or word in self.query_words or len(word) == 1:
            return True
        return opens and (word in common_words() or word.endswith(("ing", "ly")))


def _entity(rows: list[EvidenceRow]) -> Entity:
    """A web page or an unknown tool that uses a hotel's name adds nothing to what the hotel's own
    rows say."""
    kind = min((row.kind for row in rows), key=_RANK.index)
    own = tuple(row for row in rows if row.kind == kind)
    return Entity(
        plain(own[0].name),
        own,
        tuple(row for row in rows if row.kind == "place" and kind == "hotel"),
    )


def street_of(row: EvidenceRow) -> str:
    """ "12 Mill Lane" is on Mill Lane; '' where the address has no number in front."""
    found = re.fullmatch(r"\d+\w?,? +(.{4,})", plain(row.text("address")))
    return found[1] if found is not None and re.search(r"\d", found[1]) is None else ""


def _makes_a_name(words: list[str]) -> bool:
    rest = [word for word in words if word not in LABELS and word not in _SMALL]
    return any(word in MAKES_A_NAME for word in words) and len(rest) > (
        1 if rest and rest[0] in MAKES_A_NAME else 0
    )


def _runs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Capitalised words that stand together, with the place of the first; lower-case words of a
    line are checked for odd letters only."""
    run: list[str] = []
    begin = last = 0
    for match in _TOKEN.finditer(text):
        word = match[0]
        joined = bool(run) and text[last : match.start()] in (" ", " & ", "&")
        if run and not (joined and word[0].isupper()):
            yield begin, run
            run = []
        if word[0].isupper():
            begin = begin if run else match.start()
            run.append(word)
        elif look_alike(word):
            yield match.start(), [word]
        last = match.end()
    if run:
        yield begin, run


def _opens(text: str, begin: int) -> bool:
    """Whether a sentence, a label, a cell or a bracket begins here. A name that was blanked out
    before it does not count as a beginning."""
    before = text[:begin].rstrip(" \"'([*")
    return (
        not before
        or before[-1] in ".!?:|;/→-•·("
        or not (before[-1].isalnum() or before[-1] in f",{BLANK}&%)+")
    )


def _pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    wanted = sorted({text for text in texts if len(text) > 1}, key=lambda text: (-len(text), text))
    if not wanted:
        return None
    return re.compile(
        r"(?<![^\W_])(?:" + "|".join(map(_loose, wanted)) + r")(?![^\W_])", re.IGNORECASE
    )


def _loose(text: str) -> str:
    """A ride's number with or without its space; other names with any spacing."""
    if re.fullmatch(r"[A-Za-z0-9]{1,3}[ -]?\d{1,5}", text) and (
        letters := re.match(r"([A-Za-z]+|[A-Za-z0-9]{2})[ -]?(\d+)$", text)
    ):
        return rf"{letters[1]}[ -]?{letters[2]}"
    return r"\s+".join(map(re.escape, text.split()))


def _aliases(entities: dict[str, Entity]) -> dict[str, Entity]:
    """Names of hotels and places without "The" and without the word for what they are; those that
    could mean two are left out."""
    found: dict[str, Entity | None] = {}
    for entity in entities.values():
        if entity.kind not in ("hotel", "place"):
            continue
        words = entity.name.split()
        short = words[1:] if words[0].lower() == "the" else words
        shorter = [word for word in short if word.lower() not in _TYPES]
        for each in (short, shorter):
            text = " ".join(each).lower()
            if (
                each == words
                or not each
                or (len(each) == 1 and (text in common_words() or len(text) < 4))
                or all(word in common_words() for word in text.split())
                and len(each) < 2
            ):
                continue
            found[text] = None if text in found and found[text] is not entity else entity
    return {
        text: entity
        for text, entity in found.items()
        if entity is not None and key_of(text) not in entities
    }


def _request_names(request: TravelRequest) -> set[str]:
    named = (request.origin, request.destination, request.hotel, request.hotel_near, *request.visit)
    return {plain(name) for name in named if name}

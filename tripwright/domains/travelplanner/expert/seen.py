"""What an episode's answers have shown so far: the only facts that a careful expert decides from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tripwright.domains.travelplanner.expert.reading import Answer, Row

MOST_BROKEN = 2  # rounds of one search without any answer, after which it is given up


class Search(NamedTuple):
    """A question to a tool, by the core's names. The same search may be made page by page."""

    tool: str
    arguments: tuple[tuple[str, str], ...]

    @property
    def asked(self) -> dict[str, str]:
        return dict(self.arguments)


def search(tool: str, **arguments: str) -> Search:
    return Search(tool, tuple(arguments.items()))


@dataclass
class Found:
    """What is known of one search. `next_page` is None once nothing more can be asked; `lost` where a part could not be read; `answered`
    where the tool said anything: the same call would then be a repeated one; `known` is False where the tool said that it cannot tell."""

    rows: list[Row] = field(default_factory=list)
    next_page: int | None = 1
    lost: bool = False
    answered: bool = False
    known: bool = True
    failures: int = 0

    @property
    def is_open(self) -> bool:
        return self.next_page is not None


UNASKED = Found()


class Seen:
    """`paged`: a first page that came broken can be asked for once more, by its number."""

    def __init__(self, paged: bool):
        self.paged = paged
        self.version = 0  # grows with every answer: what was thought of the earlier ones is stale then
        self._found: dict[Search, Found] = {}
        self._texts: dict[str, list[tuple[Search, int, str]]] = {}

    def of(self, asked: Search) -> Found:
        return self._found.get(asked, UNASKED)

    def is_asked(self, asked: Search) -> bool:
        return asked in self._found

    def all(self) -> Iterator[tuple[Search, Found]]:
        return iter(self._found.items())

    @property
    def anything_lost(self) -> bool:
        return any(found.lost for found in self._found.values())

    @property
    def anything_unknown(self) -> bool:
        return any(not found.known for found in self._found.values())

    def add(self, asked: Search, page: int, by_number: bool, answer: Answer, text: str) -> None:
        """`by_number`: the call named its page."""
        self.version += 1
        found = self._found.setdefault(asked, Found())
        found.answered = True
        found.known = found.known and answer.known
        if answer.rows and self._is_of_another(asked, page, text):
            answer = Answer([], whole=False, pages=None)
        found.rows += [row for row in answer.rows if row not in found.rows]
        if answer.pages is not None:
            found.next_page = page + 1 if page < answer.pages else None
            found.lost = found.lost or not answer.whole
        elif self.paged and page == 1 and not by_number and asked.tool not in _WITHOUT_PAGES:
            found.next_page = 1
        else:
            found.next_page, found.lost = None, True

    def failed(self, asked: Search) -> None:
        """All tries went unanswered."""
        self.version += 1
        found = self._found.setdefault(asked, Found())
        found.failures += 1
        if found.failures >= MOST_BROKEN:
            found.next_page, found.lost = None, True

    def _is_of_another(self, asked: Search, page: int, text: str) -> bool:
        """Faces whose rows do not say where they are may show an earlier answer again: two cities never have one and the same table.

        A road may be as long back as there, and flights may be the same on two days.
        """
        if asked.tool in _MAY_REPEAT:
            return False
        earlier = self._texts.setdefault(asked.tool, [])
        ends = set(asked.asked.values())
        is_road = asked.tool == "search_ground_transportation"
        repeated = any(
            said == text and (before, then) != (asked, page) and not (is_road and set(before.asked.values()) == ends)
            for before, then, said in earlier
        )
        earlier.append((asked, page, text))
        return repeated


_WITHOUT_PAGES = ("get_cities", "search_ground_transportation")
_MAY_REPEAT = ("get_cities", "search_flights")

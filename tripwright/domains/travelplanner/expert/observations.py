"""What an episode's answers have shown so far: the only facts that a careful expert decides
from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.transcript import Rows

Row = Mapping[str, Any]  # by the names of the records' fields; only those that the face shows
CITY = "city"  # the field of the rows of get_cities
# problems that say that there is nothing; others say that the tool cannot tell
NOTHING = frozenset(
    (
        "no_flights",
        "no_accommodations",
        "no_restaurants",
        "no_attractions",
        "no_road",
        "no_road_data",
        "road_over_a_day",
    )
)
MOST_BROKEN = 2  # rounds of one search without any answer, after which it is given up


class Search(NamedTuple):
    """A question to a tool, by the core's names. The same search may be made page by page."""

    tool: str
    pairs: tuple[tuple[str, str], ...]  # of argument and value

    @classmethod
    def of(cls, tool: str, **arguments: str) -> Search:
        return cls(tool, tuple(arguments.items()))

    @property
    def arguments(self) -> dict[str, str]:
        return dict(self.pairs)


@dataclass
class SearchResult:
    """What is known of one search. `next_page` is None once nothing more can be asked; `lost` where
    a part could not be read; `answered` where the tool said anything: the same call would then be a
    repeated one; `is_known` is False where the tool said that it cannot tell."""

    rows: list[Row] = field(default_factory=list)
    next_page: int | None = 1
    lost: bool = False
    answered: bool = False
    is_known: bool = True
    failures: int = 0

    @property
    def is_open(self) -> bool:
        return self.next_page is not None


UNASKED = SearchResult()


class Observations:
    """`paged`: a first page that came broken can be asked for once more, by its number."""

    def __init__(self, paged: bool):
        self.paged = paged
        # grows with every answer: what was thought of the earlier ones is stale then
        self.version = 0
        self._results: dict[Search, SearchResult] = {}
        self._earlier: dict[str, list[tuple[Search, int, Rows]]] = {}

    def of(self, search: Search) -> SearchResult:
        return self._results.get(search, UNASKED)

    def is_asked(self, search: Search) -> bool:
        return search in self._results

    def all(self) -> Iterator[tuple[Search, SearchResult]]:
        return iter(self._results.items())

    @property
    def anything_lost(self) -> bool:
        return any(result.lost for result in self._results.values())

    @property
    def anything_unknown(self) -> bool:
        return any(not result.is_known for result in self._results.values())

    def add(self, search: Search, page: int, by_number: bool, rows: Rows) -> bool:
        """Whether the answer looks whole. One that speaks of another city, day, route or page than
        was asked counts as broken; so does one that was given before to another question, but
        nobody sees that by looking at it. `by_number`: the call named its page."""
        self.version += 1
        result = self._results.setdefault(search, SearchResult())
        result.answered = True
        if not _is_about(search, page, rows):
            rows = rows.cut(0)
        looks_whole = rows.is_whole
        if rows.values and self._is_of_another(search, page, rows):
            rows = rows.cut(0)
        result.is_known = result.is_known and (rows.problem is None or rows.problem in NOTHING)
        result.rows += [row for row in rows.records() if row not in result.rows]
        if rows.pages is not None:
            result.next_page = page + 1 if page < rows.pages else None
        elif self.paged and page == 1 and not by_number and search.tool not in _WITHOUT_PAGES:
            result.next_page = 1
        else:
            result.next_page, result.lost = None, True
        return looks_whole

    def add_failure(self, search: Search) -> None:
        """All tries went unanswered."""
        self.version += 1
        result = self._results.setdefault(search, SearchResult())
        result.failures += 1
        if result.failures >= MOST_BROKEN:
            result.next_page, result.lost = None, True

    def _is_of_another(self, search: Search, page: int, rows: Rows) -> bool:
        """Faces whose rows do not say where they are may show an earlier answer again: two cities
        never have one and the same table.

        A road may be as long back as there, and flights may be the same on two days.
        """
        if search.tool in _MAY_REPEAT:
            return False
        earlier = self._earlier.setdefault(search.tool, [])
        ends = set(search.arguments.values())
        is_road = search.tool == "search_ground_transportation"
        repeated = any(
            answer == rows
            and (before, then) != (search, page)
            and not (is_road and set(before.arguments.values()) == ends)
            for before, then, answer in earlier
        )
        earlier.append((search, page, rows))
        return repeated


def _is_about(search: Search, page: int, rows: Rows) -> bool:
    """As far as the answer says what it is about; which page it is, it says where there are
    several."""
    records = (rows.about, *rows.records())
    is_page = rows.pages in (None, 1) or rows.page == page
    return is_page and all(
        each.get(name, value) == value for name, value in search.pairs for each in records
    )


_WITHOUT_PAGES = ("get_cities", "search_ground_transportation")
_MAY_REPEAT = ("get_cities", "search_flights")

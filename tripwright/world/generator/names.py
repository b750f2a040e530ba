"""Made-up proper names for generated worlds: two or three syllables, so that a few dozen parts give
hundreds of thousands of names.

Names must be copied from tool answers, never remembered: the space is far larger than what any
training run sees.
"""

from __future__ import annotations

import random
from collections.abc import Callable

ONSETS = (
    "Ash Bal Bram Bren Cal Cass Cor Dal Del Dor Dun El Fair Fen Gar Glen Had Hal Har Hol Is Jas Kel"
    " Ken Lan Lark Lin Lor Mal Mar Mel Mor Nel Nor Oak Or Pel Per Quin Rad Ren Ros Row San Sel Shel"
    " Sil Stan Tal Tam Thor Tor Val Ven Ver Vin Wal West Win Wyn Yar Zan"
).split()
MIDDLES = "a an ar e el en er i in is o ol on or u".split()
ENDINGS = (
    "bay beck berg bourne bridge brook burgh bury by cliff combe cross dale den don fall field ford"
    " gate grove ham haven hurst land leigh ley low marsh mere mont moor ness port ridge shaw stead"
    " stow ton vale ville wick worth"
).split()
STATE_ENDINGS = "ania avia elia enia eria inia oria osa otia una".split()
RESTAURANT_NOUNS = (
    "Bistro Brasserie Buffet Cafe Canteen Cantina Diner Eatery Garden Grill House Kitchen Larder"
    " Oven Pantry Place Plate Room Smokehouse Spoon Table Tavern Terrace Trattoria"
).split()
ACCOMMODATION_NOUNS = (
    "Apartment Attic Bungalow Cabin Cottage Den Flat Getaway Hideaway Home Inn Lodge Loft Nest Nook"
    " Quarters Rest Retreat Studio Suite Villa Yard"
).split()
ATTRACTION_NOUNS = (
    "Aquarium Arboretum Castle Cathedral Falls Gallery Gardens Hall Harbor Lake Market Memorial"
    " Museum Observatory Palace Park Pier Plaza Reserve Square Theater Tower Trail Zoo"
).split()


class Namer:
    """Draws names that are unique within one world, none contained in another of its kind (the
    official look-up is by substring). `few`: how many onsets, middles and endings there are to
    make them of; None: all."""

    def __init__(self, rng: random.Random, few: tuple[int, int, int] | None = None):
        self._rng = rng
        self._taken: set[str] = set()
        parts = ONSETS, MIDDLES, ENDINGS
        self._onsets, self._middles, self._endings = (
            map(rng.sample, parts, few) if few is not None else parts
        )

    def proper(self) -> str:
        middle = self._rng.choice(self._middles) if self._rng.random() < 0.5 else ""
        return self._rng.choice(self._onsets) + middle + self._rng.choice(self._endings)

    def cities(self, count: int) -> list[str]:
        return self._apart(self.proper, count)

    def states(self, count: int) -> list[str]:
        return self._apart(
            lambda: self._rng.choice(ONSETS) + self._rng.choice(STATE_ENDINGS), count
        )

    def places(self, nouns: list[str], count: int) -> list[str]:
        """Names of one city's places of one kind, a proper name and a noun each: `Brenwick
        Grill`."""
        return self._apart(lambda: f"{self.proper()} {self._rng.choice(nouns)}", count)

    def _apart(self, draw: Callable[[], str], count: int) -> list[str]:
        names: list[str] = []
        while len(names) < count:
            name = draw()
            if name not in self._taken and not any(
                name in other or other in name for other in names
            ):
                self._taken.add(name)
                names.append(name)
        return names

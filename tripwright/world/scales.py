"""The sizes of generated worlds, and the laws their rows are drawn from.

`small` and `official` follow the real tables (row T1): every number here was counted in them.
`nano` is made for tiny models: short tables, few dates, and more traps than the real tables have
(low prices that hide long minimum stays, days without flights)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

Weights = tuple[tuple[float, ...], tuple[float, ...]]  # values, and how often each is drawn
Span = tuple[int, int]  # inclusive

# those that requests ask for
CUISINES = ("Chinese", "American", "Italian", "Mexican", "Indian", "Mediterranean", "French")
OTHER_DISHES = ("Tea", "BBQ", "Seafood", "Cafe", "Desserts", "Pizza", "Fast Food", "Bakery")
HOUSE_RULES = ("No parties", "No smoking", "No children under 10", "No pets", "No visitors")
ENTIRE, PRIVATE, SHARED = "Entire home/apt", "Private room", "Shared room"


@dataclass(frozen=True)
class RowCounts:
    """Rows of one table: about so many in a city; `total` makes their number exact,
    `cities_without` leaves a share of cities empty."""

    per_city: Span
    total: int | None = None
    cities_without: float = 0.0


@dataclass(frozen=True)
class Stays:
    """Places to stay. `long_stay_by_price`: low prices go with long minimum stays, which the real
    table does not have."""

    rooms: Mapping[str, float]  # room type → share
    occupancy: Mapping[str, Weights]  # room type → maximum occupancy
    nights: Weights
    rules: tuple[float, ...]  # shares of stays with one, two, three house rules
    ratings: Weights
    usd: Span
    long_stay_by_price: bool = False


@dataclass(frozen=True)
class Meals:
    cuisines: Weights  # how many of CUISINES one restaurant has
    others: Weights  # and how many of OTHER_DISHES
    ratings: Weights
    usd: Span


@dataclass(frozen=True)
class Air:
    """Flights. A served pair is served both ways; `per_day` is drawn for a route (with little
    change from day to day) or for each day."""

    # (pairs up to this many km, share without any flight)
    unserved: tuple[tuple[float, float], ...]
    per_day: Weights
    drawn_for: str  # "route" or "day"
    fixed_usd: float
    usd_per_km: tuple[float, float]  # uniform between the two
    seasons: bool


@dataclass(frozen=True)
class Scale:
    """Row counts are exact; None: as the laws have it. `name_parts`: of how many onsets, middles
    and endings the names of one world are made (None: of all); few make names that begin or end
    alike."""

    state_sizes: tuple[int, ...]  # cities of each state
    restaurants: RowCounts
    attractions: RowCounts
    accommodations: RowCounts
    first_date: str
    days: int
    flights: int | None
    roads: int | None  # rows of the road table; None: every ordered pair once
    listed_pairs: int | None  # ordered pairs in the road table, the only ones with flights
    roadless: float  # share of listed pairs without duration and distance
    stays: Stays
    meals: Meals
    air: Air
    name_parts: tuple[int, int, int] | None = None


def _shares(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


_OCCUPANCY = {
    SHARED: ((1,), (1,)),
    PRIVATE: ((1, 2), (0.473, 0.527)),
    ENTIRE: (
        (2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
        (0.282, 0.283, 0.119, 0.086, 0.072, 0.056, 0.047, 0.029, 0.018, 0.008),
    ),
}
REAL_STAYS = Stays(
    rooms={ENTIRE: 0.5223, PRIVATE: 0.4553, SHARED: 0.0224},
    occupancy=_OCCUPANCY,
    nights=(
        (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 15, 20, 21, 25, 28, 29, 30, 31, 60, 90, 365),
        _shares(
            "0.2443 0.2483 0.1585 0.0798 0.0541 0.0131 0.0455 0.0033 0.0121 0.0103 0.0077 "
            "0.0065 0.0035 0.0021 0.0047 0.0061 0.0751 0.0070 0.0012 0.0012 0.0007"
        ),
    ),
    rules=(0.504, 0.331, 0.165),
    ratings=((1, 2, 3, 4, 5), (0.110, 0.216, 0.225, 0.222, 0.227)),
    usd=(50, 1200),
)
REAL_MEALS = Meals(
    cuisines=((0, 1, 2), (0.25, 0.5, 0.25)),
    others=((2, 3, 4), (1, 1, 1)),
    ratings=(
        (0.0, *(x / 10 for x in range(20, 50))),
        _shares(
            "0.2249 0.0007 0.0016 0.0028 0.0049 0.0091 0.0115 0.0200 0.0262 0.0330 0.0399 "
            "0.0490 0.0543 0.0547 0.0506 0.0521 0.0503 0.0480 0.0447 0.0419 0.0351 0.0279 "
            "0.0287 0.0231 0.0182 0.0151 0.0099 0.0082 0.0044 0.0026 0.0064"
        ),
    ),
    usd=(10, 100),
)
REAL_AIR = Air(
    unserved=((370, 0.83), (750, 0.52), (1150, 0.28), (2800, 0.45), (1e9, 0.30)),
    per_day=(
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 18, 21, 29, 36, 47),
        _shares(
            "0.20 0.17 0.12 0.105 0.07 0.05 0.055 0.035 0.03 0.03 0.025 0.02 0.02 0.015 "
            "0.015 0.02 0.01 0.008 0.002"
        ),
    ),
    drawn_for="route",
    fixed_usd=0.0,
    usd_per_km=(0.2 / 1.609, 0.5 / 1.609),
    seasons=True,
)

_REAL_STATE_SIZES = (23, 21, 16, 15, 13, 12, 10, 9, 9, 8) + tuple(
    size
    for size, states in ((7, 4), (6, 5), (5, 8), (4, 7), (3, 7), (2, 6), (1, 17))
    for _ in range(states)
)

SCALES = {
    "nano": Scale(
        state_sizes=(4,) * 6,
        restaurants=RowCounts((6, 9)),
        attractions=RowCounts((2, 4)),
        accommodations=RowCounts((7, 9)),
        first_date="2022-03-01",
        days=14,
        flights=None,
        roads=None,
        listed_pairs=None,
        roadless=0.12,
        stays=Stays(
            rooms={ENTIRE: 0.5, PRIVATE: 0.4, SHARED: 0.1},
            occupancy=dict.fromkeys(
                (ENTIRE, PRIVATE, SHARED),
                (tuple(range(1, 9)), (0.14, 0.36, 0.14, 0.12, 0.06, 0.06, 0.06, 0.06)),
            ),
            # of the long ones; the others ask for one or two
            nights=((3, 4, 5, 7, 14, 30), (2, 1, 1, 1, 1, 1)),
            rules=(2 / 3, 1 / 3),
            ratings=((2, 3, 4, 5), (1, 1, 1, 1)),
            usd=(45, 435),
            long_stay_by_price=True,
        ),
        meals=Meals(
            cuisines=((1, 2), (2, 1)),
            others=((0, 1), (1, 2)),
            ratings=(tuple(x / 10 for x in range(20, 51)), (1,) * 31),
            usd=(10, 99),
        ),
        air=Air(
            unserved=((1e9, 0.2),),
            per_day=((0, 1, 2, 3, 4), (1, 1, 1, 1, 1)),
            drawn_for="day",
            fixed_usd=35.0,
            usd_per_km=(0.06, 0.136),
            seasons=False,
        ),
    ),
    "small": Scale(
        state_sizes=(10, 8, 6, 5, 4, 3, 3, 1),
        restaurants=RowCounts((20, 41)),
        attractions=RowCounts((12, 20)),
        accommodations=RowCounts((6, 21)),
        first_date="2022-03-01",
        days=92,
        flights=None,
        roads=None,
        listed_pairs=None,
        roadless=0.09,
        stays=REAL_STAYS,
        meals=REAL_MEALS,
        air=REAL_AIR,
    ),
    "official": Scale(
        state_sizes=_REAL_STATE_SIZES,
        restaurants=RowCounts((20, 41), total=9_551),
        attractions=RowCounts((17, 20), total=5_302, cities_without=0.1),
        accommodations=RowCounts((6, 21), total=4_285),
        first_date="2022-03-01",
        days=82,
        flights=3_827_361,
        roads=17_602,
        listed_pairs=16_156,
        roadless=0.09,
        stays=REAL_STAYS,
        meals=REAL_MEALS,
        air=REAL_AIR,
    ),
}

# for training: who reads only as far as names differ elsewhere, fails here
SCALES["nano_alike"] = replace(SCALES["nano"], name_parts=(4, 3, 5))

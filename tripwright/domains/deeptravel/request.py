"""A traveller's request: its atomic intents, such as a latest arrival or a budget, and the words
that say them (DeepTravel, Appendix A.3.1; row D8).

It is one city, there and back, by the clock, and each intent may be missing. The words are what the
agent reads; the intents are what its answer is held against.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Transport = Literal["flight", "train"]
Level = Literal["easy", "medium", "hard"]
# the fields of a request that need not be there and that make it harder (row D12)
Wish = Literal[
    "transport",
    "depart_after",
    "arrive_by",
    "return_after",
    "return_by",
    "total_budget",
    "nightly_budget",
    "hotel",
    "hotel_near",
    "visit",
]
_DAY = r"^\d{4}-\d{2}-\d{2}$"
_CLOCK = r"^\d{2}:\d{2}$"


class TravelRequest(BaseModel):
    """Days are ISO dates, times "HH:MM" local to the city they are about, money in `currency` for
    the whole party where it says total."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    query: str = ""  # the words
    origin: str
    destination: str
    depart_date: str = Field(pattern=_DAY)
    # None: one way, and without a stay unless `nights`
    return_date: str | None = Field(None, pattern=_DAY)
    nights: int | None = Field(None, ge=0)  # None: from depart_date to return_date
    party_size: int = Field(1, ge=1, le=99)
    transport: Transport | None = None
    depart_after: str | None = Field(None, pattern=_CLOCK)
    arrive_by: str | None = Field(None, pattern=_CLOCK)
    return_after: str | None = Field(None, pattern=_CLOCK)
    return_by: str | None = Field(None, pattern=_CLOCK)  # at home
    currency: str = "USD"
    total_budget: float | None = Field(None, gt=0)  # ways and stay together
    nightly_budget: float | None = Field(None, gt=0)  # one room
    hotel: str | None = None  # a name or a chain
    hotel_near: str | None = None  # a place
    visit: tuple[str, ...] = ()  # places to see, with the way to each
    level: Level | None = None

    @property
    def constrained(self) -> bool:
        """Whether any personal wish goes with it (the two halves of row D12)."""
        return any(getattr(self, wish) not in (None, ()) for wish in get_args(Wish))

    def record(self) -> dict[str, Any]:
        """One line of a request file; what was not said is left out."""
        return self.model_dump(mode="json", exclude_none=True)

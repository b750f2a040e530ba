"""A traveller's request: its atomic intents, such as a latest arrival or a budget, and the words
that say them (DeepTravel, Appendix A.3.1; row D8).

It is one city, there and back, by the clock, and each intent may be missing. The words are what the
agent reads; the intents are what its answer is held against.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

MADE_BY = "tripwright request make"
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
    origin: str = Field(title="From")
    destination: str = Field(title="To")
    depart_date: str = Field(pattern=_DAY, title="Leaves")
    # None: one way, and without a stay unless `nights`
    return_date: str | None = Field(None, pattern=_DAY, title="Returns")
    nights: int | None = Field(None, ge=0, title="Nights")  # None: from depart_date to return_date
    party_size: int = Field(1, ge=1, le=99, title="People")
    transport: Transport | None = Field(None, title="Transport")
    depart_after: str | None = Field(None, pattern=_CLOCK, title="Departs after")
    arrive_by: str | None = Field(None, pattern=_CLOCK, title="Arrives by")
    return_after: str | None = Field(None, pattern=_CLOCK, title="Returns after")
    return_by: str | None = Field(None, pattern=_CLOCK, title="Home by")
    currency: str = "USD"
    # ways and stay together
    total_budget: float | None = Field(None, gt=0, title="Budget in all")
    nightly_budget: float | None = Field(None, gt=0, title="Budget a night")  # one room
    hotel: str | None = Field(None, title="Hotel")  # a name or a chain
    hotel_near: str | None = Field(None, title="Hotel near")  # a place
    # places to see, with the way to each
    visit: tuple[str, ...] = Field((), title="To visit")
    level: Level | None = None

    @property
    def wishes(self) -> tuple[Wish, ...]:
        return tuple(wish for wish in get_args(Wish) if getattr(self, wish))

    @property
    def constrained(self) -> bool:
        """Whether any personal wish goes with it (the two halves of row D12)."""
        return bool(self.wishes)

    @property
    def marks(self) -> dict[str, str]:
        """What requests are counted and divided by beside their level."""
        return {"wishes": "with" if self.constrained else "without"}

    def record(self) -> dict[str, Any]:
        """One line of a request file; what was not said is left out."""
        return self.model_dump(mode="json", exclude_none=True)


LABELS = {name: field.title for name, field in TravelRequest.model_fields.items() if field.title}

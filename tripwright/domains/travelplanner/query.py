"""What is asked: one trip request, in the official TravelPlanner field names (row T2)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripwright.errors import UserError, first_problem


class LocalConstraint(BaseModel):
    """The four kinds of preference a traveller may state; None means none was stated."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    house_rule: str | None = Field(None, alias="house rule")
    cuisine: list[str] | None = None
    room_type: str | None = Field(None, alias="room type")
    transportation: str | None = None


class Query(BaseModel):
    """A trip request. `dest` is a city for 3-day trips and a state for 5 and 7 days; `budget` is in
    US dollars for the whole party."""

    model_config = ConfigDict(extra="allow")

    org: str
    dest: str
    days: int = Field(ge=1)
    visiting_city_number: int = Field(ge=1)
    date: list[str]
    people_number: int = Field(ge=1, le=100_000)
    local_constraint: LocalConstraint = Field(
        default_factory=lambda: LocalConstraint.model_validate({})
    )
    budget: int | float
    query: str
    level: str | None = None

    @property
    def party_size(self) -> int:
        return self.people_number

    def record(self) -> dict[str, Any]:
        """The official JSON record, keys as published ("house rule", "room type")."""
        return self.model_dump(by_alias=True)


def read_queries(path: str | Path) -> list[Query]:
    """All queries of a JSONL file. Raises UserError naming the first bad line and field."""
    return [query for _, query in iter_queries(path)]


def iter_queries(path: str | Path) -> Iterator[tuple[int, Query]]:
    """(line number, query) for every non-empty line of a JSONL file."""
    path = Path(path)
    if not path.is_file():
        raise UserError(
            f"No query file at '{path}'. Expected a JSONL file, one query record per line."
        )
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield number, _query_of(line)
            except json.JSONDecodeError as error:
                raise UserError(
                    f"{path}:{number}: not JSON ({error.msg} at column {error.colno})."
                ) from None
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}:{number}: not text in UTF-8 (byte {error.start + 1} of the line)."
                ) from None
            except ValidationError as error:
                raise UserError(f"{path}:{number}: {first_problem(error)}") from None
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}:{number}: {error}.") from None


def _query_of(line: bytes) -> Query:
    """One request to be planned. Stricter than the judge, which takes what the official code takes:
    a budget here is a real amount."""
    record = json.loads(line.decode("utf-8-sig"))
    if not isinstance(record, dict):
        raise ValueError(
            f"expected a query record, which is a JSON object, found {repr(record)[:60]}"
        )
    query = Query.model_validate(record)
    if not -math.inf < query.budget < math.inf:  # a comparison with NaN would let every cost pass
        raise ValueError(
            f"field 'budget': expected a finite amount in US dollars (found {query.budget})"
        )
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "holds half of a surrogate pair (such as \\ud800), which no text can contain"
        ) from None
    return query

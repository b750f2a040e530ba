"""The six live tools as methods and as the toolbox of an episode, over any source of answers: a
provider, or the sandbox that remembers what providers answered; and the names and formats under
which models see them (DeepTravel, section 3.2; rows D1 and D2).

Signature and docstring are the only definition of a tool, as for the seven tools of `catalog.py`.
The arguments are Table 1's names (A.2.1 and A.6 print others); `hotel_name` (which A.2 leaves
out), `depart_poi`, `arrival_poi` (A.2) and `is_transfer` (A.6) are optional. What is asked is
checked here, so that no vendor is asked for an impossible date; what a
vendor says is data, and cannot close a tag or end a turn.

A mistake of the model's is an answer. A service that does not answer is our side's fault (law 4),
and what then happens is a setting: training stops the episode unscored (`ToolHostDown`), serving
tells the model, who may ask again or go on without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeVar

from tripwright.domains.deeptravel.sandbox.provider import AnswerSource
from tripwright.domains.deeptravel.sandbox.sandbox import NotRecorded
from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    Provenance,
    ProviderAnswer,
    Record,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault
from tripwright.tools.answer import ToolAnswer, ToolError, defused, quoted
from tripwright.tools.face import (
    Column,
    Face,
    Pieces,
    Refusal,
    Table,
    ToolResult,
    columns,
    letters,
    number,
)
from tripwright.tools.signatures import Core, known_date
from tripwright.tools.toolbox import AnswerBox, ToolHostDown
from tripwright.world.store import World

OnFault = Literal["stop", "tell"]
LONGEST_ARGUMENT = 300  # characters
YEARS = (1900, 2199)  # an argument outside them is a slip of the pen


class LiveTools(Core):
    """The tools, bound to a source. The order of the methods is that of row D1 and of the schemas.
    They return typed records, or raise ToolError for what was asked wrongly or is not recorded; a
    ProviderFault passes through."""

    RECORDS: ClassVar[Mapping[str, type]] = RECORDS

    def __init__(self, source: AnswerSource, name_of: Callable[[str], str] = str):
        self._source, self._name_of = source, name_of

    @classmethod
    def of_world(cls, world: World, name_of: Callable[[str], str] = str) -> Self:
        """Over a closed world, whose today is its first day."""
        return cls(WorldProvider(world), name_of)

    def flight_search(
        self,
        depart_city_name: str,
        arrival_city_name: str,
        depart_date: str,
        depart_poi: str = "",
        arrival_poi: str = "",
    ) -> ProviderAnswer:
        """Search the flights between two cities on one day, with prices per person.

        Args:
            depart_city_name: The city to fly from.
            arrival_city_name: The city to fly to.
            depart_date: The day of departure, YYYY-MM-DD.
            depart_poi: A place in the city of departure: the ways from there to the airport are
                added.
            arrival_poi: A place in the city of arrival: the ways from the airport to there are
                added.
        """
        known_day(depart_date)
        return self._ask("flight_search", locals())

    def train_search(
        self, depart_city_name: str, arrival_city_name: str, depart_date: str, is_transfer: int = 0
    ) -> ProviderAnswer:
        """Search the trains between two cities on one day, with prices per person where they are
        known.

        Args:
            depart_city_name: The city to leave from.
            arrival_city_name: The city to reach.
            depart_date: The day of departure, YYYY-MM-DD.
            is_transfer: 0 for direct trains only, 1 for journeys with a change of trains too.
        """
        known_day(depart_date)
        if is_transfer not in (0, 1):
            raise ToolError(f"is_transfer is 0 or 1, found {quoted(is_transfer)}.", "bad_choice")
        return self._ask("train_search", locals())

    def route_planning(
        self, origin_name: str, destination_name: str, city_name: str
    ) -> ProviderAnswer:
        """Look up the ways between two places of one city: minutes and kilometres by each mode.

        Args:
            origin_name: The place to start from: a hotel, a station, an airport, a sight.
            destination_name: The place to reach.
            city_name: The city that both are in.
        """
        return self._ask("route_planning", locals())

    def hotel_search(
        self, city_name: str, checkin_date: str, checkout_date: str, hotel_name: str = ""
    ) -> ProviderAnswer:
        """Search the hotels of a city. Prices are of one room for the whole stay.

        Args:
            city_name: The city to stay in.
            checkin_date: The day of arrival, YYYY-MM-DD.
            checkout_date: The day of departure, YYYY-MM-DD, after checkin_date.
            hotel_name: Only hotels whose name holds these words.
        """
        if known_day(checkout_date) <= known_day(checkin_date):
            raise ToolError(
                f"checkout_date {checkout_date} is not after checkin_date {checkin_date}.",
                "bad_stay",
            )
        return self._ask("hotel_search", locals())

    def poi_search(self, query: str, city_name: str) -> ProviderAnswer:
        """Search places of a city by name or by kind, with their addresses.

        Args:
            query: The name of a place, or a kind of place such as "museum".
            city_name: The city to search.
        """
        return self._ask("poi_search", locals())

    def web_search(self, query: str) -> ProviderAnswer:
        """Search the web.

        Args:
            query: A few words to search for.
        """
        return self._ask("web_search", locals())

    def _ask(self, tool: str, call: Mapping[str, Any]) -> ProviderAnswer:
        """`call` are the local names of a tool's method: `self` and its arguments."""
        arguments = {name: value for name, value in call.items() if name != "self"}
        for name, value in arguments.items():
            if isinstance(value, str) and len(value) > LONGEST_ARGUMENT:
                raise ToolError(
                    f"Argument '{name}' has {len(value)} characters, at most {LONGEST_ARGUMENT} are"
                    " taken.",
                    "too_long",
                )
        return answer_of(self._source, tool, arguments, self._name_of(tool))


def answer_of(
    source: AnswerSource, tool: str, arguments: Mapping[str, Any], name: str
) -> ProviderAnswer:
    """What the source answers, every text defused and on one line. Raises ToolError for what it
    refuses or has not recorded, ProviderFault where it cannot answer."""
    try:
        answer = source.ask(tool, arguments)
    except NotRecorded as missing:
        raise ToolError(f"{name}: {missing}", "not_recorded") from None
    if answer.refused:
        raise ToolError(defused(answer.note) or f"{name} refused this call.", "refused")
    records = tuple(_data(record) for record in answer.records)
    return ProviderAnswer(records, _data(answer.source), defused(answer.note))


Data = TypeVar("Data", bound=Record | Provenance)


def _data(record: Data) -> Data:
    texts = dict[str, Any]()
    for name, value in vars(record).items():
        if isinstance(value, str):
            texts[name] = defused(" ".join(value.splitlines()))
        elif isinstance(value, Money):
            texts[name] = Money(value.amount, defused(value.currency))
    return replace(record, **texts)


def known_day(date: str) -> Any:
    """Raises ToolError for what is no day of the calendar in YEARS."""
    day = known_date(date)
    if not YEARS[0] <= day.year <= YEARS[1]:
        raise ToolError(
            f"Date {quoted(date)} is not in the years {YEARS[0]} to {YEARS[1]}.", "no_such_day"
        )
    return day


class LiveToolBox(AnswerBox):
    """Offers those of the six tools that the source answers. Raises UserError for a source that
    answers none of them."""

    def __init__(
        self,
        source: AnswerSource,
        face: Face,
        *,
        on_fault: OnFault = "stop",
        emptied: bool = False,
    ):
        names = {tool: name for tool, name in face.names.items() if tool in source.tools}
        if not names:
            raise UserError(
                f"No live tools: found {', '.join(sorted(source.tools)) or 'none'}, expected one of"
                f" {', '.join(face.names)}."
            )
        face = face if len(names) == len(face.names) else replace(face, names=names)
        super().__init__(LiveTools(source, face.offer.name_of), face, emptied=emptied)
        self.source, self.on_fault = source, on_fault

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Raises ToolHostDown where a service did not answer, unless the model is to be told."""
        try:
            return super().call(name, arguments)
        except ProviderFault as fault:
            if self.on_fault == "stop":
                raise ToolHostDown(f"{name} was not answered ({fault.kind}): {fault}") from None
            message = (
                f"{defused(name)} cannot be answered now ({fault.kind.replace('_', ' ')}). Ask"
                " again later, or go on without it."
            )
            return replace(
                self.face.error(message, "unavailable"), fault=f"unavailable {fault.kind}"
            )


# ---- the faces
#
# `deeptravel` writes rows as objects, numbered, with all that is known and the source beside them:
# an evidence card (row D11) names a call and a row. `deeptravel_compact` is for tiny models: arrays
# without labels, few columns, clock times without the day. Each row opens with its number, by which
# a model goes through the rows one by one; then comes the name or number, and what an answer says
# of it in the answer's own order, so that copying goes on from the name. An arrival that is earlier
# on the clock than its departure is on the next day.


def write_rows(face: Face, result: ToolResult) -> Pieces:
    """{"rows": [{"row": 1, …}, …], "note": …, "source": …}; what is not known is left out."""
    if not isinstance(result, ProviderAnswer):
        return _without_rows(result)
    rows = []
    for n, record in enumerate(result.records, start=1):
        values = face.tables[type(record)].as_dict(record).items()
        known = {name: value for name, value in values if value is not None and value != ""}
        rows.append(_json({"row": n, **known}))
    further = {"note": result.note} if not rows and result.note else {}
    provenance = (result.source.provider, result.source.fetched_at, result.source.attribution)
    further["source"] = ", ".join(filter(None, provenance))
    return Pieces('{"rows": [', rows, ", ", f"], {_json(further)[1:]}")


def write_compact_rows(face: Face, result: ToolResult) -> Pieces:
    """{"rows":[[…],…]}, values in the order of the columns, null where one is not known; the note
    beside no rows."""
    if not isinstance(result, ProviderAnswer):
        return _without_rows(result, tight=True)
    rows = [
        _json([letters(n), *face.tables[type(record)].as_dict(record).values()], tight=True)
        for n, record in enumerate(result.records, start=1)
    ]
    note = f'],"note":{_json(result.note)}}}' if not rows and result.note else "]}"
    return Pieces('{"rows":[', rows, ",", note)


def _without_rows(result: ToolResult, tight: bool = False) -> Pieces:
    is_refused = isinstance(result, Refusal)
    return Pieces(_json({"error": result.problem} if is_refused else {"rows": []}, tight))


def _json(value: Any, tight: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if tight else None)


def known(form: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Writes what is known so, and nothing else."""
    return lambda value: None if value is None else form(value)


def clock(stamp: str) -> str:
    """ "2026-06-26T06:54" → "06:54"."""
    return stamp.partition("T")[2] or stamp


AMOUNT, CURRENCY = known(attrgetter("amount")), known(attrgetter("currency"))


def _table(record: type[Record]) -> Table:
    """Every field by its name; money as `price` and `currency`."""
    money = columns(("price", "price", AMOUNT), ("currency", "price", CURRENCY, "currency"))
    shown: list[Column] = []
    for field in fields(record):
        shown += money if field.name == "price" else columns(field.name)
    return Table(tuple(shown))


DEEPTRAVEL = Face(
    name="deeptravel",
    write=write_rows,
    tables={record: _table(record) for record in RECORDS.values()},
    core=LiveTools,
)

_SHORT_PRICE = ("price", "price", known(lambda price: number(price.amount)))
_BY_CLOCK = Table(
    columns(
        "number",
        ("departs_at", "departs_at", clock),
        ("arrives_at", "arrives_at", clock),
        _SHORT_PRICE,
    )
)

DEEPTRAVEL_COMPACT = Face(
    name="deeptravel_compact",
    write=write_compact_rows,
    tables={
        FlightOffer: _BY_CLOCK,
        TrainOffer: _BY_CLOCK,
        RouteLeg: Table(
            columns("mode", ("minutes", "minutes", round), ("distance_km", "distance_km", number))
        ),
        HotelOffer: Table(
            columns("name", _SHORT_PRICE, "guests", ("rating", "rating", known(number)))
        ),
        PointOfInterest: Table(columns("name", "category")),
        WebPage: Table(columns("title", "snippet")),
    },
    core=LiveTools,
)

FACES = (DEEPTRAVEL, DEEPTRAVEL_COMPACT)

"""`tripwright tool`: one tool call by hand, answered exactly as an agent would see it. A refused
call is bad input: that answer on stderr, exit 2."""

from __future__ import annotations

import json

import typer

from tripwright.cli.options import argument, flag, option
from tripwright.domains import own_names
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError


def tool(  # long: mostly examples, a line for each kind of face
    place: PlaceOptions,
    name: str | None = argument(
        "The tool as the face calls it, for instance search_flights.", default=None
    ),
    arguments: str = argument("Its arguments, one JSON object.", default="{}"),
    face: str = option(
        "planner_r1",
        f"How tools are called and answer: {own_names('faces')}.",
    ),
    page_rows: int | None = option(
        None, "Answer in pages of so many rows; the argument page names one.", min=1
    ),
    list_tools: bool = flag("--list", "Print the JSON schemas of all tools and stop."),
) -> None:
    """Call one tool by hand and print its answer as an agent would see it.

    Examples:
      tripwright tool --list
      tripwright tool --list --face star
      tripwright tool calculator '{"expression": "2 * (89 + 120)"}' --world worlds/nano

    In a generated world the names are made up; these are those of 'tripwright world build --seed 7 --out worlds/nano':
      tripwright tool get_cities '{"state": "Thoreria"}' --world worlds/nano
      tripwright tool search_flights '{"origin": "Ashelmont", "destination": "Orford", "date": "2022-03-01"}' --world worlds/nano
      tripwright tool SearchRestaurant '{"city": "Duneworth", "page": 2}' --face star --page-rows 5 --world worlds/nano

    The six live tools of DeepTravel, answered from a closed world:
      tripwright tool --list --face deeptravel
      tripwright tool flight_search '{"depart_city_name": "Ashelmont", "arrival_city_name": "Orford", "depart_date": "2022-03-01"}' \
--face deeptravel --world worlds/nano
      tripwright tool hotel_search '{"city_name": "Orford", "checkin_date": "2022-03-01", "checkout_date": "2022-03-03"}' \
--face deeptravel --world worlds/nano

    The same from live services (examples/vendors/live.toml), and from what they answered on a day:
      tripwright tool poi_search '{"query": "museum", "city_name": "Ghent"}' --face deeptravel --services live.toml --store runs/live.sqlite
      tripwright tool poi_search '{"query": "museum", "city_name": "Ghent"}' --face deeptravel --store runs/live.sqlite \
--snapshot 2026-06-20 --replay

    In the official tables, as 'tripwright world import' reads them:
      tripwright tool SearchFlight '{"departure": "Houston", "destination": "Dallas", "date": "2022-03-07"}' --face star --world worlds/real
    """  # noqa: E501
    from tripwright.domains import domain_of_face, face_named
    from tripwright.tools.toolbox import ToolHostDown

    schemas = face_named(face).schemas(
        paged=page_rows is not None
    )  # a wrong face is named even where the world is wrong too
    if list_tools:
        typer.echo(json.dumps(schemas, indent=2))
        return
    if name is None:
        names = ", ".join(schema["function"]["name"] for schema in schemas)
        raise UserError(
            f"Which tool? The tools are {names}; 'tripwright tool --list' shows their arguments."
        )
    with domain_of_face(face).open(place) as opened:
        box = opened.tools(face_named(face), page_rows)
        try:
            answer = box.call(name, arguments)
        except ToolHostDown as error:
            raise UserError(f"{str(error).rstrip('.')}. The call was not answered.") from None
    if answer.error:
        raise UserError(answer.text)
    typer.echo(answer.text)

"""A company's flights behind one function (docs/live-tools.md, "Your own tools")."""

from datetime import date
from typing import Any

CITIES = ("Ashelmont", "Balanlow", "Corstead", "Duneworth", "Orford")
FLIGHTS = (("06:30", "08:05", 74), ("12:15", "13:50", 129), ("18:40", "20:15", 96))


def search_flights(
    depart_city_name: str, arrival_city_name: str, depart_date: str
) -> list[dict[str, Any]]:
    """The flights that we sell from one city to another on a day.

    The model reads a ValueError, and asks otherwise. Any other exception is a fault of ours.
    """
    for city in (depart_city_name, arrival_city_name):
        if city not in CITIES:
            raise ValueError(f"We do not fly to '{city}', only to {', '.join(CITIES)}.")
    weekend = 25 if date.fromisoformat(depart_date).weekday() >= 5 else 0
    return [  # made up here: this is where you would ask your API, with a timeout
        {
            "number": f"OWN {number}",
            "carrier": "Own Airways",
            "departs_at": f"{depart_date}T{time}",
            "arrives_at": f"{depart_date}T{arrives}",
            "minutes": 95,
            "price": fare + weekend,
            "currency": "USD",
        }
        for number, (time, arrives, fare) in enumerate(FLIGHTS, start=1)
    ]

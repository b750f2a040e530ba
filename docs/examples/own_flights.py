"""A company's flights behind one function. docs/live-tools.md, "Your own tools", shows what it is
for."""

from datetime import date, datetime, timedelta

CITIES = ("Ashelmont", "Balanlow", "Corstead", "Duneworth", "Orford")


def search_flights(
    depart_city_name: str, arrival_city_name: str, depart_date: str
) -> list[dict[str, object]]:
    """All seats that we sell from one city to another on a day.

    A ValueError is told to the model, which then asks otherwise; any other exception is a fault of
    ours, and says so to us alone.
    """
    for city in (depart_city_name, arrival_city_name):
        if city not in CITIES:
            raise ValueError(f"We do not fly to '{city}', only to {', '.join(CITIES)}.")
    # Here you would ask your own API, with a timeout; this one is made up.
    fares = {"06:30": 74, "12:15": 129, "18:40": 96}
    weekend = 25 if date.fromisoformat(depart_date).weekday() >= 5 else 0
    rows: list[dict[str, object]] = []
    for number, (time, fare) in enumerate(fares.items(), start=1):
        leaves = datetime.fromisoformat(f"{depart_date}T{time}")
        rows.append(
            {
                "number": f"OWN {number}",
                "carrier": "Own Airways",
                "depart_airport": f"{depart_city_name} Airport",
                "arrive_airport": f"{arrival_city_name} Airport",
                "departs_at": leaves.isoformat(),
                "arrives_at": (leaves + timedelta(minutes=95)).isoformat(),
                "minutes": 95,
                "price": fare + weekend,
                "currency": "USD",
            }
        )
    return rows

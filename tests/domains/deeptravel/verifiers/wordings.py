"""How people and models write a time, a duration, a price and a day: each true to the value, or
rounded in the open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()


class Words:
    """`plain` keeps to the usual notations; the others come by chance."""

    def __init__(self, rng: Random, plain: bool = False):
        self.rng, self.plain, self.style = rng, plain, rng.random()

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def time(self, moment: str) -> str:
        hour, minute = int(moment[11:13]), int(moment[14:16])
        if self.plain or self.style < 0.3:
            return f"{hour:02d}:{minute:02d}"
        half, twelve = ("am" if hour < 12 else "pm"), (hour % 12) or 12
        shown = f"{twelve}" if minute == 0 else f"{twelve}:{minute:02d}"
        options = [
            f"{shown} {half}",
            f"{shown}{half}",
            f"{shown} {half[0]}.m.",
            f"{shown} {half.upper()}",
            f"{hour}:{minute:02d}",
        ]
        part = (
            "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
        )
        if minute == 30:
            options.append(f"half past {NUMBERS[twelve]} {part}")
        if minute == 15:
            options.append(f"quarter past {NUMBERS[twelve]} {part}")
        if minute == 0:
            options.append("noon" if hour == 12 else f"{NUMBERS[twelve]} o'clock {part}")
        if minute in (54, 48):
            options.append(
                f"around {hour}:{round(minute, -1) % 60:02d}"
                if minute == 48
                else f"about {hour}:50"
            )
        return self.rng.choice(options)

    def minutes(self, value: float) -> str:
        total = int(value)
        hours, rest = divmod(total, 60)
        if self.plain or total < 60:
            return (
                f"{hours} h {rest} min"
                if hours
                else self.pick(f"{total} min", f"{total} minutes", f"{total}-minute")
            )
        options = [
            f"{total} minutes",
            f"{hours}h{rest:02d}" if rest else f"{hours}h",
            f"{hours} hr {rest} min",
            f"{hours}h {rest}m",
        ]
        name = NUMBERS[hours] if hours < 13 else str(hours)
        if rest == 0:
            options += [
                f"{hours} hours" if hours > 1 else "1 hour",
                f"{name} hours" if hours > 1 else "an hour",
            ]
        else:
            options.append(f"{hours} hour{'s' if hours > 1 else ''} and {rest} minutes")
            options.append(f"{hours} hours, {rest} minutes" if hours > 1 else f"{total} min")
        if rest == 30:
            options += [
                f"{hours}.5 hours",
                f"{name} and a half hours" if hours > 1 else "an hour and a half",
            ]
        if hours >= 2 and rest <= 8:
            options += [
                f"about {hours} hours",
                f"roughly {name} hours",
                f"just over {name} hours" if rest else f"{name} hours",
            ]
        return self.rng.choice(options)

    def money(self, value: float) -> str:
        text = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
        if self.plain:
            return f"{text.replace(',', '')} USD"
        options = [f"{text} USD", f"${text}", f"USD {text}", f"US${text}", f"{text} dollars"]
        if value != int(value):
            options += [f"${round(value):,}", f"{round(value)} USD"]  # to whole units, unhedged
        ten = round(value / 10) * 10
        if abs(ten - value) <= 5 and value >= 60:
            options += [f"about ${ten:,}", f"around {ten} dollars", f"roughly USD {ten}"]
        return self.rng.choice(options)

    def day(self, day: str) -> str:
        when = date.fromisoformat(day)
        number, month, week = when.day, when.strftime("%B"), when.strftime("%A")
        nth = f"{number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"  # noqa: E501
        if self.plain:
            return day
        return self.pick(
            f"{number} {month}",
            f"{month} {nth}",
            day,
            f"{week} {number} {month}",
            f"{week}, {month} {number}, {when.year}",
            f"the {nth} of {month}",
            f"{number} {when.strftime('%b')} {when.year}",
            f"{when.strftime('%a')} {when.strftime('%b')} {number}",
        )

    def nights(self, value: int) -> str:
        if value == 1:
            return self.pick("one night", "1 night", "a single night")
        return self.pick(f"{value} nights", f"{NUMBERS[value]} nights")

    def people(self, value: int) -> str:
        if value == 1:
            return self.pick("one person", "1 traveller", "one traveler")
        return self.pick(
            f"{value} people", f"{NUMBERS[value]} travellers", f"{NUMBERS[value]} people"
        )

    @staticmethod
    def told(facts: Any, **tell: Callable[..., str | list[str]]) -> list[str]:
        """The frame of most wordings: the parts of a trip in the order of `tell`, each in the words
        that it gives, a text or several lines. out, stay, back and spare tell the first of their
        part, second the second way out, every_out and the like all; each gets (values, cited).
        visits gets (place, way). What the trip has not is left out."""
        ways = {"out": facts.outbound, "second": facts.outbound[1:2], "back": facts.back}
        parts = {
            **ways,
            "stay": facts.stay,
            "visits": facts.visits,
            "spare": [facts.spare] if facts.spare else [],
        }
        lines: list[str] = []
        for name, say in tell.items():
            every, kind = name.startswith("every_") or name == "visits", name.removeprefix("every_")
            for one in parts[kind] if every else parts[kind][:1]:
                said = say(*one) if kind == "visits" else say(one.values, one)
                lines += [said] if isinstance(said, str) else said
        return lines

    @staticmethod
    def ways(facts: Any, out: str, back: str) -> tuple[tuple[str, Any, str], ...]:
        """Both directions with a title each: (title, rides, day)."""
        return (out, facts.outbound, facts.outbound_date), (back, facts.back, facts.return_date)

    @staticmethod
    def kind(ride: Any) -> str:
        return "flight" if "carrier" in ride.values else "train"

    @staticmethod
    def firm(ride: Any) -> str:
        return str(ride.values.get("carrier") or ride.values["operator"])

    @staticmethod
    def spot(ride: Any, end: str) -> str:
        return str(ride.values.get(f"{end}_airport") or ride.values[f"{end}_station"])

    @staticmethod
    def card(cited: Any) -> str:
        return f"[call {cited.call}, row {cited.row}]"

    @staticmethod
    def stayed(facts: Any) -> int:
        """How many nights."""
        return (date.fromisoformat(facts.checkout) - date.fromisoformat(facts.checkin)).days

    @staticmethod
    def total(facts: Any) -> float:
        """What the first choices cost the party, two to a room."""
        party = facts.request.party_size
        fares = [part[0].values["price"] for part in (facts.outbound, facts.back) if part]
        return float(sum(fares)) * party + (
            facts.stay[0].values["price"] * -(-party // 2) if facts.stay else 0.0
        )

"""Grounded answers in eight more wordings, written as held-out sets of four. Each set was measured
once, then used to mend the rules."""

# ruff: noqa: E501 - a paragraph is one line

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from made_trips import Cited, Facts
    from wordings import Words


def letter(f: Facts, w: Words) -> str:
    return "\n\n".join(
        [
            *w.told(
                f,
                out=lambda v, one: [
                    f"Dear traveller,\n\nthank you for your request. For your trip to {v['arrive_city']} we propose the following.",
                    f"Your {w.kind(one)} {v['number']}, operated by {w.firm(one)}, leaves {w.spot(one, 'depart')} at {w.time(v['departs_at'])} on {w.day(f.outbound_date)}. The journey takes {w.minutes(v['minutes'])}, which means an arrival at {w.time(v['arrives_at'])}. A ticket costs {w.money(v['price'])}.",
                ],
                stay=lambda h, one: (
                    f"We have selected {h['name']} for your {w.nights(w.stayed(f))} in {h['city']}. You will find it at {h['address']}. A {h['room']} from {w.day(f.checkin)} until {w.day(f.checkout)} amounts to {w.money(h['price'])}, that is {w.money(h['price'] / w.stayed(f))} per night."
                ),
                visits=lambda place, way: (
                    f"{place.values['name']} can be reached from {way.values['origin']} in {w.minutes(way.values['minutes'])} ({way.values['mode']}, {way.values['distance_km']} km)."
                ),
                back=lambda b, one: (
                    f"Your return journey begins at {w.time(b['departs_at'])} on {w.day(f.return_date)} with {b['number']}; you reach {w.spot(one, 'arrive')} at {w.time(b['arrives_at'])}. It is priced at {w.money(b['price'])} per person."
                ),
                spare=lambda v, one: (
                    f"Please note that timetables may change. As a precaution keep {v['number']} ({w.time(v['departs_at'])}) in mind."
                ),
            ),
            "Kind regards",
        ]
    )


def emoji_cards(f: Facts, w: Words) -> str:
    out = [f"# ✈️ {f.request.destination} trip", ""]
    for icon, title, rides, day in (
        ("🛫", "Going out", f.outbound, f.outbound_date),
        ("🛬", "Coming home", f.back, f.return_date),
    ):
        if rides:
            out.append(f"## {icon} {title} | {w.day(day)}")
        for ride in rides:
            v = ride.values
            out += [f"**{v['number']}** · {w.firm(ride)}", f"🕑 {w.time(v['departs_at'])} → {w.time(v['arrives_at'])} · "
            f"{w.minutes(v['minutes'])}",
                    f"💵 {w.money(v['price'])} / person", f"🔎 {w.card(ride)}", ""]  # fmt: skip
    if f.stay:
        out.append("## 🏨 Hotel")
    for hotel in f.stay:
        v = hotel.values
        out += [
            f"**{v['name']}** · ⭐ {v['rating']}",
            f"📍 {v['address']}",
            f"💵 {w.money(v['price'])} / stay",
            f"🔎 {w.card(hotel)}",
            "",
        ]
    for place, way in f.visits:
        out += [
            "## 📸 To see",
            f"**{place.values['name']}** · {w.minutes(way.values['minutes'])} {way.values['mode']} from {way.values['origin']}",
            "",
        ]
    if f.spare:
        out += [
            "## ⚠️ Watch out",
            f"Trains and planes fill up; {f.spare.values['number']} is your safety net.",
        ]
    return "\n".join(out)


def question_and_answer(f: Facts, w: Words) -> str:
    return "\n".join(
        w.told(
            f,
            out=lambda v, one: [
                "**How do you get there?**",
                f"With {v['number']} from {v['depart_city']}. Departure {w.time(v['departs_at'])}, arrival {w.time(v['arrives_at'])}, price {w.money(v['price'])} per person. {w.card(one)}",
            ],
            second=lambda u, one: (
                f"Another possibility is {u['number']}, {w.time(u['departs_at'])} to {w.time(u['arrives_at'])}, at {w.money(u['price'])} per person. {w.card(one)}"
            ),
            stay=lambda h, one: [
                "",
                "**Where do you sleep?**",
                f"At {h['name']}, {h['address']}. You pay {w.money(h['price'])} for {w.nights(w.stayed(f))}. {w.card(one)}",
            ],
            visits=lambda place, way: [
                "",
                f"**And {place.values['name']}?**",
                f"It is {way.values['distance_km']} km from {way.values['origin']}: {w.minutes(way.values['minutes'])} {way.values['mode']}. {w.card(way)}",
            ],
            back=lambda b, one: [
                "",
                "**How do you get home?**",
                f"With {b['number']} on {w.day(f.return_date)}. Departure {w.time(b['departs_at'])}, arrival {w.time(b['arrives_at'])}, price {w.money(b['price'])} per person. {w.card(one)}",
            ],
            spare=lambda v, one: [
                "",
                "**What if it is fully booked?**",
                f"Then {v['number']} is there, at {w.time(v['departs_at'])}.",
            ],
        )
    )


def nested(f: Facts, w: Words) -> str:
    out = [
        f"Trip summary: {f.request.origin} – {f.request.destination}, {w.people(f.request.party_size)}"
    ]
    for title, rides, day in w.ways(f, "Outward journey", "Homeward journey"):
        if title.startswith("Home") and f.stay:
            out.append("- Accommodation")
            for hotel in f.stay:
                v = hotel.values
                out += [
                    f"  - {v['name']}",
                    f"    - where: {v['address']}",
                    f"    - how much: {w.money(v['price'])} for {w.nights(w.stayed(f))}",
                    f"    - source: {w.card(hotel)}",
                ]
        if rides:
            out.append(f"- {title}, {w.day(day)}")
        for ride in rides:
            v = ride.values
            out += [f"  - {v['number']}", f"    - off at {w.time(v['departs_at'])}, in at {w.time(v['arrives_at'])}", f"    - how long: {w.minutes(v['minutes'])}",
                    f"    - how much: {w.money(v['price'])} per head", f"    - source: {w.card(ride)}"]  # fmt: skip
    for place, way in f.visits:
        out += [
            "- Sights",
            f"  - {place.values['name']}",
            f"    - getting there: {w.minutes(way.values['minutes'])} from {way.values['origin']}, {way.values['mode']}",
        ]
    if f.spare:
        out += [
            "- What could go wrong",
            f"  - {f.outbound[0].values['number']} could be cancelled: then {f.spare.values['number']}",
        ]
    return "\n".join(out)


def memo(f: Facts, w: Words) -> str:
    """A travel desk's memo."""
    out = [f"TRAVEL MEMO: {f.request.origin} / {f.request.destination}", ""]
    for title, rides, day in w.ways(f, "1. OUTBOUND", "3. RETURN"):
        if title.startswith("3") and f.stay:
            h = f.stay[0].values
            out.append(
                f"2. HOTEL. Room reserved suggestion: {h['name']}, {h['address']} ({h['room']}). Check-in {w.day(f.checkin)}, "
                f"check-out {w.day(f.checkout)}. Rate: {w.money(h['price'] / w.stayed(f))} per night, {w.money(h['price'])} for "
                f"the stay. Ref.: {w.card(f.stay[0])}"
            )
        if rides:
            v = rides[0].values
            out.append(
                f"{title}, {w.day(day)}. {w.kind(rides[0]).capitalize()} {v['number']}; dep. {v['depart_city']} "
                f"{w.time(v['departs_at'])}; arr. {v['arrive_city']} {w.time(v['arrives_at'])}; travel time "
                f"{w.minutes(v['minutes'])}; fare {w.money(v['price'])} per passenger. Ref.: {w.card(rides[0])}"
            )
    for place, way in f.visits:
        out.append(
            f"4. VISIT. {place.values['name']}, {place.values['address']}; {w.minutes(way.values['minutes'])} "
            f"({way.values['distance_km']} km) {way.values['mode']} from {way.values['origin']}."
        )
    if f.spare:
        out.append(
            f"CONTINGENCY. Should the outbound be cancelled: {f.spare.values['number']}, dep. {w.time(f.spare.values['departs_at'])}."
        )
    return "\n".join(out)


def timeline(f: Facts, w: Words) -> str:
    """The clock first, then what happens."""
    return "\n".join(
        w.told(
            f,
            out=lambda v, one: [
                f"**{w.day(f.outbound_date)}**",
                f"- {w.time(v['departs_at'])}: departure from {w.spot(one, 'depart')} on {v['number']} ({w.money(v['price'])} per person)",
                f"- {w.time(v['arrives_at'])}: arrival at {w.spot(one, 'arrive')}",
            ],
            stay=lambda h, one: (
                f"- then: check in at {h['name']}, {h['address']}; {w.nights(w.stayed(f))}, {w.money(h['price'])} altogether {w.card(one)}"
            ),
            visits=lambda place, way: (
                f"- in between: {place.values['name']}, {w.minutes(way.values['minutes'])} {way.values['mode']} from {way.values['origin']}"
            ),
            back=lambda b, one: [
                "",
                f"**{w.day(f.return_date)}**",
                f"- {w.time(b['departs_at'])}: departure from {w.spot(one, 'depart')} on {b['number']} ({w.money(b['price'])} per person)",
                f"- {w.time(b['arrives_at'])}: back at {w.spot(one, 'arrive')}",
            ],
            spare=lambda v, one: [
                "",
                "**Plan B**",
                f"- {v['number']}, off at {w.time(v['departs_at'])}",
            ],
        )
    )


def reasoned(f: Facts, w: Words) -> str:
    """One choice argued against another."""
    v = f.outbound[0].values
    text = [
        f"My pick for the way out is {v['number']}, which departs at {w.time(v['departs_at'])} and arrives at "
        f"{w.time(v['arrives_at'])}; at {w.money(v['price'])} per person it suits your plans."
    ]
    if len(f.outbound) > 1:
        u = f.outbound[1].values
        text[-1] += (
            f" The other possibility is {u['number']}: it departs at {w.time(u['departs_at'])} and arrives at "
            f"{w.time(u['arrives_at'])} for {w.money(u['price'])} per person."
        )
    if f.stay:
        h = f.stay[0].values
        text.append(
            f"As for the hotel, {h['name']} convinces with a rating of {h['rating']} out of 5. You would spend "
            f"{w.nights(w.stayed(f))} there at {w.money(h['price'] / w.stayed(f))} a night, {w.money(h['price'])} in all."
        )
    if f.back:
        b = f.back[0].values
        text.append(
            f"Going home on {w.day(f.return_date)}, I would choose {b['number']}: departure {w.time(b['departs_at'])}, arrival "
            f"{w.time(b['arrives_at'])}, {w.minutes(b['minutes'])} on the way, {w.money(b['price'])} each."
        )
    for place, way in f.visits:
        text.append(
            f"You also wanted to see {place.values['name']}. Starting from {way.values['origin']} it takes "
            f"{w.minutes(way.values['minutes'])} ({way.values['mode']}, {way.values['distance_km']} km)."
        )
    if f.spare:
        text.append(
            f"If plans change, {f.spare.values['number']} at {w.time(f.spare.values['departs_at'])} is a good fallback."
        )
    return "\n\n".join(text)


def key_values(f: Facts, w: Words) -> str:
    """Indented keys and values."""

    def ride(one: Cited) -> list[str]:
        v = one.values
        return [
            f"  Number: {v['number']}",
            f"  From: {w.spot(one, 'depart')}, {w.time(v['departs_at'])}",
            f"  To: {w.spot(one, 'arrive')}, {w.time(v['arrives_at'])}",
            f"  Fare: {w.money(v['price'])} per person",
            f"  Source: {w.card(one)}",
        ]

    out = [
        f"Trip: {f.request.origin} to {f.request.destination}",
        f"Outbound ({w.day(f.outbound_date)})",
        *ride(f.outbound[0]),
    ]
    if f.stay:
        h = f.stay[0].values
        out += [
            "Stay",
            f"  Hotel: {h['name']}",
            f"  Address: {h['address']}",
            f"  Nights: {w.stayed(f)}",
            f"  Price: {w.money(h['price'])} for the whole stay",
            f"  Source: {w.card(f.stay[0])}",
        ]
    if f.back:
        out += [f"Return ({w.day(f.return_date)})", *ride(f.back[0])]
    for place, way in f.visits:
        out += [
            "Visit",
            f"  Place: {place.values['name']}",
            f"  Way: {w.minutes(way.values['minutes'])} {way.values['mode']} from {way.values['origin']}",
        ]
    if f.spare:
        out += [
            "Risks",
            f"  Sold out: take {f.spare.values['number']} at {w.time(f.spare.values['departs_at'])}",
        ]
    return "\n".join(out)


Renderer = Callable[[Any, Any], str]
LATER: tuple[Renderer, ...] = (
    letter,
    emoji_cards,
    question_and_answer,
    nested,
    memo,
    timeline,
    reasoned,
    key_values,
)

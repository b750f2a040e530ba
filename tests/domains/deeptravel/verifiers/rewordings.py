"""Grounded answers in ten wordings, all written before the rules were tuned on them."""

# ruff: noqa: E501 - a paragraph is one line

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from made_trips import Cited, Facts
    from wordings import Words


def standard(f: Facts, w: Words) -> str:
    """The format of row D11 as it is written down."""
    lines = [
        f"A trip from {f.request.origin} to {f.request.destination} on {f.outbound_date} for {w.people(f.request.party_size)}.",
        "",
    ]
    for title, rides, day in w.ways(f, "Outbound", "Return"):
        if title == "Return":
            lines += _standard_stay(f, w)
        if rides:
            lines.append(f"### {title} recommendations ({day})")
        for ride in rides:
            v = ride.values
            lines += [
                f"#### {v['number']} {w.kind(ride)} ({v['depart_city']} → {v['arrive_city']})",
                f"- **Recommendation**: departs {w.spot(ride, 'depart')} {w.time(v['departs_at'])}, arrives {w.spot(ride, 'arrive')} "
                f"{w.time(v['arrives_at'])} ({w.minutes(v['minutes'])})",
                f"- **Price**: {w.money(v['price'])} per person",
                "- **Why**: "
                + w.pick("direct, no change", "fits the day well", "a convenient time"),
                f"- **Evidence**: {w.card(ride)}",
            ]
    if f.visits:
        lines.append("### Visits")
    for place, way in f.visits:
        lines += [
            f"#### {place.values['name']}", f"- **Address**: {place.values['address']}",
            f"- **Way there**: {w.minutes(way.values['minutes'])} {way.values['mode']} from {way.values['origin']} "
            f"({way.values['distance_km']} km)",
            f"- **Evidence**: {w.card(place)}, {w.card(way)}",
        ]  # fmt: skip
    s = f.spare.values if f.spare else {}
    lines += [
        "### Risks and alternatives",
        f"- If {f.outbound[0].values['number']} is sold out, {s['number']} leaves at {w.time(s['departs_at'])} {w.card(f.spare)}",
    ]  # type: ignore[arg-type]
    return "\n".join(lines)


def _standard_stay(f: Facts, w: Words) -> list[str]:
    lines = [f"### Stay recommendations ({f.checkin} to {f.checkout})"] if f.stay else []
    for hotel in f.stay:
        v = hotel.values
        lines += [
            f"#### {v['name']}", f"- **Address**: {v['address']}", f"- **Room**: {v['room']}",
            f"- **Price**: {w.money(v['price'])} for the whole stay ({w.nights(w.stayed(f))})", f"- **Why**: rated {v['rating']} of 5",
            f"- **Evidence**: {w.card(hotel)}",
        ]  # fmt: skip
    return lines


def prose(f: Facts, w: Words) -> str:
    return "\n\n".join(
        w.told(
            f,
            out=lambda v, one: (
                f"You are travelling from {f.request.origin} to {f.request.destination}. On {w.day(f.outbound_date)}, take {w.kind(one)} {v['number']} with {w.firm(one)}: it leaves at {w.time(v['departs_at'])} and gets in at {w.time(v['arrives_at'])} after {w.minutes(v['minutes'])}, and costs {w.money(v['price'])} per person {w.card(one)}."
            ),
            stay=lambda h, one: (
                f"Stay at {h['name']}, {h['address']}, where a {h['room']} is {w.money(h['price'])} for {w.nights(w.stayed(f))} {w.card(one)}."
            ),
            visits=lambda place, way: (
                f"To see {place.values['name']} ({place.values['address']}), count on {w.minutes(way.values['minutes'])} of {way.values['mode']} from {way.values['origin']} {w.card(way)}."
            ),
            back=lambda b, one: (
                f"For the way home on {w.day(f.return_date)}, {b['number']} departs {b['depart_city']} at {w.time(b['departs_at'])}, arriving {w.time(b['arrives_at'])}, for {w.money(b['price'])} each {w.card(one)}."
            ),
            spare=lambda s, one: (
                f"Should it be full, the {w.time(s['departs_at'])} {w.kind(one)} {s['number']} would be the alternative."
            ),
        )
    )


def prices_first(f: Facts, w: Words) -> str:
    """Price before time, return before stay, bold titles instead of headings."""
    out = ["Here is what I suggest.", "", "**Getting there**"]
    for ride in f.outbound:
        v = ride.values
        out.append(
            f"* {w.money(v['price'])} per person: {v['number']} ({w.firm(ride)}), {w.time(v['departs_at'])} – "
            f"{w.time(v['arrives_at'])} {w.card(ride)}"
        )
    if f.back:
        out += ["", "**Getting back**"]
        for ride in f.back:
            v = ride.values
            out.append(
                f"* {w.money(v['price'])} per person: {v['number']} ({w.firm(ride)}), {w.time(v['departs_at'])} – "
                f"{w.time(v['arrives_at'])} {w.card(ride)}"
            )
    if f.stay:
        out += ["", "**Where to stay**"]
        for hotel in f.stay:
            v = hotel.values
            out.append(
                f"* {w.money(v['price'] / w.stayed(f))} per night: {v['name']}, rated {v['rating']}/5, {v['address']} {w.card(hotel)}"
            )
    for place, way in f.visits:
        out += ["", "**Things to see**", f"* {place.values['name']}: {way.values['distance_km']} km from {way.values['origin']}, "
                f"{w.minutes(way.values['minutes'])} {way.values['mode']} {w.card(way)}"]  # fmt: skip
    out += [
        "",
        "**Good to know**",
        f"* Backup: {f.spare.values['number']} at {w.time(f.spare.values['departs_at'])}."
        if f.spare
        else "",
    ]
    return "\n".join(out)


def chatty(f: Facts, w: Words) -> str:
    return "\n\n".join(
        w.told(
            f,
            out=lambda v, one: [
                f"Great news! I found a good way to get from {v['depart_city']} to {v['arrive_city']} for {w.people(f.request.party_size)}. 😊",
                f"**Outbound ({w.day(f.outbound_date)})**\nI'd go with {v['number']}. It departs at {w.time(v['departs_at'])}, so you don't have to rush, and you land or pull in at {w.time(v['arrives_at'])}. The fare is {w.money(v['price'])} per person"
                + (
                    f", so {w.money(v['price'] * f.request.party_size)} in total for the {w.people(f.request.party_size)}."
                    if f.request.party_size > 1
                    else "."
                ),
            ],
            stay=lambda h, one: (
                f"**Hotel**\n{h['name']} looks like the best fit. You'd check in on {w.day(f.checkin)} and check out on {w.day(f.checkout)}; the whole stay comes to {w.money(h['price'])}. Guests rate it {h['rating']} out of 5."
            ),
            back=lambda b, one: (
                f"**Return ({w.day(f.return_date)})**\nTake {b['number']} back to {b['arrive_city']}. Departure is at {w.time(b['departs_at'])} and you'll be home by {w.time(b['arrives_at'])}. That one is {w.money(b['price'])} per person."
            ),
            visits=lambda place, way: (
                f"**Sightseeing**\n{place.values['name']} is at {place.values['address']}. From {way.values['origin']} it's {way.values['distance_km']} km, or {w.minutes(way.values['minutes'])} by {way.values['mode']}."
            ),
            spare=lambda v, one: (
                f"**Plan B**\nIf seats run out, look at {v['number']} ({w.time(v['departs_at'])}, {w.money(v['price'])})."
            ),
        )
    )


def numbered(f: Facts, w: Words) -> str:
    out = [
        f"Your itinerary for {w.day(f.outbound_date)}:"
        if not f.back
        else f"Your itinerary, {w.day(f.outbound_date)} to {w.day(f.return_date)}:"
    ]
    n = 0
    for title, rides in (("Outbound", f.outbound), ("Return", f.back)):
        for place, ride in enumerate(rides):
            v, n = ride.values, n + 1
            out.append(f"{n}. {title}{' (second option)' if place else ''}: {w.kind(ride)} {v['number']}, {w.spot(ride, 'depart')} {w.time(v['departs_at'])} -> "
                       f"{w.spot(ride, 'arrive')} {w.time(v['arrives_at'])}, duration {w.minutes(v['minutes'])}, fare "
                       f"{w.money(v['price'])} pp")  # fmt: skip
        if title == "Outbound":
            for hotel in f.stay:
                v, n = hotel.values, n + 1
                out.append(
                    f"{n}. Hotel: {v['name']} ({v['room']}), {w.nights(w.stayed(f))} from {w.day(f.checkin)}, "
                    f"{w.money(v['price'])} in total, {v['rating']} stars"
                )
    for place, way in f.visits:
        n += 1
        out.append(
            f"{n}. Visit: {place.values['name']}, {w.minutes(way.values['minutes'])} away by {way.values['mode']} from "
            f"{way.values['origin']}"
        )
    if f.spare:
        out.append(
            f"\nRisk: tickets may sell out. Alternative: {f.spare.values['number']}, departing {w.time(f.spare.values['departs_at'])}."
        )
    return "\n".join(out)


def table(f: Facts, w: Words) -> str:
    out = [
        f"## {f.request.origin} to {f.request.destination}",
        "",
        "| Leg | Service | Departs | Arrives | Duration | Price per person |",
        "|---|---|---|---|---|---|",
    ]
    for title, rides in (("Outbound", f.outbound), ("Return", f.back)):
        for ride in rides:
            v = ride.values
            out.append(
                f"| {title} | {v['number']} | {w.time(v['departs_at'])} | {w.time(v['arrives_at'])} | {w.minutes(v['minutes'])} "
                f"| {w.money(v['price'])} |"
            )
    if f.stay:
        out += ["", "| Hotel | Address | Price for the stay | Rating |", "|---|---|---|---|"]
        for hotel in f.stay:
            v = hotel.values
            out.append(f"| {v['name']} | {v['address']} | {w.money(v['price'])} | {v['rating']} |")
    for place, way in f.visits:
        out += [
            "",
            f"Sight: {place.values['name']}, {way.values['distance_km']} km from {way.values['origin']} "
            f"({w.minutes(way.values['minutes'])} {way.values['mode']}).",
        ]
    if f.spare:
        out += [
            "",
            f"Fallback: {f.spare.values['number']} at {w.time(f.spare.values['departs_at'])}.",
        ]
    return "\n".join(out)


def by_day(f: Facts, w: Words) -> str:
    out = [f"### Day 1 - {w.day(f.outbound_date)}"]
    for place, ride in enumerate(f.outbound):
        v = ride.values
        lead = "Or" if place else "Board"
        out.append(
            f"- {lead} {v['number']} at {w.spot(ride, 'depart')}: {w.time(v['departs_at'])} to {w.time(v['arrives_at'])}, "
            f"{w.money(v['price'])} per traveller {w.card(ride)}"
        )
    for hotel in f.stay:
        v = hotel.values
        out.append(
            f"- Check in at {v['name']} ({w.money(v['price'])} for the stay of {w.nights(w.stayed(f))}) {w.card(hotel)}"
        )
    for place, way in f.visits:
        out.append(
            f"- Visit {place.values['name']} at {place.values['address']}: {w.minutes(way.values['minutes'])} "
            f"{way.values['mode']} from {way.values['origin']}"
        )
    if f.back:
        out.append(
            f"### Day {w.stayed(f) + 1} - {w.day(f.return_date)}"
            if f.stay
            else "### Back in the evening"
        )
    for ride in f.back:
        v = ride.values
        out.append(
            f"- Head home with {v['number']}, {w.time(v['departs_at'])} to {w.time(v['arrives_at'])}, {w.money(v['price'])} per "
            f"traveller {w.card(ride)}"
        )
    if f.spare:
        out += [
            "### If something goes wrong",
            f"- {f.spare.values['number']} also runs that day, leaving at {w.time(f.spare.values['departs_at'])}.",
        ]
    return "\n".join(out)


def terse(f: Facts, w: Words) -> str:
    def ride(label: str, one: Cited) -> str:
        v = one.values
        return f"{label}: {v['number']} {w.time(v['departs_at'])}-{w.time(v['arrives_at'])} {w.money(v['price'])} {w.card(one)}"

    out = [ride("Out", one) for one in f.outbound]
    out += [
        f"Stay: {one.values['name']} {w.money(one.values['price'])} {w.nights(w.stayed(f))} {w.card(one)}"
        for one in f.stay
    ]
    out += [ride("Back", one) for one in f.back]
    out += [
        f"See: {place.values['name']}, {w.minutes(way.values['minutes'])} {way.values['mode']} from {way.values['origin']} {w.card(way)}"
        for place, way in f.visits
    ]
    if f.spare:
        out.append(ride("Alternative", f.spare))
    return "\n".join(out)


def with_total(f: Facts, w: Words) -> str:
    text = standard(f, w)
    head, risks, tail = text.partition("### Risks")
    exact = w.total(f)
    said = f"${exact:,.2f}" if exact != int(exact) else w.money(exact)
    rooms = -(-f.request.party_size // 2)
    note = f" and {rooms} rooms" if f.stay and rooms > 1 else ""
    return f"{head}### Cost\nWith the first option of each part{note}, the trip costs {said} in total for "
    f"{w.people(f.request.party_size)}.\n{risks}{tail}"


def sandwich(f: Facts, w: Words) -> str:
    """The stay first, then the ways, in long sentences with the number at the end."""
    text = []
    if f.stay:
        h = f.stay[0].values
        text.append(
            f"I would book {w.nights(w.stayed(f))} at {h['name']} ({h['address']}), which asks {w.money(h['price'])} for the stay."
        )
    v = f.outbound[0].values
    text.append(f"You get to {v['arrive_city']} on {w.day(f.outbound_date)} at {w.time(v['arrives_at'])}, having left "
    f"{v['depart_city']} at {w.time(v['departs_at'])}, with {v['number']}; "
                f"the ticket is {w.money(v['price'])} a head.")  # fmt: skip
    for place, way in f.visits:
        text.append(
            f"There is time for {place.values['name']}, {w.minutes(way.values['minutes'])} {way.values['mode']} from "
            f"{way.values['origin']}."
        )
    if f.back:
        b = f.back[0].values
        text.append(f"On {w.day(f.return_date)} you leave {b['depart_city']} again at {w.time(b['departs_at'])} with "
        f"{b['number']} and are in {b['arrive_city']} at {w.time(b['arrives_at'])}, "
                    f"for another {w.money(b['price'])} a head.")  # fmt: skip
    if f.spare:
        text.append(
            f"In case of delays or a sold-out {w.kind(f.spare)}, {f.spare.values['number']} is the fallback."
        )
    return " ".join(text)


Renderer = Callable[[Any, Any], str]
SEEN: tuple[Renderer, ...] = (
    standard,
    prose,
    prices_first,
    chatty,
    numbered,
    table,
    by_day,
    terse,
    with_total,
    sandwich,
)

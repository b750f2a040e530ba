"""Grounded answers in four wordings, the last set: written after the rules had been mended on all
others, measured once (128 of 300 passed), and then used to mend them as well. No wording here is
unseen any more."""

# ruff: noqa: E501 - a paragraph is one line

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from made_trips import Facts
    from wordings import Words


def hurried(f: Facts, w: Words) -> str:
    """A message in a hurry."""
    return " ".join(
        w.told(
            f,
            out=lambda v, one: (
                f"Hey! Quick plan: {v['number']} gets you from {v['depart_city']} to {v['arrive_city']}, leaving {w.time(v['departs_at'])} and landing or rolling in {w.time(v['arrives_at'])}. {w.money(v['price'])} each."
            ),
            stay=lambda h, one: (
                f"Sleep at {h['name']} for {w.money(h['price'])} ({w.nights(w.stayed(f))})."
            ),
            back=lambda b, one: (
                f"Home again {w.day(f.return_date)}: {b['number']}, {w.time(b['departs_at'])}, arriving {w.time(b['arrives_at'])}, {w.money(b['price'])} each."
            ),
            visits=lambda place, way: (
                f"{place.values['name']} is {w.minutes(way.values['minutes'])} of {way.values['mode']} from {way.values['origin']}."
            ),
            spare=lambda v, one: (
                f"Backup if anything breaks: {v['number']}, {w.time(v['departs_at'])}."
            ),
        )
    )


def two_options(f: Facts, w: Words) -> str:
    """Sections with lettered options and sentences in them."""
    out = [
        "## Overview",
        f"Below are the best matches I could find for {w.people(f.request.party_size)} travelling to {f.request.destination}.",
    ]
    for title, rides, day in w.ways(f, "Getting to your destination", "Travelling back"):
        if rides:
            out += ["", f"## {title} ({w.day(day)})"]
        for letter, ride in zip("AB", rides, strict=False):
            v = ride.values
            out.append(
                f"**Option {letter}: {v['number']}**. This {w.kind(ride)} by {w.firm(ride)} sets off from {w.spot(ride, 'depart')} at {w.time(v['departs_at'])}. You arrive {w.minutes(v['minutes'])} later, at "
                f"{w.time(v['arrives_at'])}. Tickets are {w.money(v['price'])} per person. {w.card(ride)}"
            )
    if f.stay:
        out += ["", "## Accommodation"]
    for letter, hotel in zip("AB", f.stay, strict=False):
        v = hotel.values
        out.append(
            f"**Option {letter}: {v['name']}**. Located at {v['address']} and rated {v['rating']} out of 5, it charges "
            f"{w.money(v['price'])} for your {w.nights(w.stayed(f))}. {w.card(hotel)}"
        )
    for place, way in f.visits:
        out += [
            "",
            "## Sightseeing",
            f"{place.values['name']} lies {way.values['distance_km']} km from {way.values['origin']}; expect "
            f"{w.minutes(way.values['minutes'])} {way.values['mode']}.",
        ]
    if f.spare:
        out += [
            "",
            "## Risks",
            f"Should option A sell out, {f.spare.values['number']} leaves at {w.time(f.spare.values['departs_at'])}.",
        ]
    return "\n".join(out)


def wide_table(f: Facts, w: Words) -> str:
    """Everything in one table, the stay among the rides."""
    out = [
        "Here's your trip at a glance:",
        "",
        "| When | What | Details | Cost |",
        "|:--|:--|:--|--:|",
    ]
    for rides, day in ((f.outbound[:1], f.outbound_date), (f.back[:1], f.return_date)):
        for ride in rides:
            v = ride.values
            out.append(
                f"| {w.day(day)} | {w.kind(ride).capitalize()} {v['number']} | {w.time(v['departs_at'])} to "
                f"{w.time(v['arrives_at'])}, {v['depart_city']} to {v['arrive_city']} | {w.money(v['price'])} per person |"
            )
        if f.stay and rides == f.outbound[:1]:
            h = f.stay[0].values
            out.append(
                f"| {w.day(f.checkin)} | {h['name']} | {w.nights(w.stayed(f))}, {h['room']}, {h['address']} | "
                f"{w.money(h['price'])} in total |"
            )
    for place, way in f.visits:
        out.append(
            f"| During your stay | {place.values['name']} | {w.minutes(way.values['minutes'])} {way.values['mode']} from "
            f"{way.values['origin']} | |"
        )
    if f.spare:
        out += [
            "",
            f"*Note:* if the {w.kind(f.outbound[0])} is cancelled, {f.spare.values['number']} at "
            f"{w.time(f.spare.values['departs_at'])} is the next best thing.",
        ]
    return "\n".join(out)


def formal(f: Facts, w: Words) -> str:
    """Full sentences, the passive voice, times as 'between … and …'."""
    return "\n\n".join(
        w.told(
            f,
            out=lambda v, one: (
                f"The outbound journey on {w.day(f.outbound_date)} is proposed with {w.kind(one)} {v['number']} of {w.firm(one)}, scheduled to depart from {w.spot(one, 'depart')} at {w.time(v['departs_at'])} and to arrive at {w.spot(one, 'arrive')} at {w.time(v['arrives_at'])} {w.card(one)}. The fare amounts to {w.money(v['price'])} per traveller."
            ),
            stay=lambda h, one: (
                f"Accommodation is available at {h['name']}, situated at {h['address']}, from {w.day(f.checkin)} to {w.day(f.checkout)} at a price of {w.money(h['price'])} {w.card(one)}."
            ),
            visits=lambda place, way: (
                f"A visit to {place.values['name']} has been included; the distance from {way.values['origin']} is {way.values['distance_km']} km, which corresponds to {w.minutes(way.values['minutes'])} {way.values['mode']}."
            ),
            back=lambda b, one: (
                f"The return journey on {w.day(f.return_date)} is proposed with {b['number']}, departing at {w.time(b['departs_at'])} and arriving at {w.time(b['arrives_at'])}, at {w.money(b['price'])} per traveller {w.card(one)}."
            ),
            spare=lambda v, one: (
                f"In the event of a cancellation, {v['number']} (departure {w.time(v['departs_at'])}) is recommended as a substitute."
            ),
        )
    )


Renderer = Callable[[Any, Any], str]
LAST: tuple[Renderer, ...] = (hurried, two_options, wide_table, formal)

"""Eight more ways in which other writers word a made-up trip. `t` is the trip with its words
(writers_words.py), `r` draws."""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from random import Random
from typing import Any


def hotel_first(t: Any, r: Random) -> str:
    L = [f"{r.choice(['Here is my proposal', 'This is what I suggest'])} for {t.b}."]
    if t.stay:
        for n, h in enumerate(t.stay):
            v = h.values
            L.append(f"{'Base yourself at' if n == 0 else 'Another good address is'} **{v['name']}** ({v['address']}): {v['room']}, {t.long_day(t.f.checkin)} to {t.long_day(t.f.checkout)}, {t.usd(v['price'])} altogether" + (f", which is {t.usd(round(v['price'] / t.nights, 2))} a night." if t.nights > 1 else "."))
    for p, w in t.visits:
        L.append(f"For the {p.values['name']} ({p.values['address']}) allow {round(w.values['minutes'])} minutes {'walking' if w.values['mode'] == 'walking' else 'driving'} from {w.values['origin']}.")
    for n, o in enumerate(t.out):
        L.append(f"{'To get there' if n == 0 else 'Or'}, take {o.no} ({o.who}) on {t.long_day(t.f.outbound_date)}, {t.t12(o.dep)} from {o.pa}, in {o.pb} by {t.t12(o.arr)}{o.plus}; {t.usd(o.p)} per person.")
    for n, o in enumerate(t.back):
        L.append(f"{'To come home' if n == 0 else 'Or'}, take {o.no} ({o.who}) on {t.long_day(t.f.return_date)}, {t.t12(o.dep)} from {o.pa}, in {o.pb} by {t.t12(o.arr)}{o.plus}; {t.usd(o.p)} per person.")
    if t.q.total_budget:
        L.append(f"That makes {t.usd(t.total)} in all, inside your {t.usd(t.q.total_budget)}.")
    return "\n\n".join(L)


def spoken(t: Any, r: Random) -> str:
    o = t.out[0]
    s = [f"So, {t.long_day(t.f.outbound_date)}: you take the {t.twords(o.dep)} {o.k}, {o.no}, from {o.a}. {r.choice(['It gets to', 'You will be in'])} {o.b} at {t.twords(o.arr)}{', the next day' if o.plus else ''}, so it takes {t.about(o.n)}. A ticket is {t.near(o.p, 'd')}" + (f", so {t.near(o.p * t.n, 'd')} for the {t.NUM[t.n]} of you." if t.n > 1 else ".")]
    if t.stay:
        v = t.stay[0].values
        s.append(f"For the {t.nn()} I like {v['name']} on {v['address'].split(' ', 1)[1]}. A {v['room']} there is {t.near(v['price'], 'd')} for the whole time.")
    for p, w in t.visits:
        s.append(f"The {p.values['name']}, at {p.values['address']}, is {round(w.values['minutes'])} minutes from {w.values['origin']} {'if you walk' if w.values['mode'] == 'walking' else 'if you drive'}.")
    if t.back:
        b = t.back[0]
        s.append(f"And on {t.long_day(t.f.return_date)} you head home with {b.no} at {t.twords(b.dep)}, {r.choice(['which gets in', 'arriving'])} at {t.twords(b.arr)}{', the next day' if b.plus else ''}; that is {t.near(b.p, 'd')} each.")
    return "\n\n".join(s)


def reasoned(t: Any, r: Random) -> str:
    L = [f"Request understood: {t.a} to {t.b} on {t.f.outbound_date}" + (f", returning {t.f.return_date}" if t.back else ", one way" if not t.round else "") + f", {t.people()}."]

    def why(rides: Any, o: Any) -> str:
        other = [x for x in rides if x is not o]
        if not other:
            return r.choice(["It is direct, so there is nothing to miss on the way.", "No change is needed."])
        x = other[0]
        if o.p < x.p:
            return f"It is cheaper than {x.no}."
        if o.dep < x.dep:
            return f"It leaves earlier than {x.no}."
        if o.n < x.n:
            return f"It is quicker than {x.no}."
        return "It is direct."

    def ride(title: Any, rides: Any) -> None:
        L.extend(["", f"{title}:"])
        for n, o in enumerate(rides, 1):
            L.append(f"{n}) {o.no}, {o.pa} {t.t24(o.dep)} – {o.pb} {t.t24(o.arr)}{o.plus}, {t.mins(o.n)}, {t.usd2(o.p)} per person. Reason: {why(rides, o)} Evidence: {o.card}")
    ride(f"The way there, {t.long_day(t.f.outbound_date)}", t.out)
    if t.stay:
        L += ["", f"The hotel, {t.nn()} from {t.f.checkin}:"]
        for n, h in enumerate(t.stay, 1):
            v = h.values
            L.append(f"{n}) {v['name']}, {v['address']}, {v['room']}, {t.usd2(v['price'])} for the stay. Reason: rated {v['rating']}. Evidence: {t.card(h)}")
    for p, w in t.visits:
        L += ["", f"The visit: {p.values['name']}, {p.values['address']}, {round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}. Evidence: {t.card(p)} {t.card(w)}"]
    if t.back:
        ride(f"The way back, {t.long_day(t.f.return_date)}", t.back)
    L += ["", "Risks:", f"- {r.choice(['A strike or bad weather may upset the timetable.', 'Rooms are not held until you book.'])}"]
    if t.spare:
        L.append(f"- If the first choice is sold out: {t.spare.no} at {t.t24(t.spare.dep)}, {t.usd2(t.spare.p)} {t.spare.card}")
    return "\n".join(L)


def form(t: Any, r: Random) -> str:
    sep = r.choice([": ", " = ", " - "])
    L = ["TRAVEL ORDER", f"Travellers{sep}{t.n}", f"Route{sep}{t.a} / {t.b}" + (f" / {t.a}" if t.back else "")]

    def ride(title: Any, o: Any, day: Any) -> None:
        L.extend(["", title.upper(), f"Date{sep}{day}", f"{o.k.capitalize()}{sep}{o.no}", f"Carrier{sep}{o.who}", f"From{sep}{o.pa}", f"To{sep}{o.pb}", f"Departs{sep}{t.t24(o.dep)}", f"Arrives{sep}{t.t24(o.arr)}{o.plus}", f"Fare{sep}{t.usd2(o.p)}", f"Fare x {t.n}{sep}{t.usd2(o.p * t.n)}"])
    ride("Outbound", t.out[0], t.f.outbound_date)
    if t.back:
        ride("Inbound", t.back[0], t.f.return_date)
    if t.stay:
        v = t.stay[0].values
        L += ["", "LODGING", f"Property{sep}{v['name']}", f"Address{sep}{v['address']}", f"In{sep}{t.f.checkin}", f"Out{sep}{t.f.checkout}", f"Room type{sep}{v['room']}", f"Amount{sep}{t.usd2(v['price'])}"]
    for p, w in t.visits:
        L += ["", "SIGHTSEEING", f"Place{sep}{p.values['name']}", f"Address{sep}{p.values['address']}", f"From{sep}{w.values['origin']}", f"By{sep}{'foot' if w.values['mode'] == 'walking' else 'car'}", f"Minutes{sep}{round(w.values['minutes'])}"]
    L += ["", f"TOTAL{sep}{t.usd2(t.total)}"]
    return "\n".join(L)


def british(t: Any, r: Random) -> str:
    def ride(o: Any, day: Any, lead: Any) -> str:
        return f"{lead} {t.d(day).day} {t.d(day):%B %Y}: the {t.t24(o.dep).replace(':', '.')} {o.k} ({o.no}, {o.who}) from {o.pa}, due {o.pb} at {t.t24(o.arr).replace(':', '.')}{o.plus}. {r.choice(['Fare', 'Tickets'])}: {t.usd(o.p)} each" + (f", {t.usd(o.p * t.n)} for the party." if t.n > 1 else ".")
    L = [r.choice(["May I suggest the following itinerary.", "We are pleased to propose the following arrangements."])]
    L.append(ride(t.out[0], t.f.outbound_date, "Outward,"))
    if len(t.out) > 1:
        L.append(f"Should you prefer, {t.out[1].no} leaves at {t.t24(t.out[1].dep).replace(':', '.')} and is {t.usd(t.out[1].p)} each.")
    if t.stay:
        v = t.stay[0].values
        L.append(f"Accommodation: {v['name']}, {v['address']}. {v['room'].capitalize()}, {t.nn()} from {t.d(t.f.checkin).day} {t.d(t.f.checkin):%B}, {t.usd(v['price'])} in total.")
    for p, w in t.visits:
        L.append(f"Excursion: {p.values['name']}, {p.values['address']}, some {round(w.values['minutes'])} minutes {'on foot' if w.values['mode'] == 'walking' else 'by road'} from {w.values['origin']}.")
    if t.back:
        L.append(ride(t.back[0], t.f.return_date, "Homeward,"))
    L.append(f"The whole would come to {t.usd(t.total)}.")
    return "\n".join(L) if r.random() < 0.5 else "\n\n".join(L)


def chatty(t: Any, r: Random) -> str:
    o = t.out[0]
    L = [r.choice(["Great news, I've sorted everything out!", "Sure thing! Let me walk you through it.", "Absolutely, here's the plan."]), "",
         f"**Getting to {t.b}**: On {t.us_day(t.f.outbound_date)} hop on **{o.no}** with {o.who}. You'll leave {o.pa} at {t.t12(o.dep)} and touch down at {o.pb}" .replace("touch down at", "touch down at" if o.air else "pull into") + f" at {t.t12(o.arr)}{o.plus}, so about {t.mins3(o.n)} door to door between the {'airports' if o.air else 'stations'}. That's {t.usd(o.p)} per person" + (f" ({t.usd(o.p * t.n)} for {t.n})" if t.n > 1 else "") + f". {o.card}", ""]
    if t.stay:
        v = t.stay[0].values
        L += [f"**Where to stay**: I picked **{v['name']}** over at {v['address']}. You'd get a {v['room']} for {t.nn()} (in on {t.us_day(t.f.checkin)}, out on {t.us_day(t.f.checkout)}) and pay {t.usd(v['price'])} all in. It scores {v['rating']} stars. {t.card(t.stay[0])}", ""]
        if len(t.stay) > 1:
            x = t.stay[1].values
            L += [f"Not your style? **{x['name']}** would be {t.usd(x['price'])}. {t.card(t.stay[1])}", ""]
    for p, w in t.visits:
        L += [f"**Don't forget**: {p.values['name']} ({p.values['address']}), a {round(w.values['minutes'])}-minute {'stroll' if w.values['mode'] == 'walking' else 'drive'} from {w.values['origin']}. {t.card(p)} {t.card(w)}", ""]
    if t.back:
        b = t.back[0]
        L += [f"**Heading home**: {t.us_day(t.f.return_date)}, **{b.no}**, {t.t12(b.dep)} from {b.pa}, back at {b.pb} by {t.t12(b.arr)}{b.plus}, {t.usd(b.p)} per person. {b.card}", ""]
    L.append(r.choice(["Anything you'd like me to tweak?", "Have a wonderful time!"]))
    return "\n".join(L)


def steps(t: Any, r: Random) -> str:
    L, n = [], 0

    def add(text: Any) -> None:
        nonlocal n
        n += 1
        L.append(f"{n}. {text}")

    def ride(rides: Any, day: Any, verb: Any) -> None:
        o = rides[0]
        add(f"{verb} {o.who} {o.no} on {day}, {o.a}–{o.b}, {t.t24(o.dep)}–{t.t24(o.arr)}{o.plus}. {t.usd2(o.p)} x {t.n} = {t.usd2(o.p * t.n)}." + (f" Fallback: {rides[1].no}, {t.t24(rides[1].dep)}–{t.t24(rides[1].arr)}{rides[1].plus}, {t.usd2(rides[1].p)}." if len(rides) > 1 else ""))
    ride(t.out, t.f.outbound_date, r.choice(["Book", "Reserve"]))
    if t.stay:
        h = t.stay[0].values
        add(f"{r.choice(['Book', 'Reserve'])} {h['name']} ({h['address']}), {h['room']}, {t.f.checkin} to {t.f.checkout}. {t.usd2(h['price'])}." + (f" Fallback: {t.stay[1].values['name']}, {t.usd2(t.stay[1].values['price'])}." if len(t.stay) > 1 else ""))
    for p, w in t.visits:
        add(f"Go and see {p.values['name']} ({p.values['address']}): {w.values['distance_km']} km and {round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}.")
    if t.back:
        ride(t.back, t.f.return_date, r.choice(["Book", "Return with"]))
    add(f"Budget: {t.usd2(t.total)}" + (f" of {t.usd2(t.q.total_budget)}, leaving {t.usd2(t.q.total_budget - t.total)}." if t.q.total_budget else " in total."))
    return "\n".join(L)


def bottom_line(t: Any, r: Random) -> str:
    parts = [t.out[0].no] + ([t.stay[0].values["name"]] if t.stay else []) + ([t.back[0].no] if t.back else [])
    L = [f"{r.choice(['TL;DR', 'Bottom line', 'In short'])}: {' + '.join(parts)}, {t.usd(t.total)} for {t.people()}.", ""]

    def ride(title: Any, rides: Any, day: Any) -> None:
        L.append(f"{title} {r.choice(['on', 'for'])} {t.ordinal_day(day)}")
        for n, o in enumerate(rides):
            tag = "" if len(rides) == 1 else " [best value]" if o.p == min(x.p for x in rides) else f" [{t.usd(round(o.p - min(x.p for x in rides), 2))} more]"
            L.append(f"{'→' if n == 0 else '↳'} {o.no} ({o.who}) {t.t24(o.dep)} {o.pa}, {t.t24(o.arr)}{o.plus} {o.pb}, {t.mins2(o.n)}, {t.usd(o.p)}/person{tag}")
        L.append("")
    ride("Outbound", t.out, t.f.outbound_date)
    if t.stay:
        L.append(f"Hotel, {t.ordinal_day(t.f.checkin)} to {t.ordinal_day(t.f.checkout)}")
        for n, h in enumerate(t.stay):
            v = h.values
            L.append(f"{'→' if n == 0 else '↳'} {v['name']}, {v['address']}, {v['room']}, {v['rating']}★, {t.usd(v['price'])} total")
        L.append("")
    if t.visits:
        L.append("Sights")
        for p, w in t.visits:
            L.append(f"→ {p.values['name']}, {p.values['address']}, {t.mins2(round(w.values['minutes']))} {'on foot' if w.values['mode'] == 'walking' else 'by car'} from {w.values['origin']}")
        L.append("")
    if t.back:
        ride("Return", t.back, t.f.return_date)
    L.append(r.choice(["Caveat: fares as of today.", "Watch out: none of this is booked yet."]))
    return "\n".join(L)


WRITERS = (hotel_first, spoken, reasoned, form, british, chatty, steps, bottom_line)

"""Ten more ways of wording a trip: a telegram, a table on its side, YAML, entries of a calendar, ….
Measured once on the expert's transcripts before the rules were tried on them, then used to mend
those. `t` is the trip with its words (writers_words.py), `r` draws."""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from random import Random
from typing import Any


def _foot(w: Any, walk: str, drive: str, ride: str) -> str:
    return {"walking": walk, "driving": drive}.get(w.values["mode"], ride)


def telegram(t: Any, r: Random) -> str:
    """Capitals, STOP, times of four digits without a colon."""
    def ride(o: Any, day: Any, verb: str) -> str:
        return f"{verb} {t.d(day).day} {t.d(day):%b} {o.no} DEP {o.a} {t.t24(o.dep).replace(':', '')} ARR {o.b} {t.t24(o.arr).replace(':', '')}{' NEXT DAY' if o.plus else ''} {o.p:g} DOLLARS EACH"
    S = [ride(t.out[0], t.f.outbound_date, "LEAVE")]
    if t.stay:
        v = t.stay[0].values
        S.append(f"{r.choice(['SLEEP', 'ROOM AT'])} {v['name']} {t.nights} NIGHT{'S' * (t.nights > 1)} {v['price']:g} DOLLARS")
    for p, w in t.visits:
        S.append(f"SEE {p.values['name']} {round(w.values['minutes'])} MIN {_foot(w, 'ON FOOT', 'BY CAR', 'BY BUS')} FROM {w.values['origin']}")
    if t.back:
        S.append(ride(t.back[0], t.f.return_date, r.choice(["HOME", "RETURN"])))
    S.append(r.choice(["ADVISE BOOKING SOON", "PLEASE CONFIRM"]))
    return " STOP ".join(S).upper() + " STOP"


def attribute_table(t: Any, r: Random) -> str:
    """A table whose rows are what is told and whose columns are what it is told of."""
    rides = [("Going", t.out[0], t.f.outbound_date)] + ([("Coming back", t.back[0], t.f.return_date)] if t.back else [])
    def row(label: str, cells: list[str]) -> str:
        return "| " + " | ".join([label, *cells]) + " |"
    L = [f"Here is the trip to {t.b}:", "", row("", [title for title, _, _ in rides]), row("---", ["---"] * len(rides)),
         row(r.choice(["Service", "Connection"]), [f"{o.k} {o.no}" for _, o, _ in rides]), row("Operator", [o.who for _, o, _ in rides]),
         row("Date", [f"{t.d(day):%a} {t.d(day).day} {t.d(day):%b}" for _, _, day in rides]),
         row("Departure", [f"{t.t24(o.dep)} {o.pa}" for _, o, _ in rides]), row("Arrival", [f"{t.t24(o.arr)}{' (+1)' if o.plus else ''} {o.pb}" for _, o, _ in rides]),
         row("Travel time", [t.mins(o.n) for _, o, _ in rides]), row("Price per person", [t.usd(o.p) for _, o, _ in rides]), row("Evidence", [o.card for _, o, _ in rides])]
    if t.stay:
        v = t.stay[0].values
        L += ["", "| Stay | |", "|---|---|", row("Name", [v["name"]]), row("Address", [v["address"]]), row("Check-in", [t.f.checkin]), row("Check-out", [t.f.checkout]),
              row("Price for the stay", [t.usd(v["price"])]), row("Evidence", [t.card(t.stay[0])])]
    for p, w in t.visits:
        L += ["", "| To see | |", "|---|---|", row("Place", [p.values["name"]]), row("Getting there", [f"{round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}"]), row("Evidence", [f"{t.card(p)} {t.card(w)}"])]
    return "\n".join(L)


def friend(t: Any, r: Random) -> str:
    """A letter to a friend who has said that tomorrow is the day."""
    o = t.out[0]
    part = "morning" if o.dep[11:13] < "12" else "afternoon" if o.dep[11:13] < "18" else "evening"
    L = [f"{r.choice(['Dear Sam', 'Hey Robin', 'My dear Jo'])},", "",
         f"so tomorrow {part} it is! {r.choice(['Set your alarm:', 'Pack tonight:'])} {o.who}'s {o.no} pulls out of {o.pa} at {t.t12(o.dep)}, and {r.choice(['before you know it', 'if all goes well'])} you are in {o.b}, at {t.t12(o.arr)}{o.plus} to be exact. I saw tickets for {t.usd(o.p)} a person, which I find {r.choice(['fair', 'not bad at all'])}."]
    if t.stay:
        v = t.stay[0].values
        L += ["", f"I have found you a bed too, at {v['name']}. It is at {v['address']}, and {t.nn() if t.nights < 13 else str(t.nights) + ' nights'} there set you back {t.usd(v['price'])} a room."]
    for p, w in t.visits:
        L += ["", f"Do not leave without a look at {p.values['name']}, you would never forgive yourself. From {w.values['origin']} reckon with {round(w.values['minutes'])} minutes {_foot(w, 'of walking', 'in the car', 'by public transport')}."]
    if t.back:
        b = t.back[0]
        L += ["", f"And on {t.d(t.f.return_date):%A}, the {t.ordinal_day(t.f.return_date).split()[1]}, back you come: {b.no} at {t.t12(b.dep)}, in {b.b} at {t.t12(b.arr)}{b.plus}, another {t.usd(b.p)} each."]
    L += ["", r.choice(["Write soon!", "Have fun, and send a postcard."]), "", r.choice(["Love,", "Yours,"]), r.choice(["Mia", "Tom"])]
    return "\n".join(L)


def day_list(t: Any, r: Random) -> str:
    """Day by day in bullets that begin with a time of day, not with a clock."""
    o = t.out[0]
    L = [f"### {t.d(t.f.outbound_date):%A}, {t.d(t.f.outbound_date).day} {t.d(t.f.outbound_date):%B}", "",
         f"- **Travel:** {o.no} ({o.who}), {o.a} {t.t24(o.dep)} – {o.b} {t.t24(o.arr)}{o.plus}, {t.usd(o.p)} per person {o.card}"]
    if len(t.out) > 1:
        x = t.out[1]
        L.append(f"  - *or* {x.no}, {t.t24(x.dep)} – {t.t24(x.arr)}{x.plus}, {t.usd(x.p)} per person {x.card}")
    if t.stay:
        v = t.stay[0].values
        L.append(f"- **Evening:** settle in at {v['name']}, {v['address']} ({t.nn() if t.nights < 13 else str(t.nights) + ' nights'}, {t.usd(v['price'])} per room for all of it) {t.card(t.stay[0])}")
    for p, w in t.visits:
        L.append(f"- **{r.choice(['Excursion', 'Afternoon'])}:** {p.values['name']}; {round(w.values['minutes'])} minutes from {w.values['origin']}, {_foot(w, 'walking', 'driving', 'by public transport')} {t.card(p)} {t.card(w)}")
    if t.back:
        b = t.back[0]
        if t.nights:
            L += ["", f"### {t.d(t.f.return_date):%A}, {t.d(t.f.return_date).day} {t.d(t.f.return_date):%B}", ""]
        L.append(f"- **Travel home:** {b.no} ({b.who}), {b.a} {t.t24(b.dep)} – {b.b} {t.t24(b.arr)}{b.plus}, {t.usd(b.p)} per person {b.card}")
    L += ["", r.choice(["Shall I book it?", "All prices as found today."])]
    return "\n".join(L)


def dotted(t: Any, r: Random) -> str:
    """British: 12-hour clock with dots, "travelling", "centre", numbers written out in the fare."""
    def clock(m: str) -> str:
        return t.t12(m).replace(":", ".").replace(" ", "" if tight else " ")
    tight = r.random() < 0.5
    o = t.out[0]
    L = [f"{r.choice(['Travelling', 'Your journey'])} to {o.b} on {t.long_day(t.f.outbound_date)}: the {clock(o.dep)} {o.k} from {o.pa} ({o.who} {o.no}) arrives at {clock(o.arr)}{o.plus}, a journey of {t.mins3(o.n)}, and the fare is {t.usd(o.p)} apiece."]
    if t.stay:
        v = t.stay[0].values
        L.append(f"I would favour {v['name']} ({v['address']}) for your {t.nn() if t.nights < 13 else str(t.nights) + ' nights'}; {t.usd(v['price'])} a room for the whole of your stay.")
    for p, w in t.visits:
        L.append(f"{p.values['name']} is {w.values['distance_km']} km from {w.values['origin']}, {round(w.values['minutes'])} minutes {_foot(w, 'on foot', 'by car', 'by public transport')}.")
    if t.back:
        b = t.back[0]
        L.append(f"Homeward on {t.long_day(t.f.return_date)}, the {clock(b.dep)} {b.k} ({b.who} {b.no}) has you back at {b.pb} by {clock(b.arr)}{b.plus}; {t.usd(b.p)} apiece once more.")
    L.append(r.choice(["Do mind that fares are subject to change.", "Kindly let me know whether that suits."]))
    return " ".join(L)


def spaced(t: Any, r: Random) -> str:
    """A cost sheet with separated thousands: 1 556.00 or 1'556.00."""
    sign = r.choice([" ", "'", "\u202f"])
    def money(p: float) -> str:
        return f"USD {p:,.2f}".replace(",", sign)
    def line(what: str, price: str) -> str:
        return f"{what}: {price}"
    o, n = t.out[0], t.n
    L = [f"COST ESTIMATE {t.a} - {t.b}, {n} traveller{'s' * (n > 1)}", ""]
    L.append(line(f"1. {o.k.capitalize()} {o.no}, {t.f.outbound_date}, dep. {t.t24(o.dep)} {o.pa}, arr. {t.t24(o.arr)}{o.plus} {o.pb}", f"{money(o.p)} per person" + (f", {money(o.p * n)} for {n}" if n > 1 else "")))
    k = 2
    if t.stay:
        v = t.stay[0].values
        L.append(line(f"{k}. {v['name']}, {v['address']}, {t.f.checkin} to {t.f.checkout} ({t.nights} night{'s' * (t.nights > 1)})", f"{money(v['price'])} per room"))
        k += 1
    if t.back:
        b = t.back[0]
        L.append(line(f"{k}. {b.k.capitalize()} {b.no}, {t.f.return_date}, dep. {t.t24(b.dep)} {b.pa}, arr. {t.t24(b.arr)}{b.plus} {b.pb}", f"{money(b.p)} per person" + (f", {money(b.p * n)} for {n}" if n > 1 else "")))
        k += 1
    for p, w in t.visits:
        L.append(f"{k}. {p.values['name']}, {p.values['address']}: {round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}; entrance not included")
        k += 1
    L += ["", r.choice(["Estimate without obligation.", "Subject to availability."])]
    return "\n".join(L)


def slashes(t: Any, r: Random) -> str:
    """Dates as 26/06, durations as 2h05, an en dash between everything."""
    def ride(o: Any, day: Any) -> str:
        return f"{t.d(day):%d/%m}, {o.no}: {o.a} {t.t24(o.dep)} – {o.b} {t.t24(o.arr)}{o.plus}, {t.mins2(o.n)}, {t.usd(o.p)} pp"
    L = [f"{t.a} ⇄ {t.b} ({t.d(t.f.outbound_date):%d/%m}" + (f" – {t.d(t.f.return_date):%d/%m})" if t.back else ")"), "", f"Outbound {ride(t.out[0], t.f.outbound_date)}"]
    if len(t.out) > 1:
        L.append(f"(or {t.out[1].no}: {t.t24(t.out[1].dep)} – {t.t24(t.out[1].arr)}{t.out[1].plus}, {t.mins2(t.out[1].n)}, {t.usd(t.out[1].p)} pp)")
    if t.stay:
        v = t.stay[0].values
        L.append(f"Hotel {t.d(t.f.checkin):%d/%m} – {t.d(t.f.checkout):%d/%m}: {v['name']}, {v['address']}, {t.usd(v['price'])} / room")
    for p, w in t.visits:
        L.append(f"Visit: {p.values['name']}, {t.mins2(round(w.values['minutes']))} {w.values['mode']} from {w.values['origin']} ({w.values['distance_km']} km)")
    if t.back:
        L.append(f"Return {ride(t.back[0], t.f.return_date)}")
    return "\n".join(L)


def yaml(t: Any, r: Random) -> str:
    """Keys and values as YAML, in lower case, one item a dash."""
    def ride(rides: Any, day: Any, key: str) -> list[str]:
        out = [f"{key}:"]
        for o in rides:
            out += [f"  - {o.k}: {o.no}", f"    date: {day}", f"    from: {o.pa}", f"    to: {o.pb}", f"    departs: \"{t.t24(o.dep)}\"", f"    arrives: \"{t.t24(o.arr)}\"{'  # next day' if o.plus else ''}",
                    f"    duration: {t.mins2(o.n)}", f"    price_per_person: {o.p:g} USD", f"    evidence: call {o.card[6:].split(',')[0]}, row {o.card.split('row ')[1][:-1]}"]
        return out
    L = ["```yaml"] if (fenced := r.random() < 0.5) else []
    L += [f"travellers: {t.n}", *ride(t.out, t.f.outbound_date, "outbound")]
    if t.stay:
        L.append("stay:")
        for h in t.stay:
            v = h.values
            L += [f"  - hotel: {v['name']}", f"    address: {v['address']}", f"    check_in: {t.f.checkin}", f"    check_out: {t.f.checkout}", f"    price_per_room: {v['price']:g} USD", f"    evidence: call {h.call}, row {h.row}"]
    if t.visits:
        L.append("visits:")
        for p, w in t.visits:
            L += [f"  - place: {p.values['name']}", f"    way: {round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}", f"    evidence: call {p.call}, row {p.row}"]
    if t.back:
        L += ride(t.back, t.f.return_date, "return")
    return "\n".join([*L, *(["```"] if fenced else [])])


def calendar(t: Any, r: Random) -> str:
    """Entries for a calendar: what, when, where, note."""
    def entry(what: str, when: str, where: str, note: str) -> list[str]:
        return [f"WHAT  {what}", f"WHEN  {when}", f"WHERE {where}", f"NOTE  {note}", ""]
    def ride(o: Any, day: Any) -> list[str]:
        return entry(f"{o.k.capitalize()} {o.no} to {o.b}", f"{t.d(day):%a} {t.d(day).day} {t.d(day):%b}, {t.t24(o.dep)} to {t.t24(o.arr)}{o.plus}", f"{o.pa}", f"{o.who}, {t.usd(o.p)} per person")
    L = ride(t.out[0], t.f.outbound_date)
    if t.stay:
        v = t.stay[0].values
        L += entry(f"Stay at {v['name']}", f"{t.d(t.f.checkin):%a} {t.d(t.f.checkin).day} {t.d(t.f.checkin):%b} to {t.d(t.f.checkout):%a} {t.d(t.f.checkout).day} {t.d(t.f.checkout):%b}", v["address"], f"{t.usd(v['price'])} per room, {v['room']}")
    for p, w in t.visits:
        L += entry(f"Visit {p.values['name']}", r.choice(["any time", "flexible"]), p.values["address"], f"{round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}")
    if t.back:
        L += ride(t.back[0], t.f.return_date)
    return "\n".join(L).rstrip()


def comparison(t: Any, r: Random) -> str:
    """Weighs two possibilities against each other before it chooses."""
    o, s = t.out[0], []
    if len(t.out) > 1:
        x = t.out[1]
        gap = round(abs(o.p - x.p), 2)
        s.append(f"For the way to {o.b} on {t.long_day(t.f.outbound_date)} it comes down to two: {o.no} ({t.t24(o.dep)} to {t.t24(o.arr)}{o.plus}, {t.usd(o.p)} a head) and {x.no} ({t.t24(x.dep)} to {t.t24(x.arr)}{x.plus}, {t.usd(x.p)} a head).")
        if gap >= 1 and o.p < x.p:
            s.append(f"I lean towards {o.no}, since it saves each of you {t.usd(gap)}." if t.n > 1 else f"I lean towards {o.no}, since it saves {t.usd(gap)}.")
        else:
            s.append(f"I lean towards {o.no}, though both will do.")
    else:
        s.append(f"For the way to {o.b} on {t.long_day(t.f.outbound_date)} only {o.no} fits: {t.t24(o.dep)} to {t.t24(o.arr)}{o.plus}, {t.usd(o.p)} a head.")
    if t.stay:
        v = t.stay[0].values
        if len(t.stay) > 1:
            y = t.stay[1].values
            s.append(f"As for a roof over your head, {v['name']} asks {t.usd(v['price'])} a room for the stay and {y['name']} {t.usd(y['price'])}; I would take {'the former' if r.random() < 0.5 else v['name']}, which is at {v['address']}.")
        else:
            s.append(f"As for a roof over your head, {v['name']} at {v['address']} asks {t.usd(v['price'])} a room for the stay.")
    for p, w in t.visits:
        s.append(f"{p.values['name']} is worth the {round(w.values['minutes'])} minutes {_foot(w, 'on foot', 'at the wheel', 'on the bus')} from {w.values['origin']}.")
    if t.back:
        b = t.back[0]
        s.append(f"Coming back on {t.long_day(t.f.return_date)}, {b.no} does the job: {t.t24(b.dep)} to {t.t24(b.arr)}{b.plus} for {t.usd(b.p)} a head.")
    return " ".join(s)


WRITERS = (telegram, attribute_table, friend, day_list, dotted, spaced, slashes, yaml, calendar, comparison)

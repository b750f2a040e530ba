"""Eight ways in which other writers word a made-up trip. `t` is the trip with its words
(writers_words.py), `r` draws."""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from random import Random
from typing import Any


def prose(t: Any, r: Random) -> str:
    o = t.out[0]
    s = [r.choice([f"I would go out on {t.long_day(t.f.outbound_date)}", f"For the way there on {t.long_day(t.f.outbound_date)} my choice is clear: go"])
         + f" with {o.who} {o.k} {o.no}, which leaves {o.pa} at {t.t12(o.dep)} and gets you into {o.pb} at {t.t12(o.arr)}{o.plus}. "
         f"It takes {t.mins3(o.n)} and costs {t.near(o.p)} a head."]
    if len(t.out) > 1:
        x = t.out[1]
        s.append(f"If that does not suit you, {x.no} departs at {t.t12(x.dep)}, arrives at {t.t12(x.arr)}{x.plus} and is {t.near(x.p)} a head.")
    if t.stay:
        h = t.stay[0].values
        s.append(f"You would then {r.choice(['spend', 'have'])} {t.nn()} at {h['name']}, {h['address']}, in a {h['room']}; the whole stay comes to {t.near(h['price'])}.")
    for p, w in t.visits:
        s.append(f"The {p.values['name']} is at {p.values['address']}, {round(w.values['minutes'])} minutes {'on foot' if w.values['mode'] == 'walking' else 'by car'} from {w.values['origin']}.")
    if t.back:
        b = t.back[0]
        s.append(f"On {t.long_day(t.f.return_date)} {b.no} brings you home: it leaves at {t.t12(b.dep)} and arrives in {b.b} at {t.t12(b.arr)}{b.plus}, for {t.near(b.p)} a head.")
    s.append(r.choice(["Do keep an eye on delays, as with any trip.", "Prices can change until you book."]))
    return " ".join(s)


def email(t: Any, r: Random) -> str:
    L = [r.choice(["Hi there,", "Hello,", "Good morning,"]), "",
         f"thanks for your message. Here is what I found for {t.people()} from {t.a} to {t.b}.", ""]
    L.append(f"Getting there ({t.us_day(t.f.outbound_date)}):")
    for n, o in enumerate(t.out):
        L.append(("My pick: " if n == 0 else "Plan B: ") + f"{o.who} {o.no}, {o.pa} {t.t24(o.dep)} to {o.pb} {t.t24(o.arr)}{o.plus}, {t.usd(o.p)} per person.")
    if t.stay:
        L += ["", f"Where you will sleep ({t.us_day(t.f.checkin)} to {t.us_day(t.f.checkout)}, {t.nn()}):"]
        for n, h in enumerate(t.stay):
            v = h.values
            L.append(("My pick: " if n == 0 else "Plan B: ") + f"{v['name']}, {v['address']} - {v['room']}, {t.usd(v['price'])} for the stay, guests rate it {v['rating']} out of 5.")
    if t.visits:
        L += ["", "What you wanted to see:"]
        for p, w in t.visits:
            L.append(f"{p.values['name']}, {p.values['address']}. From {w.values['origin']} it is {w.values['distance_km']} km, {'a walk' if w.values['mode'] == 'walking' else 'a drive'} of {round(w.values['minutes'])} minutes.")
    if t.back:
        L += ["", f"Coming home ({t.us_day(t.f.return_date)}):"]
        for n, o in enumerate(t.back):
            L.append(("My pick: " if n == 0 else "Plan B: ") + f"{o.who} {o.no}, {o.pa} {t.t24(o.dep)} to {o.pb} {t.t24(o.arr)}{o.plus}, {t.usd(o.p)} per person.")
    L += ["", f"All in all that is {t.usd(t.total)} for {'you' if t.n == 1 else 'all of you'}.", "",
          r.choice(["Tell me if you would like me to change anything.", "Shout if you want something else!"]), "", r.choice(["Kind regards", "All the best", "Cheers"]), r.choice(["Your travel desk", "Anna"])]
    return "\n".join(L)


def bullets(t: Any, r: Random) -> str:
    L = [f"**{r.choice(['Summary', 'Your trip in brief'])}:** {t.a} to {t.b}, {t.people()}, leaving {t.f.outbound_date}" + (f", back {t.f.return_date}" if t.back else "") + "."]

    def ride(title: Any, rides: Any, day: Any) -> None:
        L.append(f"* {title}, {day}")
        for o in rides:
            L.append(f"  * {o.no} ({o.who})")
            L.append(f"    * Dep. {t.t24(o.dep)} {o.pa}, arr. {t.t24(o.arr)}{o.plus} {o.pb}")
            L.append(f"    * Journey time {t.mins(o.n)}, {'nonstop' if o.air else 'no changes'}")
            L.append(f"    * Fare {t.usd2(o.p)} pp")
            L.append(f"    * Source {o.card}")
    ride(r.choice(["Outward journey", "Getting there"]), t.out, t.f.outbound_date)
    if t.stay:
        L.append(f"* {r.choice(['Hotel', 'Accommodation'])}, {t.f.checkin} until {t.f.checkout}")
        for h in t.stay:
            L += [f"  * {h.values['name']}", f"    * {h.values['address']}", f"    * {h.values['room']}, {t.usd2(h.values['price'])} for {t.nn()}", f"    * Rating {h.values['rating']}", f"    * Source {t.card(h)}"]
    for p, w in t.visits:
        L += [f"* Sight: {p.values['name']}", f"  * {p.values['address']}", f"  * {round(w.values['minutes'])} min {w.values['mode']} from {w.values['origin']}", f"  * Source {t.card(p)}, {t.card(w)}"]
    if t.back:
        ride(r.choice(["Homeward journey", "Way back"]), t.back, t.f.return_date)
    L += ["* Good to know", f"  * {r.choice(['Trains and planes can run late; leave some slack.', 'Fares may rise closer to departure.'])}"]
    return "\n".join(L)


def table(t: Any, r: Random) -> str:
    L = [f"## {t.a} – {t.b}" + (f" – {t.a}" if t.back else ""), "", "| Leg | Date | No. | From | To | Dep | Arr | Duration | Fare p.p. |", "|---|---|---|---|---|---|---|---|---|"]
    for title, rides, day in (("Out", t.out, t.f.outbound_date), ("Return", t.back, t.f.return_date)):
        for n, o in enumerate(rides):
            L.append(f"| {title}{' (alternative)' if n else ''} | {t.d(day).day} {t.d(day):%b} | {o.no} | {o.pa} | {o.pb} | {t.t24(o.dep)} | {t.t24(o.arr)}{' +1' if o.plus else ''} | {t.mins2(o.n)} | {t.usd(o.p)} |")
    if t.stay:
        L += ["", "| Hotel | Address | Check-in | Check-out | Room | Total | Rating |", "|---|---|---|---|---|---|---|"]
        for h in t.stay:
            v = h.values
            L.append(f"| {v['name']} | {v['address']} | {t.d(t.f.checkin).day} {t.d(t.f.checkin):%b} | {t.d(t.f.checkout).day} {t.d(t.f.checkout):%b} | {v['room']} | {t.usd(v['price'])} | {v['rating']} |")
    if t.visits:
        L += ["", "| Visit | Address | Way there |", "|---|---|---|"]
        for p, w in t.visits:
            L.append(f"| {p.values['name']} | {p.values['address']} | {w.values['mode']}, {round(w.values['minutes'])} min, {w.values['distance_km']} km from {w.values['origin']} |")
    L += ["", f"**{r.choice(['Grand total', 'Sum'])}** for {t.n} {'person' if t.n == 1 else 'people'}: {t.usd(t.total)}" + (" (first choice in each table)" if len(t.out) + len(t.back) + len(t.stay) > 3 else "")]
    return "\n".join(L)


def german(t: Any, r: Random) -> str:
    comma = r.random() < 0.5

    def eur(p: Any) -> str:
        s = f"{p:.2f}"
        return f"{s.replace('.', ',')} USD" if comma else f"USD {s}"
    L = [r.choice(["Dear Sir or Madam,", "Dear Mr. Keller,", "Dear colleagues,"]), "", f"please find below the travel proposal for {t.people()}.", "", "1. Outward journey"]

    def ride(rides: Any, day: Any) -> None:
        for n, o in enumerate(rides):
            L.append(f"{'Option ' + 'AB'[n] + ': ' if len(rides) > 1 else ''}{o.k.capitalize()} {o.no} of {o.who} on {t.de_day(day)}, departure {o.pa} {t.t24(o.dep)} h, arrival {o.pb} {t.t24(o.arr)} h{o.plus}, travelling time {t.mins(o.n)}, price {eur(o.p)} per person")
    ride(t.out, t.f.outbound_date)
    n = 2
    if t.stay:
        L += ["", f"{n}. Hotel"]
        n += 1
        for h in t.stay:
            v = h.values
            L.append(f"{v['name']}, {v['address']}, arrival {t.de_day(t.f.checkin)}, departure {t.de_day(t.f.checkout)} ({t.nights} night{'s' * (t.nights > 1)}), {v['room']}, total price {eur(v['price'])}")
    if t.back:
        L += ["", f"{n}. Return journey"]
        n += 1
        ride(t.back, t.f.return_date)
    if t.visits:
        L += ["", f"{n}. Programme"]
        for p, w in t.visits:
            L.append(f"{p.values['name']}, {p.values['address']}; transfer from {w.values['origin']}: {round(w.values['minutes'])} min {'by foot' if w.values['mode'] == 'walking' else 'by car'} ({w.values['distance_km']} km)")
    L += ["", f"Total costs{' (option A)' if max(len(t.out), len(t.back)) > 1 else ''}: {eur(t.total)}", "", r.choice(["We ask for a short confirmation.", "Please do not hesitate to contact us in case of questions."]), "", "Best regards"]
    return "\n".join(L)


def sms(t: Any, r: Random) -> str:
    def ride(o: Any, day: Any) -> str:
        return f"{t.d(day).day} {t.d(day):%b} {o.no} {o.a} {t.t24(o.dep)} > {o.b} {t.t24(o.arr)}{'+1' if o.plus else ''} {t.usd(o.p)}{'pp' if t.n > 1 else ''}"
    L = [r.choice(["OUT ", "Go: ", "there "]) + ride(t.out[0], t.f.outbound_date)]
    if len(t.out) > 1 and r.random() < 0.5:
        L.append("or " + ride(t.out[1], t.f.outbound_date))
    if t.stay:
        v = t.stay[0].values
        L.append(f"{r.choice(['sleep', 'Bed:', 'HOTEL'])} {v['name']}, {v['address']}, {t.nights}n {t.usd(v['price'])} total")
    for p, w in t.visits:
        L.append(f"see {p.values['name']}, {p.values['address']}, {round(w.values['minutes'])}min {'walk' if w.values['mode'] == 'walking' else 'drive'} fr {w.values['origin']}")
    if t.back:
        L.append(r.choice(["BACK ", "Home: "]) + ride(t.back[0], t.f.return_date))
    return (". " if r.random() < 0.5 else "\n").join(L)


def emoji(t: Any, r: Random) -> str:
    L = [f"# 🌍 {r.choice(['Your getaway to', 'Ready for'])} {t.b}{'!' if r.random() < 0.5 else ''}", "", f"👥 {t.people()} · 🗓️ {t.ordinal_day(t.f.outbound_date)}" + (f" – {t.ordinal_day(t.f.return_date)}" if t.back else ""), ""]

    def ride(title: Any, rides: Any) -> None:
        L.append(f"## {'✈️' if rides[0].air else '🚆'} {title}")
        for n, o in enumerate(rides):
            L.append(f"**{'⭐ ' if n == 0 else ''}{o.who} {o.no}** {o.card if ev else ''}".rstrip())
            L.append(f"🕐 {t.t24(o.dep)} {o.pa} → {t.t24(o.arr)}{o.plus} {o.pb} ({t.mins(o.n)})")
            L.append(f"💰 **{t.usd(o.p)}** per person" + (f" = {t.usd(o.p * t.n)} for the {t.NUM[t.n]} of you" if t.n > 1 else ""))
            L.append("")
    ev = r.random() < 0.5
    ride(f"{r.choice(['Off we go', 'Outbound'])} – {t.ordinal_day(t.f.outbound_date)}", t.out)
    if t.stay:
        L.append("## 🏨 Your stay")
        for h in t.stay:
            v = h.values
            L.append(f"**{v['name']}** ⭐ {v['rating']}/5 {t.card(h) if ev else ''}".rstrip())
            L += [f"📍 {v['address']}", f"🛏️ {v['room'].capitalize()}, check in {t.ordinal_day(t.f.checkin)}, check out {t.ordinal_day(t.f.checkout)}", f"💰 **{t.usd(v['price'])}** for {t.nn()}", ""]
    if t.visits:
        L.append("## 📸 Don't miss")
        for p, w in t.visits:
            L.append(f"**{p.values['name']}** – 📍 {p.values['address']} – {'🚶' if w.values['mode'] == 'walking' else '🚗'} {round(w.values['minutes'])} min from {w.values['origin']}")
        L.append("")
    if t.back:
        ride(f"{r.choice(['Homeward bound', 'Heading back'])} – {t.ordinal_day(t.f.return_date)}", t.back)
    L.append(f"💡 {r.choice(['Book early, seats go fast!', 'Bring an umbrella, just in case!', 'Enjoy!'])}")
    return "\n".join(L)


def daily(t: Any, r: Random) -> str:
    o = t.out[0]
    L = [f"**Day 1 – {t.long_day(t.f.outbound_date)}**", f"{t.t24(o.dep)}: leave {o.pa} on {o.no} ({o.who}, {t.usd(o.p)} each).", f"{t.t24(o.arr)}{o.plus}: arrive at {o.pb}."]
    if t.stay:
        v = t.stay[0].values
        L.append(f"{r.choice(['Later', 'Then'])}: check in at {v['name']} ({v['address']}), your {v['room']} until {t.long_day(t.f.checkout)} costs {t.usd(v['price'])} in total.")
    for p, w in t.visits:
        L.append(f"{r.choice(['When you like', 'In between'])}: {p.values['name']}, {p.values['address']}, {round(w.values['minutes'])} minutes' {'walk' if w.values['mode'] == 'walking' else 'drive'} from {w.values['origin']}.")
    if t.back:
        b = t.back[0]
        if t.nights > 2:
            L += ["", f"**Days 2 to {t.nights}**", r.choice(["At leisure in the city.", "Free time to explore."])]
        elif t.nights == 2:
            L += ["", "**Day 2**", "Free time to explore."]
        if t.nights:
            L += ["", f"**Day {t.nights + 1} – {t.long_day(t.f.return_date)}**"]
        if t.stay:
            L.append(f"Check out of {t.stay[0].values['name']}.")
        L += [f"{t.t24(b.dep)}: {b.no} ({b.who}) from {b.pa}, {t.usd(b.p)} each.", f"{t.t24(b.arr)}{b.plus}: back in {b.b}."]
    if t.spare and r.random() < 0.6:
        x = t.spare
        L += ["", f"*Missed it?* {x.no} leaves {x.pa} at {t.t24(x.dep)} on the first day for {t.usd(x.p)}."]
    return "\n".join(L)


WRITERS = (prose, email, bullets, table, german, sms, emoji, daily)

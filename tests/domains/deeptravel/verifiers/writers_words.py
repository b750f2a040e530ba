"""How other writers say times, days, durations and prices, and a made-up trip as they see it. Their
answers are in writers.py and writers_more.py; they were written before the rules of the verifier
were read."""

from __future__ import annotations

from datetime import date, datetime

NUM = "zero one two three four five six seven eight nine ten eleven twelve".split()
TEEN = {5: "five past", 10: "ten past", 15: "quarter past", 20: "twenty past", 30: "half past"}


def d(day):
    return date.fromisoformat(day[:10])


def long_day(day):  # Friday 26 June
    return f"{d(day):%A} {d(day).day} {d(day):%B}"


def us_day(day):  # Fri, Jun 26
    return f"{d(day):%a}, {d(day):%b} {d(day).day}"


def de_day(day):
    return f"{d(day):%d.%m.%Y}"


def ordinal_day(day):
    n = d(day).day
    return (
        f"{d(day):%B} {n}{'th' if 10 < n < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
    )


def t24(m):
    return m[11:16]


def t12(m):
    t = datetime.fromisoformat(m)
    h = t.hour % 12 or 12
    return f"{h}{f':{t.minute:02d}' if t.minute else ''} {'am' if t.hour < 12 else 'pm'}"


def twords(m):
    t = datetime.fromisoformat(m)
    h, part = (
        t.hour % 12 or 12,
        (
            "in the morning"
            if t.hour < 12
            else "in the afternoon"
            if t.hour < 18
            else "in the evening"
        ),
    )
    if t.minute == 0:
        return f"{NUM[h]} {part}"
    if t.minute in TEEN:
        return f"{TEEN[t.minute]} {NUM[h]} {part}"
    return t12(m)


def nextday(v):
    return v["arrives_at"][:10] > v["departs_at"][:10]


def mins(n):
    n = int(n)
    return (
        f"{n // 60} h {n % 60} min"
        if n >= 60 and n % 60
        else f"{n // 60} h"
        if n >= 60
        else f"{n} min"
    )


def mins2(n):
    n = int(n)
    return f"{n // 60}h{n % 60:02d}" if n >= 60 else f"{n} mins"


def mins3(n):
    n = int(n)
    h, m = divmod(n, 60)
    return " and ".join(
        x
        for x in (
            f"{h} hour{'s' * (h > 1)}" if h else "",
            f"{m} minute{'s' * (m > 1)}" if m else "",
        )
        if x
    )


def about(n):
    """As people say a duration."""
    h, m = divmod(int(n), 60)
    for near, words in (
        (0, ""),
        (15, "a quarter"),
        (30, "a half"),
        (45, "three quarters"),
        (60, ""),
    ):
        if abs(m - near) <= 4:
            if near == 60:
                h += 1
            if h == 0:
                return f"{int(n)} minutes"
            if h == 1 and near == 30:
                return ("" if m == near else "about ") + "an hour and a half"
            said = f"{NUM[h]} hour{'s' * (h > 1)}" if not words else f"{NUM[h]} and {words} hours"
            return (
                said
                if m in (near, near - 60)
                else f"{'just over' if m > near else 'just under'} {said}"
            )
    return mins3(n)


def usd(p):
    return f"${p:,.0f}" if p == int(p) else f"${p:,.2f}"


def usd2(p):
    return f"{p:,.0f} USD" if p == int(p) else f"{p:,.2f} USD"


def near(p, unit="$"):
    """As people round."""
    if p < 50:
        n = round(p)
    else:
        n = 5 * round(p / 5)
    up = 10 * -(-int(p) // 10) if p % 10 else int(p)
    say = (lambda x: f"${x:,}") if unit == "$" else (lambda x: f"{x:,} dollars")
    if 0 < up - p <= 0.02 * up:
        return f"just under {say(up)}"
    return say(n) if n == p else f"{'around' if unit != '$' else 'about'} {say(n)}"


class R:
    """One ride, with the words for it."""

    def __init__(self, cited):
        v = self.v = cited.values
        self.card = f"[call {cited.call}, row {cited.row}]"
        self.air = "depart_airport" in v
        self.no, self.who = v["number"], v.get("carrier") or v.get("operator")
        self.a, self.b = v["depart_city"], v["arrive_city"]
        self.pa = v.get("depart_airport") or v.get("depart_station")
        self.pb = v.get("arrive_airport") or v.get("arrive_station")
        self.dep, self.arr, self.n, self.p = (
            v["departs_at"],
            v["arrives_at"],
            v["minutes"],
            v["price"],
        )
        self.plus = " (next day)" if nextday(v) else ""
        self.k = "flight" if self.air else "train"


class T:
    def __init__(self, facts):
        q = self.q = facts.request
        self.f, self.n = facts, facts.request.party_size
        self.out, self.back = [R(c) for c in facts.outbound], [R(c) for c in facts.back]
        self.stay = facts.stay
        self.visits = facts.visits
        self.nights = (d(facts.checkout) - d(facts.checkin)).days
        self.round = q.return_date is not None
        self.a, self.b = self.out[0].a if self.out else q.origin, q.destination
        self.spare = R(facts.spare) if facts.spare else None
        self.rides = sum(r[0].p for r in (self.out, self.back) if r) * self.n
        self.total = self.rides + (self.stay[0].values["price"] if self.stay else 0)

    def people(self):
        return {
            1: "one traveller",
            2: "two travellers",
            3: "three travellers",
            4: "four travellers",
        }[self.n]

    def nn(self):
        return f"{NUM[self.nights]} night{'s' * (self.nights > 1)}"


def card(c):
    return f"[call {c.call}, row {c.row}]"


T.NUM = NUM  # type: ignore[attr-defined]
for _word in (
    d,
    long_day,
    us_day,
    de_day,
    ordinal_day,
    t24,
    t12,
    twords,
    mins,
    mins2,
    mins3,
    about,
    near,
    usd,
    usd2,
    card,
):
    setattr(T, _word.__name__, staticmethod(_word))

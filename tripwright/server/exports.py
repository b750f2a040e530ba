"""A planned trip as a file to keep: a calendar (RFC 5545), Markdown, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from icalendar import Calendar, Event

from tripwright.errors import UserError

Json = Mapping[str, Any]
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~])")


class Export(NamedTuple):
    body: bytes
    media_type: str
    filename: str


def export(trip: Json, kind: str) -> Export:
    """`trip` as its owner sees it, with a view for all but JSON. Raises UserError for a kind that
    there is not, or a trip without a plan."""
    if kind not in KINDS:
        raise UserError(f"No export '{kind[:20]}': there are {', '.join(KINDS)}.")
    write, media_type = KINDS[kind]
    if kind != "json" and not trip["view"]:
        raise UserError("This trip has no plan to export: only 'json' is there.")
    return Export(write(trip), media_type, f"trip-{trip['id']}.{kind}")


def _calendar(trip: Json) -> bytes:
    """Timed events for what has its time, in local time wherever that is ("floating"); the rest of
    a day in the words of one event that takes all of it."""
    calendar = Calendar()
    calendar.add("prodid", "-//tripwright//trip//EN")
    calendar.add("version", "2.0")
    stamp = datetime.fromisoformat(trip["created_at"])
    for number, event in enumerate(_events(trip["view"])):
        event.add("uid", f"{trip['id']}-{number}@tripwright")  # the same at every export
        event.add("dtstamp", stamp)
        calendar.add_component(event)
    return calendar.to_ical()  # type: ignore[no-any-return]


def _events(view: Json) -> Iterator[Event]:
    for part in view["parts"]:
        if part["date"] is not None:
            event = Event()
            event.add("summary", f"{part['title']}: {part['where']}")
            event.add("dtstart", date.fromisoformat(part["date"]))
            event.add("dtend", date.fromisoformat(part["date"]) + timedelta(days=1))
            event.add("description", "\n".join(map(_line, part["items"])))
            yield event
        for item in part["items"]:
            if item["starts"] and not item["alternative"]:
                event = Event()
                event.add("summary", item["text"])
                event.add("dtstart", datetime.fromisoformat(item["starts"]))
                if item["ends"]:
                    event.add("dtend", datetime.fromisoformat(item["ends"]))
                yield event


def _line(item: Json) -> str:
    second = "or " if item["alternative"] else ""
    cost = "" if item["cost"] is None else f" ({item['cost']:,.2f})"
    return f"{second}{item['label']}: {item['text']}{cost}".lstrip(": ")


def _markdown(trip: Json) -> bytes:
    view = trip["view"]
    lines = [f"# {_plain(view['title'])}", "", _plain(trip["words"]), ""]
    if view["cost"] is not None:
        budget = "" if view["budget"] is None else f" of {view['budget']:,.2f}"
        lines += [f"**{view['cost']:,.2f}{budget} {view['currency']}**", ""]
    for part in view["parts"]:
        heading = " · ".join(filter(None, (part["title"], part["date"], part["where"])))
        lines += [f"## {_plain(heading)}", ""]
        for item in part["items"]:
            times = "–".join(moment[11:16] for moment in (item["starts"], item["ends"]) if moment)
            lines.append(f"- {_plain(f'{times} {_line(item)}')}")
            lines += [f"  - {_plain(label)}: {_plain(text)}" for label, text in item["facts"]]
            lines += [f"  - ✗ {_plain(remark)}" for remark in item["remarks"]]
        lines.append("")
    signs = {"passed": "✓", "failed": "✗"}
    lines += ["## What was checked", ""]
    for check in view["checks"]:
        details = "".join(f"; {_plain(detail)}" for detail in check["details"])
        lines.append(f"- {signs.get(check['state'], '–')} {_plain(check['title'])}{details}")
    return ("\n".join(lines) + "\n").encode()


def _plain(text: str) -> str:
    """Text of tools and travellers is text in Markdown, too."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _json(trip: Json) -> bytes:
    return json.dumps(trip, indent=1, ensure_ascii=False).encode()


KINDS: dict[str, tuple[Callable[[Json], bytes], str]] = {
    "ics": (_calendar, "text/calendar; charset=utf-8"),
    "md": (_markdown, "text/markdown; charset=utf-8"),
    "json": (_json, "application/json"),
}

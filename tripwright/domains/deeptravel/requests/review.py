"""A review file in which people accept or edit requests before anybody trains on them (DeepTravel,
Appendix A.3.1).

Whoever reviews ticks what is good and may better the words. The words are then read again: a
request is accepted only where they still ask for the same trip, since that is what an answer will
be held against. Nothing is accepted that was not ticked.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import shape_of, wishes_of
from tripwright.domains.deeptravel.requests.reading import UnreadableRequest, read_request
from tripwright.errors import UserError

COLUMNS = ("accept", "id", "level", "request", "intents")
YES = frozenset(("x", "yes", "y", "1", "true", "ok"))
NO = frozenset(("", "no", "n", "0", "false", "-"))
_ITEM = re.compile(r"## \[(.?)\] (\S+)(?: .*)?")
_WORDS = re.compile(r"> ?(.*)")
_INTRODUCTION = """\
# Review of requests

Put an x into the brackets of a request that is sensible and natural: [x]. You may change its words, the lines that begin with >.
They must still ask for the trip that stands below them. Leave the brackets empty to refuse a request.
"""  # noqa: E501


class Review(NamedTuple):
    """What somebody said of one request: `line` is where."""

    line: int
    id: str
    accepted: bool
    words: str


@dataclass(frozen=True)
class ReviewResult:
    """`edited` counts those of the accepted whose words were changed; `refused` says line, id and
    why."""

    accepted: list[TravelRequest]
    edited: int
    refused: list[tuple[int, str, str]]


def write_review(requests: Sequence[TravelRequest], form: str) -> str:
    """As markdown ("md") or as a table ("csv"). Nothing is ticked."""
    if form == "csv":
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(
            ("", request.id, request.level or "", request.query, meant(request))
            for request in requests
        )
        return text.getvalue()
    items = (
        f"## [ ] {request.id} {request.level or ''}".rstrip()
        + f"\n> {request.query}\n\n{meant(request)}\n"
        for request in requests
    )
    return "\n".join((_INTRODUCTION, *items))


def meant(request: TravelRequest) -> str:
    """Its intents in a line, for people."""
    stay = "" if request.nights is None else f", {request.nights} nights"
    back = f" to {request.return_date}" if request.return_date else ""
    way = (
        f"{request.origin} → {request.destination}, {request.depart_date}{back}{stay},"
        f" {request.party_size} travelling"
    )
    wishes = [f"{wish.replace('_', ' ')}: {_value(request, wish)}" for wish in wishes_of(request)]
    return "; ".join([f"{shape_of(request).replace('_', ' ')}: {way}", *wishes])


def read_review(path: Path) -> list[Review]:
    """Raises UserError for what is no review file, with the line."""
    if not path.is_file():
        raise UserError(
            f"No review file at '{path}'. Expected one made by 'tripwright request review'."
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(
            f"'{path}' is not text in UTF-8. Expected a review file, as markdown or as CSV in"
            " UTF-8."
        ) from None
    reviews = _read_csv(path, text) if path.suffix.lower() == ".csv" else _read_markdown(path, text)
    if not reviews:
        raise UserError(
            f"No request in '{path}'. Expected a review file made by 'tripwright request review'."
        )
    return reviews


def accept(
    requests: Sequence[TravelRequest], reviews: Iterable[Review], path: Path
) -> ReviewResult:
    """The ticked requests, in their own order, with the words that the review has. Raises UserError
    for an id that is none of theirs, or that the review has twice."""
    by_id = {request.id: request for request in requests}
    accepted: dict[str, TravelRequest] = {}
    refusals: list[tuple[int, str, str]] = []
    lines: dict[str, int] = {}
    edited = 0
    for line, name, ticked, words in reviews:
        if name not in by_id:
            raise UserError(
                f"{path}:{line}: '{name[:60]}' is the id of no request in the file. Was this review"
                " made of another one?"
            )
        if name in lines:
            raise UserError(
                f"{path}:{line}: '{name}' was reviewed before, in line {lines[name]}. Leave one of"
                " the two."
            )
        lines[name] = line
        request = by_id[name]
        if not ticked:
            refusals.append((line, name, "not ticked"))
        elif words == " ".join(request.query.split()):
            accepted[name] = request
        elif problem := _differs(words, request):
            refusals.append((line, name, problem))
        else:
            accepted[name], edited = request.model_copy(update={"query": words}), edited + 1
    return ReviewResult(
        [accepted[request.id] for request in requests if request.id in accepted], edited, refusals
    )


def _differs(words: str, request: TravelRequest) -> str | None:
    """Why these words do not ask for this trip; None where they do. That it is so many nights or
    until that day is the same."""
    try:
        meaning = read_request(words)
    except UnreadableRequest as problem:
        return f"the new words cannot be read: {problem}"
    new, old = (_compared(one) for one in (meaning, request))
    if wrong := [name for name in old if new[name] != old[name]]:
        name = wrong[0]
        return (
            f"the new words say {name.replace('_', ' ')} {new[name]}, the request is for"
            f" {old[name]}"
        )
    return None


def _compared(request: TravelRequest) -> dict[str, object]:
    fields = request.model_dump(exclude={"id", "query", "level"})
    return fields if request.return_date is None else {**fields, "nights": None}


def _value(request: TravelRequest, wish: str) -> str:
    value = getattr(request, wish)
    if isinstance(value, tuple):
        return " and ".join(value)
    return f"{value:g} {request.currency}" if isinstance(value, float) else str(value)


def _read_markdown(path: Path, text: str) -> list[Review]:
    reviews: list[Review] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            item = _ITEM.fullmatch(line.rstrip())
            if item is None:
                raise UserError(
                    f"{path}:{number}: expected '## [x] ID' or '## [ ] ID', found {line[:60]!r}."
                )
            reviews.append(Review(number, item[2], _tick(path, number, item[1]), ""))
        elif reviews and (words := _WORDS.fullmatch(line.rstrip())):
            last = reviews[-1]
            reviews[-1] = last._replace(words=" ".join(f"{last.words} {words[1]}".split()))
    return reviews


def _read_csv(path: Path, text: str) -> list[Review]:
    rows = csv.DictReader(io.StringIO(text), strict=True)
    reviews = []
    try:
        if absent := [
            name for name in ("accept", "id", "request") if name not in (rows.fieldnames or ())
        ]:
            raise UserError(
                f"{path}:1: no column '{absent[0]}'. Expected the columns {', '.join(COLUMNS)},"
                " separated by commas."
            )
        for row in rows:
            line = rows.line_num
            reviews.append(
                Review(
                    line,
                    (row["id"] or "").strip(),
                    _tick(path, line, row["accept"] or ""),
                    " ".join((row["request"] or "").split()),
                )
            )
    except csv.Error as problem:
        raise UserError(f"{path}:{rows.line_num}: not CSV ({problem}).") from None
    return reviews


def _tick(path: Path, line: int, cell: str) -> bool:
    word = cell.strip().casefold()
    if word not in YES | NO:
        raise UserError(
            f"{path}:{line}: '{cell[:20]}' is neither a tick (x, yes) nor none (empty, no)."
        )
    return word in YES

"""An answer's lines: which part of the trip each is about, what is a title, what is a sentence,
what is a clause.

The parts of row D11 are told by headings where there are headings ("### Outbound recommendations",
"**Getting there**"), by labels ("Out:", "Hotel:") where there are labels, and otherwise by what is
recommended there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tripwright.domains.deeptravel.verifiers.claims_numbers import read_numbers
from tripwright.domains.deeptravel.verifiers.claims_words import MAKES_A_NAME

Part = Literal["outbound", "stay", "return", "visits", "risks", "cost", ""]

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s*(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^(\s*)(?:[-*+•‣◦▪●○►▸↳✓✔]|→(?=\s*[^\s\d])|\d{1,2}[.)])\s+")
_RULE = re.compile(r"^[\s|:=_*-]*$")
_LABEL = re.compile(r"^\s*([A-Za-z][^:.|\d]{0,40}?)\s*(\([^)]{0,40}\))?\s*:\s")
_PART_WORDS: tuple[tuple[Part, str], ...] = (
    (
        "risks",
        r"risks?|alternatives?|backup|back-up|plan b|fall-?back|contingency|if"
        r" (?:something|it|things)|what if|good to know|watch out|"
        r"go(?:es)? wrong|precautions?|tips?|notes?|caveats?|emergency|reminders?|before you"
        r" go|fully booked",
    ),
    (
        "return",
        (
            r"return|getting back|get(?:ting)? home|coming home|homeward|homebound|way"
            r" (?:home|back)|inbound|back|head(?:ing)? home"
        ),
    ),
    (
        "outbound",
        (
            r"outbound|outward|getting there|get there|going out|way"
            r" (?:there|out)|out|departure|onward|there|go"
        ),
    ),
    ("stay", r"stays?|staying|hotels?|accommodation|lodging|sleep|overnight|nights?|room"),
    (
        "visits",
        r"visits?|visiting|sights?|sightseeing|see|attractions?|things to do|explore|places",
    ),
    ("cost", r"costs?|budget|total|summary|price breakdown"),
)
_PARTS = [(part, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for part, words in _PART_WORDS]
# A sentence with one of these speaks of what to do if the recommendation fails.
_SPARE = re.compile(
    r"\b(?:if|should|in case|in the event)\b.{0,60}\b(?:sold|full|cancel\w*|delay\w*|miss\w*|run"
    r" out|book\w*|unavailable|wrong|seats)\b"
    r"|\b(?:miss(?:ed)?|sold.out|booked|full|delayed|cancell?ed)\b[^.?!]{0,30}\?"
    r"|\b(?:fall-?back|back-?up|plan b|safety net|precaution|alternative|as a spare|also runs|in"
    r" mind|sold.out|cancell?ed|disrupt\w*)\b",
    re.IGNORECASE,
)
# as telegrams end theirs, too
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[^\sa-z])|(?<=\bSTOP)\s+(?=[A-Z\d])")
_ABBREVIATED = re.compile(
    r"\b(?:dep|arr|approx|ca|no|nr|ref|st|mt|e\.g|i\.e|etc|incl|min|mins|hrs?|tel|vs|dr|av|dept)\.$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:()|·•]|(?<=\s)-(?=\s)|\s(?=(?:and|but|while|whereas|or|so|which|then)\s)"
)


@dataclass(frozen=True)
class AnswerLine:
    """`title` is a heading, or a line that is bold as a whole; `level` 1 to 6 of a heading, 7 of a
    bold line, 9 of any other."""

    text: str
    part: Part
    level: int = 9
    bullet: bool = False
    indent: int = 0

    @property
    def title(self) -> bool:
        return self.level < 9


def part_of(words: str) -> Part:
    """'Outbound recommendations (2026-06-26)' → "outbound"; "" for what names no part."""
    if re.match(r"\W*(?:day|leg|step)\s*\d", words, re.IGNORECASE):
        return ""
    first = min(
        (
            (found.start(), n)
            for n, (_, pattern) in enumerate(_PARTS)
            if (found := pattern.search(words))
        ),
        default=None,
    )
    if first is None:
        return ""
    risky = _PARTS[0][1].search(words)
    return "risks" if risky else _PARTS[first[1]][0]


def is_spare(sentence: str) -> bool:
    return _SPARE.search(sentence) is not None


def read_lines(text: str, is_item: re.Pattern[str] | None) -> list[AnswerLine]:
    """`is_item` finds a name of the tool answers: a title that holds one is about that, and names
    no part of its own."""
    lines: list[AnswerLine] = []
    part: Part = ""
    header: list[str] = []
    raws = text.split("\n")
    turned = dict(_turned_tables(raws))
    for place, raw in enumerate(raws):
        if place in turned:
            lines += turned[place]
            part = turned[place][-1].part if turned[place] else part
            continue
        if _is_table_row(raw):
            cells = _cells(raw)
            if _RULE.match(raw):
                continue
            if header and len(header) == len(cells):
                lines.append(_table_row(header, cells, part))
            else:
                header = cells
                lines.append(AnswerLine(" | ".join(cells), part))
            continue
        header = []
        if not raw.strip() or _RULE.match(raw) or _is_courtesy(raws, place):
            continue
        line = _line(raw)
        if line.level == 9 and _stands_above(raws, place, line.text, is_item):
            line = AnswerLine(line.text.removesuffix(":"), "", 7, line.bullet, line.indent)
        itself = is_item is not None and is_item.search(line.text) is not None
        if line.title:
            named = part_of(line.text) if not itself else ""
            part = named if named else part if itself or line.level > 4 else ""
            lines.append(AnswerLine(line.text, part, line.level, line.bullet, line.indent))
            continue
        label = _LABEL.match(line.text)
        own = part_of(label[1]) if label and not _FIELD.search(label[1]) else ""
        if part == "stay" and label and label[1].lower() in ("in", "out"):
            own = ""  # when one checks in and out
        heads = line.bullet and not label and len(line.text) < 60 and not _tells(line.text)
        if heads and not itself and (named := part_of(line.text)) and ":" not in line.text:
            part = own = named  # "- Accommodation", a list's own heading
            lines.append(AnswerLine(line.text, part, 7, line.bullet, line.indent))
            continue
        lines.append(AnswerLine(line.text, own or part, 9, line.bullet, line.indent))
    return lines


# A label within an item, not one that opens a part.
_FIELD = re.compile(
    r"^(?:price|why|evidence|recommend\w*|address|room|way there|getting there|how"
    r" (?:long|much)|where|source|rating|duration"
    r"|fare|total|note|reason)",
    re.IGNORECASE,
)


# How a letter begins and ends: whom it greets and who signs it are no items.
_GREETING = re.compile(
    r"\s*(?:(?:my )?dear|hello|hi|hey|good (?:morning|afternoon|evening|day))\b(?:,?"
    r" [^\W\d_]+\.?){0,4}[,!]\s*$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\s*(?:with )?(?:(?:kind|kindest|best|warm|many|yours|all the)\W+)?"
    r"(?:regards|wishes|cheers|sincerely|faithfully|truly|best|thanks|greetings|love|hugs|yours|take"
    r" care)\W*$",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"\W*[^\W\d_]+(?:[ .]+[^\W\d_]+){0,3}\W*$")
# what a heading may count; any other number tells of an item
_OF_THE_WHOLE = ("date", "weekday", "nights", "days", "people")
_LONGEST_HEADING = 80


def _is_courtesy(raws: list[str], place: int) -> bool:
    """A greeting's line, or a name under "Kind regards" with which the answer ends. What makes the
    name of a hotel or a sight is nobody's name, and a line that claims anything is read."""
    raw = raws[place]
    if (
        not MAKES_A_NAME.isdisjoint(re.findall(r"[^\W\d_]+", raw.lower()))
        or len(raw) > _LONGEST_HEADING
        or read_numbers(raw)
    ):
        return False
    if _GREETING.match(raw):
        return True
    above = [each for each in raws[:place] if each.strip()][-1:]
    last = not any(each.strip() for each in raws[place + 1 :])
    return (
        last
        and bool(above)
        and _CLOSING.match(above[0]) is not None
        and _SIGNATURE.match(raw) is not None
    )


def _stands_above(raws: list[str], place: int, text: str, is_item: re.Pattern[str] | None) -> bool:
    """A line that nothing marks as a heading but its place: it opens a paragraph that goes on, and
    says no more than a part and its days ("Hotel, May 20th to May 25th", "OUTBOUND", "Getting there
    (Fri 24 July):")."""
    opens = place == 0 or not raws[place - 1].strip()
    goes_on = place + 1 < len(raws) and bool(raws[place + 1].strip())
    shouts = text.isupper() and len(text) < 40
    if (
        not goes_on
        or not (opens or text.endswith(":"))
        or len(text) > _LONGEST_HEADING
        or (is_item is not None and is_item.search(text))
    ):
        return False
    if _tells(text) or re.search(r"[.!?](?:\s|$)|:\s", text) or "|" in text:
        return False
    return shouts or part_of(text) != ""


def _tells(text: str) -> bool:
    return any(claim.kind not in _OF_THE_WHOLE for claim in read_numbers(text))


def _line(raw: str) -> AnswerLine:
    if heading := _HEADING.match(raw):
        return AnswerLine(_bare(heading[2]), "", len(heading[1]))
    bullet = _BULLET.match(raw)
    indent = len(bullet[1]) if bullet else len(raw) - len(raw.lstrip())
    body = raw[bullet.end() :] if bullet else raw.strip().lstrip("> ")
    bold = re.fullmatch(r"\s*(?:\*\*|__)([^*_]+?):?(?:\*\*|__):?\s*", body)
    return AnswerLine(_bare(body), "", 7 if bold else 9, bullet is not None, indent)


def _bare(text: str) -> str:
    """Without the signs of emphasis."""
    return re.sub(r"\s+", " ", re.sub(r"\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~|`", "", text)).strip()


def _is_table_row(raw: str) -> bool:
    return raw.strip().startswith("|")


def _cells(raw: str) -> list[str]:
    return [cell.strip() for cell in raw.strip().strip("|").split("|")]


def _turned_tables(raws: list[str]) -> Iterator[tuple[int, list[AnswerLine]]]:
    """Tables whose rows are labels and whose columns are what is told of: the first cell of the
    header is empty, or all but the first are. By the place of each of their lines: all of the
    table's with the first, nothing with the others."""
    begin = 0
    while begin < len(raws):
        end = begin
        while end < len(raws) and _is_table_row(raws[end]):
            end += 1
        rows = [_cells(raw) for raw in raws[begin:end] if not _RULE.match(raw)]
        if (
            len(rows) > 2
            and len({len(row) for row in rows}) == 1
            and len(rows[0]) > 1
            and (not rows[0][0] or not any(rows[0][1:]))
        ):
            yield begin, list(_turned(rows))
            yield from ((place, []) for place in range(begin + 1, end))
        begin = max(end, begin + 1)


def _turned(rows: list[list[str]]) -> Iterator[AnswerLine]:
    """Column by column: its heading as a title, then a line for each label with the column's
    cell."""
    header = rows[0]
    for place in range(1, len(header)):
        title = _bare(header[place] or header[0])
        part = part_of(title)
        if title:
            yield AnswerLine(title, part, 7)
        yield from (
            AnswerLine(f"{_bare(row[0])}: {_bare(row[place])}", part)
            for row in rows[1:]
            if row[place]
        )


def _table_row(header: list[str], cells: list[str], part: Part) -> AnswerLine:
    """Each cell behind its column's heading: what is said of a row is said cell by cell."""
    own = next((named for cell in cells[:1] if (named := part_of(cell))), part)
    return AnswerLine(
        " | ".join(f"{name}: {_bare(cell)}" for name, cell in zip(header, cells, strict=True)), own
    )


def sentences(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Begin and end of each sentence; a full stop inside a name or a claim ends none."""
    return _split(text, spans, _SENTENCE, 0, len(text))


def clauses(text: str, spans: list[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    return _split(text, spans, _CLAUSE, begin, end)


def _split(
    text: str, spans: list[tuple[int, int]], pattern: re.Pattern[str], begin: int, end: int
) -> list[tuple[int, int]]:
    found, start = [], begin
    for match in pattern.finditer(text, begin, end):
        if any(low < match.end() and match.start() < high for low, high in spans):
            continue
        if (
            pattern is _SENTENCE
            and any(low < match.start() <= high for low, high in spans)
            and not text[match.end()].isupper()
        ):
            continue  # the full stop is that of "6:30 p.m."
        if pattern is _SENTENCE and _ABBREVIATED.search(
            text, max(0, match.start() - 8), match.start()
        ):
            continue
        if (
            "-" in match[0]
            and any(match.start() - 2 <= high <= match.start() for _, high in spans)
            and any(match.end() <= low <= match.end() + 2 for low, _ in spans)
        ):
            continue  # "06:54 - 11:02" is one thing
        if match.start() > start:
            found.append((start, match.start()))
        start = match.end()
    if start < end:
        found.append((start, end))
    return found

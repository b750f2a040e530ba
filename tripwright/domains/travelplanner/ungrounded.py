"""Names in a plan that rest on nothing (Planner-R1's hallucination check, row P14), field by field,
in two senses that are kept apart.

*Not found by the agent*: a name in the final plan that neither the request nor any tool answer of
the same transcript holds, as the model was shown it. It needs nothing but the transcript, and a
true name that was guessed counts too. *In no table*: what the judge did not find in the world (the
evidence of `is_valid_information_in_sandbox`; Planner-R1's own check, which takes
origin and destination as well; false claims about a leg are ours).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripwright.domains.domain import Counts, Grounding, Json
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.rules.lookup import before_parenthesis, from_to
from tripwright.verdict import Verdict

FIELDS = ("flight", "restaurant", "attraction", "accommodation", "city")
TABLE_FIELDS = ("transportation", "restaurant", "attraction", "accommodation")
SANDBOX = "is_valid_information_in_sandbox"
_FLIGHT = re.compile(r"Flight Number: ([^,]+)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def plain(text: str) -> str:
    """As names are compared: JSON's escapes read, small letters, single blanks."""
    if "\\" in text:
        text = _ESCAPE.sub(
            lambda match: (
                chr(int(match[1], 16)) if match[1] else match[2] if match[2] in "\"\\/'" else " "
            ),
            text,
        )
    return " ".join(text.casefold().split())


def holds(text: str, name: str) -> bool:
    """Whether `text` has `name` as whole words; both are `plain`."""
    start = r"(?<![^\W_])" if name[0].isalnum() else ""
    end = r"(?![^\W_])" if name[-1].isalnum() else ""
    return re.search(start + re.escape(name) + end, text) is not None


def names_of(plan: Any) -> dict[str, set[str]]:
    """Field → the names that a plan in the official format gives, each once."""
    names: dict[str, set[str]] = defaultdict(set)
    for day in plan if isinstance(plan, list) else ():
        for field, name in _of_day(day) if isinstance(day, dict) else ():
            if name.strip() not in ("", "-"):
                names[field].add(name.strip())
    return names


def _of_day(day: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    texts = {key: value for key, value in day.items() if isinstance(value, str)}
    yield from (("restaurant", texts[meal]) for meal in MEALS if meal in texts)
    yield from (("attraction", piece) for piece in texts.get("attraction", "").split(";"))
    yield "accommodation", texts.get("accommodation", "")
    if flight := _FLIGHT.search(texts.get("transportation", "")):
        yield "flight", flight[1]
    city = texts.get("current_city", "")
    ends = from_to(city)
    yield from (
        ("city", before_parenthesis(end))
        for end in (ends if ends[0] is not None else (city,))
        if end
    )


def not_found(record: Json) -> Counts:
    names_by_field = names_of(record.get("plan"))
    text = plain("\n".join(_shown(record["transcript"]["segments"]))) if names_by_field else ""
    return {
        field: (sum(not _known(text, name, field) for name in names), len(names))
        for field, names in names_by_field.items()
    }


def _shown(segments: Sequence[Json]) -> Iterator[str]:
    """What the model read: the request, and the tools' answers as they were cut for it."""
    if any(segment["role"] == "tool" for segment in segments):
        yield from (segment["text"] for segment in segments if segment["role"] in ("user", "tool"))
    else:
        yield from (segment["text"] for segment in segments if segment["role"] == "user")
        yield from (segment["call"]["result"] for segment in segments if segment.get("call"))


def _known(text: str, name: str, field: str) -> bool:
    """Places are written "Name, City" in the plan, and the tools' rows have the name alone."""
    alone = name.rpartition(",")[0] if field not in ("flight", "city") else ""
    return any(holds(text, each) for form in (name, alone) if (each := plain(form)))


def in_no_table(record: Json) -> Counts | None:
    """Field → (1 where the judge found something that is in no table, else 0, 1); None where the
    plan was not judged by this rule."""
    plan = record.get("plan")
    fact = Verdict.from_record(record["verdict"]).facts.get(SANDBOX)
    if fact is None or fact.passed is None:
        return None
    fields = {field for field, names in names_of(plan).items() if names} & set(TABLE_FIELDS)
    if any(
        isinstance(day, dict) and day.get("transportation") not in (None, "", "-")
        for day in plan or ()
    ):
        fields.add("transportation")
    wrong = {"restaurant" if each.field in MEALS else each.field for each in fact.evidence}
    return {field: (int(field in wrong), 1) for field in TABLE_FIELDS if field in fields | wrong}


GROUNDINGS = (
    Grounding(
        "Named without having been found",
        "Share of the plans naming such a thing in which at least one name stands neither in the"
        " request nor in any tool answer of the same transcript, as the model was shown it. A true"
        " name that was guessed counts.",
        not_found,
        FIELDS,
    ),
    Grounding(
        "In no table of the world",
        "Share of the judged plans with such a thing in which the judge found one that the world"
        " does not have, or a leg that is wrong. The official rules stop at the first such thing of"
        " a plan, so under them the shares are lower bounds.",
        in_no_table,
        TABLE_FIELDS,
    ),
)

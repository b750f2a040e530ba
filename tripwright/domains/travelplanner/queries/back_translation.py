"""Structured requests → words, by an LLM behind an endpoint or by the grammar, each text read back field
by field before it is kept (row S3).

The reader is the judge of a text: a wish left out, a wrong date or a second amount is told to the
model, and after some attempts the text is rejected. The one thing that no reader sees is a wish in
words of which it has never heard; the instructions forbid inventing any. Whose fault was it (law
4): an endpoint that does not answer leaves the request unscored; a model that words it wrongly has
it rejected.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.reading import Mismatch, mismatches
from tripwright.domains.travelplanner.queries.wording import Style, word_query
from tripwright.domains.travelplanner.query import Query
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import MOST_FAULTS, Breaker

LONGEST_WORDING = 1_500  # characters; the official requests have at most 500
GRAMMAR_TRIES = 20

SYSTEM = """You write the requests of travellers to a travel planner. You are given a request as JSON fields. Answer with one request in
plain English and nothing else: no title, no quotation marks, no list, no explanation, no answer to the request.

Say every field, and nothing that is not in the fields: no further wish, number, place, name or reason. Places are spelt as given.
"days" is the length of the trip; "date" holds its days, of which you say the first and the last, with month, day and year.
"visiting_city_number" cities of "dest", a state, are visited; where it is 1, "dest" is the city. Do not name other cities.
"people_number": say how many travel, with the number; 1 is a person travelling alone. "budget" is in US dollars for everybody together.
"local_constraint" holds wishes; say nothing about those that are null.
"house rule": what the accommodation must allow (smoking, parties, children under 10, visitors, pets).
"cuisine": every cuisine that the traveller wants to eat. "room type": shared room, not shared room, private room or entire room.
"transportation": "no flight" means that they do not want to fly, "no self-driving" that they do not want to drive themselves."""

MANNERS = (
    "Write as a polite question.",
    "Write as a plain statement of what is needed.",
    "Write in two sentences at most.",
    "Write in short sentences.",
    "Begin with who travels.",
    "Begin with the dates.",
    "Begin with the destination.",
    "Mention the budget early.",
    "Mention the wishes before the budget.",
    "Write informally, as to a friend.",
    "Write formally, as to a travel agency.",
    "Write dates like 'March 16th'.",
)
REFUSED = "the answer is not one request in plain English"
SAID = (
    *("org", "dest", "days", "visiting_city_number", "date", "people_number", "budget"),
    "local_constraint",
)


@dataclass(frozen=True)
class WordingRejection:
    """One text that was not kept: who wrote it, the fields that it got wrong ("text" for none that
    can be read), and what was wrong."""

    model: str
    fields: tuple[str, ...]
    said: str  # a key of query files

    @classmethod
    def of(cls, model: str, wrong: Sequence[Mismatch]) -> WordingRejection:
        fields = tuple(each.field for each in wrong)
        return cls(model, fields, "; ".join(map(str, wrong)))


@dataclass(frozen=True)
class Wording:
    """`text` is None where nothing was accepted; then `problem` says why, and `unscored` that no
    endpoint could be asked."""

    text: str | None
    worded_by: str | None
    rejected: tuple[WordingRejection, ...] = ()
    problem: str | None = None
    unscored: bool = False


class Writer:
    """A model that words requests. Threads may share it."""

    def __init__(self, endpoint: ChatEndpoint, seed: int = 0):
        self.endpoint, self.seed, self.breaker = endpoint, seed, Breaker()


def back_translate(
    query: Query, writer: Writer, places: Gazetteer, *, index: int = 0, retries: int = 3
) -> Wording:
    """The request in a model's words, read back exactly. A wrong text is answered with what is
    wrong with it, up to `retries` times.

    `index` says which request of a file it is: the manner of writing follows from it and the seed.
    Raises UserError for what can never work (a wrong key, an unknown model).
    """
    if writer.breaker.is_open:
        problem = f"not asked: the endpoint failed {MOST_FAULTS} times in a row"
        return Wording(None, None, (), problem, unscored=True)
    manner = random.Random(f"tripwright-manner-{writer.seed}-{index}").choice(MANNERS)
    conversation, name = messages(query, manner), writer.endpoint.model
    rejected: list[WordingRejection] = []
    for _ in range(retries + 1):
        outcome = writer.endpoint.complete(conversation)
        writer.breaker.note(outcome)
        if isinstance(outcome, Fault):
            if outcome.kind == "context_overflow" and rejected:
                break  # the exchange outgrew the model: its wording failed, not the endpoint
            return Wording(None, None, tuple(rejected), outcome.message, unscored=True)
        text, wrong = understood(outcome, query, places)
        if not wrong:
            return Wording(text, name, tuple(rejected))
        rejected.append(WordingRejection.of(name, wrong))
        correction = f"This does not say what it must. {rejected[-1].said}. Write the whole request again, every field said once and clearly."
        conversation = [
            *messages(query, manner),
            {"role": "assistant", "content": text},
            {"role": "user", "content": correction},
        ]
    return Wording(None, None, tuple(rejected), f"{name}: {rejected[-1].said}")


def messages(query: Query, manner: str) -> list[dict[str, Any]]:
    record = query.record()
    fields = json.dumps({name: record[name] for name in SAID}, ensure_ascii=False)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"{manner}\n\n{fields}"},
    ]


def understood(
    completion: Completion, query: Query, places: Gazetteer
) -> tuple[str, list[Mismatch]]:
    """(the request that a model wrote, on one line; what is wrong with it)"""
    text = re.sub(r"^.*</think>", "", completion.text, flags=re.S)
    text = re.sub(r"^\s*```\w*\n(.*?)\n?```\s*$", r"\1", text, flags=re.S)
    text = " ".join(text.split())
    if len(text) > 1 and text[0] + text[-1] in ('""', "''", "\u201c\u201d"):
        text = text[1:-1].strip()
    if (
        not text
        or completion.finish_reason in ("length", "content_filter")
        or "<think>" in text
        or text[0] in "{[#*|"
        or len(text) > LONGEST_WORDING
    ):
        return text[:LONGEST_WORDING], [Mismatch("text", "the request", problem=REFUSED)]
    return text, mismatches(query, text, places)


def word_checked(
    query: Query, places: Gazetteer, *, index: int, seed: int, style: Style = "rich"
) -> Wording:
    """The request in the grammar's words, read back exactly. Where a name of this world makes a
    text unreadable, another is drawn."""
    rng = random.Random(f"tripwright-grammar-{seed}-{index}")
    name, rejected = f"grammar:{style}", list[WordingRejection]()
    for _ in range(GRAMMAR_TRIES):
        text = word_query(rng, query, style)
        wrong = mismatches(query, text, places)
        if not wrong:
            return Wording(text, name, tuple(rejected))
        rejected.append(WordingRejection.of(name, wrong))
    return Wording(None, None, tuple(rejected), f"{name}: {rejected[-1].said}")

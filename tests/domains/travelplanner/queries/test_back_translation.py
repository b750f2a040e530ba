"""Requests worded by endpoints that lie, refuse, die and come back: only a text that reads back
exactly is kept."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import completion
from tests.made import DATES, trip
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.back_translation import (
    GRAMMAR_TRIES,
    Writer,
    back_translate,
    word_checked,
)
from tripwright.domains.travelplanner.queries.reading import mismatches
from tripwright.domains.travelplanner.queries.wording import word_query
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import MOST_FAULTS

PLACES = Gazetteer({"Homer": "Homeland", "Aston": "Westland", "St. Bede": "Westland"})
WISHED = {"house rule": "pets", "cuisine": ["French"], "transportation": "no flight"}
QUERY = trip(date=DATES[2:5], budget=900, local_constraint=WISHED)
GOOD = (
    "Please plan 3 days from Homer to Aston for two people, March 3rd to March 5th, 2022, with"
    " $900. Our pets must be allowed. We like French food. No flights."
)
Answer = Callable[[dict[str, Any]], "tuple[int, bytes, dict[str, str]] | None"]


def saying(*texts: str, heard: list[dict[str, Any]] | None = None) -> Answer:
    """Each text once, the last one ever after."""
    left = list(texts)

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        if heard is not None:
            heard.append(request)
        return completion(left.pop(0) if len(left) > 1 else left[0])

    return answer


def sick(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
    return 500, b"{}", {}


def endpoint(url: str, model: str = "m") -> ChatEndpoint:
    return ChatEndpoint(url, model, max_retries=0, first_wait_s=0.0, timeout_s=5)


@pytest.mark.parametrize(
    "wrapped", ["{}", "<think>Let me see: $5.</think>\n{}", '"{}"', "```text\n{}\n```", "\n{}\n\n"]
)
def test_a_good_text_is_kept_on_one_line(wrapped, serve):
    worded = back_translate(QUERY, Writer(endpoint(serve(saying(wrapped.format(GOOD))))), PLACES)
    assert (worded.text, worded.worded_by, worded.rejected) == (GOOD, "m", ())


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (GOOD.replace("$900", "$950"), ("budget",)),
        (GOOD.replace("$900", "$900 (at first $850)"), ("budget", "text")),
        (GOOD.replace(" No flights.", ""), ("transportation",)),
        (GOOD.replace("Our pets must be allowed. ", ""), ("house rule",)),
        (GOOD.replace("French", "French and Indian"), ("cuisine",)),
        (GOOD + " We want private rooms.", ("room type",)),
        (GOOD.replace("two", "three"), ("people_number",)),
        (GOOD.replace("March 5th", "March 6th"), ("date",)),
        (GOOD.replace("Homer", "St. Bede"), ("org",)),
        (GOOD.replace("No flights", "We do not mind flights"), ("transportation",)),
    ],
)
def test_what_is_wrong_is_told_and_mended(text, fields, serve):
    heard: list[dict[str, Any]] = []
    worded = back_translate(QUERY, Writer(endpoint(serve(saying(text, GOOD, heard=heard)))), PLACES)
    assert (worded.text, [each.fields for each in worded.rejected]) == (GOOD, [fields])
    *_, before, correction = heard[1]["messages"]
    assert before == {"role": "assistant", "content": text}
    assert f"{fields[0]}: it must say" in correction["content"]


@pytest.mark.parametrize(
    "text",
    [
        "I am sorry, I cannot help with that.",
        "",
        json.dumps({"query": GOOD}),
        GOOD * 30,
        "<think>hm",
        "# A trip",
    ],
)
def test_a_refusal_is_rejected_after_the_retries(text, serve):
    heard: list[dict[str, Any]] = []
    worded = back_translate(
        QUERY, Writer(endpoint(serve(saying(text, heard=heard)))), PLACES, retries=2
    )
    assert (worded.text, worded.worded_by, worded.unscored) == (None, None, False)
    assert len(heard) == len(worded.rejected) == 3
    assert (worded.problem or "").startswith("m: ") and "\n" not in (worded.problem or "")


def test_a_text_that_was_cut_off_is_rejected(serve):
    worded = back_translate(
        QUERY, Writer(endpoint(serve(lambda _: completion(GOOD, "length")))), PLACES, retries=0
    )
    assert [each.fields for each in worded.rejected] == [("text",)]


def test_the_wish_and_its_meaning_are_asked_for(serve):
    heard: list[dict[str, Any]] = []
    back_translate(QUERY, Writer(endpoint(serve(saying(GOOD, heard=heard)))), PLACES)
    asked = json.loads(heard[0]["messages"][1]["content"].partition("\n\n")[2])
    assert {name: QUERY.record()[name] for name in asked} == asked
    assert "query" not in asked and asked["local_constraint"]["house rule"] == "pets"


def test_a_dead_endpoint_leaves_a_request_unscored(serve):
    worded = back_translate(QUERY, Writer(endpoint(serve(sick))), PLACES)
    assert worded.unscored and worded.text is None and "500" in (worded.problem or "")


def test_an_endpoint_that_stays_dead_is_left_alone(serve):
    heard: list[dict[str, Any]] = []

    def dead(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        heard.append(request)
        return 500, b"{}", {}

    writer = Writer(endpoint(serve(dead)))
    found = [back_translate(QUERY, writer, PLACES, index=at) for at in range(MOST_FAULTS + 3)]
    assert len(heard) == MOST_FAULTS and all(worded.unscored for worded in found)
    assert "not asked" in (found[-1].problem or "")


def test_the_grammar_checks_itself():
    worded = word_checked(QUERY, PLACES, index=4, seed=1)
    assert worded == word_checked(QUERY, PLACES, index=4, seed=1)
    assert worded.text != word_checked(QUERY, PLACES, index=5, seed=1).text
    assert worded.worded_by == "grammar:rich" and mismatches(QUERY, worded.text or "", PLACES) == []
    unreadable = QUERY.model_copy(update={"dest": "Homer"})  # a city cannot be left and visited
    assert mismatches(unreadable, word_query(random.Random(1), unreadable), PLACES)
    refused = word_checked(unreadable, PLACES, index=1, seed=1)
    assert (refused.text, len(refused.rejected), refused.unscored) == (None, GRAMMAR_TRIES, False)

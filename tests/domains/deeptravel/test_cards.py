"""The contract of an answer in cards: what is read, what is refused with which words, and the page
that people see."""

import json
from typing import Any

import pytest

from tripwright.domains import dialect_named, domain_named
from tripwright.domains.deeptravel.cards import Cards, NotCards, duration, read_cards, write_page

RIDE: dict[str, Any] = {"kind": "train", "number": "G3124", "date": "2026-06-26"}
RIDE |= {"departs": "06:54", "arrives": "11:02", "call": 1, "row": 3}


def answer(**more: Any) -> str:
    return json.dumps({"party": 2, "outbound": [RIDE], **more})


def ride(**more: Any) -> str:
    return answer(outbound=[RIDE | more])


@pytest.mark.parametrize("name", ["deeptravel_cards", "deeptravel_cards_compact"])
def test_the_example_in_the_prompt_is_an_answer(name):
    """A model that copies the prompt's form is read."""
    prompt = dialect_named(name).system_prompt
    text = prompt[prompt.index('{"party"') :]
    example = text.replace("[as outbound]", json.dumps([RIDE]))
    cards, _ = json.JSONDecoder().raw_decode(example)
    assert len(read_cards(json.dumps(cards)).back) == 1


def test_every_term_and_field_is_in_the_prompt():
    """What may be said is what the prompt names, and no more."""
    prompt, schema = dialect_named("deeptravel_cards").system_prompt, Cards.model_json_schema()
    words = {name for each in schema["$defs"].values() for name in each["properties"]}
    values = {
        value
        for each in schema["$defs"].values()
        for field in each["properties"].values()
        for value in [*field.get("enum", []), *([field["const"]] if "const" in field else [])]
    }
    missing = {word for word in words | values | set(schema["properties"]) if word not in prompt}
    assert not missing


def test_what_is_written_is_read_again():
    cards = read_cards(answer(risks=[{"term": "not_met", "wish": "arrive_by"}]))
    assert read_cards(cards.to_json()) == cards
    assert " " not in cards.to_json() and ".0" not in cards.to_json()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the answer is empty"),
        ("Take the train.", "expected one JSON object and nothing around it"),
        ("[]", "field 'record'"),
        (json.dumps({"outbound": [RIDE]}), "field 'party': Field required"),
        (answer(outbound=3 * [RIDE]), "field 'outbound': List should have at most 2 items"),
        (answer(note="x"), "field 'note': Extra inputs"),
        (ride(row=0), "field 'outbound.0.row'"),
        (ride(price={"amount": 9, "per": "room"}), "price.per': Input should be 'person' or"),
        (ride(price={"amount": "129", "per": "person"}), "amount': Input should be a valid number"),
        (json.dumps(answer()), "field 'record'"),
        (ride(departs="6:54"), "field 'outbound.0.departs'"),
        (ride(kind="taxi"), "field 'outbound.0.kind'"),
        (ride(reasons=[{"term": "nicest"}]), "field 'outbound.0.reasons.0': Input tag 'nicest'"),
        (ride(reasons=[{"term": "cheapest", "call": 1, "so": 1}]), "reasons.0.cheapest.so': Extra"),
        ('{"party": 2, "party": 3}', "the key 'party' comes twice"),
    ],
)
def test_a_refusal_says_what_was_expected_where(text, said):
    with pytest.raises(NotCards) as refusal:
        read_cards(text)
    assert said in str(refusal.value)


def test_the_page_says_every_field_and_card():
    by_three = {"term": "arrives_by", "time": "11:02", "limit": "15:00"}
    train = RIDE | {"depart_place": "Suzhou Station", "minutes": 248, "days_later": 1}
    train |= {"price": {"amount": 233.5, "currency": "CNY", "per": "person"}}
    train |= {"reasons": [{"term": "cheapest", "call": 1}, by_three]}
    other = {"term": "alternative", "part": "outbound", "name": "D3056", "call": 1, "row": 4}
    total = {"amount": 467, "currency": "CNY"}
    cards = read_cards(answer(outbound=[train], total=total, risks=[other]))
    assert write_page(cards) == (
        "### Outbound recommendations (2026-06-26)\n"
        "#### G3124 train\n"
        "- **Recommendation**: 2026-06-26, departs Suzhou Station 06:54, arrives 11:02 (+1 day)"
        " (4 h 8 min)\n"
        "- **Price**: 233.5 CNY per person\n"
        "- **Why**: the cheapest of call 1; arrives 11:02, by 15:00\n"
        "- **Evidence**: [call 1, row 3]\n"
        "\n"
        "**Total** of the first recommendations, for 2 travellers: 467 CNY\n"
        "\n"
        "### Risks and alternatives\n"
        "- If the first for the outbound is sold out: D3056 [call 1, row 4]"
    )


def test_people_see_the_page_and_other_texts_as_they_are():
    def shown(text: str) -> str | None:
        return domain_named("deeptravel").report.page({"transcript": {"answer": text}})

    assert (shown(answer()) or "").startswith("### Outbound recommendations (2026-06-26)\n#### G")
    assert shown("### Outbound\n- G3124") == "### Outbound\n- G3124"


@pytest.mark.parametrize(("minutes", "said"), [(248, "4 h 8 min"), (45, "45 min"), (120, "2 h")])
def test_durations(minutes, said):
    assert duration(minutes) == said

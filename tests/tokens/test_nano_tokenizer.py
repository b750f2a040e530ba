"""The tokenizer made on the spot: any text comes back, and a name is the same ids wherever it
stands."""

import itertools
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.domains import dialect_named, domain_named

pytest.importorskip("torch")

from tripwright.training.nano import END, PAD, ROLES, TAGS, make_tokenizer, superword_chunks
from tripwright.training.trips import UNSEEN_WORLDS, GeneratedTrips, expert_sessions

any_text = st.text() | st.lists(
    st.sampled_from(
        [*TAGS, END, '","name":"', " ", "\n", "é", "Stay: ", "9", "\u200b", "日本", "ﬁ"]
    )
).map("".join)


@given(text=any_text)
@settings(max_examples=300, deadline=None)
def test_any_text_comes_back(text, nano_tokenizer):
    ids = nano_tokenizer.encode(text, add_special_tokens=False)
    assert nano_tokenizer.decode(ids, skip_special_tokens=False) == text


def test_a_saved_one_is_the_same(nano_tokenizer, tmp_path):
    import transformers

    nano_tokenizer.save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = '<answer>[{"days":1,"city":"Aston"}]</answer> 3 days é'
    assert loaded.encode(text, add_special_tokens=False) == nano_tokenizer.encode(
        text, add_special_tokens=False
    )
    assert loaded.chat_template == nano_tokenizer.chat_template
    assert loaded.eos_token == END
    assert loaded.pad_token == PAD


def test_fixed_text_of_other_alphabets_comes_back_too():
    tokenizer = make_tokenizer(
        ["café-crème: ñ, ü", "café-crème: ñ, ö"] * 20, {"Aston"}, superwords=50
    )
    for text in ("café-crème: ñ, ü", "é", "Aston café-crème: ñ"):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_control_tokens_and_tags_are_one_id_each(nano_tokenizer):
    for token in (*TAGS, END, PAD, *(f"<|{role}|>" for role in ROLES)):
        assert len(nano_tokenizer.encode(token, add_special_tokens=False)) == 1
    assert nano_tokenizer.eos_token_id != nano_tokenizer.pad_token_id


def test_digits_stand_alone(nano_tokenizer):
    ids = nano_tokenizer.encode("F12345 $1,678", add_special_tokens=False)
    pieces = [nano_tokenizer.decode([i]) for i in ids]
    assert [piece for piece in pieces if any(c.isdigit() for c in piece)] == list("123451678")


def test_superwords_hold_no_content():
    chunks = superword_chunks(['"stay":"Aston Inn","eat":"A 7 B"'] * 10, {"Aston", "Inn"}, 50)
    assert chunks
    assert not any("Aston" in chunk or "Inn" in chunk or "7" in chunk for chunk in chunks)


def test_superwords_and_terms_begin_and_end_with_whole_words():
    tokenizer = make_tokenizer(["a way to it"] * 9, {"way"}, ["No pets", "French"])
    assert pieces(tokenizer, "way to it, Porto to itself") == [
        *("wa", "y", " to it", ",", " ", "Po", "rt", "o", " to", " it", "se", "lf")
    ]
    assert pieces(tokenizer, "not French, Frenchy No pets") == [
        *("no", "t", " ", "French", ",", " ", "Fr", "en", "ch", "y", " ", "No pets")
    ]


@pytest.mark.parametrize("before", ["", '"', " ", "Stay: ", "A ", "AB ", "from ", "visiting "])
def test_a_name_is_cut_alike_whatever_stands_before_it(nano_tokenizer, before):
    name = ["El", "ah", "ur", "st", " In", "n"]
    assert pieces(nano_tokenizer, f". {before}Elahurst Inn")[-6:] == name


def pieces(tokenizer: Any, text: str) -> list[str]:
    return [tokenizer.decode([i]) for i in tokenizer.encode(text, add_special_tokens=False)]


def test_names_of_every_world_are_cut_as_finely(nano_tokenizer, real_world):
    """In tokens a character: of the worlds that the tokenizer was made from, of others, and of the
    real tables."""
    trips = domain_named("travelplanner")
    known, unseen = (
        [trips.generator.world("nano", first + n) for n in range(6)] for first in (0, 500)
    )
    seen = tokens_per_character(nano_tokenizer, known)
    assert tokens_per_character(nano_tokenizer, unseen) == pytest.approx(seen, rel=0.02)
    real = tokens_per_character(nano_tokenizer, [real_world])
    assert seen == pytest.approx(real, rel=0.02)


def tokens_per_character(tokenizer: Any, worlds: list[Any]) -> float:
    names = [
        row.name
        for world in worlds
        for city in world.cities
        for table in (world.restaurants, world.attractions, world.accommodations)
        for row in table(city)
    ]
    ids = tokenizer(names, add_special_tokens=False)["input_ids"]
    return sum(map(len, ids)) / sum(map(len, names))


def test_a_name_is_cut_the_same_way_in_request_tool_answer_and_plan(nano_tokenizer):
    """Names of worlds that the tokenizer was not made from. Otherwise copying a name would be a
    translation."""
    seen_in_two_roles = 0
    for session in expert_sessions(
        itertools.islice(
            GeneratedTrips(domain_named("travelplanner"), ("nano",), UNSEEN_WORLDS, 4), 32
        ),
        dialect_named("compact"),
        None,
    ):
        world = session.tools.world
        rows = [
            row
            for city in world.cities
            for row in (
                *world.restaurants(city),
                *world.attractions(city),
                *world.accommodations(city),
            )
        ]
        for name in {*world.cities, *(row.name for row in rows)}:
            found = [
                (segment.role, ids)
                for segment in session.transcript.segments
                for ids in occurrences(nano_tokenizer, segment.text, name)
            ]
            assert len({ids for _, ids in found}) <= 1, name
            seen_in_two_roles += len({role for role, _ in found}) >= 2
    assert seen_in_two_roles > 100


def occurrences(tokenizer: Any, text: str, name: str) -> list[tuple[int, ...]]:
    """The ids that touch each occurrence of the name as a whole."""
    if name not in text:
        return []
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    spans = list(zip(encoded["input_ids"], encoded["offset_mapping"], strict=True))
    places = re.finditer(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", text)
    return [
        tuple(i for i, (start, end) in spans if start < place.end() and end > place.start())
        for place in places
    ]

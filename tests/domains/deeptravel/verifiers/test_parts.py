"""Which lines are headings and courtesies, and which only look like them."""

import re

import pytest

from tripwright.domains.deeptravel.verifiers.claims_parts import is_spare, read_lines

ITEMS = re.compile("Harbour View Inn|TW 214")


@pytest.mark.parametrize(
    "first",
    [
        "Hotel, May 20th to May 25th",
        "LODGING",
        "Where you will sleep (Fri 24 July, three nights):",
        "2. Hotel",
    ],
)
def test_a_line_that_names_a_part_above_others_is_a_heading(first: str) -> None:
    heading, item = read_lines(f"{first}\nHarbour View Inn, 120 USD", ITEMS)
    assert heading.title and not item.title
    assert item.part == "stay" or first == "LODGING"


@pytest.mark.parametrize(
    "first",
    [
        "Hotel for 120 USD",
        "Harbour View Inn, our hotel",
        "The hotel is fine. Go there",
        "Hotel: the best room",
    ],
)
def test_a_line_that_tells_of_an_item_is_no_heading(first: str) -> None:
    assert not read_lines(f"{first}\nHarbour View Inn, 120 USD", ITEMS)[0].title


def test_greeting_and_signature_are_left_out() -> None:
    lines = read_lines("Dear Mr. Keller,\n\nTW 214, 120 USD\n\nKind regards\nAnna Berg", ITEMS)
    assert [line.text for line in lines] == ["TW 214, 120 USD", "Kind regards"]


@pytest.mark.parametrize(
    "text",
    [
        "Hello, breakfast is included!",
        "Hi, it costs 12 USD!",
        "Dear Aurora Palace,",
        "Cheers\nAurora Palace",
        "Cheers\nAnna\nTW 214",
    ],
)
def test_what_claims_something_is_read(text: str) -> None:
    assert [line.text for line in read_lines(text, ITEMS)] == text.split("\n")


def test_a_question_about_what_may_fail_tells_of_a_spare() -> None:
    assert is_spare("Missed it?")
    assert not is_spare("Ready?")

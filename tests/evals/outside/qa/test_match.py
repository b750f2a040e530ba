"""Exact match by Search-R1's rules, and the two measures beside it."""

from __future__ import annotations

import pytest

from tripwright.evals.outside.qa.match import exact_match, f1, normalised, sub_exact_match


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Beatles", "beatles"),
        ("U.S.A.", "usa"),  # punctuation goes, and leaves no blank
        ("rock-and-roll", "rockandroll"),
        ("Rock 'n' Roll!", "rock n roll"),
        ("an apple a day", "apple day"),
        ("Theodore", "theodore"),  # articles are words
        ("A.", ""),
        ("a-team", "ateam"),  # punctuation first: the article is then no word any more
        ("“Quoted” – text", "“quoted” – text"),  # only ASCII punctuation
        ("ÉCOLE", "école"),
        ("\tone\n two ", "one two"),
    ],
)
def test_the_order_of_the_steps(text: str, plain: str) -> None:
    assert normalised(text) == plain


def test_any_gold_answer_will_do_and_it_must_be_all_of_it() -> None:
    assert exact_match(" the ROME. ", ["Paris", "Rome"])
    assert not exact_match("Rome, Italy", ["Rome"])
    assert not exact_match("", ["Rome"])


def test_answers_of_articles_alone_are_equal_as_in_search_r1() -> None:
    assert exact_match("The", ["A"])


def test_a_gold_answer_of_articles_is_not_inside_every_answer() -> None:
    assert not sub_exact_match("Paris", ["The The"])
    assert sub_exact_match("the", ["The The"])


def test_a_gold_answer_inside_the_answer_is_a_sub_match() -> None:
    assert sub_exact_match("It is Rome, in Italy.", ["Rome"])
    assert sub_exact_match("Romeo", ["Rome"])  # characters, not words, as in Search-R1
    assert not sub_exact_match("Rom", ["Rome"])


@pytest.mark.parametrize(
    ("answer", "gold", "value"),
    [
        ("Miguel de Cervantes", ["Cervantes"], 2 * (1 / 3) * 1 / (1 / 3 + 1)),
        ("Cervantes", ["Lope de Vega", "Miguel de Cervantes"], 0.5),  # the best of them
        # a word counts as often as both have it
        ("new new york", ["new york"], 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("Rome", ["Rome"], 1.0),
        ("Paris", ["Rome"], 0.0),
        ("", ["Rome"], 0.0),
        ("the", ["a"], 1.0),
    ],
)
def test_f1_is_over_words(answer: str, gold: list[str], value: float) -> None:
    assert f1(answer, gold) == pytest.approx(value)

"""Names in small letters, durations that say no number, and words that take a recommendation
back."""

from collections.abc import Callable

import pytest

from tripwright.domains.deeptravel.verifiers.claims_numbers import read_numbers
from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding
from tripwright.domains.deeptravel.verifiers.tolerance import minutes_fit

Judged = Callable[..., JointFinding]


@pytest.mark.parametrize(
    "said",
    [
        "You may also like the grand plaza hotel.",
        "The lumen museum is nearby.",
        "Ask for a café called mira.",
        "Or try hotel lumina.",
        "The royal hotel is as good.",
        "Dinner at bistro valdino.",
    ],
)
def test_a_name_in_small_letters_needs_a_row(judged: Judged, answer: str, said: str) -> None:
    found = judged(f"{answer}- {said}\n")
    assert found.reward == 0.0 and {problem.kind for problem in found.problems} == {"invented_name"}


@pytest.mark.parametrize(
    "said",
    [
        "A good hotel, a small inn and the art museum are all near.",
        "Ask the hotel staff; the riverside inn has a hotel bar.",
        "The nearest park or market is a short walk away.",
        "There is a museum shop, and the train station has a restaurant.",
        "This four-star hotel is well-rated.",
    ],
)
def test_ordinary_words_beside_a_hotel_or_a_museum_are_no_name(
    judged: Judged, answer: str, said: str
) -> None:
    found = judged(f"{answer}- {said}\n")
    assert not [problem for problem in found.problems if problem.kind == "invented_name"], (
        found.problems
    )


@pytest.mark.parametrize(
    ("said", "true", "fits"),
    [
        ("a couple of hours", 125, True),
        ("a couple of hours", 150, False),
        ("a few hours", 248, True),
        ("a few hours", 100, False),
        ("half a day", 360, True),
        ("half a day", 248, False),
        ("several hours", 420, True),
        ("several hours", 60, False),
        ("an hour or two", 85, True),
        ("an hour or two", 150, False),
        ("two to three hours", 150, True),
        ("2-3 hours", 215, False),
        ("two hours or so", 125, True),
        ("10 to 15 minutes", 12, True),
        ("10-15 min", 25, False),
        ("a few minutes", 5, True),
        ("a few minutes", 25, False),
    ],
)
def test_a_vague_duration_is_a_claim(said: str, true: float, fits: bool) -> None:
    (claim,) = read_numbers(said)
    assert claim.kind == "minutes" and minutes_fit(claim, true) is fits


def test_a_span_that_says_nothing_is_no_duration() -> None:
    assert not [
        claim
        for claim in read_numbers("1 to 9 hours")
        if claim.kind == "minutes" and minutes_fit(claim, 248)
    ]


def test_a_vague_duration_is_held_against_the_row(judged: Judged, answer: str) -> None:
    assert judged(answer.replace("(4 h 8 min)", "(a few hours)")).reward == 1.0
    assert judged(answer.replace("(4 h 8 min)", "(four hours or so)")).reward == 1.0
    assert judged(answer.replace("(4 h 8 min)", "(half a day)")).reward == 0.0


def test_a_ride_under_the_title_of_a_day_goes_on_that_day(judged: Judged, answer: str) -> None:
    by_day = answer.replace("### Outbound recommendations (2026-06-26)", "### Day 1 - {}").replace(
        "### Return recommendations (2026-06-28)", "### Day 3 - 28 June"
    )
    assert judged(by_day.format("26 June")).reward == 1.0
    assert {problem.kind for problem in judged(by_day.format("28 June")).problems} == {"wrong_date"}


@pytest.mark.parametrize(
    "words",
    [
        "perfect if you enjoy missing your meeting",
        "just kidding",
        "a terrible choice",
        "good luck with that",
        "very comfortable /s",
        "I made this up",
    ],
)
def test_what_is_not_meant_is_taken_back(judged: Judged, answer: str, words: str) -> None:
    found = judged(answer.replace("- **Why**: arrives before 15:00", f"- **Why**: {words}"))
    assert found.reward == 0.0 and {problem.kind for problem in found.problems} == {"taken_back"}


@pytest.mark.parametrize(
    "words", ["not a terrible choice", "good if you enjoy an early start", "cheap for what it is"]
)
def test_sincere_words_take_nothing_back(judged: Judged, answer: str, words: str) -> None:
    assert (
        judged(answer.replace("- **Why**: arrives before 15:00", f"- **Why**: {words}")).reward
        == 1.0
    )

"""Simple baselines of errands: well-formed answers that rest on what was shown, and that fail where
a request asks for a decision."""

from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.baselines import HABIT_OF, errand_rows, left_to
from tripwright.domains.deeptravel.cards import Cards, read_cards
from tripwright.domains.deeptravel.expert.play import ErrandExpert
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import TripSurvey, rooms_of
from tripwright.domains.deeptravel.requests.make import RequestScope, make_requests
from tripwright.domains.deeptravel.task import Errand, format_problem
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.episode import Episode, close_session, open_session

FACES = ("deeptravel_cards", "deeptravel_cards_compact")
PICKS = tuple(HABIT_OF)
NANO = 5  # of `provider`
MADE = {"count": 40, "constraints": "with", "weights": (4, 3, 3), "seed": 11}  # `requests`


def played(
    policy: Any,
    request: TravelRequest,
    provider: WorldProvider,
    dialect: str,
    emptied: bool = False,
) -> Episode:
    session = open_session(
        Errand("e", request, provider, "nano"), dialect_named(dialect), emptied_tools=emptied
    )
    return close_session(next(iter(policy.play([session]))))


def passes(
    policy: Any, requests: list[TravelRequest], provider: WorldProvider, dialect: str
) -> int:
    verdicts = [played(policy, request, provider, dialect).verdict for request in requests]
    return sum(verdict is not None and verdict.final for verdict in verdicts)


@pytest.mark.parametrize("dialect", FACES)
@pytest.mark.parametrize("pick", PICKS)
def test_the_answer_is_in_the_format_and_within_the_turns(pick, dialect, requests, provider):
    for request in requests[:12]:
        episode = played(errand_rows(pick), request, provider, dialect)
        transcript = episode.transcript
        assert format_problem(transcript, "cards") is None
        assert transcript.turns <= dialect_named(dialect).max_turns
        cards = answered(episode)
        assert len(cards.outbound) == 1 and len(cards.back) <= 1


def answered(episode: Episode) -> Cards:
    return read_cards(episode.transcript.answer or "")


@pytest.mark.parametrize("dialect", FACES)
def test_habits_meet_few_requests_and_the_expert_nearly_all(dialect, requests, provider):
    wishing = [request for request in requests if request.constrained]
    assert passes(ErrandExpert(), wishing, provider, dialect) >= 0.95 * len(wishing)
    for pick in PICKS:
        assert passes(errand_rows(pick), wishing, provider, dialect) <= 0.15 * len(wishing), pick


def test_what_is_played_is_what_the_rows_promise(requests, provider):
    """`left_to` looks at rows alone; the policy of the same habit plays and is judged."""
    survey = TripSurvey(provider)
    for request in requests[:20]:
        if rooms_of(request) > 1:
            continue  # they may be of an entire home, which one of the two faces does not show
        habits = left_to(request, survey)
        for pick, habit in HABIT_OF.items():
            met = passes(errand_rows(pick), [request], provider, "deeptravel_cards")
            # no habit looks up how near a hotel is
            assert not met or habit in habits, (pick, request.query)
            if not request.hotel_near and not request.visit:
                assert bool(met) == (habit in habits), (pick, request.query)


def test_what_has_no_wish_is_met_by_any_row(provider):
    """So few of those that are trained on have none."""
    places = RequestScope.of(provider.world)
    plain, _ = make_requests(TripSurvey(provider), places, 8, constraints="without", seed=11)
    asked = [proven.request for proven in plain]
    first = errand_rows("errand-first-row")
    assert passes(first, asked, provider, "deeptravel_cards") >= 6

"""The choice of a token, and that an episode's choices are its own."""

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, open_session
from tripwright.errors import UserError
from tripwright.transcript import Transcript
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.sampling import BLOCK, choose, cut_tail, invert

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- one choice


def numbers(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def test_a_token_is_where_the_number_falls_in_the_cumulated_weights():
    weights = torch.tensor([[0.25, 0.0, 0.25, 0.5]]).expand(7, -1)
    drawn = numbers(0, 0.2, 0.25, 0.49, 0.5, 0.75, 1 - 2**-53)
    assert invert(weights, drawn).tolist() == [int(each) for each in "0022333"]


@pytest.mark.parametrize("vocabulary", [5, BLOCK, BLOCK + 1, 3 * BLOCK + 77])
def test_it_agrees_with_cumulating_every_token(vocabulary):
    weights = torch.rand(40, vocabulary, generator=torch.Generator().manual_seed(1)).pow(8)
    drawn = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    upto = weights.double().cumsum(-1)
    assert torch.equal(invert(weights, drawn), (upto <= (drawn * upto[:, -1])[:, None]).sum(-1))


def test_a_token_without_probability_is_never_chosen():
    """Whatever the number, the places of the zeros and the block they fill; rounding included."""
    generator = random.Random(0)
    for vocabulary in (3, 40, 2 * BLOCK + 9):
        for _ in range(60):
            alive = generator.sample(range(vocabulary), generator.randint(1, 3))
            weights = torch.zeros(1, vocabulary)
            weights[0, alive] = torch.tensor(
                [generator.choice([1e-38, 1e-7, 1 / 3, 1.0]) for _ in alive]
            )
            for number in (0.0, 1e-300, generator.random(), 1 - 2**-53):
                assert int(invert(weights, numbers(number))) in alive


def test_the_tail_is_cut_by_rank_and_by_mass():
    probabilities = torch.tensor([[0.1, 0.4, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25]])
    assert cut_tail(probabilities, 1.0, None) is probabilities
    assert (cut_tail(probabilities, 1.0, 2) > 0).tolist()[0] == [False, True, True, False]
    # equals too are cut to the number
    assert (cut_tail(probabilities, 1.0, 2) > 0).sum(-1).tolist() == [2, 2]
    assert (cut_tail(probabilities, 0.7, None) > 0).tolist()[0] == [False, True, True, False]
    assert (cut_tail(probabilities, 0.71, None) > 0).tolist()[0] == [False, True, True, True]
    assert (cut_tail(probabilities, 1e-9, None) > 0).sum(-1).tolist() == [1, 1]
    # 0.4 is over half of the two that are left
    assert (cut_tail(probabilities, 0.5, 2) > 0).tolist()[0] == [False, True, False, False]
    assert (cut_tail(probabilities, 1.0, 99) > 0).all()


def test_stored_log_probabilities_are_of_the_whole_distribution():
    logits = torch.tensor([[1.0, 3.0, 2.0]])
    chosen = choose(logits, [0.99], Sampling(2.0, top_k=1))
    assert chosen.tokens.tolist() == [1]
    torch.testing.assert_close(chosen.logprobs, (logits / 2).log_softmax(-1)[:, 1])
    greedy = choose(logits, [0.99], Sampling())
    torch.testing.assert_close(greedy.logprobs, logits.log_softmax(-1)[:, 1])


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"rows": 0},
        {"tool_threads": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": 0},
    ],
)
def test_impossible_settings_are_refused_in_one_line(settings):
    with pytest.raises(UserError) as refused:
        Sampling(**settings)
    assert "\n" not in str(refused.value)
    assert str(next(iter(settings.values()))) in str(refused.value)


def test_training_takes_the_whole_distribution_only():
    Sampling(0.7).check_on_policy()
    for off in (Sampling(0.0), Sampling(1.0, top_p=0.9), Sampling(1.0, top_k=20)):
        with pytest.raises(UserError, match="samples from the whole distribution"):
            off.check_on_policy()


# ---- an episode's choices
NANO = 21  # of `world`


@pytest.fixture(scope="module")
def opened(world: World, caller: Any) -> Callable[..., list[Session]]:
    dialect = replace(dialect_named("compact"), max_turn_tokens=16)
    queries = list(make_queries(world, 6, 3))

    def make() -> list[Session]:
        return [
            open_session(TripTask(f"{q}/{g}", query, world), dialect, caller)
            for q, query in enumerate(queries)
            for g in range(2)
        ]

    return make


def play(
    model: Any, chat: Any, sessions: list[Session], **sampling: Any
) -> dict[str | None, Transcript]:
    policy = LocalPolicy(
        model, chat, Sampling(**{"temperature": 1.0, "dtype": "float64", **sampling})
    )
    return {session.task.id: session.transcript for session in policy.play(sessions)}


def test_what_an_episode_samples_depends_on_its_seed_and_id_alone(talker, caller, opened):
    """In double precision, where rounding decides nothing: any number of rows, any order, any
    company, tools in threads."""
    model = copy.deepcopy(talker).double()
    expected = play(model, caller, opened(), rows=1)
    assert len({tuple(t.token_ids) for t in expected.values()}) == 12  # members of a group part
    orders: list[tuple[list[Session], dict[str, Any]]] = [
        (opened(), {"rows": 4}),
        (opened(), {"rows": 64}),
        (opened()[::-1], {"rows": 4}),
        (random.Random(1).sample(opened(), 12), {"rows": 5, "tool_threads": 2}),
        (opened()[5:7], {"rows": 64}),
    ]
    for sessions, sampling in orders:
        for id, found in play(model, caller, sessions, **sampling).items():
            assert found.token_ids == expected[id].token_ids
            assert found.stop_reason == expected[id].stop_reason
            assert found.logprobs == pytest.approx(expected[id].logprobs, abs=1e-9)
    other = play(model, caller, opened(), seed=1)
    assert sum(other[id].token_ids == expected[id].token_ids for id in expected) == 0

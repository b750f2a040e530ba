"""The local engine against `transformers`, and against itself: what shares a batch, a cache or a
prompt must not be seen in the result."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.inference.conftest import opened
from tripwright.domains.travelplanner.query import Query
from tripwright.episode import Session
from tripwright.errors import UserError
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tripwright.inference.decoder import Cache, CacheView, Decoder
from tripwright.inference.local import LocalPolicy, Sampling

KINDS = ("qwen3", "qwen2", "llama")
VOCABULARY = 90
Sessions = Callable[..., list[Session]]
pytestmark = pytest.mark.usefixtures("one_thread")


# ---- the decoder


def random_ids(rows: int, length: int) -> Any:
    return torch.randint(0, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(5))


def positions_of(ids: Any, start: int = 0) -> Any:
    return torch.arange(start, start + ids.shape[1]).expand_as(ids)


@torch.no_grad()
def reference(model: Any, ids: Any) -> Any:
    return model(ids).logits


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_without_a_cache_it_gives_the_logits_of_transformers(kind, tiny_model):
    model, ids = tiny_model(kind, VOCABULARY, scale=3.0), random_ids(3, 70)
    decoder = Decoder(model)
    close(decoder.logits(decoder.hidden(ids, positions_of(ids))), reference(model, ids))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_with_a_cache_it_does_so_in_whatever_pieces_it_reads(kind, tiny_model):
    model, ids = tiny_model(kind, VOCABULARY, scale=3.0), random_ids(2, 75)
    decoder, expected = Decoder(model), reference(model, ids)
    cache = Cache(decoder, rows=2, positions=96, dtype=torch.float32)
    start = 0
    for size in (40, 1, 1, 30, 1, 2):
        piece = ids[:, start : start + size]
        view = CacheView(cache, [0, 1], [start] * 2, [size] * 2)
        found = decoder.logits(decoder.hidden(piece, positions_of(piece, start), view))
        close(found, expected[:, start : start + size])
        start += size


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_copied_row_goes_on_as_if_it_had_read_the_prompt_itself(kind, tiny_model):
    model, ids = tiny_model(kind, VOCABULARY, scale=3.0), random_ids(2, 60)
    ids[1, :50] = ids[0, :50]
    decoder = Decoder(model)
    cache = Cache(decoder, rows=4, positions=64, dtype=torch.float32)
    cache.keys.fill_(7.0)  # what a former session has left behind
    cache.values.fill_(7.0)
    decoder.hidden(ids[:1, :50], positions_of(ids[:1, :50]), CacheView(cache, [2], [0], [50]))
    cache.copy_row(2, 0, 50)
    view = CacheView(cache, [2, 0], [50, 50], [10, 10])
    both = decoder.hidden(ids[:, 50:], positions_of(ids[:, 50:], 50), view)
    close(decoder.logits(both), reference(model, ids)[:, 50:])


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_padding_is_never_seen(kind, tiny_model):
    """Rows of 20 and 33 tokens read together, 13 places of padding in the first; then two tokens
    each, one at a time."""
    model, ids = tiny_model(kind, VOCABULARY, scale=3.0), random_ids(2, 35)
    lengths, decoder = torch.tensor([20, 33]), Decoder(model)
    cache = Cache(decoder, rows=2, positions=64, dtype=torch.float32)
    padded = ids[:, :33].clone()
    padded[0, 20:] = 0
    decoder.hidden(padded, positions_of(padded), CacheView(cache, [0, 1], [0, 0], [33, 33]))
    for more in range(2):
        at = lengths + more
        view = CacheView(cache, [0, 1], at.tolist(), [1, 1])
        hidden = decoder.hidden(ids[torch.arange(2), at][:, None], at[:, None], view)
        found = decoder.logits(hidden)[:, 0]
        for row in range(2):
            close(found[row], reference(model, ids[row : row + 1, : int(at[row]) + 1])[0, -1])


# ---- the policy
NANO = 21  # of `world`


@pytest.fixture
def sessions(caller: Any, queries: list[Query], world: World) -> Sessions:
    """sessions(**limits) → one of each query."""

    def make(of: list[Query] = queries, **limits: Any) -> list[Session]:
        return opened(of, world, caller, **limits)

    return make


Played = dict[int, Transcript]


def played(model: Any, chat: Any, sessions: list[Session], **sampling: Any) -> Played:
    policy = LocalPolicy(model, chat, Sampling(**{"dtype": "float32", **sampling}))
    done = list(policy.play(iter(sessions)))
    assert len(done) == len(sessions) and all(session.done for session in done)
    return {int(session.task.id): session.transcript for session in done}


def same(found: dict[int, Transcript], expected: dict[int, Transcript]) -> None:
    assert found.keys() == expected.keys()
    for key, transcript in expected.items():
        assert found[key].token_ids == transcript.token_ids
        assert found[key].loss_mask == transcript.loss_mask
        assert found[key].stop_reason == transcript.stop_reason
        assert found[key].logprobs == pytest.approx(transcript.logprobs, abs=1e-4)


@pytest.fixture(scope="module")
def alone(talker: Any, caller: Any, queries: list[Query], world: World) -> dict[int, Transcript]:
    return played(talker, caller, opened(queries, world, caller), rows=1)


def test_the_test_has_something_to_test(alone):
    turns = [transcript.turns for transcript in alone.values()]
    assert max(turns) >= 4 and len(set(turns)) >= 3
    assert len({transcript.stop_reason for transcript in alone.values()}) >= 2


@pytest.mark.parametrize("rows", [3, 32])
def test_a_batch_is_played_as_each_alone_and_rows_enter_and_leave(
    rows, talker, caller, sessions, alone
):
    same(played(talker, caller, sessions(), rows=rows), alone)


def test_it_asks_for_sessions_only_as_rows_come_free(talker, caller, sessions):
    asked = 0

    def lazily() -> Iterator[Session]:
        nonlocal asked
        for session in sessions():
            asked += 1
            yield session

    policy = LocalPolicy(talker, caller, Sampling(rows=3, dtype="float32"))
    for finished, _ in enumerate(policy.play(lazily()), start=1):
        assert asked <= finished + 3


def test_sessions_that_share_a_prompt_are_played_as_each_alone(
    talker, caller, queries, sessions, alone
):
    asked = [query for query in queries[:3] for _ in range(4)]
    found = played(talker, caller, sessions(asked), rows=12)
    same(found, {i: alone[i // 4] for i in range(12)})


def test_the_policy_has_no_state(talker, caller, queries, sessions):
    """The same episode is sampled alike again, whatever was played between, and another one is
    not."""
    policy = LocalPolicy(talker, caller, Sampling(1.0, seed=0, dtype="float32"))

    def play(id: str) -> list[int]:
        (session,) = sessions(queries[:1])
        session.task = session.task.renamed(id)
        return next(iter(policy.play([session]))).transcript.token_ids

    first, other, again = play("a"), play("b"), play("a")
    assert first == again != other


def test_the_model_is_copied_only_for_another_precision(talker, caller, monkeypatch):
    read: list[Any] = []
    decoder = lambda model: read.append(model) or Decoder(model)  # noqa: E731
    monkeypatch.setattr("tripwright.inference.local.Decoder", decoder)
    for dtype in ("float32", "float64"):
        list(LocalPolicy(talker, caller, Sampling(dtype=dtype)).play([]))
    assert read[0] is talker and next(read[1].parameters()).dtype == torch.float64
    assert next(talker.parameters()).dtype == torch.float32


def test_a_context_longer_than_the_models_is_refused(talker, caller, queries, sessions):
    asked = sessions(queries[:1], context_tokens=4096)
    with pytest.raises(UserError, match="needs 4,096 positions, this model has 2,048"):
        list(LocalPolicy(talker, caller, Sampling(dtype="float32")).play(asked))


def test_a_session_that_failed_before_it_began_is_not_played(talker, caller, sessions, alone):
    asked = sessions()
    asked[1].fail("the tools are down")
    found = played(talker, caller, asked, rows=2)
    failed = found.pop(1)
    assert (failed.turns, failed.fault) == (0, "the tools are down")
    same(found, {key: transcript for key, transcript in alone.items() if key != 1})


def test_a_prompt_without_room_to_speak_is_an_overflow(talker, caller, sessions):
    lengths = [session.length for session in sessions()]
    found = played(talker, caller, sessions(context_tokens=sorted(lengths)[4]), rows=2)
    for key, transcript in found.items():
        assert (transcript.turns == 0) == (lengths[key] >= sorted(lengths)[4])
        assert transcript.turns or transcript.stop_reason is StopReason.CONTEXT_OVERFLOW


def test_it_plays_the_model_as_it_is_now(talker, caller, queries, sessions, tiny_model):
    other = tiny_model("qwen3", talker.config.vocab_size, seed=9, scale=4.0)
    policy = LocalPolicy(other, caller, Sampling(dtype="float32"))
    before = next(iter(policy.play(sessions(queries[:1])))).transcript
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    after = next(iter(policy.play(sessions(queries[:1])))).transcript
    assert before.token_ids != after.token_ids


def test_a_turn_without_end_is_cut_at_its_limit(talker, caller, sessions):
    found = played(talker, caller, sessions(max_turn_tokens=3)).values()
    cut = [t.segments[-1] for t in found if t.stop_reason is StopReason.MAX_TURN_TOKENS]
    assert cut
    for last in cut:
        assert len(last.token_ids) == 3 and caller.stop_id not in last.token_ids
        assert last.loss_mask == [1, 1, 1]


def test_what_is_said_ends_with_the_stop_token_which_is_no_text(talker, chat, queries, world):
    found = played(talker, chat, opened(queries, world, chat))
    ended = [t.segments[-1] for t in found.values() if t.stop_reason is StopReason.FORMAT_ERROR]
    assert ended
    for segment in ended:
        assert segment.token_ids[-1] == chat.stop_id and chat.stop_token not in segment.text
        assert segment.text == chat.decode(segment.token_ids[:-1])

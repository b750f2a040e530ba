"""Episodes whose oldest exchanges leave the context (Planner-R1, section 2.1 and Appendix I): every
turn is trained on after exactly the ids that it was sampled after (law 5), and an episode counts
once, however many contexts it had."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.tokens.test_trained_is_sampled import PATHS
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, open_session
from tripwright.rewards.reward import RewardBreakdown
from tripwright.training.sft_data import ChatMasks, TrainingConversation
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tests.logits import token_logits
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.training.batches import collate, corrected, rows_of, trainer_logprobs
from tripwright.training.grpo import GrpoSettings
from tripwright.training.losses import Importance, token_weights
from tripwright.training.rollouts import Rollout

pytestmark = pytest.mark.usefixtures("one_thread")
DIALECT = replace(
    dialect_named("compact"),
    max_turns=14,
    max_turn_tokens=60,
    max_tool_tokens=40,
    context_tokens=200,
    on_malformed="error",
    on_repeated="answer",
    on_overflow="truncate",
)


class EveryEighth:
    """A stop token that a random model comes upon."""

    def __eq__(self, token: object) -> bool:
        return isinstance(token, int) and token % 8 == 0

    def __hash__(self) -> int:
        return 0


class ShortTurns:
    """The ChatFormat of `caller`, with turns of eight tokens or so."""

    stop_id = EveryEighth()

    def __init__(self, chat: Any):
        self._chat = chat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)


@pytest.fixture(scope="module")
def chat_of_short_turns(caller: Any) -> Any:
    return ShortTurns(caller)


NANO = 21  # of `world`


def played(talker: Any, chat: Any, world: World, **settings: Any) -> list[Transcript]:
    branching = settings.pop("branching", None)
    groups = [
        [open_session(TripTask(f"{q}/{g}", query, world), DIALECT, chat) for g in range(4)]
        for q, query in enumerate(make_queries(world, 3, 3))
    ]
    policy = LocalPolicy(talker, chat, Sampling(1.0, dtype="float32", seed=2, **settings))
    done = {
        session.task.id: session.transcript for session in policy.play_groups(groups, branching)
    }
    return [done[id] for id in sorted(done, key=str)]


@pytest.fixture(scope="module")
def transcripts(talker: Any, chat_of_short_turns: Any, world: World) -> list[Transcript]:
    found = played(talker, chat_of_short_turns, world, rows=8)
    assert sum(len(t.contexts) > 2 for t in found) >= 3  # else there is nothing to test
    assert any(len(t.contexts) == 1 for t in found)
    return found


def plain_logprobs(model: Any, ids: list[int]) -> Any:
    """Of every token after the first, by a forward pass of its own."""
    batch = collate([(ids, [0] * len(ids), [0.0] * len(ids))])
    with torch.no_grad():
        logits = token_logits(Decoder(model), batch, "float32").view(*batch.ids.shape, -1)[0]
    targets = torch.tensor(ids[1:])
    return logits[: len(targets)].log_softmax(-1).gather(1, targets[:, None])[:, 0]


@pytest.mark.parametrize("path", PATHS)
def test_whatever_path_a_turn_takes_it_is_trained_on_after_what_it_was_sampled_after(
    path, talker, chat_of_short_turns, world
):
    found = played(talker, chat_of_short_turns, world, **dict(PATHS[path]))
    assert any(len(t.contexts) > 2 for t in found)
    for transcript in found:
        trained: list[int] = []
        for places, ids, mask in transcript.sequences:
            assert ids == [transcript.token_ids[place] for place in places]
            own = torch.tensor(mask[1:]).bool()
            sampled = torch.tensor([transcript.logprobs[place] for place in places][1:])
            torch.testing.assert_close(
                sampled[own], plain_logprobs(talker, ids)[own], atol=1e-4, rtol=0
            )
            trained += [place for place, kept in zip(places, mask, strict=True) if kept]
            assert len(transcript.sequences) == 1 or len(ids) <= DIALECT.context_tokens
        own_places = [place for place, kept in enumerate(transcript.loss_mask) if kept]
        assert sorted(trained) == own_places  # each of the agent's tokens once


def test_it_comes_back_from_json_and_an_uncut_one_says_nothing_new(transcripts):
    for transcript in transcripts:
        text = json.dumps(transcript.to_json())
        assert Transcript.from_json(json.loads(text)) == transcript
        assert ("context_from" in text) == (len(transcript.contexts) > 1)


# ---- updates


def rollout(transcript: Transcript, advantage: float = 1.0) -> Rollout:
    return Rollout(Episode(None, transcript, None), RewardBreakdown(1.0, {}), advantage)


def test_a_rollout_that_was_not_cut_is_one_row_of_its_own_lists(transcripts):
    whole = next(t for t in transcripts if len(t.contexts) == 1)
    (row,) = rows_of(rollout(whole))
    assert row.columns == (whole.token_ids, whole.loss_mask, whole.logprobs)


@pytest.mark.parametrize("aggregation", ["trajectory-mean", "token-mean", "trajectory-sum"])
def test_an_episode_weighs_the_same_in_however_many_rows(aggregation, transcripts):
    rollouts = [rollout(transcript) for transcript in transcripts]
    rows = [row for each in rollouts for row in rows_of(each)]
    tokens = sum(each.tokens for each in rollouts)
    weights_NT = token_weights(
        collate([row.columns for row in rows]).mask,
        aggregation,
        len(rollouts),
        tokens,
        rollout_tokens_N=torch.tensor([row.rollout.tokens for row in rows]),
    )
    of_each = [
        float(sum(w.sum() for w, row in zip(weights_NT, rows, strict=True) if row.rollout is each))
        for each in rollouts
    ]
    expected = {
        "trajectory-mean": [1 / len(rollouts)] * len(rollouts),
        "token-mean": [each.tokens / tokens for each in rollouts],
        "trajectory-sum": [each.tokens / len(rollouts) for each in rollouts],
    }[aggregation]
    assert of_each == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_correction_finds_each_token_where_it_was_said(level, talker, transcripts):
    """The sampler is the trainer here: its own log-probabilities come back, and all weights are
    1."""
    found, figures = corrected(
        [rollout(transcript) for transcript in transcripts],
        lambda rollouts: trainer_logprobs(
            Decoder(talker), rollouts, GrpoSettings(dtype="float32", micro_batch_size=3, steps=1)
        ),
        Importance("truncate", level=level),
    )
    assert len(found) == len(transcripts) and figures["importance_gap_max"] < 1e-4
    for each in found:
        t = each.episode.transcript
        own = [n for n, kept in enumerate(t.loss_mask) if kept]
        assert [each.old_T[n] for n in own] == pytest.approx([t.logprobs[n] for n in own], abs=1e-4)
        assert [each.weights_T[n] for n in own] == pytest.approx([1.0] * len(own), abs=1e-3)


def test_fine_tuning_reads_the_same_rows(transcripts, chat_of_short_turns):
    """By the ids where there are some; else by the texts of what each turn saw."""
    tokenizer = chat_of_short_turns.tokenizer
    masks = ChatMasks(tokenizer)
    cut = next(t for t in transcripts if len(t.contexts) > 2)
    texts = [
        replace(segment, text=tokenizer.decode(segment.token_ids) or segment.text)
        if segment.role == "assistant"
        else segment
        for segment in cut.segments
    ]
    rows = masks.rows(TrainingConversation.model_construct(transcript=replace(cut, segments=texts)))
    expected = [(ids, mask) for _, ids, mask in cut.sequences]
    assert [(row.token_ids, row.loss_mask) for row in rows] == expected

    of_text = [
        replace(s, token_ids=[], loss_mask=[], logprobs=[], text=f"({number}) {s.role}")
        for number, s in enumerate(texts)
    ]
    rows = masks.rows(
        TrainingConversation.model_construct(transcript=replace(cut, segments=of_text))
    )
    for row, context in zip(rows, cut.contexts, strict=True):
        read = tokenizer.decode(row.token_ids)
        trained = tokenizer.decode(
            [i for i, m in zip(row.token_ids, row.loss_mask, strict=True) if m]
        )
        for number, segment in enumerate(of_text):
            assert (segment.text in read) == (number in context.segments)
            assert (segment.text in trained) == (number in context.turns)


# ---- limits


def test_without_truncation_a_full_context_is_the_end(talker, chat_of_short_turns, world):
    query = next(make_queries(world, 1, 3))
    dialect = replace(DIALECT, on_overflow="end")
    sessions = [
        open_session(TripTask(str(n), query, world), dialect, chat_of_short_turns) for n in range(8)
    ]
    policy = LocalPolicy(talker, chat_of_short_turns, Sampling(1.0, dtype="float32", seed=2))
    found = [session.transcript for session in policy.play(sessions)]
    assert all(len(t.contexts) == 1 for t in found)
    assert any(t.stop_reason is StopReason.CONTEXT_OVERFLOW for t in found)

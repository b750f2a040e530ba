"""Law 5: what is trained on is what was sampled, id by id, with the log-probabilities of the
sampler."""

import copy
import itertools
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.dialect import Dialect
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import open_session
from tripwright.training.trips import GeneratedTrips, expert_sessions
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tests.logits import token_logits
from tripwright.inference.branching import Branching
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.models import LoraSettings, adapter_parameters, add_adapter
from tripwright.training.batches import collate

DIALECT: Dialect = replace(dialect_named("compact"), max_turn_tokens=24)
Row = tuple[list[int], list[int], list[float]]
pytestmark = pytest.mark.usefixtures("one_thread")


TALKER = 2  # sampled from, its turns end at different lengths; greedy, it says nothing
NANO = 21  # of `world`


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 8, 3))


def sampled(
    model: Any, chat: Any, queries: list[Query], world: World, **sampling: Any
) -> list[Transcript]:
    opened = [
        open_session(TripTask(str(n), query, world), DIALECT, chat)
        for n, query in enumerate(queries)
    ]
    return [
        session.transcript
        for session in LocalPolicy(model, chat, Sampling(**{"dtype": "float32", **sampling})).play(
            iter(opened)
        )
    ]


def row_of(transcript: Transcript) -> Row:
    return transcript.token_ids, transcript.loss_mask, transcript.logprobs


@pytest.fixture(scope="module")
def transcripts(talker: Any, caller: Any, queries: list[Query], world: World) -> list[Transcript]:
    """Of a model, with tool calls and turns that were cut."""
    found = sampled(talker, caller, queries, world, temperature=1.0, seed=2)
    assert max(transcript.turns for transcript in found) >= 3
    return found


# ---- transcripts


def test_the_mask_is_1_exactly_on_what_the_model_sampled(transcripts, caller):
    for transcript in transcripts:
        for segment in transcript.segments:
            said = segment.role == "assistant"
            assert segment.loss_mask == [int(said)] * len(segment.token_ids)
            assert len(segment.logprobs) == len(segment.token_ids)
            assert all(p < 0 for p in segment.logprobs) if said else not any(segment.logprobs)
        turns = [
            segment.token_ids for segment in transcript.segments if segment.role == "assistant"
        ]
        for i, ids in enumerate(turns):
            cut = i == len(turns) - 1 and transcript.stop_reason in (
                StopReason.MAX_TURN_TOKENS,
                StopReason.CONTEXT_OVERFLOW,
            )
            assert (ids[-1] == caller.stop_id) != cut and caller.stop_id not in ids[:-1]


def test_the_concatenated_ids_are_what_the_engine_was_fed(
    talker, caller, queries, world, monkeypatch
):
    """One row at a time. The engine pads what it reads; padding is overwritten when the row gets
    there."""
    fed: dict[int, int] = {}
    hidden = Decoder.hidden

    def recording(self: Decoder, ids: Any, positions: Any, *rest: Any, **more: Any) -> Any:
        fed.update(zip(positions[0].tolist(), ids[0].tolist(), strict=True))
        return hidden(self, ids, positions, *rest, **more)

    monkeypatch.setattr(Decoder, "hidden", recording)
    for query in queries:
        fed.clear()
        (transcript,) = sampled(talker, caller, [query], world, temperature=1.0, rows=1)
        read = transcript.token_ids[:-1]  # nothing is predicted from the last one
        assert [fed[position] for position in range(len(read))] == read


@pytest.mark.parametrize("temperature", [0.0, 0.6, 1.0, 1.7])
def test_log_probabilities_are_those_of_a_plain_forward_pass(
    temperature, talker, caller, queries, world
):
    for transcript in sampled(talker, caller, queries, world, temperature=temperature, rows=5):
        ids = torch.tensor(transcript.token_ids)
        mask = torch.tensor(transcript.loss_mask[1:]).bool()
        with torch.no_grad():
            logits = talker(ids[None]).logits[0, :-1] / (temperature or 1.0)
        expected = logits.log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        torch.testing.assert_close(
            torch.tensor(transcript.logprobs[1:])[mask], expected[mask], atol=1e-4, rtol=1e-4
        )
        if temperature == 0:
            assert torch.equal(logits.argmax(-1)[mask], ids[1:][mask])


PATHS: dict[str, dict[str, Any]] = {
    "alone": {"rows": 1},
    "rows that enter and leave": {"rows": 3},
    "all at once": {"rows": 64},
    "tools in threads": {"rows": 5, "tool_threads": 3},
    "forks": {"rows": 5, "branching": Branching(initial=1, base=1.0)},
    "forks, many rows": {
        "rows": 64,
        "branching": Branching(initial=2, base=1.0, forks=2),
    },
}


@pytest.mark.parametrize("path", [*PATHS, "with an adapter"])
def test_whatever_path_a_token_takes_its_log_probability_is_the_trainers(
    path, talker, caller, queries, world
):
    """Groups with a shared prompt and a long common beginning, whose keys and values are copied
    from row to row."""
    settings = dict(PATHS.get(path, {"rows": 5}))
    branching = settings.pop("branching", None)
    if path not in PATHS:
        pytest.importorskip("peft")
        talker = copy.deepcopy(talker)
        add_adapter(talker, LoraSettings(rank=4), "base", 0)
        for _, parameter in adapter_parameters(talker):
            torch.nn.init.normal_(parameter, std=0.1)
    dialect = replace(DIALECT, system_prompt=f"{DIALECT.system_prompt} " * 6)
    groups = [
        [open_session(TripTask(f"{q}/{g}", query, world), dialect, caller) for g in range(4)]
        for q, query in enumerate(queries[:4])
    ]
    policy = LocalPolicy(talker, caller, Sampling(1.0, dtype="float32", **settings))
    found = {
        session.task.id: session.transcript for session in policy.play_groups(groups, branching)
    }
    assert sorted(found) == sorted(f"{q}/{g}" for q in range(4) for g in range(4))
    assert policy.figures["copied_tokens"] > 0
    if branching:
        assert policy.figures["forks"] == sum(t.parent is not None for t in found.values()) > 0
    for transcript in found.values():
        batch, said = collate([row_of(transcript)]), torch.tensor(transcript.loss_mask[1:]).bool()
        with torch.no_grad():
            logits = token_logits(Decoder(talker), batch, "float32").view(*batch.ids.shape, -1)[
                0, : len(said)
            ]
        expected = logits.log_softmax(-1).gather(
            1, torch.tensor(transcript.token_ids[1:])[:, None]
        )[:, 0]
        torch.testing.assert_close(
            torch.tensor(transcript.logprobs[1:])[said], expected[said], atol=1e-4, rtol=0
        )


def test_a_transcript_comes_back_from_json_as_it_was(transcripts):
    for transcript in transcripts:
        assert Transcript.from_json(transcript.to_json()) == transcript


def test_the_expert_is_trained_on_as_it_is_read(chat):
    stream = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 40, 4), 8)
    for session in expert_sessions(stream, dialect_named("compact"), chat):
        transcript = session.transcript
        assert transcript.stop_reason is StopReason.ANSWER
        opening = chat.opening(transcript.segments[0].text, transcript.segments[1].text)
        expected, mask = list(opening), [0] * len(opening)
        for segment in transcript.segments[2:]:
            said = segment.role == "assistant"
            ids = (
                chat.said(segment.text)
                if said
                else chat.tool_answer(segment.text, dialect_named("compact").max_tool_tokens).ids
            )
            expected += ids
            mask += [int(said)] * len(ids)
        assert (transcript.token_ids, transcript.loss_mask) == (expected, mask)
        assert chat.decode(transcript.token_ids).count(chat.stop_token) == len(transcript.segments)
        spoken = [
            i for i, kept in zip(transcript.token_ids, transcript.loss_mask, strict=True) if kept
        ]
        assert spoken.count(chat.stop_id) == transcript.turns  # the end of a turn is learned


# ---- batches


def test_collate_shifts_by_one_and_pads_on_the_right():
    batch = collate(
        [([5, 6, 7, 8], [0, 0, 1, 1], [0.0, 0.0, -0.5, -0.25]), ([0, 9], [0, 1], [0.0, -1.0])],
        pad_id=3,
    )
    width = batch.ids.shape[1]
    assert width == 64 and all(
        t.shape == (2, width) for t in (batch.targets, batch.mask, batch.logprobs, batch.real)
    )
    assert batch.ids[:, :4].tolist() == [[5, 6, 7, 3], [0, 3, 3, 3]]
    assert batch.targets[0, :3].tolist() == [6, 7, 8] and batch.targets[1, :1].tolist() == [9]
    assert batch.mask[:, :4].tolist() == [[0, 1, 1, 0], [1, 0, 0, 0]]
    assert batch.logprobs[:, :4].tolist() == [[0, -0.5, -0.25, 0], [-1.0, 0, 0, 0]]
    assert batch.real.sum(1).tolist() == [3, 1]
    assert not batch.mask[:, 4:].any()
    assert not batch.logprobs[:, 4:].any()
    assert not batch.real[:, 4:].any()


def test_a_target_of_id_0_is_no_padding():
    batch = collate([([1, 0, 2, 0], [0, 1, 0, 1], [0.0] * 4)])
    assert batch.real.sum() == 3
    assert batch.targets[0, :3].tolist() == [0, 2, 0]
    assert batch.mask[0, :3].tolist() == [1, 0, 1]


# ---- the loss

"""Fine-tuning: the loss it takes the gradient of, the batches it is taken on, and that it goes on
bit for bit where it stopped."""

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tripwright.domains import dialect_named, domain_named
from tripwright.errors import UserError
from tripwright.training.trips import GeneratedTrips, Stream, expert_sessions
from tripwright.transcript import Transcript

torch = pytest.importorskip("torch")

from tripwright.training.optim import OptimizerSettings
from tripwright.training.sft import POOL, BatchesOfLikeLength, FineTuning, SftSettings

SETTINGS = SftSettings(
    steps=24, batch_size=2, dtype="float32", optimizer=OptimizerSettings(adamw_learning_rate=3e-3)
)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def transcripts(chat: Any) -> list[Transcript]:
    stream = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 4), 12)
    return [
        session.transcript for session in expert_sessions(stream, dialect_named("compact"), chat)
    ]


@dataclass
class Given(Stream):
    """A source that goes round a list, `most` samples in all."""

    samples: list[Transcript]
    most: int | None = None

    def __next__(self) -> Transcript:
        if self.most is not None and self.position >= self.most:
            raise StopIteration
        self.position += 1
        return self.samples[(self.position - 1) % len(self.samples)]


def steps_of(loop: FineTuning, most: int = 1000) -> list[dict[str, Any]]:
    rows = []
    while loop.progress < 1 and len(rows) < most:
        rows.append(loop.take_step())
    return rows


# ---- the loss


def test_it_lowers_the_loss(tiny_model, nano_tokenizer, transcripts):
    model = tiny_model("qwen3", len(nano_tokenizer))
    rows = steps_of(FineTuning(model, Given(transcripts), SETTINGS))
    assert len(rows) == 24
    first, last = rows[0], rows[-1]
    assert first["loss"] == pytest.approx(
        torch.tensor(float(len(nano_tokenizer))).log().item(), abs=0.5
    )
    assert last["loss"] < 0.8 * first["loss"]
    assert [row["tokens"] for row in rows] == sorted({row["tokens"] for row in rows})
    assert rows[-1]["learning_rate"] < 0.2 * max(row["learning_rate"] for row in rows)
    assert all(0 <= row["padding"] < 0.5 for row in rows)


@pytest.mark.parametrize("rows", [None, 2])
def test_the_gradient_is_that_of_the_cross_entropy_of_what_was_said(
    rows, tiny_model, nano_tokenizer, transcripts
):
    """Passes of two rows add up to the step of three."""
    model, plain = (
        tiny_model("qwen3", len(nano_tokenizer)),
        tiny_model("qwen3", len(nano_tokenizer)),
    )
    settings = SftSettings(steps=1, batch_size=3, micro_batch_size=rows, dtype="float32")
    figures = FineTuning(model, Given(transcripts, 3), settings).take_step()
    said = []
    for transcript in transcripts[:3]:
        ids = torch.tensor(transcript.token_ids)
        nll = -plain(ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        said.append(nll[torch.tensor(transcript.loss_mask[1:]) > 0])
    loss = torch.cat(said).mean()
    loss.backward()
    norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
    assert figures["grad_norm"] == pytest.approx(float(norm), rel=1e-3)
    assert figures["loss"] == pytest.approx(float(loss), rel=1e-4)


# ---- the schedule


def test_the_learning_rate_rises_in_the_warm_up_and_falls_to_its_end(
    tiny_model, nano_tokenizer, transcripts
):
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3)
    settings = replace(SETTINGS, steps=10, warm_up=0.2, final_rate=0.5, optimizer=rate)
    rows = steps_of(
        FineTuning(tiny_model("qwen3", len(nano_tokenizer)), Given(transcripts), settings)
    )
    found = [row["learning_rate"] for row in rows]
    assert found[:3] == pytest.approx([0.0, 0.5e-3, 1e-3]) and found[2:] == sorted(
        found[2:], reverse=True
    )
    assert found[9] == pytest.approx(1e-3 * (1 - 0.5 * 7 / 8))


def test_a_source_that_ends_ends_the_stage(tiny_model, nano_tokenizer, transcripts):
    model = tiny_model("qwen3", len(nano_tokenizer))
    assert len(steps_of(FineTuning(model, Given(transcripts, 5), SETTINGS))) == 3
    assert FineTuning(model, Given(transcripts, 0), SETTINGS).progress == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_epochs": 2.0}, "max_epochs is of data or of expert_transcripts"),
        ({"max_tokens": 20}, "max_tokens is of a file: give data"),
        ({"data": "f.jsonl", "expert_transcripts": 9}, "exclude each other"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, words):
    with pytest.raises(UserError, match=words):
        SftSettings(**wrong)


# ---- batches


def test_batches_are_of_like_length_and_leave_nothing_out(transcripts):
    batches = list(BatchesOfLikeLength(Given(transcripts, 12), rows=3))
    assert sorted(id(t) for batch in batches for t in batch) == sorted(map(id, transcripts))
    spans = sorted(
        (min(len(t.token_ids) for t in batch), max(len(t.token_ids) for t in batch))
        for batch in batches
    )
    assert all(longest <= shortest for (_, longest), (shortest, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("taken", [0, 1, POOL - 1, POOL, POOL + 1, 2 * POOL])
def test_batches_go_on_from_any_place_as_if_they_had_not_stopped(taken, transcripts):
    whole = [
        [id(t) for t in batch]
        for batch in itertools.islice(BatchesOfLikeLength(Given(transcripts), 3), 3 * POOL)
    ]
    first = BatchesOfLikeLength(Given(transcripts), 3)
    before = [[id(t) for t in next(first)] for _ in range(taken)]
    again = BatchesOfLikeLength(Given(transcripts), 3)
    again.load_state_dict(copy.deepcopy(first.state_dict()))
    after = [[id(t) for t in next(again)] for _ in range(3 * POOL - taken)]
    assert before + after == whole


# ---- going on


def test_ten_steps_are_five_and_five_bit_for_bit(tiny_model, nano_tokenizer, transcripts):
    settings = replace(SETTINGS, steps=10)

    def new() -> FineTuning:
        return FineTuning(tiny_model("qwen3", len(nano_tokenizer)), Given(transcripts), settings)

    whole, first, again = new(), new(), new()
    told = steps_of(whole)
    before = steps_of(first, 5)
    again.load_state_dict(copy.deepcopy(first.state_dict()))
    after = steps_of(again)
    timeless = [
        {key: value for key, value in row.items() if key != "tokens_per_second"} for row in told
    ]
    assert [
        {key: value for key, value in row.items() if key != "tokens_per_second"}
        for row in before + after
    ] == timeless
    assert again.step == whole.step == 10
    assert all(
        torch.equal(a, b)
        for a, b in zip(whole.model.parameters(), again.model.parameters(), strict=True)
    )

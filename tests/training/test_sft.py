"""Fine-tuning: the loss it takes the gradient of, the batches it is taken on, and that it goes on
bit for bit where it stopped."""

import copy
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tripwright.domains import dialect_named, domain_named
from tripwright.errors import UserError
from tripwright.training.trips import GeneratedTrips, Stream, expert_sessions
from tripwright.transcript import Transcript

torch = pytest.importorskip("torch")

from tests.logits import gradient_norm, own_logprobs
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
    assert first["loss"] == pytest.approx(math.log(len(nano_tokenizer)), abs=0.5)
    assert last["loss"] < 0.8 * first["loss"]
    assert [row["tokens"] for row in rows] == sorted({row["tokens"] for row in rows})
    assert rows[-1]["learning_rate"] < 0.2 * max(row["learning_rate"] for row in rows)
    assert all(0 <= row["padding"] < 0.5 for row in rows)


@pytest.mark.parametrize("rows", [None, 2])
def test_the_gradient_is_that_of_the_cross_entropy_of_what_was_said(
    rows, tiny_model, nano_tokenizer, transcripts
):
    """Passes of two rows add up to the step of three."""
    model, plain = (tiny_model("qwen3", len(nano_tokenizer)) for _ in range(2))
    settings = SftSettings(steps=1, batch_size=3, micro_batch_size=rows, dtype="float32")
    figures = FineTuning(model, Given(transcripts, 3), settings).take_step()
    loss = -torch.cat([own_logprobs(plain, transcript) for transcript in transcripts[:3]]).mean()
    loss.backward()
    assert figures["grad_norm"] == pytest.approx(gradient_norm(plain), rel=1e-3)
    assert figures["loss"] == pytest.approx(float(loss.detach()), rel=1e-4)


# ---- the schedule


def test_the_learning_rate_rises_in_the_warm_up_and_falls_to_its_end(
    tiny_model, nano_tokenizer, transcripts
):
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3)
    settings = replace(SETTINGS, steps=10, warm_up=0.2, final_rate=0.5, optimizer=rate)
    model = tiny_model("qwen3", len(nano_tokenizer))
    rows = steps_of(FineTuning(model, Given(transcripts), settings))
    found = [row["learning_rate"] for row in rows]
    assert found[:3] == pytest.approx([0.0, 0.5e-3, 1e-3])
    assert found[2:] == sorted(found[2:], reverse=True)
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
    lengths = [[len(t.token_ids) for t in batch] for batch in batches]
    spans = sorted((min(each), max(each)) for each in lengths)
    assert all(longest <= shortest for (_, longest), (shortest, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("taken", [0, 1, POOL - 1, POOL, POOL + 1, 2 * POOL])
def test_batches_go_on_from_any_place_as_if_they_had_not_stopped(taken, transcripts):
    def ids(batches: Any, count: int) -> list[list[int]]:
        return [[id(t) for t in batch] for batch in itertools.islice(batches, count)]

    whole, first, again = (BatchesOfLikeLength(Given(transcripts), 3) for _ in range(3))
    before = ids(first, taken)
    again.load_state_dict(copy.deepcopy(first.state_dict()))
    assert before + ids(again, 3 * POOL - taken) == ids(whole, 3 * POOL)


# ---- going on

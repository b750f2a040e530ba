"""The copy warm-up: that it learns to copy, when it ends, and that it goes on bit for bit from its
state."""

import copy
import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.logits import same_weights
from tripwright.training.sft import CopyPretraining, CopyPretrainingSettings, string

pytestmark = pytest.mark.usefixtures("one_thread")


def steps(loop: CopyPretraining, most: int | None = None) -> list[dict[str, Any]]:
    rows = []
    while loop.progress < 1 and (most is None or len(rows) < most):
        rows.append(loop.take_step())
    return rows


def learned(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["loss"], row["copy_length"], row["tokens"]


def test_it_stops_at_max_steps(tiny_model):
    settings = CopyPretrainingSettings(lengths=(4, 8), tokens_per_step=128, max_steps=7)
    rows = steps(CopyPretraining(tiny_model("qwen3", 50), settings, seed=0))
    assert len(rows) == 7 and {row["copy_length"] for row in rows} == {4}
    assert set(rows[0]) == {"loss", "copy_length", "grad_norm", "tokens", "tokens_per_second"}
    assert [row["tokens"] for row in rows] == [128 * (step + 1) for step in range(7)]


def test_it_goes_on_to_the_next_length_when_one_is_learned_and_ends_after_the_last(tiny_model):
    settings = CopyPretrainingSettings(
        lengths=(4, 8), learned_at=1e9, tokens_per_step=128, max_steps=50
    )
    loop = CopyPretraining(tiny_model("qwen3", 50), settings, seed=0)
    assert [row["copy_length"] for row in steps(loop)] == [4, 8] and loop.progress == 1


def test_the_loss_is_that_of_the_repetition(tiny_model):
    model = tiny_model("qwen3", 50)
    settings = CopyPretrainingSettings(lengths=(6,), tokens_per_step=24, dtype="float32")
    loop = CopyPretraining(model, settings, seed=3)
    rng = random.Random("3-0")
    ids = torch.tensor([string(rng, 50, 6)[0] for _ in range(2)])  # too short for a gap
    assert torch.equal(ids[:, :6], ids[:, 6:])
    with torch.no_grad():
        logits = model(ids).logits[:, 6:-1]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 7:].flatten())
    assert loop.take_step()["loss"] == pytest.approx(float(expected), rel=1e-4)


def test_it_goes_on_bit_for_bit_from_its_state(tiny_model):
    """Through a change of length too: the loss at which a length counts as learned is reached at
    once."""
    settings = CopyPretrainingSettings(
        lengths=(4, 8, 16), learned_at=3.95, tokens_per_step=64, max_steps=10
    )
    whole, first = (CopyPretraining(tiny_model("qwen3", 50), settings, seed=1) for _ in range(2))
    expected = steps(whole)
    assert len({row["copy_length"] for row in expected}) > 1
    for at in (0, 1, 5):
        steps(first, most=at - first.step)
        second = CopyPretraining(tiny_model("qwen3", 50, seed=9), settings, seed=2)
        second.load_state_dict(copy.deepcopy(first.state_dict()))
        rest = steps(second)
        assert list(map(learned, rest)) == list(map(learned, expected[at:]))
        assert same_weights(whole.model, second.model)

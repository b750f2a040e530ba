"""A large vocabulary: no update has the logits of all its tokens at once, and what it learns is
what they would have said."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tripwright.inference.decoder import Decoder
from tripwright.training import batches
from tripwright.training.batches import action_logprobs, collate, scores_from, token_logprobs
from tripwright.training.grpo import GrpoSettings, Kl, policy_loss
from tripwright.training.ppo import Ppo, PpoSettings

pytestmark = pytest.mark.usefixtures("one_thread")

QWEN, TOKENS = 151_936, 100


class LargestTensor(TorchDispatchMode):
    """How many numbers the largest tensor has that any operation made, on the way back too."""

    numbers = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        sizes = [each.numel() for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        self.numbers = max(self.numbers, *sizes, 0)
        return result


def batch_of(tokens: int, size: int) -> Any:
    ids = torch.randint(size, (tokens + 1,), generator=torch.Generator().manual_seed(0)).tolist()
    return collate([(ids, [1] * len(ids), [-2.0] * len(ids))])


def sft(decoder: Any, batch: Any) -> Any:
    return token_logprobs(decoder, batch, "float32", batch.mask > 0).sum()


def grpo(decoder: Any, batch: Any) -> Any:
    settings = GrpoSettings(dtype="float32", entropy_bonus=0.1, kl=Kl(0.1), temperature=0.7)
    return policy_loss(decoder, batch, batch.mask, batch.mask, settings, reference=decoder)[0]


def ppo(decoder: Any, batch: Any) -> Any:
    settings = PpoSettings(dtype="float32", entropy_bonus=0.1)
    head = torch.nn.Linear(decoder.model.config.hidden_size, 1)
    loop: Any = SimpleNamespace(settings=settings, decoder=decoder, value_head=head)
    loop._hidden = lambda batch: Ppo._hidden(loop, batch)
    return Ppo._loss(loop, batch, batch.mask, batch.mask, batch.mask, batch.mask)[0]


def looked_at(decoder: Any, batch: Any) -> Any:
    """By the correction, and of the reference."""
    with torch.no_grad():
        action_logprobs(decoder, batch, GrpoSettings(dtype="float32"))
    return None


@pytest.mark.parametrize("update", [sft, grpo, ppo, looked_at])
def test_no_tensor_has_the_logits_of_all_tokens(update, tiny_model, monkeypatch):
    model = tiny_model("qwen3", QWEN, hidden_size=16, num_hidden_layers=1)
    # a tenth of the real bounds, for a tenth of the tokens that it takes to cross them
    monkeypatch.setattr(batches, "MOST_KEPT", batches.MOST_KEPT // 10)
    monkeypatch.setattr(batches, "CHUNK", batches.CHUNK // 10)
    with LargestTensor() as largest:
        loss = update(Decoder(model), batch_of(TOKENS, QWEN))
        if loss is not None:
            loss.backward()
    # of which the output layer's weights are most
    assert 16 * QWEN <= largest.numbers <= batches.CHUNK


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_those_of_whole_logits(kind, tiny_model, monkeypatch):
    """At a temperature, of log-probabilities and entropies together; the last chunk is smaller."""
    decoder, batch = Decoder(tiny_model("qwen3", 50, scale=3.0)), batch_of(100, 50)
    model, own_BT = decoder.model, batch.mask > 0
    settings = replace(GrpoSettings(temperature=0.7), dtype=str(kind).removeprefix("torch."))
    rng = torch.Generator().manual_seed(1)
    first, second = torch.randn(2, 100, generator=rng).unbind()
    hidden_NE = torch.randn(128, 48, generator=rng)  # and places that are not asked for
    found = []
    for most in (batches.MOST_KEPT, 0):
        monkeypatch.setattr(batches, "MOST_KEPT", most)
        monkeypatch.setattr(batches, "CHUNK", 50 * 30)
        model.zero_grad()
        leaf = hidden_NE.clone().requires_grad_()
        scores = scores_from(decoder, leaf, batch.targets[own_BT], settings, True)
        (scores[0] * first + scores[1] * second).sum().backward()
        found.append((*(each.detach() for each in scores), leaf.grad, model.lm_head.weight.grad))
    exact = kind == torch.float32
    for whole, chunked in zip(*found, strict=True):
        assert chunked.dtype == torch.float32
        error = (whole - chunked).norm() / whole.norm()
        assert float(error) < (1e-5 if exact else 1e-2)

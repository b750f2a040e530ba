"""Log-probabilities made in pieces are those of whole logits."""

import pytest

torch = pytest.importorskip("torch")

from tests.logits import token_logits
from tripwright.inference.decoder import Decoder
from tripwright.training.batches import collate, logprobs_of, token_logprobs

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_logprobs_and_gradients_are_those_of_whole_logits(share, tiny_model):
    """More places than one piece has, and none at all."""
    model, rng = tiny_model("qwen3", 50, scale=3.0), torch.Generator().manual_seed(0)
    rows = [torch.randint(50, (n,), generator=rng).tolist() for n in (300, 180)]
    batch = collate([(row, [0] * len(row), [0.0] * len(row)) for row in rows])
    where = batch.real & (torch.rand(batch.real.shape, generator=rng) < share)
    weights, found = torch.rand(int(where.sum()), generator=rng), []
    for logprobs in (
        logprobs_of(token_logits(Decoder(model), batch, "float32", where), batch.targets[where]),
        token_logprobs(Decoder(model), batch, "float32", where),
    ):
        model.zero_grad()
        (logprobs * weights).sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((logprobs.detach(), gradient))
    (whole, its_gradient), (pieces, gradient) = found
    torch.testing.assert_close(pieces, whole)
    torch.testing.assert_close(gradient, its_gradient, atol=1e-5, rtol=1e-4)

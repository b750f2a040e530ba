"""Transcripts laid end to end in one row are read as if each had a row of its own."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.logits import token_logits
from tripwright.inference.decoder import Decoder
from tripwright.learning.batches import collate
from tripwright.sft.trainer import pack

LENGTHS = (5, 70, 33, 2)
pytestmark = pytest.mark.usefixtures("one_thread")


def samples(vocabulary: int = 50) -> list[tuple[list[int], list[int]]]:
    rng = torch.Generator().manual_seed(0)
    ids = [torch.randint(0, vocabulary, (n,), generator=rng).tolist() for n in LENGTHS]
    return [(row, [i % 2 for i in range(len(row))]) for row in ids]


def loss_and_gradient(model: Any, packed: bool) -> tuple[Any, Any]:
    rows, decoder = samples(), Decoder(model)
    model.zero_grad()
    if packed:
        batch, positions, blocks = pack(rows)
        logits = token_logits(decoder, batch, "float32", batch.real, positions, blocks)
    else:
        batch = collate([(ids, mask, [0.0] * len(ids)) for ids, mask in rows])
        logits = token_logits(decoder, batch, "float32", batch.real)
    nll = torch.nn.functional.cross_entropy(logits, batch.targets[batch.real], reduction="none")
    loss = (nll * batch.mask[batch.real]).sum() / batch.mask.sum()
    loss.backward()
    return loss.detach(), torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_loss_and_gradient_are_those_of_the_rows_apart(kind: str, tiny_model: Any) -> None:
    model = tiny_model(kind, 50, scale=3.0)
    (loss, gradient), (packed_loss, packed_gradient) = (
        loss_and_gradient(model, False),
        loss_and_gradient(model, True),
    )
    assert abs(float(loss - packed_loss)) < 1e-5
    torch.testing.assert_close(packed_gradient, gradient, atol=1e-5, rtol=1e-4)


def test_no_transcript_sees_another(tiny_model: Any) -> None:
    """Changing the first one changes the logits of no other."""
    decoder, rows = Decoder(tiny_model("qwen3", 50, scale=3.0)), samples()
    changed = [
        ([1 + ids[0] % 49, *ids[1:]] if i == 0 else ids, mask) for i, (ids, mask) in enumerate(rows)
    ]
    with torch.no_grad():
        a, b = (
            (token_logits(decoder, batch, "float32", batch.real, positions, blocks))
            for batch, positions, blocks in (pack(rows), pack(changed))
        )
    others = LENGTHS[0] - 1
    assert torch.equal(a[others:], b[others:]) and not torch.equal(a[:others], b[:others])


def test_a_row_has_no_more_padding_than_shapes_need() -> None:
    batch, positions, blocks = pack(samples())
    assert batch.ids.shape == (1, 128) and int(batch.real.sum()) == sum(blocks.lengths) == sum(
        LENGTHS
    ) - len(LENGTHS)
    assert positions[0, : blocks.lengths[0] + 2].tolist() == [0, 1, 2, 3, 0, 1]
    assert batch.targets[batch.real].tolist() == [x for ids, _ in samples() for x in ids[1:]]

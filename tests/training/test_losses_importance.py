"""The gap between sampler and trainer, per sequence by hand and at its ends; per token it is TRL's
and verl's (test_losses_golden_*.py)."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training.losses import Importance, importance_weights

RATIOS = torch.tensor([0.5, 1.5, 4.0])
SAMPLER = torch.tensor([-1.0, -2.0, -3.0])
TRAINER = SAMPLER + RATIOS.log()


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-6, rtol=1e-6
    )


ROWS, PADDED = (
    torch.tensor([[0.5, 1.5, 4.0], [1.5, 1.0, 7.0], [9.0, 9.0, 9.0]]),
    torch.tensor([[1, 1, 1], [1, 1, 0], [0, 0, 0]]),
)


@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        ("none", [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
        ("truncate", [[2.0, 2.0, 2.0], [1.5, 1.5, 0.0], [0.0, 0.0, 0.0]]),
        ("mask", [[0.0, 0.0, 0.0], [1.5, 1.5, 0.0], [0.0, 0.0, 0.0]]),
    ],
)
@pytest.mark.parametrize("in_padding", [7.0, float("nan")])
def test_weights_per_sequence_by_hand(correction, weights, in_padding):
    """The products are 3 and 1.5; the third row has no token. Of two rows one is capped; (3 + 1.5)²
    = 20.25 over 2·(9 + 2.25) = 22.5."""
    trainer = ROWS.log().masked_fill(PADDED == 0, in_padding)
    found, figures = importance_weights(
        trainer, torch.zeros(3, 3), Importance(correction, 2.0, "sequence"), PADDED
    )
    close(found, weights)
    assert figures["capped_share"] == pytest.approx(1 / 2)
    assert figures["effective_share"] == pytest.approx(20.25 / 22.5)


def test_weights_have_no_gradient():
    found, _ = importance_weights(TRAINER.clone().requires_grad_(), SAMPLER, Importance("truncate"))
    assert not found.requires_grad


def test_no_tokens_at_all():
    found, figures = importance_weights(
        torch.zeros(2, 3), torch.ones(2, 3), Importance("truncate"), torch.zeros(2, 3)
    )
    assert not found.any()
    assert figures == {
        "gap_mean": 0.0,
        "gap_max": 0.0,
        "kl": 0.0,
        "capped_share": 0.0,
        "effective_share": 1.0,
    }

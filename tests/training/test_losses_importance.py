"""The gap between sampler and trainer: truncated and masked by hand, per token and per sequence,
and its figures."""

import math
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


@pytest.mark.parametrize(
    ("correction", "weights"),
    [("none", (1.0, 1.0, 1.0)), ("truncate", (0.5, 1.5, 2.0)), ("mask", (0.5, 1.5, 0.0))],
)
def test_weights_per_token_by_hand(correction, weights):
    found, _ = importance_weights(TRAINER, SAMPLER, Importance(correction, cap=2.0))
    close(found, weights)


@pytest.mark.parametrize("correction", ["none", "truncate", "mask"])
def test_figures_by_hand_whatever_is_done_about_them(correction):
    """Ratios ½, 1.5, 4. (Σw)² = 36 over 3·(0.25 + 2.25 + 16) = 55.5; k3 is the mean of ratio − 1 −
    ln ratio."""
    _, figures = importance_weights(TRAINER, SAMPLER, Importance(correction, cap=2.0))
    logs = [math.log(2), math.log(1.5), math.log(4)]
    assert figures == pytest.approx(
        {
            "gap_mean": sum(logs) / 3,
            "gap_max": math.log(4),
            "kl": ((-0.5 + logs[0]) + (0.5 - logs[1]) + (3 - logs[2])) / 3,
            "capped_share": 1 / 3,
            "effective_share": 36 / 55.5,
        },
        rel=1e-5,
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


def test_the_tokens_of_one_rollout_are_one_sequence():
    found, _ = importance_weights(TRAINER, SAMPLER, Importance("truncate", 10.0, "sequence"))
    close(found, [3.0, 3.0, 3.0])


def test_where_sampler_and_trainer_agree_nothing_changes():
    for level in ("token", "sequence"):
        for correction in ("truncate", "mask"):
            found, figures = importance_weights(
                SAMPLER, SAMPLER, Importance(correction, 2.0, level)
            )
            assert found.tolist() == [1.0] * 3
            assert figures == {
                "gap_mean": 0.0,
                "gap_max": 0.0,
                "kl": 0.0,
                "capped_share": 0.0,
                "effective_share": pytest.approx(1.0),
            }


def test_weights_have_no_gradient():
    found, _ = importance_weights(TRAINER.clone().requires_grad_(), SAMPLER, Importance("truncate"))
    assert not found.requires_grad


def test_enormous_gaps_stay_finite():
    found, figures = importance_weights(
        torch.tensor([0.0, -300.0]), torch.tensor([-300.0, 0.0]), Importance("truncate", 2.0)
    )
    close(found, [2.0, math.exp(-20)])
    assert all(map(math.isfinite, figures.values()))


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

"""The losses against TRL 1.16's own code (tests/training/golden/make_trl.py), at 1e-6. Where TRL
differs, the test says how."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training import losses as ours

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("trl.json").read_text())


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-6, rtol=1e-6
    )


def weights_of(loss_type: str, mask_NT: Any, half: slice, max_completion_length: int) -> Any:
    """Our weights of one of two micro-batches that make a step. `rollouts` and `tokens` are of the
    whole step, except as said."""
    part_NT, rollouts, tokens = mask_NT[half], len(mask_NT), int(mask_NT.sum())
    if loss_type == "grpo":
        return ours.token_weights(part_NT, "trajectory-mean", rollouts, tokens)
    if loss_type in ("dapo", "cispo"):
        return ours.token_weights(part_NT, "token-mean", rollouts, tokens)
    if loss_type == "luspo":
        return ours.token_weights(part_NT, "trajectory-sum", rollouts, tokens)
    # the sum over a rollout's tokens, divided by the longest completion allowed
    if loss_type == "dr_grpo":
        return (
            ours.token_weights(part_NT, "trajectory-sum", rollouts, tokens) / max_completion_length
        )
    # the token mean of each micro-batch by itself, then the mean of the two
    assert loss_type == "bnpo"
    return ours.token_weights(part_NT, "token-mean", rollouts, int(part_NT.sum())) / 2


@pytest.mark.parametrize(
    "case", GOLDEN["losses"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
@pytest.mark.parametrize("n", range(len(GOLDEN["losses"][0]["settings"])))
def test_losses_and_gradients(case, n):
    """Clip, clip-higher, delta, β·KL, GSPO, CISPO and six aggregations, over two micro-batches of
    one step. TRL's CISPO has no lower bound, and its epsilon_high is the ratio itself.

    TRL's default multiplies k3 by the ratio to the old policy (use_bias_correction_kl), which is
    one more product here.
    """
    used = case["settings"][n]
    mask_NT, logprobs = (
        torch.tensor(case["mask"], dtype=torch.float),
        torch.tensor(case["logprobs"], requires_grad=True),
    )
    advantages_NT = torch.tensor(case["advantages"])[:, None].expand_as(mask_NT)
    clip = ours.Clip(used["epsilon_low"], used["epsilon_high"], used["delta"])
    old_NT = torch.tensor(case["old_per_token_logps"])
    columns = (logprobs, old_NT, advantages_NT)
    if used["loss_type"] == "cispo":
        open_below = ours.Clip(1 - 1e-7, used["epsilon_high"] - 1)
        losses_NT, _ = ours.cispo_loss(*columns, mask_NT > 0, open_below)
    elif used["importance_sampling_level"] == "sequence":
        losses_NT, _ = ours.gspo_loss(*columns, mask_NT > 0, clip)
    else:
        losses_NT, _ = ours.clipped_loss(*columns, clip)
    kl_NT = ours.kl_estimate(logprobs, torch.tensor(case["ref_per_token_logps"]), "k3")
    losses_NT = losses_NT + used["beta"] * kl_NT * (
        (logprobs - old_NT).exp() if used["use_bias_correction_kl"] else 1.0
    )
    middle = len(mask_NT) // 2
    halves = slice(0, middle), slice(middle, len(mask_NT))
    parts = [
        (
            losses_NT[half]
            * weights_of(used["loss_type"], mask_NT, half, case["max_completion_length"])
        ).sum()
        for half in halves
    ]
    sum(parts).backward()
    close(torch.stack(parts), used["losses"])
    close(logprobs.grad, used["gradient"])


@pytest.mark.parametrize(
    "case", GOLDEN["losses"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
def test_entropy(case):
    close(ours.token_entropy(torch.tensor(case["logits_of_row_0"])), case["entropies_of_row_0"])


@pytest.mark.parametrize(
    "case", GOLDEN["advantages"], ids=lambda case: f"{case['scale_rewards']}-{case['group']}"
)
def test_advantages(case):
    """TRL adds 1e-4 to the std (we: 1e-6 unless told), and leaves rounding noise to a group that
    agrees: up to 0.005 here."""
    rewards = [float("nan") if reward is None else reward for reward in case["rewards"]]
    rewards_PG = torch.tensor(rewards).view(-1, case["group"])
    found_PG = ours.group_advantages(
        rewards_PG, ~rewards_PG.isnan(), case["scale_rewards"], eps=1e-4
    )
    expected_PG = torch.tensor(case["advantages"]).view_as(found_PG)
    agreeing = slice(0, 1)
    assert not found_PG[agreeing].any()
    assert expected_PG[agreeing].abs().max() < 0.005
    close(found_PG[1:], expected_PG[1:])


@pytest.mark.parametrize("n", range(8))
def test_importance_weights(n):
    """TRL leaves a ratio on tokens outside the mask (1 at token level), which its loss masks later;
    ours is 0 there."""
    (case,) = GOLDEN["importance"]
    expected = case["found"][n]
    level, correction = expected["mode"].split("_")
    mask_NT, trainer_NT, sampler_NT = (
        torch.tensor(case["mask"]),
        torch.tensor(case["trainer"]),
        torch.tensor(case["sampler"]),
    )
    settings = ours.Importance(correction, expected["cap"], level)
    weights_NT, figures = ours.importance_weights(trainer_NT, sampler_NT, settings, mask_NT)
    close(weights_NT, torch.tensor(expected["ratio"]).expand_as(mask_NT) * mask_NT)
    assert figures["gap_mean"] == pytest.approx(
        expected["metrics"]["sampling/sampling_logp_difference/mean"], rel=1e-6
    )
    assert figures["gap_max"] == pytest.approx(
        expected["metrics"]["sampling/sampling_logp_difference/max"], rel=1e-6
    )

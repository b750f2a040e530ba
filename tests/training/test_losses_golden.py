"""The losses against verl 0.9.1's and TRL 1.16's own code (tests/training/golden/make_verl.py and
make_trl.py), at 1e-6. Where one of them differs, the test says how."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training import losses as ours

AGGREGATION = {
    "token-mean": "token-mean",
    "seq-mean-token-mean": "trajectory-mean",
    "seq-mean-token-sum": "trajectory-sum",
}


def golden(name: str) -> Any:
    """With its lists of numbers as tensors."""

    def tensors(record: dict[str, Any]) -> dict[str, Any]:
        return {
            key: numbers(value) if isinstance(value, list) else value
            for key, value in record.items()
        }

    def numbers(values: list[Any]) -> Any:
        try:
            return torch.tensor(values)
        except (TypeError, RuntimeError):  # records, or rewards of which one is missing
            return values

    text = Path(__file__).with_name("golden").joinpath(name).read_text()
    return json.loads(text, object_hook=tensors)


VERL, TRL = golden("verl.json"), golden("trl.json")


def close(found: Any, expected: Any, rtol: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-6, rtol=rtol
    )


def shape_of(case: dict[str, Any]) -> str:
    return "x".join(map(str, case["mask"].shape))


@pytest.mark.parametrize(
    "case",
    VERL["advantages"],
    ids=lambda case: f"{'std' if case['by_std'] else 'none'}-{case['group']}",
)
def test_verl_advantages(case):
    """verl, too, leaves rounding noise to a group that agrees: −0.32 for each of eight rewards of
    4.2, since it divides by 1e-6."""
    rewards_PG = case["rewards"].view(-1, case["group"])
    found_PG = ours.group_advantages(
        rewards_PG,
        torch.ones_like(rewards_PG, dtype=torch.bool),
        "group" if case["by_std"] else "none",
    )
    expected_PG = case["advantages"].view_as(found_PG)
    assert not found_PG[0].any()
    assert expected_PG[0].abs().max() < 0.33
    close(found_PG[1:], expected_PG[1:])


@pytest.mark.parametrize("case", VERL["policy"], ids=shape_of)
@pytest.mark.parametrize("n", range(len(VERL["policy"][0]["found"])))
def test_verl_policy_loss_and_gradient(case, n):
    """Clip, clip-higher, dual clip, importance weights and ratios up to e^100, which verl cuts at
    e^20 as we do."""
    used = case["found"][n]
    mask_NT, logprobs = case["mask"], case["logprobs"].clone().requires_grad_()
    clip = ours.Clip(used["low"], used["high"], used["dual"])
    losses_NT, clipped_NT = ours.clipped_loss(logprobs, case["old"], case["advantages"], clip)
    if used["weighted"]:
        losses_NT = losses_NT * case["weights"]
    weights_NT = ours.token_weights(
        mask_NT, AGGREGATION[used["mode"]], len(mask_NT), int(mask_NT.sum())
    )
    loss = (losses_NT * weights_NT).sum()
    loss.backward()
    close(loss, used["loss"])
    close(logprobs.grad, used["gradient"])
    assert float((clipped_NT * mask_NT).sum() / mask_NT.sum()) == pytest.approx(
        used["clipped_share"], abs=1e-6
    )


@pytest.mark.parametrize("case", VERL["policy"], ids=shape_of)
def test_verl_named_losses(case):
    """GSPO and CISPO with every aggregation, Dr. GRPO's constant length of 50 among them."""
    mask_NT, old_NT = case["mask"], case["old"]
    near_NT = old_NT + (case["logprobs"] - old_NT).clamp(-3, 3)
    for used in case["named"]:
        logprobs = near_NT.clone().requires_grad_()
        losses_NT, clipped_NT = ours.LOSSES[used["name"]](
            logprobs,
            old_NT,
            case["advantages"],
            mask_NT > 0,
            ours.Clip(used["low"], used["high"], None),
        )
        mode, constant = used["mode"].removesuffix("-norm"), used["mode"].endswith("-norm")
        weights_NT = ours.token_weights(
            mask_NT, AGGREGATION[mode], len(mask_NT), int(mask_NT.sum())
        )
        loss = (losses_NT * weights_NT).sum() / (50 if constant else 1)
        loss.backward()
        close(loss, used["loss"])
        close(logprobs.grad, used["gradient"])
        clipped_share = float((clipped_NT * mask_NT).sum() / mask_NT.sum())
        assert clipped_share == pytest.approx(used["clipped_share"], abs=1e-6)


@pytest.mark.parametrize("case", VERL["aggregated"], ids=shape_of)
def test_verl_aggregation(case):
    """The whole batch, and a micro-batch of it that knows how many rollouts and tokens the whole
    has."""
    mask_NT, losses_NT = case["mask"], case["losses"]
    half, rollouts, tokens = slice(0, len(mask_NT) // 2), len(mask_NT), int(mask_NT.sum())
    for theirs, name in AGGREGATION.items():
        close(
            (losses_NT * ours.token_weights(mask_NT, name, rollouts, tokens)).sum(),
            case["whole"][theirs],
        )
        close(
            (losses_NT[half] * ours.token_weights(mask_NT[half], name, rollouts, tokens)).sum(),
            case["first_half"][theirs],
        )


@pytest.mark.parametrize("case", VERL["aggregated"], ids=shape_of)
def test_verl_group_token_mean_from_their_token_sum(case):
    """verl has no mode for the formula of S6. With losses divided by their group's tokens
    beforehand, its token-sum is G times it."""
    mask_NT, losses_NT = case["mask"], case["losses"]
    groups, rows = 2, len(mask_NT)
    group_tokens_N = mask_NT.sum(1).view(groups, -1).sum(1).repeat_interleave(rows // groups)
    weights_NT = ours.token_weights(
        mask_NT, "group-token-mean", rows, int(mask_NT.sum()), group_tokens_N, groups
    )
    undone_NT = losses_NT * group_tokens_N[:, None] * groups
    close((undone_NT * weights_NT).sum(), case["whole"]["token-sum"])


@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_verl_kl_estimates(estimator):
    """verl's k3 stops at 10 nats and then has no gradient; ours goes on, so the few tokens beyond
    are compared by the cut value."""
    case = VERL["divergences"]
    logprobs = case["logprobs"].clone().requires_grad_()
    found = ours.kl_estimate(logprobs, case["reference"], estimator)
    found.sum().backward()
    within = (found <= 10) if estimator == "k3" else torch.ones_like(found, dtype=torch.bool)
    assert 0 < int((~within).sum()) <= 8 or estimator != "k3"
    close(found if estimator != "k3" else found.clamp(max=10), case[estimator]["value"])
    close(logprobs.grad[within], case[estimator]["gradient"][within])


def test_verl_entropy():
    """Logits up to hundreds, where verl's logsumexp − Σ p·logit loses a few digits."""
    case = VERL["divergences"]
    found, expected = ours.token_entropy(case["logits"]), case["entropies"]
    close(found[:4], expected[:4])
    torch.testing.assert_close(found, expected, atol=3e-5, rtol=0)


@pytest.mark.parametrize("case", VERL["values"], ids=shape_of)
def test_verl_gae_and_whitening(case):
    """verl leaves numbers on the tokens outside the mask; ours are 0 there whatever stands there,
    and both agree within it."""
    mask_NT = case["mask"]
    values_NT = case["values"].masked_fill(mask_NT == 0, float("nan"))
    close(ours.whiten(values_NT, mask_NT), case["whitened"] * mask_NT)
    for used in case["gae"]:
        advantages_NT, returns_NT = ours.gae(
            case["rewards"], values_NT, mask_NT, used["gamma"], used["lam"]
        )
        close(ours.whiten(advantages_NT, mask_NT), used["whitened"] * mask_NT)
        close(returns_NT, used["returns"] * mask_NT)


@pytest.mark.parametrize("case", VERL["values"], ids=shape_of)
def test_verl_value_loss(case):
    """A clip of 1e6 is none."""
    mask_NT, old, goal = case["mask"], case["values"], case["goal"]
    for used in case["value_losses"]:
        fresh = case["fresh"].clone().requires_grad_()
        clip = None if used["clip"] == 1e6 else used["clip"]
        loss = (ours.value_loss(fresh, old, goal, clip) * mask_NT).sum() / mask_NT.sum()
        loss.backward()
        close(loss, used["loss"])
        close(fresh.grad, used["gradient"])


@pytest.mark.parametrize("case", VERL["importance"], ids=["near", "far"])
def test_verl_rows_far_off_by_their_geometric_mean(case):
    mask_NT = case["mask"]
    columns = case["trainer"], case["sampler"]
    for cap, kept_NT in case["kept_by_sequence_cap"].items():
        settings = ours.Importance("truncate", 2.0, "token", sequence_cap=float(cap))
        weights_NT, figures = ours.importance_weights(*columns, settings, mask_NT)
        tokens_alone_NT, _ = ours.importance_weights(
            *columns, ours.Importance("truncate", 2.0), mask_NT
        )
        close(weights_NT, tokens_alone_NT * kept_NT)
        assert figures["rejected_share"] == pytest.approx(1 - float(kept_NT[:, 0].mean()))


@pytest.mark.parametrize("case", VERL["importance"], ids=["near", "far"])
@pytest.mark.parametrize("n", range(len(VERL["importance"][0]["found"])))
def test_verl_importance_weights_and_figures(case, n):
    """verl's effective sample size is of the weights after the cap (ours before), and counts tokens
    at sequence level (ours rows)."""
    used = case["found"][n]
    mask_NT, trainer_NT, sampler_NT = case["mask"], case["trainer"], case["sampler"]
    settings = ours.Importance("mask" if used["masked"] else "truncate", used["cap"], used["level"])
    weights_NT, figures = ours.importance_weights(trainer_NT, sampler_NT, settings, mask_NT)
    close(weights_NT, used["weights"])
    theirs = used["figures"]
    # a cap above e^20, where ours holds the ratios; verl looks at them as they were
    if used["cap"] < 1e9:
        assert figures["capped_share"] == pytest.approx(
            theirs["rollout_is_ratio_fraction_high"], abs=1e-6
        )
    after_cap = weights_NT.sum() ** 2 / weights_NT.square().sum() / mask_NT.sum()
    assert float(after_cap) == pytest.approx(theirs["rollout_is_eff_sample_size"], rel=1e-5)
    if used["cap"] == 1e9 and used["level"] == "token":  # beyond every ratio
        assert figures["effective_share"] == pytest.approx(
            theirs["rollout_is_eff_sample_size"], rel=1e-5
        )
    # verl's KL is of the log ratio as it is; ours is held within ±20
    if float((trainer_NT - sampler_NT).abs().max()) < 20:
        assert figures["kl"] == pytest.approx(theirs["k3_kl"], rel=1e-5)


# ---- TRL


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


@pytest.mark.parametrize("case", TRL["losses"], ids=shape_of)
@pytest.mark.parametrize("n", range(len(TRL["losses"][0]["settings"])))
def test_trl_losses_and_gradients(case, n):
    """Clip, clip-higher, delta, β·KL, GSPO, CISPO and six aggregations, over two micro-batches of
    one step. TRL's CISPO has no lower bound, and its epsilon_high is the ratio itself.

    TRL's default multiplies k3 by the ratio to the old policy (use_bias_correction_kl), which is
    one more product here.
    """
    used = case["settings"][n]
    mask_NT, logprobs = case["mask"].float(), case["logprobs"].clone().requires_grad_()
    advantages_NT = case["advantages"][:, None].expand_as(mask_NT)
    clip = ours.Clip(used["epsilon_low"], used["epsilon_high"], used["delta"])
    old_NT = case["old_per_token_logps"]
    columns = (logprobs, old_NT, advantages_NT)
    if used["loss_type"] == "cispo":
        open_below = ours.Clip(1 - 1e-7, used["epsilon_high"] - 1)
        losses_NT, _ = ours.cispo_loss(*columns, mask_NT > 0, open_below)
    elif used["importance_sampling_level"] == "sequence":
        losses_NT, _ = ours.gspo_loss(*columns, mask_NT > 0, clip)
    else:
        losses_NT, _ = ours.clipped_loss(*columns, clip)
    kl_NT = ours.kl_estimate(logprobs, case["ref_per_token_logps"], "k3")
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


@pytest.mark.parametrize("case", TRL["losses"], ids=shape_of)
def test_trl_entropy(case):
    close(ours.token_entropy(case["logits_of_row_0"]), case["entropies_of_row_0"])


@pytest.mark.parametrize(
    "case", TRL["advantages"], ids=lambda case: f"{case['scale_rewards']}-{case['group']}"
)
def test_trl_advantages(case):
    """TRL adds 1e-4 to the std (we: 1e-6 unless told), and leaves rounding noise to a group that
    agrees: up to 0.005 here."""
    rewards = [float("nan") if reward is None else reward for reward in case["rewards"]]
    rewards_PG = torch.tensor(rewards).view(-1, case["group"])
    found_PG = ours.group_advantages(
        rewards_PG, ~rewards_PG.isnan(), case["scale_rewards"], eps=1e-4
    )
    expected_PG = case["advantages"].view_as(found_PG)
    agreeing = slice(0, 1)
    assert not found_PG[agreeing].any()
    assert expected_PG[agreeing].abs().max() < 0.005
    close(found_PG[1:], expected_PG[1:])


@pytest.mark.parametrize("n", range(8))
def test_trl_importance_weights(n):
    """TRL leaves a ratio on tokens outside the mask (1 at token level), which its loss masks later;
    ours is 0 there."""
    (case,) = TRL["importance"]
    expected = case["found"][n]
    level, correction = expected["mode"].split("_")
    mask_NT, trainer_NT, sampler_NT = case["mask"], case["trainer"], case["sampler"]
    settings = ours.Importance(correction, expected["cap"], level)
    weights_NT, figures = ours.importance_weights(trainer_NT, sampler_NT, settings, mask_NT)
    close(weights_NT, expected["ratio"].expand_as(mask_NT) * mask_NT)
    assert figures["gap_mean"] == pytest.approx(
        expected["metrics"]["sampling/sampling_logp_difference/mean"], rel=1e-6
    )
    assert figures["gap_max"] == pytest.approx(
        expected["metrics"]["sampling/sampling_logp_difference/max"], rel=1e-6
    )

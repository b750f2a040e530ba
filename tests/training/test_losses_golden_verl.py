"""The losses against verl 0.9.1's own code (tests/training/golden/make_verl.py), at 1e-6. Where
verl differs, the test says how."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training import losses as ours

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("verl.json").read_text())
AGGREGATION = {
    "token-mean": "token-mean",
    "seq-mean-token-mean": "trajectory-mean",
    "seq-mean-token-sum": "trajectory-sum",
}


def close(found: Any, expected: Any, rtol: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-6, rtol=rtol
    )


@pytest.mark.parametrize(
    "case",
    GOLDEN["advantages"],
    ids=lambda case: f"{'std' if case['by_std'] else 'none'}-{case['group']}",
)
def test_advantages(case):
    """verl, too, leaves rounding noise to a group that agrees: −0.32 for each of eight rewards of
    4.2, since it divides by 1e-6."""
    rewards_PG = torch.tensor(case["rewards"]).view(-1, case["group"])
    found_PG = ours.group_advantages(
        rewards_PG,
        torch.ones_like(rewards_PG, dtype=torch.bool),
        "group" if case["by_std"] else "none",
    )
    expected_PG = torch.tensor(case["advantages"]).view_as(found_PG)
    assert not found_PG[0].any()
    assert expected_PG[0].abs().max() < 0.33
    close(found_PG[1:], expected_PG[1:])


@pytest.mark.parametrize(
    "case", GOLDEN["policy"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
@pytest.mark.parametrize("n", range(len(GOLDEN["policy"][0]["found"])))
def test_policy_loss_and_gradient(case, n):
    """Clip, clip-higher, dual clip, importance weights and ratios up to e^100, which verl cuts at
    e^20 as we do."""
    used = case["found"][n]
    mask_NT, logprobs = (
        torch.tensor(case["mask"]),
        torch.tensor(case["logprobs"], requires_grad=True),
    )
    clip = ours.Clip(used["low"], used["high"], used["dual"])
    losses_NT, clipped_NT = ours.clipped_loss(
        logprobs, torch.tensor(case["old"]), torch.tensor(case["advantages"]), clip
    )
    if used["weighted"]:
        losses_NT = losses_NT * torch.tensor(case["weights"])
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


@pytest.mark.parametrize("case", GOLDEN["policy"], ids=["5x6", "6x9"])
def test_named_losses(case):
    """GSPO and CISPO with every aggregation, Dr. GRPO's constant length of 50 among them."""
    mask_NT, old_NT = torch.tensor(case["mask"]), torch.tensor(case["old"])
    near_NT = old_NT + (torch.tensor(case["logprobs"]) - old_NT).clamp(-3, 3)
    for used in case["named"]:
        logprobs = near_NT.clone().requires_grad_()
        losses_NT, clipped_NT = ours.LOSSES[used["name"]](
            logprobs,
            old_NT,
            torch.tensor(case["advantages"]),
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


@pytest.mark.parametrize(
    "case", GOLDEN["aggregated"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
def test_aggregation(case):
    """The whole batch, and a micro-batch of it that knows how many rollouts and tokens the whole
    has."""
    mask_NT, losses_NT = torch.tensor(case["mask"]), torch.tensor(case["losses"])
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


@pytest.mark.parametrize(
    "case", GOLDEN["aggregated"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
def test_group_token_mean_from_their_token_sum(case):
    """verl has no mode for the formula of S6. With losses divided by their group's tokens
    beforehand, its token-sum is G times it."""
    mask_NT, losses_NT = torch.tensor(case["mask"]), torch.tensor(case["losses"])
    groups, rows = 2, len(mask_NT)
    group_tokens_N = mask_NT.sum(1).view(groups, -1).sum(1).repeat_interleave(rows // groups)
    weights_NT = ours.token_weights(
        mask_NT, "group-token-mean", rows, int(mask_NT.sum()), group_tokens_N, groups
    )
    undone_NT = losses_NT * group_tokens_N[:, None] * groups
    close((undone_NT * weights_NT).sum(), case["whole"]["token-sum"])


@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_kl_estimates(estimator):
    """verl's k3 stops at 10 nats and then has no gradient; ours goes on, so the few tokens beyond
    are compared by the cut value."""
    case = GOLDEN["divergences"]
    logprobs = torch.tensor(case["logprobs"], requires_grad=True)
    found = ours.kl_estimate(logprobs, torch.tensor(case["reference"]), estimator)
    found.sum().backward()
    within = (found <= 10) if estimator == "k3" else torch.ones_like(found, dtype=torch.bool)
    assert 0 < int((~within).sum()) <= 8 or estimator != "k3"
    close(found if estimator != "k3" else found.clamp(max=10), case[estimator]["value"])
    close(logprobs.grad[within], torch.tensor(case[estimator]["gradient"])[within])


def test_entropy():
    """Logits up to hundreds, where verl's logsumexp − Σ p·logit loses a few digits."""
    case = GOLDEN["divergences"]
    found, expected = (
        ours.token_entropy(torch.tensor(case["logits"])),
        torch.tensor(case["entropies"]),
    )
    close(found[:4], expected[:4])
    torch.testing.assert_close(found, expected, atol=3e-5, rtol=0)


@pytest.mark.parametrize(
    "case", GOLDEN["values"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
def test_gae_and_whitening(case):
    """verl leaves numbers on the tokens outside the mask; ours are 0 there whatever stands there,
    and both agree within it."""
    mask_NT = torch.tensor(case["mask"])
    values_NT = torch.tensor(case["values"]).masked_fill(mask_NT == 0, float("nan"))
    close(ours.whiten(values_NT, mask_NT), torch.tensor(case["whitened"]) * mask_NT)
    for used in case["gae"]:
        advantages_NT, returns_NT = ours.gae(
            torch.tensor(case["rewards"]), values_NT, mask_NT, used["gamma"], used["lam"]
        )
        close(ours.whiten(advantages_NT, mask_NT), torch.tensor(used["whitened"]) * mask_NT)
        close(returns_NT, torch.tensor(used["returns"]) * mask_NT)


@pytest.mark.parametrize(
    "case", GOLDEN["values"], ids=lambda case: f"{len(case['mask'])}x{len(case['mask'][0])}"
)
def test_value_loss(case):
    """A clip of 1e6 is none."""
    mask_NT, old, goal = (
        torch.tensor(case["mask"]),
        torch.tensor(case["values"]),
        torch.tensor(case["goal"]),
    )
    for used in case["value_losses"]:
        fresh = torch.tensor(case["fresh"], requires_grad=True)
        clip = None if used["clip"] == 1e6 else used["clip"]
        loss = (ours.value_loss(fresh, old, goal, clip) * mask_NT).sum() / mask_NT.sum()
        loss.backward()
        close(loss, used["loss"])
        close(fresh.grad, used["gradient"])


@pytest.mark.parametrize("case", GOLDEN["importance"], ids=["near", "far"])
def test_rows_far_off_by_their_geometric_mean(case):
    mask_NT = torch.tensor(case["mask"])
    columns = torch.tensor(case["trainer"]), torch.tensor(case["sampler"])
    for cap, kept in case["kept_by_sequence_cap"].items():
        settings = ours.Importance("truncate", 2.0, "token", sequence_cap=float(cap))
        weights_NT, figures = ours.importance_weights(*columns, settings, mask_NT)
        tokens_alone_NT, _ = ours.importance_weights(
            *columns, ours.Importance("truncate", 2.0), mask_NT
        )
        kept_NT = torch.tensor(kept)
        close(weights_NT, tokens_alone_NT * kept_NT)
        assert figures["rejected_share"] == pytest.approx(1 - float(kept_NT[:, 0].mean()))


@pytest.mark.parametrize("case", GOLDEN["importance"], ids=["near", "far"])
@pytest.mark.parametrize("n", range(len(GOLDEN["importance"][0]["found"])))
def test_importance_weights_and_figures(case, n):
    """verl's effective sample size is of the weights after the cap (ours before), and counts tokens
    at sequence level (ours rows)."""
    used = case["found"][n]
    mask_NT, trainer_NT, sampler_NT = (
        torch.tensor(case["mask"]),
        torch.tensor(case["trainer"]),
        torch.tensor(case["sampler"]),
    )
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

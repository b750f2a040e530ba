# python recipes/teach_grpo.py --model runs/nano/cold_start/model/sft --steps 20
"""GRPO on travel episodes, whole, in one file: read it from top to bottom.

    for step in range(steps):
        rollouts     the model plays each of 8 requests 8 times, with tools: 8 groups of episodes
        rewards      a judge looks at every plan, and a reward weighs what it says
        advantages   how much better an episode went than its group
        loss         clipped policy gradient on the tokens that the model wrote itself
        optimizer    two steps, each on half of the episodes
        print

The world, its tools, the judge and the sampler are tripwright's. What is learned, and how, is
written out here, so that you can change it here. `tripwright train recipes/nano/grpo.toml` is the
same algorithm with all that a long run needs: checkpoints, curricula, filters, replay, a KL term,
other people's tools that may fail. tests/recipes/test_teach_grpo.py holds a step of this file to
a step of that one: same requests, same sampled tokens, same advantages, same gradients.

The model must be able to play at all: where every episode of every group earns 0, there is nothing
to learn from. So it begins with one that has imitated an expert for some ten minutes:

    tripwright sft recipes/nano/cold_start.toml --out runs/nano/cold_start

A step takes about 20 seconds of one core. Do not expect much of a few minutes: 32 steps from there
left the mean reward where it was (one seed). dev/LOG.md says what longer runs gave.

Capitals at the end of a name are the tensor's dimensions: P prompts (the requests), G members of
a prompt's group, N episodes of a micro-batch, T tokens.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.rewards import SUM
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, close_session, open_session
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.transcript import Transcript
from tripwright.world.generator import build_tables
from tripwright.world.store import World

# How requests and answers look in tokens: short ones, for a tiny model.
DIALECT = dialect_named("compact")
# Planner-R1's first stage: five terms, from the share of rules that hold to whether all of them do.
# A plan that passes earns 5; one that is half right earns something, so that groups differ early.
# To train by something else, put a function of an episode here (docs/rewards.md).
reward = SUM
FIRST_WORLD = 200_000  # the cold start and the examinations draw from other worlds
REQUESTS_PER_WORLD = 16
LEVELS = (1, 3, 3)  # weights of easy, medium and hard requests: groups that all pass teach nothing
CLIP = 0.2
DUAL_CLIP = 3.0
MINIBATCHES = 2  # optimizer steps per step of the loop; in the first one every ratio is 1
MICRO_BATCH_SIZE = 8  # episodes per forward pass: changes memory and speed, and no result
WARM_UP_STEPS = 5  # Adam's first steps are its largest, and can undo a cold start
LARGEST_NORM = 1.0  # longer gradients are shortened


def train(model: Any, chat: ChatFormat, options: argparse.Namespace) -> None:
    """The loop. Trains `model` in place; `chat` is its tokenizer's chat template."""
    tasks = training_tasks()
    # At temperature 1 and in full precision, so that the sampler's log-probabilities are the
    # model's own, and the ratio of the loss is 1 until an optimizer has moved the weights.
    rows = options.prompts_per_step * options.group_size  # all of a step's episodes at once
    sampling = Sampling(temperature=1.0, rows=rows, seed=options.seed, dtype="float32")
    policy = LocalPolicy(model, chat, sampling)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.learning_rate, betas=(0.9, 0.95), weight_decay=0.01
    )
    shuffle = torch.Generator().manual_seed(options.seed)
    recent: deque[float] = deque(maxlen=10)  # mean rewards of the last steps

    for step in range(options.steps):
        start = time.monotonic()

        # Rollouts: episodes with the tokens, their log-probabilities, and who wrote which.
        prompts = [next(tasks) for _ in range(options.prompts_per_step)]
        groups = roll_out(policy, prompts, options.group_size)

        # Rewards. A verdict says which rules a plan keeps; only the reward says what that is worth.
        rewards_PG = torch.tensor([[reward(e).total for e in group] for group in groups])

        # Advantages: one number per episode, which all of its tokens share.
        advantages_PG = group_advantages(rewards_PG)

        # Loss and optimizer. The groups are mixed and cut into minibatches. From the second
        # minibatch on, the policy is no longer the one that sampled: that is what the ratio and its
        # clip are for.
        order = torch.randperm(len(groups), generator=shuffle)
        warm_up = min(1.0, (step + 1) / WARM_UP_STEPS)
        optimizer.param_groups[0]["lr"] = options.learning_rate * warm_up
        losses, norms = [], []
        for part in order.split(-(-len(order) // MINIBATCHES)):
            minibatch = [
                (episode.transcript, float(advantage))
                for p in part
                for episode, advantage in zip(groups[p], advantages_PG[p], strict=True)
            ]
            if not any(advantage for _, advantage in minibatch):
                continue  # its groups have no signal
            losses.append(accumulate_gradients(model, minibatch))
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM))
            optimizer.step()
            optimizer.zero_grad()

        # Print. A group whose rewards are all the same has no advantages, and so no signal. What
        # should rise is the reward, over tens of steps: each has other requests. The loss is always
        # near 0, because the advantages of a group cancel.
        recent.append(float(rewards_PG.mean()))
        passed = fmean(episode.passed for group in groups for episode in group)
        signal = (advantages_PG != 0).any(1).float().mean()
        print(
            f"step {step + 1:3}  reward {recent[-1]:.3f} (of ten steps {fmean(recent):.3f})"
            f"  passed {passed:.1%}"
            f"  groups with a signal {signal:.0%}  loss {fmean(losses or [0.0]):+.4f}"
            f"  gradient norm {fmean(norms or [0.0]):.3f}  {time.monotonic() - start:.1f} s",
            flush=True,
        )


def training_tasks() -> Iterator[TripTask]:
    """Requests without end, each with the world in which it is to be planned. A world is made, used
    for a few requests and thrown away: no name and no price can be learned by heart, they must be
    looked up with the tools."""
    numbers = itertools.count()
    for seed in itertools.count(FIRST_WORLD):
        world = World.in_memory(build_tables("nano", seed))
        for query in make_queries(world, REQUESTS_PER_WORLD, seed, Mix(levels=LEVELS)):
            yield TripTask(f"train-{next(numbers)}", query, world)


def roll_out(
    policy: LocalPolicy, prompts: Sequence[TripTask], group_size: int
) -> list[list[Episode]]:
    """Every prompt played `group_size` times and judged by the strict rules. All episodes are
    sampled side by side; each has its own random numbers, from the seed and the episode's id."""
    members = [[p.renamed(f"{p.id}/{g}") for g in range(group_size)] for p in prompts]
    groups = [[open_session(task, DIALECT, policy.chat) for task in group] for group in members]
    list(policy.play(itertools.chain.from_iterable(groups)))  # each session to its end
    return [[close_session(session) for session in group] for group in groups]


def group_advantages(rewards_PG: Tensor) -> Tensor:
    """(r − mean of the group) / standard deviation of the group (Planner-R1, eq. 9).

    Four episodes with rewards 5, 1, 1, 1 → 1.73, −0.58, −0.58, −0.58.
    """
    centred_PG = rewards_PG - rewards_PG.mean(1, keepdim=True)
    std_P1 = centred_PG.square().mean(1, keepdim=True).sqrt()
    advantages_PG = centred_PG / (std_P1 + 1e-6)
    # The mean of equal numbers may be off by a rounding error, and divided by a tiny standard
    # deviation that would be a large advantage: where all agree, it is exactly 0.
    agree_P1 = (rewards_PG == rewards_PG[:, :1]).all(1, keepdim=True)
    return advantages_PG.masked_fill(agree_P1, 0.0)


def accumulate_gradients(model: Any, minibatch: Sequence[tuple[Transcript, float]]) -> float:
    """Adds the gradients of the minibatch's loss, some episodes at a time; returns the loss.

    It is the mean over episodes of the mean over each one's own tokens (Planner-R1's formula):
    every episode counts alike, however long it is.
    """
    # An advantage of 0 has no gradient and need not be computed. Its episode still counts in the
    # mean below. By length, so that rows of one micro-batch need little padding.
    live = [(transcript, advantage) for transcript, advantage in minibatch if advantage != 0]
    live.sort(key=lambda pair: len(pair[0].token_ids))
    total = 0.0
    for first in range(0, len(live), MICRO_BATCH_SIZE):
        transcripts, advantages = zip(*live[first : first + MICRO_BATCH_SIZE], strict=True)
        ids_NT = padded([t.token_ids for t in transcripts])
        # Position t predicts token t + 1: everything about a token stands one place to the left.
        # The mask is 1 where the model itself wrote that token, 0 in the request, in what tools
        # answered, and in the padding.
        action_mask_NT = padded([t.loss_mask for t in transcripts])[:, 1:]
        old_logprobs_NT = padded([t.logprobs for t in transcripts])[:, 1:]
        logits_NTV = model(input_ids=ids_NT[:, :-1], use_cache=False).logits
        logprobs_NT = logits_NTV.log_softmax(-1).gather(2, ids_NT[:, 1:, None])[:, :, 0]
        losses_NT = clipped_loss(logprobs_NT, old_logprobs_NT, torch.tensor(advantages)[:, None])
        episode_losses_N = (losses_NT * action_mask_NT).sum(1) / action_mask_NT.sum(1)
        loss = episode_losses_N.sum() / len(minibatch)
        loss.backward()
        total += loss.item()
    return total


def clipped_loss(logprobs_NT: Tensor, old_logprobs_NT: Tensor, advantages_N1: Tensor) -> Tensor:
    """PPO's clipped loss of every token, with dual clip.

        ratio = π(token) / π_old(token)
        loss  = max(−A · ratio, −A · clip(ratio, 0.8, 1.2)), and at most −3 · A where A < 0

    Once a token is 1.2 times as likely as it was when it was sampled (0.8 times, where its episode
    went badly), its gradient is 0: one batch moves it no further. The dual clip (of Planner-R1's
    configuration) bounds the loss of a bad token that has become much likelier in the meantime.
    """
    ratio_NT = (logprobs_NT - old_logprobs_NT).exp()
    plain_NT = -advantages_N1 * ratio_NT
    held_NT = -advantages_N1 * ratio_NT.clamp(1 - CLIP, 1 + CLIP)
    loss_NT = torch.maximum(plain_NT, held_NT)
    bounded_NT = torch.minimum(loss_NT, -DUAL_CLIP * advantages_N1)
    return torch.where(advantages_N1 < 0, bounded_NT, loss_NT)


def padded(rows: Sequence[Sequence[float]]) -> Tensor:
    """Rows of different lengths as one tensor, with zeros on the right: each token sees only what
    stands before it, so the padding changes nothing."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="GRPO on travel episodes, in one file to read.")
    add = parser.add_argument
    add("--model", type=Path, default=Path("runs/nano/cold_start/model/sft"), help="where to begin")
    add("--out", type=Path, help="folder for the trained model; without it, nothing is saved")
    add("--steps", type=int, default=20)
    add("--prompts-per-step", type=int, default=8, help="requests per step")
    add("--group-size", type=int, default=8, help="episodes per request")
    add("--learning-rate", type=float, default=1e-4)
    add("--seed", type=int, default=0, help="of sampling and of the minibatches")
    options = parser.parse_args(arguments)
    if not options.model.is_dir():
        parser.error(
            f"no model at '{options.model}'. Make one, in some ten minutes:\n"
            "  tripwright sft recipes/nano/cold_start.toml --out runs/nano/cold_start\n"
            "or give one with --model (after `make quickstart`: runs/quickstart/model/sft)."
        )
    if options.out is not None and options.out.exists():
        parser.error(f"'{options.out}' is there already: name another folder with --out.")
    model, tokenizer = load_model(options.model)
    train(model.float(), ChatFormat(tokenizer, DIALECT.schemas()), options)
    if options.out is not None:
        model.save_pretrained(options.out)
        tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()

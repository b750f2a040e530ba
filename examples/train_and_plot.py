"""Trains by a recipe, with settings of one's own over it, and plots the reward of every step of RL.
Stopped at any moment, the same command goes on.

    python examples/train_and_plot.py nano/quickstart runs/mine sft.steps=300 grpo.steps=8
"""

import sys

import matplotlib.pyplot as plt

import tripwright

recipe, out, *changes = sys.argv[1:]
run = tripwright.train(recipe, out, changes)
steps = [row for row in run.rows if row["stage"] == "rl"]
figure, axes = plt.subplots()
axes.plot([row["step"] for row in steps], [row["reward_mean"] for row in steps])
axes.set(xlabel="step of RL", ylabel="mean reward")
figure.savefig(run.folder / "reward.svg")
print(f"model {run.model('rl')}  report {run.folder / 'report.html'}")

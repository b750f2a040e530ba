"""A loss, an advantage and an algorithm of the user's own, named in the recipe: the ratio of
docs/training.md is taken from there and trained with."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.files import TINY_TOML, read_lines
from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.inference.local import load_model
from tripwright.training import own
from tripwright.training.recipe import load_recipe
from tripwright.training.stages import train

DOCS = Path(__file__).resolve().parents[2] / "docs" / "training.md"
RECIPE = f"""{TINY_TOML}
[TABLE]
steps = 2
prompts_per_step = 2
group_size = 3
micro_batch_size = 2
curriculum = {{stages = [["mine:length", 2]]}}
"""
MINE = '''
import torch
from tripwright.rewards.reward import RewardBreakdown
from tripwright.training.rejection import Rejection
from tripwright.training.rollouts import Rollout

def length(episode):
    """Of random words, so that the members of a group differ."""
    return RewardBreakdown(float(sum(episode.transcript.token_ids) % 97), {})

def ranks(rewards, scored):
    return rewards.argsort(1).argsort(1).float() - 1

def unlike(logprobs, old_logprobs, advantages, mask):
    return logprobs.sum()

def endless(rewards, scored):
    return rewards / 0

def detached(logprobs, old_logprobs, advantages, mask):
    return old_logprobs * advantages

def broken(logprobs, old_logprobs, advantages, mask):
    return {}["ratio"]

def alone(logprobs):
    return logprobs

class Imitation(Rejection):
    def take_step(self):
        scale = self.begin_step()
        groups = self.play(self.settings.prompts_per_step)
        rollouts = [Rollout(e, r, 1.0, n) for n, g in enumerate(groups) for e, r in g.scored_members]
        figures = {**self.update(rollouts, scale), "told": self.settings.options["told"]}
        return self.end_step(groups, rollouts, scale, figures)
'''  # noqa: E501
pytestmark = pytest.mark.usefixtures("threads_as_before")


def shown(language: str) -> str:
    """The block of the docs' section."""
    section = DOCS.read_text().split("## A loss, an advantage, an algorithm of your own")[1]
    found = re.search(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return found[1]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The user's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "my_ratio.py").write_text(shown("python"))
    yield
    own.own.cache_clear()
    for name in ("mine", "my_ratio"):
        sys.modules.pop(name, None)


def recipe(more: str, table: str = "grpo") -> Path:
    path = Path("own.toml")
    path.write_text(RECIPE.replace("[TABLE]", f"[{table}]") + more)
    return path


def rows(run: Path) -> list[dict[str, float]]:
    return read_lines(run / "metrics.jsonl")


def test_the_ratio_of_the_docs_trains():
    text = shown("python")
    assert len(text.splitlines()) <= 14
    run = train(recipe(re.sub(r"\[grpo\]\n|group_size.*\n", "", shown("toml"))), "run")
    logged = rows(run.folder)
    assert [row["step"] for row in logged] == [1, 2] and all(r["grad_norm"] > 0 for r in logged)
    assert "clip_fraction" not in logged[0]
    (before, _), (after, _) = (load_model(run.model(stage)) for stage in ("start", "rl"))
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)


def test_it_is_called_with_what_the_docs_say():
    """At one sequence of equal ratios, the loss of the docs is the clipped one."""
    logprobs, old = torch.tensor([-1.0, -2.0]), torch.tensor([[0.0, -1.1, -2.1]])
    mask, advantages = torch.tensor([[False, True, True]]), torch.tensor([[9.0, 2.0, 2.0]])
    found = own.own_loss("my_ratio:ratio_loss", logprobs, old, advantages, mask)
    assert torch.allclose(found, torch.tensor([-2.0, -2.0]) * torch.tensor(0.1).exp())


def test_an_advantage_and_an_algorithm_train():
    run = train(recipe('advantage = {function = "mine:ranks"}\n'), "ranked")
    assert all(row["grad_norm"] > 0 for row in rows(run.folder))
    run = train(recipe('algorithm = "mine:Imitation"\noptions = {told = 7}\n', "rl"), "imitated")
    assert [row["told"] for row in rows(run.folder)] == [7, 7]
    assert main(["report", "imitated"]) == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('loss = "mine:alone"', "'mine:alone' cannot be called with logprobs, old_logprobs"),
        ('loss = "__main__:loss"', "'__main__:loss'"),
        ('loss = "mine:unlike"', r"'mine:unlike' returned \(\). Expected a tensor \(2, "),
        ('loss = "mine:detached"', "'mine:detached' returned a loss without a gradient"),
        ('loss = "mine:broken"', r"'mine:broken' raised KeyError at .*mine\.py:"),
        ('advantage = {function = "mine:endless"}', "'mine:endless' returned an advantage that is"),
        ('loss = "mine"', "grpo: 'mine' is no .* or a loss gspo or cispo"),
    ],
)
def test_a_name_that_cannot_be_had_is_refused_before_anything_is_made(more, words):
    with pytest.raises(UserError, match=words):
        train(recipe(more), "run")
    assert not Path("run").exists()


def test_nobody_imports_it_who_only_reads_and_another_file_is_refused():
    path = recipe('loss = "mine:unlike"')
    assert load_recipe(path).rl is not None and "mine" not in sys.modules
    train(path, "run", ['grpo.loss="my_ratio:ratio_loss"'])
    Path("my_ratio.py").write_text(shown("python") + "\n")
    with pytest.raises(UserError, match=r"trained on other data: code\.my_ratio:ratio_loss"):
        train(path, "run", ['grpo.loss="my_ratio:ratio_loss"', "threads=2"])

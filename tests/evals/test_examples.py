"""The programs in examples/ run as a user runs them, each in a process of its own and an empty
folder."""

from pathlib import Path

import pytest

from tests.conftest import python
from tripwright.world.generator import build_world

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = """
base = "nano/quickstart"
threads = 1
dialect.max_turn_tokens = 32
copy_pretraining.max_steps = 1
sft.steps = 1
grpo = {steps = 1, prompts_per_step = 2, group_size = 2}
model.tokenizer_transcripts = 16
model.superwords = 80
model.shape = {hidden = 32, layers = 1, heads = 2, kv_heads = 1, head_size = 16, feed_forward = 48, positions = 1280}
"""
PROGRAMS = (
    *("judge_a_file", "evaluate_an_endpoint", "train_and_plot"),
    *("own_tool", "own_domain"),
)


def run(name: str, folder: Path, *words: str) -> str:
    strict = {"PYTHONWARNINGS": "error::SyntaxWarning"}
    done = python(EXAMPLES / name, *words, cwd=folder, env=strict)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_short(name):
    """Blank lines apart."""
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert sum(map(bool, lines)) <= 40


def test_judge_a_file(tmp_path):
    build_world(tmp_path / "nano7", "nano", 7)
    printed = run("judge_a_file.py", tmp_path, str(EXAMPLES / "plans.jsonl"), "nano7")
    assert "1: passed\n2: failed" in printed and "1 of 2 plans pass" in printed


def test_own_tool(tmp_path):
    assert "find_restaurants was called; passed: False" in run("own_tool.py", tmp_path)


def test_own_domain(tmp_path):
    printed = run("own_domain.py", tmp_path)
    assert printed.startswith("[True, True, True]\n") and "is cheaper." in printed


def test_evaluate_an_endpoint(nano_folder, paid_expert, tmp_path):
    place = (str(nano_folder / "queries.jsonl"), str(nano_folder / "world"))
    words = (paid_expert.url, "m", *place, "runs/m")
    printed = run("evaluate_an_endpoint.py", tmp_path, *words)
    assert "runs/m: 12 of 12 pass" in printed and "runs/m_baseline: " in printed
    asked = paid_expert.requests
    assert run("evaluate_an_endpoint.py", tmp_path, *words) == printed
    assert paid_expert.requests == asked


def test_train_and_plot(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "tiny.toml").write_text(TINY)
    printed = run("train_and_plot.py", tmp_path, "tiny.toml", "runs/tiny", "grpo.steps=2")
    assert "model runs/tiny/model/rl" in printed
    assert (tmp_path / "runs/tiny/reward.svg").read_text().startswith("<?xml")

"""TRL's GRPOTrainer, as it is, in our worlds: what it shows a model, what its loop does with a
script, and two steps of its own, alone and in two processes."""

import functools
import inspect
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.bridges.test_gateway import ROWS, expert
from tripwright.bridges import OpenEpisode, task_set
from tripwright.bridges.trl_grpo import Environment, environment, verdict
from tripwright.errors import UserError
from tripwright.tools.toolbox import ToolBox, ToolHostDown

ROOT = Path(__file__).parents[2]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TRIPS = environment(ROWS[0])


def prompted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "prompt": TRIPS.prompt}


def tiny() -> tuple[Any, Any]:
    """A Qwen3 and a tokenizer with its chat template, to the letter: TRL trains with no other."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    from trl.chat_template_utils import qwen3_chat_template

    from tripwright.training.nano import NanoShape, new_model

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learn = trainers.BpeTrainer(
        vocab_size=4000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    texts = [*map(json.dumps, (TRIPS.prompt, OpenEpisode(ROWS[0]).tools)), *expert(ROWS[0])]
    bpe.train_from_iterator(texts, learn)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[2],
        chat_template=qwen3_chat_template,
    )
    shape = NanoShape(48, 2, heads=2, kv_heads=1, head_size=16, feed_forward=64, positions=16_384)
    return new_model(shape, tokenizer, seed=0), tokenizer


def trainer_of(model: Any, tokenizer: Any, folder: Path, sampled: int = 0, **settings: Any) -> Any:
    """GRPOTrainer, whose rollouts say the turns of `scripts`, by the words of the request; but for
    the last `sampled` of every group, which are 16 tokens of the model's."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    class Scripted(GRPOTrainer):  # type: ignore[misc]
        scripts: dict[str, list[str]] = {row["query"]: expert(row) for row in ROWS[:2]}

        def _generate_single_turn(self, prompt_ids: Any, *more: Any, **named: Any) -> Any:
            said = []
            for number, prompt in enumerate(prompt_ids):
                text = tokenizer.decode(prompt)
                turn = text.count("<|im_start|>assistant") - 1
                if turn == 0 and number % 2 >= 2 - sampled:
                    said += super()._generate_single_turn([prompt], None, {}, 1)[0]
                else:
                    (turns,) = (turns for asked, turns in self.scripts.items() if asked in text)
                    said.append(tokenizer.encode(turns[min(turn, len(turns) - 1)] + SPECIAL[2]))
            return said, None

    set_up: dict[str, Any] = {
        "output_dir": str(folder),
        "num_generations": 2,
        "max_completion_length": 12_000,
        "max_tool_calling_iterations": 29,
        "per_device_train_batch_size": 2,
        "use_cpu": True,
        "gradient_checkpointing": False,
        "bf16": False,
        "top_k": 1,  # what is sampled is the same in every process
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": 1,
    }
    trainer = Scripted(
        model,
        verdict,
        args=GRPOConfig(**set_up | settings),
        train_dataset=Dataset.from_list(list(map(prompted, ROWS[:2]))),
        processing_class=tokenizer,
        environment_factory=TRIPS,
    )
    trainer.generation_config.max_new_tokens = 16
    return trainer


@functools.cache
def idle() -> Any:
    return trainer_of(*tiny(), Path(tempfile.mkdtemp()))


def rolled_out(row: dict[str, Any], turns: list[str]) -> tuple[Any, dict[str, Any]]:
    """TRL's own rollouts and advantages of a group of two that say these turns: its trainer, and
    what it would train on."""
    trainer = idle()
    trainer.scripts = {row["query"]: turns}
    return trainer, trainer._generate_and_score_completions([prompted(row)] * 2)


# ---- without TRL


def test_a_row_that_it_cannot_play_is_refused():
    with pytest.raises(UserError, match="compact"):
        environment({**ROWS[0], "dialect": "compact"})
    with pytest.raises(UserError, match="'deeptravel_cards' has none"):
        environment(
            {
                k: v
                for k, v in task_set(count=1, dialect="deeptravel_cards")[0].items()
                if k != "dialect"
            }
        )
    with pytest.raises(UserError, match="'prompt'"):
        TRIPS().reset(**ROWS[0])
    with pytest.raises(UserError, match="'rule'"):
        TRIPS().reset(**prompted({**ROWS[0], "rule": "strict"}))


def test_whatever_a_model_sends_is_answered_by_the_face():
    trips = TRIPS()
    assert trips.reset(**prompted(ROWS[0])) == ROWS[0]["query"]
    answers = [tool(trips, self=1, city=2) for tool in tools().values()]
    assert len({*answers}) == len(answers) and all("error" in answer for answer in answers)
    assert trips.episode.outcome()["metrics"]["calls"] == len(answers)


def tools() -> dict[str, Any]:
    """As TRL finds them."""
    found = [each for _, each in inspect.getmembers(TRIPS, inspect.isfunction)]
    return {each.__name__: each for each in found if each.__name__ not in vars(Environment)}


def test_its_schemas_are_ours():
    utils = pytest.importorskip("transformers").utils
    made = [utils.get_json_schema(tool) for tool in tools().values()]
    assert json.dumps(made) == json.dumps(OpenEpisode(ROWS[0]).tools)  # in their order, too


# ---- with TRL


@pytest.fixture
def with_trl() -> None:
    pytest.importorskip("trl", reason="needs the extra trl")


def test_the_model_is_shown_what_ours_is_and_its_turns_are_trained(with_trl):
    trainer, made = rolled_out(ROWS[0], turns := expert(ROWS[0]))
    tokenizer, opened = trainer.processing_class, OpenEpisode(ROWS[0])
    assert made["prompt_ids"][0].tolist() == tokenizer.apply_chat_template(
        opened.messages,
        tools=opened.tools,
        chat_template=trainer.chat_template,
        add_generation_prompt=True,
        return_dict=False,
    )
    sampled = made["completion_ids"][0][made["tool_mask"][0] == 1]
    assert tokenizer.decode(sampled) == "".join(turn + SPECIAL[2] for turn in turns)


def test_a_rollout_of_a_dead_host_is_in_no_baseline(with_trl, monkeypatch):
    """Beside one that passes: a reward of 0 would have set them apart."""
    alive, calls = ToolBox.call, []

    def dead_at_first(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise ToolHostDown("no route to host")
        return alive(*given)

    monkeypatch.setattr(ToolBox, "call", dead_at_first)
    trainer, made = rolled_out(ROWS[0], expert(ROWS[0]))
    rewards = list(trainer._logs["rewards"]["verdict"])[-2:]
    assert rewards[0] != rewards[0] and rewards[1] == 1.0
    assert made["advantages"].tolist() == [0.0, 0.0]
    assert trainer._metrics["train"]["unscored"][-1] == 0.5
    assert trainer._metrics["train"]["passed"][-1] == 1.0


# ---- in several processes


def train(folder: str, name: str) -> None:
    """Two steps on two requests, in each of which the expert plays beside the model."""
    model, tokenizer = tiny()
    share = 4 // int(os.environ.get("WORLD_SIZE", "1"))
    settings: dict[str, Any] = {"per_device_train_batch_size": share, "learning_rate": 1e-3}
    out = Path(folder, name)
    trainer = trainer_of(model, tokenizer, out, sampled=1, max_steps=2, **settings)
    trainer.train()
    if trainer.accelerator.is_main_process:
        trainer.save_model(out)
        steps = [line for line in trainer.state.log_history if "loss" in line]
        (out / "steps.json").write_text(json.dumps(steps))


def test_two_processes_take_the_steps_of_one(with_trl, tmp_path):
    from safetensors.torch import load_file
    from torch.testing import assert_close

    train(str(tmp_path), "alone")
    launcher = "torch.distributed.run --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint"
    command = f"-m {launcher} localhost:0 -m tests.bridges.test_trl_grpo {tmp_path} both"
    done = subprocess.run([sys.executable, *command.split()], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    alone, both = (
        json.loads((tmp_path / run / "steps.json").read_text()) for run in ("alone", "both")
    )
    for one, two in zip(alone, both, strict=True):
        assert (one["reward"], one["passed"], one["unscored"]) == (0.5, 0.5, 0.0)
        assert one["grad_norm"] > 0.1 and one["tools/call_frequency"] > 1
        for figure in ("loss", "grad_norm", "reward", "passed", "num_tokens"):
            assert two[figure] == pytest.approx(one[figure], rel=1e-4)
    moved, same = (load_file(tmp_path / run / "model.safetensors") for run in ("alone", "both"))
    fresh = tiny()[0].state_dict()
    assert max((fresh[name] - weight).abs().max() for name, weight in moved.items()) > 1e-3
    for name, weight in moved.items():
        assert_close(same[name], weight, rtol=0, atol=1e-5)


if __name__ == "__main__":
    train(*sys.argv[1:])

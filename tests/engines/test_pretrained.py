"""A pretrained model (`make model`: SmolLM2 of 135 million parameters) through our own decoder: its
logits, an adapter that learns, the merged model, and that model behind `serve model`."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main
from tripwright.server.serving import open_port

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from tests.engines.test_vllm import answering
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import load_model
from tripwright.training.served import RolloutServer, TokenRequest, token_server

MODEL = Path(__file__).parents[2] / "models" / "smollm2-135m"
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not MODEL.is_dir(), reason="no model here: `make model` unpacks one"),
]
RECIPE = f"""
threads = 1
[model]
pretrained = "{MODEL}"
[model.lora]
rank = 8
[dialect]
name = "compact"
[sft]
steps = 4
batch_size = 1
dtype = "float32"
data = "data.jsonl"
final_rate = 1.0
optimizer = {{ name = "adamw", adamw_learning_rate = 3e-4 }}
"""
SAID = ("Be brief.", "Where is the castle, and when the market?", "In Prague; on Tuesdays.")


def logits(model: Any, ids: list[int]) -> Any:
    """(1, T, vocabulary) of our decoder."""
    with torch.no_grad():
        decoder, ids_1T = Decoder(model), torch.tensor([ids])
        return decoder.logits(decoder.hidden(ids_1T, torch.arange(len(ids))[None]))


def test_from_its_file_to_a_served_adapter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, tokenizer = load_model(MODEL, weights=torch.float32)
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True)["input_ids"]
    answer = tokenizer.encode("The capital of France is Paris.<|im_end|>")
    ours, theirs = logits(model, prompt + answer), model(torch.tensor([prompt + answer])).logits
    assert (ours - theirs).abs().max() < 1e-3
    assert ours[0, len(prompt) - 1 : -1].argmax(-1).tolist() == answer  # what it learned once

    turns = zip(("system", "user", "assistant"), SAID, strict=True)
    messages = [{"role": role, "content": text} for role, text in turns]
    write_lines(tmp_path / "data.jsonl", [{"messages": messages}])
    (tmp_path / "recipe.toml").write_text(RECIPE)
    assert main(["sft", "recipe.toml", "--out", "run"]) == 0
    losses = [row["loss"] for row in read_lines(tmp_path / "run" / "metrics.jsonl")]
    assert len(losses) == 4 and losses[3] < losses[2] < losses[0]  # the first step's rate is 0
    assert main(["merge", "run", "--out", "merged"]) == 0

    merged, _ = load_model(tmp_path / "merged", weights=torch.float32)
    with closing(open_port("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = f"serve model {tmp_path}/merged --port {port} --dtype float32"
    process = subprocess.Popen(
        [sys.executable, "-m", "tripwright", *words.split()], env={**os.environ, "NO_PROXY": "*"}
    )
    try:
        url = f"http://127.0.0.1:{port}"
        answering(url, process, 120)
        server = token_server(RolloutServer("vllm", url, str(tmp_path)), merged.config.vocab_size)
        said = server.sample(TokenRequest("q", prompt, 6, tokenizer.eos_token_id, 0.0, 0)).value
    finally:
        process.terminate()
        process.wait(20)
    own = logits(merged, prompt + said.ids).log_softmax(-1)[0, len(prompt) - 1 : -1]
    assert own.argmax(-1).tolist() == said.ids
    assert own.max(-1).values.tolist() == pytest.approx(said.logprobs, abs=1e-3)

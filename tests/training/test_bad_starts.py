"""From a bad start to a good error: a model that cannot be trained or played is refused in one line
that says what to do, with exit code 2, before anything is written."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file

from tripwright.agent.chat import ChatFormat
from tripwright.inference import models
from tripwright.inference.local import inspect_model, load_model
from tripwright.training import fit

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
TEMPLATES = Path(__file__).parents[1] / "tokens" / "templates"
RECIPE = """
threads = 1
[model]
pretrained = "m"
[dialect]
name = "planner_r1"
context_tokens = 4096
max_turn_tokens = 512
[sft]
steps = 1
"""
COMPACT = RECIPE.replace('"planner_r1"', '"compact"')


@pytest.fixture(scope="module")
def sound(tiny_model: Any, nano_tokenizer: Any, tmp_path_factory: Any) -> Path:
    """A model in three files, with Qwen3's template and no pad token."""
    folder: Path = tmp_path_factory.mktemp("sound") / "model"
    model = tiny_model("qwen3", len(nano_tokenizer) + 2, max_position_embeddings=8192)
    model.save_pretrained(folder, max_shard_size="50KB")
    nano_tokenizer.save_pretrained(folder)
    template = (TEMPLATES / "qwen3.jinja").read_text(encoding="utf-8")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    change(folder / "tokenizer_config.json", pad_token=None)
    assert len(list(folder.glob("*.safetensors"))) >= 3
    return folder


@pytest.fixture
def model(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to be damaged."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sound, tmp_path / "m")
    return tmp_path / "m"


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def config(**values: Any) -> Callable[[Path], None]:
    return lambda model: change(model / "config.json", **values)


def template(text: str) -> Callable[[Path], object]:
    return lambda model: (model / "chat_template.jinja").write_text(text)


def shards(model: Path) -> list[Path]:
    return sorted(model.glob("model-*.safetensors"))


def shorten(model: Path) -> None:
    last = shards(model)[-1]
    last.write_bytes(last.read_bytes()[:-1000])


def cut_header(model: Path) -> None:
    last = shards(model)[-1]
    last.write_bytes(last.read_bytes()[:100])


def lose_all(model: Path) -> None:
    for file in [*shards(model), model / INDEX]:
        file.unlink()


def lose_tokenizer(model: Path) -> None:
    for file in model.glob("token*"):
        file.unlink()


def not_found(model: Path) -> None:
    shards(model)[0].write_text("<html>Not found</html>")


def lose_a_weight(model: Path) -> None:
    """Every file is whole, and one weight in none of them."""
    weights = {name: t for shard in shards(model) for name, t in load_file(shard).items()}
    del weights["model.layers.1.mlp.up_proj.weight"]
    for shard in shards(model):
        shard.unlink()
    (model / INDEX).unlink()
    save_file(weights, model / WEIGHTS, metadata={"format": "pt"})


def lose_newlines(model: Path) -> None:
    """As a WordPiece tokenizer of BERT's, whose blanks are all alike."""
    from tokenizers import Tokenizer, normalizers

    file = str(model / "tokenizer.json")
    tokenizer = Tokenizer.from_file(file)
    tokenizer.normalizer = normalizers.Replace("\n", " ")
    tokenizer.save(file)


def more_tokens(model: Path) -> None:
    _, tokenizer = load_model(model)
    tokenizer.add_tokens([f"<{n}>" for n in range(3)])
    tokenizer.save_pretrained(model)


NO_TOOLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}{% if"
    " add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_TOOL_ROLE = NO_TOOLS.replace("in messages", "in messages if m.role != 'tool'")
SLIDING: dict[str, Any] = {"layer_types": ["full_attention", "sliding_attention"]}
SLIDING |= {"sliding_window": 64, "use_sliding_window": True}
HYBRID = {"model_type": "qwen3_5_text", "layer_types": ["linear_attention", "full_attention"]}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
AT_LOADING = {
    "no config": (lambda m: (m / "config.json").unlink(), "No model could be loaded .*config"),
    "another architecture": (config(model_type="gpt2"), "has 'gpt2'. Let a server play it.*verl"),
    "hybrid attention": (config(**HYBRID), "with layers of full_attention, linear_attention. Let"),
    "a model that sees": (config(model_type="qwen3_5"), "has 'qwen3_5' with layers of .*linear"),
    "an unheard-of architecture": (config(model_type="x"), "No model could be loaded .*`x`"),
    "sliding windows": (config(**SLIDING), r"sliding-window attention \(64 tokens\). Where no"),
    "positions that depend on the length": (config(rope_parameters=DYNAMIC), "has 'dynamic'"),
    "another activation": (config(hidden_act="gelu"), "computes hidden_act silu; .* 'gelu'"),
    "a file missing": (lambda m: shards(m)[1].unlink(), r"model-00002-of-\d+.* is missing.*end"),
    "all files missing": (lose_all, "model.safetensors is missing"),
    "a file cut short": (shorten, "or cut short .*to its end"),
    "a file cut in its header": (cut_header, "or cut short .*to its end"),
    "a file that is a page of HTML": (not_found, "no safetensors file, .*to its end"),
    "an empty index": (lambda m: (m / INDEX).write_text("{}"), "names no weights. Download it"),
    "no tokenizer": (lose_tokenizer, "No tokenizer in .*: expected tokenizer.json"),
    "a tokenizer of another model": (more_tokens, "they do not belong together. Copy the model's"),
}
WITH_ITS_DIALECT = {
    "no template": (lambda m: (m / "chat_template.jinja").unlink(), "has no chat template; an"),
    "a template without tool answers": (template(NO_TOOL_ROLE), "or has no 'tool' role"),
    "a template that shows no tools": (template(NO_TOOLS), "does not show the tools .* Take"),
    "a template that cannot be read": (template("{% if %}"), "chat template does not take"),
    "a tokenizer that loses newlines": (lose_newlines, "tokenizer loses line breaks: .*keeps"),
    "too few positions": (config(max_position_embeddings=512), "'m' has 512 positions, the"),
}


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    before = sorted(Path(".").rglob("*"))
    assert main(words) == 2
    problem = capsys.readouterr().err.strip()
    assert "\n" not in problem and sorted(Path(".").rglob("*")) == before
    return problem


@pytest.mark.parametrize("start", [*AT_LOADING, *WITH_ITS_DIALECT])
def test_training_does_not_begin(start, model, capsys):
    damage, why = {**AT_LOADING, **WITH_ITS_DIALECT}[start]
    damage(model)
    Path("r.toml").write_text(RECIPE)
    capsys.readouterr()
    problem = refused(["sft", "r.toml", "--out", "run"], capsys)
    assert re.search(why, problem), problem


@pytest.mark.parametrize("start", ["sliding windows", "a file missing", "no template"])
def test_no_episode_is_played(start, model, capsys):
    damage, why = {**AT_LOADING, **WITH_ITS_DIALECT}[start]
    damage(model)
    assert main(["world", "build", "--scale", "nano", "--seed", "7", "--out", "w"]) == 0
    assert main(["query", "make", "--world", "w", "--count", "1", "--out", "q.jsonl"]) == 0
    words = ["run", "--policy", "local", "--model", "m", "--dialect", "planner_r1"]
    capsys.readouterr()
    problem = refused([*words, "--queries", "q.jsonl", "--world", "w", "--out", "run"], capsys)
    assert re.search(why, problem), problem


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lose_a_weight, "1 of its weights are in no file, such as model.layers.1.mlp.up_proj.we"),
        (config(intermediate_size=32), "No model could be loaded from"),
    ],
)
def test_what_only_loading_shows_is_one_line_too(damage, why, model, capsys):
    """Without the refusal, `transformers` would fill in random numbers."""
    damage(model)
    capsys.readouterr()
    with pytest.raises(UserError, match=why) as told:
        load_model(model)
    assert "\n" not in str(told.value) and "REPORT" not in capsys.readouterr().err


def test_what_verl_trains_need_not_be_computed_here(model):
    AT_LOADING["hybrid attention"][0](model)
    found, _ = inspect_model(model, elsewhere=True)
    assert found.model_type == "qwen3_5_text"


def test_a_model_that_memory_cannot_hold(model, monkeypatch, capsys):
    Path("r.toml").write_text(COMPACT.replace("[model]", '[model]\ndevice = "cpu"'))
    words = ["sft", "r.toml", "--out", "run"]
    with monkeypatch.context() as small:
        small.setattr(models, "memory_bytes", lambda: 1e5)
        problem = refused(words, capsys)
        assert "'m' is too large for this machine: its weights alone take" in problem
    monkeypatch.setattr(fit, "total_memory_gb", lambda device: 0.4)
    problem = refused(words, capsys)
    least = "sft takes at least 0.5 GB for weights, optimizer state, .* of 0.4 GB. 'tripwright fit'"
    assert re.search(least, problem)


def test_the_sound_one_trains_without_a_pad_token(model):
    """Rows are padded on the right and the padding is read by nobody, so none is needed."""
    tokenizer = load_model(model)[1]
    assert tokenizer.pad_token is None
    ChatFormat(tokenizer, [{"function": {"name": "f", "description": "", "parameters": {}}}])
    Path("r.toml").write_text(COMPACT)
    assert main(["sft", "r.toml", "--out", "run"]) == 0
    assert load_model("run/model/sft")[1].pad_token is None

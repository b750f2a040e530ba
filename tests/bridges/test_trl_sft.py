"""Fine-tuning through TRL: what it cannot do is refused before it is asked for; with TRL installed,
what it really trains on."""

import copy
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.domains import dialect_named, domain_named
from tripwright.errors import UserError
from tripwright.training.trips import GeneratedTrips, expert_sessions
from tripwright.transcript import Transcript

torch = pytest.importorskip("torch")

from tripwright.bridges.trl import check, rows_for_trl, shards, train, trl_settings
from tripwright.inference.local import load_model
from tripwright.runs import logged_steps
from tripwright.training import fit
from tripwright.training.optim import OptimizerSettings
from tripwright.training.recipe import ModelSettings, Recipe, load_recipe
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import SftSettings

RATE = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3)
SETTINGS = SftSettings(
    steps=4, batch_size=4, micro_batch_size=2, data="x.jsonl", optimizer=RATE, dtype="float32"
)
TOKENS = 4096
ROOT = Path(__file__).parents[2]


def recipe(settings: SftSettings, pretrained: str | None = "x") -> Recipe:
    return Recipe(seed=3, threads=1, model=ModelSettings(pretrained=pretrained), sft=settings)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def transcripts() -> list[Transcript]:
    """Texts alone, as of an endpoint."""
    stream = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 4), 8)
    return [
        session.transcript for session in expert_sessions(stream, dialect_named("compact"), None)
    ]


@pytest.fixture
def file(tmp_path: Path, transcripts: list[Transcript]) -> str:
    path = tmp_path / "transcripts.jsonl"
    write_lines(
        path, ({"id": f"e{i}", "transcript": t.to_json()} for i, t in enumerate(transcripts))
    )
    return str(path)


# ---- without TRL


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"data": None}, r"fine-tunes on a file: give \[sft\] data"),
        ({"optimizer": OptimizerSettings(name="muon")}, "sft.optimizer.name other than"),
        ({"max_minutes": 3.0}, "sft.max_minutes"),
        ({"optimizer": replace(RATE, state="8bit")}, "sft.optimizer.state other than"),
        ({"batch_size": 5}, "5 that is no multiple of sft.micro_batch_size = 2 times 1 processes"),
    ],
)
def test_what_trl_does_not_do_is_refused(changed, words):
    with pytest.raises(UserError, match=words):
        check(recipe(replace(SETTINGS, **changed)))


def test_a_model_must_exist():
    with pytest.raises(UserError, match=r"give \[model\] pretrained"):
        check(recipe(SETTINGS, None))


def test_our_settings_in_its_words(tmp_path, monkeypatch):
    """Row S4: 32 conversations a step, a rate of 5e-6, 4 epochs, a warm-up of a tenth."""
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=5e-6)
    settings = replace(
        SETTINGS,
        steps=None,
        max_epochs=4.0,
        batch_size=32,
        micro_batch_size=1,
        warm_up=0.1,
        optimizer=rate,
    )
    monkeypatch.setenv("WORLD_SIZE", "8")  # processes that share the 32
    found = trl_settings(recipe(settings), tmp_path, 30_000, count=100)
    assert found["per_device_train_batch_size"] * found["gradient_accumulation_steps"] * 8 == 32
    assert (
        found["learning_rate"],
        found["num_train_epochs"],
        found["warmup_steps"],
        found["max_steps"],
    ) == (5e-6, 4.0, 0.1, -1)
    assert found["max_length"] == 30_000 and found["seed"] == 3
    monkeypatch.setenv("WORLD_SIZE", "6")
    with pytest.raises(UserError, match="32 that is no multiple .* 1 times 6 processes"):
        check(recipe(settings))


@pytest.mark.parametrize(("steps", "first"), [(6, 6), (60, 13)])
def test_of_steps_and_epochs_the_first_to_come_ends_it(steps, first, tmp_path):
    settings = replace(SETTINGS, steps=steps, max_epochs=0.5)
    assert trl_settings(recipe(settings), tmp_path, TOKENS, count=100)["max_steps"] == first


@pytest.mark.parametrize("name", ["star/sft", "deeptravel/cold_start"])
def test_the_papers_models_fit_8_gpus_of_80_gb_where_they_are_sharded(name, monkeypatch):
    loaded = load_recipe(ROOT / "recipes" / f"{name}.toml")
    launch = (ROOT / "recipes/accelerate_fsdp.yaml").read_text()
    assert "distributed_type: FSDP\n" in launch and "num_processes: 8\n" in launch
    monkeypatch.setattr(fit, "device_named", lambda name: torch.device("cuda"))
    monkeypatch.setattr(fit, "total_memory_gb", lambda device: 80.0)
    for processes in "18":  # without FSDP each of several holds all of it
        monkeypatch.setenv("WORLD_SIZE", processes)
        with pytest.raises(UserError, match="too large to be trained here"):
            fit.check_memory(loaded, shards())
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    fit.check_memory(loaded, shards())
    check(loaded)  # its batch of 32 is shared by 8


# ---- with TRL


@pytest.fixture
def spoken(nano_tokenizer: Any) -> Callable[[str], Any]:
    """spoken(kind) → the nano tokenizer with the chat template of "qwen2_5" or "qwen3", as TRL
    knows it."""
    templates = pytest.importorskip("trl").chat_template_utils

    def make(kind: str) -> Any:
        tokenizer = copy.deepcopy(nano_tokenizer)
        tokenizer.add_special_tokens(
            {"additional_special_tokens": ["<|im_start|>", "<|endoftext|>"]}
        )
        tokenizer.add_tokens(["<think>", "</think>"])
        tokenizer.chat_template = getattr(templates, f"{kind}_chat_template")
        return tokenizer

    return make


@pytest.mark.parametrize("kind", ["qwen2_5", "qwen3"])
@pytest.mark.parametrize("dialect", ["compact", "planner_r1"])
def test_its_tokens_are_ours_and_its_mask_covers_ours(kind, dialect, spoken):
    """It trains on the template's own frame as well: line breaks, and the empty thoughts of
    Qwen3."""
    from trl.chat_template_utils import get_training_chat_template

    from tripwright.training.sft_data import ChatMasks

    tokenizer, schemas = spoken(kind), dialect_named(dialect).schemas()
    masks, template = ChatMasks(tokenizer), get_training_chat_template(tokenizer)
    trips = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 50, 2), 4)
    for session in expert_sessions(trips, dialect_named(dialect), None):
        messages = [{"role": s.role, "content": s.text} for s in session.transcript.segments]
        ids, mask = masks.encode(messages, schemas)
        theirs = tokenizer.apply_chat_template(
            messages,
            tools=schemas,
            chat_template=template,
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        assert list(theirs["input_ids"]) == [
            *ids,
            *tokenizer.encode("\n", add_special_tokens=False),
        ]
        trained = list(zip(ids, mask, theirs["assistant_masks"], strict=False))
        assert all(b for _, a, b in trained if a)
        frame = {tokenizer.decode([token]) for token, a, b in trained if b and not a}
        assert frame == ({"\n"} if kind == "qwen2_5" else {"\n", "<think>", "</think>"})


@pytest.mark.parametrize("kind", ["qwen2_5", "qwen3"])
def test_a_tiny_model_learns_and_the_run_folder_is_as_ours(
    kind, spoken, tiny_model, tmp_path, file
):
    tokenizer = spoken(kind)
    tiny_model("qwen3", len(tokenizer)).save_pretrained(tmp_path / "given")
    tokenizer.save_pretrained(tmp_path / "given")
    settings = replace(SETTINGS, data=file, steps=6, max_tokens=2048)
    run = RunFolder(tmp_path / "run", recipe(settings, str(tmp_path / "given")))
    train(run)
    saved = tmp_path / "run" / "model" / "sft"
    lines = read_lines(tmp_path / "run" / "metrics.jsonl")
    assert [(line["stage"], line["step"]) for line in lines] == [
        ("sft", step) for step in range(1, 7)
    ]
    assert lines[-1]["loss"] < lines[0]["loss"] - 0.05 and {
        "grad_norm",
        "learning_rate",
        "seconds",
        "tokens",
    } <= set(lines[0])
    (before, _), (after, same) = load_model(tmp_path / "given"), load_model(saved)
    assert any(
        not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True)
    )
    assert same.chat_template == tokenizer.chat_template and not (tmp_path / "run" / "trl").exists()
    train(run)  # done already
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("\n") == 6


def test_its_labels_are_our_masks(nano_tokenizer, file):
    rows, figures = rows_for_trl(replace(SETTINGS, data=file), nano_tokenizer, None, TOKENS)
    assert figures.used == len(rows)
    for row in rows:
        trained = [token for token in row["labels"] if token != -100]
        assert trained.count(nano_tokenizer.eos_token_id) >= 2
        pairs = zip(row["labels"], row["input_ids"], strict=True)
        assert all(label in (-100, token) for label, token in pairs)


def test_ids_of_a_local_model_stay_as_they_are(chat, nano_tokenizer, tmp_path):
    trips = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 1), 1)
    (session,) = expert_sessions(trips, dialect_named("compact"), chat)
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"id": "a", "transcript": session.transcript.to_json()}) + "\n")
    rows, _ = rows_for_trl(replace(SETTINGS, data=str(path)), nano_tokenizer, None, TOKENS)
    assert rows[0]["input_ids"] == session.transcript.token_ids


# ---- in several processes

STAR, STEPS = ROOT / "recipes/star/sft.toml", 24
CHANGES = """model.pretrained={0}/given sft.data={0}/transcripts.jsonl sft.steps=24 threads=1
    sft.max_epochs=none sft.batch_size=4 sft.max_tokens=2048 sft.dtype=float32 dialect.name=compact
    sft.optimizer.adamw_learning_rate=1e-3 checkpoint.every_steps=4 dialect.context_tokens=none"""


def test_two_processes_take_the_steps_of_one_however_they_are_killed(
    nano_tokenizer, tiny_model, tmp_path, file
):
    """Real processes over gloo. Stopped and continued, two add the same numbers in the same order:
    no bit differs. One process adds them in another order, so its weights differ by rounding."""
    pytest.importorskip("trl")
    psutil = pytest.importorskip("psutil")  # accelerate brings it
    tiny_model("qwen3", len(nano_tokenizer)).save_pretrained(tmp_path / "given")
    nano_tokenizer.save_pretrained(tmp_path / "given")

    def lines(run: str) -> list[dict[str, Any]]:
        return logged_steps(tmp_path / run / "metrics.jsonl")[0]

    def launched(run: str, killed: int = 0, after: int = STEPS) -> None:
        """Two processes; of which some are killed `after` so many lines of metrics."""
        launcher = "torch.distributed.run --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint"
        command = f"{launcher} localhost:0 -m tripwright sft {STAR} --engine trl --out"
        command = [sys.executable, "-m", *command.split(), str(tmp_path / run)]
        command += [f"--set={change}" for change in CHANGES.format(tmp_path).split()]
        with (tmp_path / "said").open("w") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)
            while process.poll() is None and len(lines(run)) < after:
                time.sleep(0.02)
            for worker in psutil.Process(process.pid).children()[:killed] if killed else ():
                worker.kill()
            code = process.wait(timeout=120)
        words = (tmp_path / "said").read_text()
        assert (code, words.count("report.html")) == ((1, 0) if killed else (0, 1)), words

    launched("whole")
    launched("parts", killed=1, after=6)
    torn = tmp_path / "parts/trl/checkpoint-23"
    torn.mkdir()
    launched("parts", killed=2, after=13)
    assert not torn.exists() and 13 <= len(lines("parts")) < STEPS
    launched("parts")
    train(RunFolder(tmp_path / "alone", load_recipe(STAR, CHANGES.format(tmp_path).split())))
    for run in ("whole", "parts", "alone"):
        assert [line["step"] for line in lines(run)] == list(range(1, STEPS + 1))
    assert [r["loss"] for r in lines("parts")] == [r["loss"] for r in lines("whole")]
    models = [load_model(tmp_path / run / "model/sft")[0] for run in ("whole", "parts", "alone")]
    for a, b, c in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(a, b)
        # 1.2e-7 found, a bit of a norm's weight near 1; AdamW moved the weights by up to 1e-2
        torch.testing.assert_close(a, c, rtol=0, atol=2e-6)

"""What a stranger gives runs nothing: models, tokenizers, checkpoints, run folders, and a folder
one works in. Each file here would make `owned` if any of it were run."""

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.evals.test_report import synthetic_run
from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.server.runs import RunPages
from tripwright.world.generator import build_tables
from tripwright.world.store import World, write_world

torch = pytest.importorskip("torch")

from tripwright.agent.chat import ChatFormat
from tripwright.data.statistics import token_counter
from tripwright.inference.local import load_model
from tripwright.training.checkpoint import MANIFEST, STATE, Checkpoints
from tripwright.training.nano import NanoShape, new_model
from tripwright.training.run_folder import RunFolder
from tripwright.training.stages import take_stages

ROOT = Path(__file__).parents[2]
SHAPE = NanoShape(hidden=16, layers=1, heads=2, kv_heads=1, head_size=8, feed_forward=16)


class Mine:
    """A pickle of it makes a file."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self) -> Any:
        return open, (str(self.file), "w")


@pytest.fixture
def owned(tmp_path: Path) -> Any:
    file = tmp_path / "owned"
    yield file
    assert not file.exists(), "a stranger's file was run"


@pytest.fixture
def model(tmp_path: Path, nano_tokenizer: Any) -> Path:
    """A sound one."""
    folder = tmp_path / "model"
    new_model(SHAPE, nano_tokenizer, 0).save_pretrained(folder)
    nano_tokenizer.save_pretrained(folder)
    return folder


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def code(owned: Path) -> str:
    return f"open({str(owned)!r}, 'w')\n"


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as refused:
        load_model(folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_the_pickle_here_would_run(tmp_path):
    pickle.loads(pickle.dumps(Mine(tmp_path / "ran"))).close()
    assert (tmp_path / "ran").exists()


def test_weights_in_a_pickle_are_not_read(model, owned):
    (model / "model.safetensors").unlink()
    for name in ("pytorch_model.bin", "model.pt", "model.pkl"):
        (model / name).write_bytes(pickle.dumps(Mine(owned)))
    assert "safetensors" in refusal(model)


def test_weights_that_are_no_safetensors_are_refused_in_a_line(model, owned):
    (model / "model.safetensors").write_bytes(pickle.dumps(Mine(owned)))
    assert "No model could be loaded from" in refusal(model)


def test_code_beside_a_model_is_refused(model, owned):
    (model / "theirs.py").write_text(code(owned))
    classes = {"AutoConfig": "theirs.C", "AutoModelForCausalLM": "theirs.M"}
    change(model / "config.json", auto_map=classes, model_type="theirs")
    assert "contains custom code" in refusal(model)


def test_code_beside_a_tokenizer_is_left_alone(model, owned):
    (model / "theirs.py").write_text(code(owned))
    change(
        model / "tokenizer_config.json",
        auto_map={"AutoTokenizer": ["theirs.T", "theirs.T"]},
        tokenizer_class="TheirTokenizer",
    )
    load_model(model)  # transformers reads tokenizer.json by itself
    assert token_counter(model)("Plan the trip.") > 1


def test_a_config_cannot_name_a_kernel_to_download(model, owned):
    kernel = "stranger/kernel"
    change(model / "config.json", attn_implementation=kernel, _attn_implementation=kernel)
    loaded, _ = load_model(model)
    assert loaded.config._attn_implementation == "sdpa"


def test_a_chat_template_reaches_nothing_of_python(model, owned):
    opened = "cycler.__init__.__globals__.os.system('touch " + str(owned) + "')"
    (model / "chat_template.jinja").write_text("{{ " + opened + " }}")
    _, tokenizer = load_model(model)
    with pytest.raises(UserError, match="This chat template does not take"):
        ChatFormat(tokenizer)


def test_a_checkpoint_is_data_whatever_its_manifest_says(tmp_path, owned):
    checkpoints = Checkpoints(tmp_path / "sft")
    place = checkpoints.write(5, {"loop": {}}, {})
    torch.save({"loop": Mine(owned)}, place / STATE)
    digest = hashlib.sha256((place / STATE).read_bytes()).hexdigest()
    change(place / MANIFEST, sha256=digest)
    newest = checkpoints.newest()
    with pytest.raises(UserError, match="is not a checkpoint: .* Nothing of it was run"):
        newest.state()


def test_a_run_folder_that_names_code_is_read_without_it(tmp_path, owned, monkeypatch, capsys):
    """Its recipe names a reward in a module that lies here."""
    run = synthetic_run(tmp_path / "run")
    for folder in (tmp_path, run):
        (folder / "theirs.py").write_text(code(owned))
    curriculum = {"stages": [["theirs:reward", 3]], "policy": "by_steps"}
    recipe = {"reinforcement": {"curriculum": curriculum}, "reward": "theirs:reward"}
    (run / "recipe.json").write_text(json.dumps(recipe))
    (run / "state.pt").write_bytes(pickle.dumps(Mine(owned)))
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), "--out", str(tmp_path / "page.html")]) == 0
    assert main(["compare", str(run / "eval/after_rl"), str(run / "eval/after_rl")]) in (0, 2)
    for verb in (["examine"], ["data", "stats"], ["score"], ["show"]):
        assert main([*verb, str(run)]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_a_server_started_in_a_strangers_folder_imports_nothing_of_it(tmp_path, owned):
    assert main(["world", "build", "--out", str(tmp_path / "w"), "--scale", "nano"]) == 0
    for name in ("json", "tripwright", "uvicorn", "socket"):
        (tmp_path / f"{name}.py").write_text(code(owned))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tripwright", "serve", "tools", "--world", "w", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = process.stderr.readline()
        assert said.startswith("serving the tools of world")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        # when it answers, a worker has imported all it needs
        opener.open(f"{said.split(' at ')[1].split()[0]}/health", timeout=60).close()
    finally:
        process.terminate()
        process.communicate(timeout=60)


HOSTILE = {
    "pipe": os.mkfifo,
    "device": lambda file: file.symlink_to("/dev/zero"),
    "link": lambda file: file.symlink_to(Path(__file__).resolve()),
    "endless": lambda file: (file.touch(), os.truncate(file, 3 << 30)),  # takes no room
    "no text": lambda file: file.write_bytes(b'{"a": "\xff"}\n'),
    "deep": lambda file: file.write_text("[" * 200_000 + "]" * 200_000 + "\n"),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_nothing_in_a_run_folder_stops_anothers_page(make, tmp_path):
    files = ("recipe.json", "metrics.jsonl", "eval/after_rl/transcripts.jsonl")
    folder, page, bad = tmp_path / "runs", tmp_path / "page.html", list[str]()
    good = [str(synthetic_run(folder / name, 3, 3)) for name in ("1", "2", "\x1b[2J\udcff")]
    for name in files:
        bad.append(str(synthetic_run(folder / Path(name).name, 3, 3)))
        (folder / Path(name).name / name).unlink(missing_ok=True)
        make(folder / Path(name).name / name)
    assert main(["report", *good[:1], *bad, "--out", str(page)]) == 0
    assert main(["compare", *good[:2], *bad]) == 0
    pages = FastAPI()
    pages.include_router(RunPages(folder).router)
    told = page.read_text().split("What cannot be read")[1]
    board = TestClient(pages).get("/runs/").text
    for name in (Path(each).name for each in files):
        assert name in told
        assert f'href="report?run={name}"' in board
    assert board.count('href="report?run=') == 5
    assert "rename it" in board and "\x1b" not in board


@pytest.mark.parametrize("name", ["run.lock", "recipe.json.partial", "metrics.jsonl", "model"])
def test_nothing_is_written_or_removed_through_a_link(name, tmp_path, tiny_recipe):
    theirs, run = tmp_path / "theirs", tmp_path / "run"
    file = theirs / "file" if name == "model" else theirs
    for folder in (file.parent, run):
        folder.mkdir(exist_ok=True)
    file.write_text('{"stage": "sft", "step": 1}\n')
    (run / name).symlink_to(theirs)
    with pytest.raises(UserError):
        take_stages(RunFolder(run, tiny_recipe))
    assert file.read_text() == '{"stage": "sft", "step": 1}\n'


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
def test_the_files_of_models_and_worlds_are_their_own(kind, model, tmp_path):
    world = write_world(tmp_path / "world", build_tables("nano", 7)).folder
    files = (model / "config.json", model / "tokenizer.json", model / "x.json")
    for file in (*files, world / "manifest.json", world / "world.sqlite"):
        kept = file.rename(tmp_path / "kept") if file.exists() else None
        HOSTILE[kind](file)
        with pytest.raises(UserError):
            load_model(model) if file in files else World.open(world)
        file.unlink()
        if kept:
            kept.rename(file)


def test_a_models_weights_lie_in_its_folder_or_in_the_hubs_cache(model, tmp_path):
    snapshot, blobs = tmp_path / "hub" / "snapshots" / "0123", tmp_path / "hub" / "blobs"
    snapshot.mkdir(parents=True)
    shutil.copytree(model, blobs)
    for file in blobs.iterdir():
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    load_model(snapshot)
    index = {"weight_map": {"w": "../hub/blobs/model.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "expected a file of this folder" in refusal(model)

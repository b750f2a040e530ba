"""`tripwright merge`: a plain model that says what base and adapter say."""

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.episode import open_session

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.inference.models import LoraSettings, adapter_parameters, add_adapter, save_model


@pytest.fixture
def run(talking: Any, nano_tokenizer: Any, tmp_path: Path) -> Path:
    """A run folder with a base and the adapter of its last stage."""
    model = talking(6)
    for stage in ("start", "sft"):
        if stage == "sft":
            add_adapter(model, LoraSettings(rank=4), "../start", 0)
            torch.manual_seed(0)
            for _, parameter in adapter_parameters(model):
                torch.nn.init.normal_(parameter, std=0.05)
        save_model(model, tmp_path / "run" / "model" / stage)
        nano_tokenizer.save_pretrained(tmp_path / "run" / "model" / stage)
    return tmp_path / "run"


def test_merged_and_not_merged_agree(run, caller, lab, tmp_path, capsys):
    """In logits, and token by token in greedy episodes of several turns."""
    out, adapter = tmp_path / "models" / "plain", run / "model" / "sft"
    assert main(["merge", str(run), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"model": str(out), "adapter": str(adapter)}
    assert not (out / "adapter_config.json").exists() and not list(out.parent.glob("*.partial"))
    ids = torch.arange(300)[None] % 200
    logits, episodes = [], []
    for folder in (adapter, out, run / "model" / "start"):
        model, _ = load_model(folder)
        decoder = Decoder(model)
        with torch.no_grad():
            logits.append(decoder.logits(decoder.hidden(ids, torch.arange(300)[None])))
        policy = LocalPolicy(model, caller, Sampling(dtype="float32"))
        dialect = dialect_named("compact")
        sessions = [open_session(lab.trip.renamed(f"{n}"), dialect, caller) for n in range(3)]
        played = {session.task.id: session.transcript for session in policy.play(sessions)}
        episodes.append({name: transcript.token_ids for name, transcript in played.items()})
    torch.testing.assert_close(logits[0], logits[1], atol=1e-5, rtol=1e-5)
    assert episodes[0] == episodes[1] and episodes[0] != episodes[2]


def test_what_cannot_be_merged_is_told_and_nothing_is_written(run, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    plain = run / "model" / "start"
    for source, out, why in (
        (run, "there", "is there already. Choose a new folder for --out."),
        (tmp_path / "nowhere", "new", "No adapter in"),
        (plain, "new", "No adapter in"),
    ):
        assert main(["merge", str(source), "--out", str(tmp_path / out)]) == 2
        problem = capsys.readouterr().err
        assert why in problem and problem.count("\n") == 1
    plain.rename(run / "model" / "rl")
    assert main(["merge", str(run), "--out", str(tmp_path / "new")]) == 2
    assert "so nothing is to be merged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists() and not list((tmp_path / "there").iterdir())

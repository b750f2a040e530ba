"""No run is lost: killed at any moment, the same command ends with the same weights and the same
metrics (row B6)."""

import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.errors import UserError
from tripwright.rewards.curriculum import Curriculum

torch = pytest.importorskip("torch")

from tripwright.inference.local import load_model
from tripwright.training import stages
from tripwright.training.grpo import Kl, ReplaySettings
from tripwright.training.recipe import CheckpointSettings, Reinforcement
from tripwright.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("threads_as_before")
ADAPTIVE = Curriculum("adaptive", (("stage1", 2), ("stage2", 2), ("stage3", 2)))
GRPO = {
    "entropy_bonus": 0.1,
    "kl": Kl(0.01),
    "replay": ReplaySettings(every=2),
    "curriculum": ADAPTIVE,
}
STAGES = ("copy_pretraining", "sft", "rl")
# in the names of figures that no two runs share
OF_THE_CLOCK = ("seconds", "per_second", "mfu", "memory", "hours")

WORK = """
import os, pickle, signal, sys
from tripwright.training import grpo, sft, stages
from tripwright.training.run_folder import RunFolder

folder, recipe, dies_in, dies_after = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
loops = (sft.CopyPretraining, sft.FineTuning, grpo.Grpo)
loop = dict(zip(("copy_pretraining", "sft", "rl"), loops, strict=True))[dies_in]
take_step = loop.take_step
def or_die(self):
    if self.step == dies_after:
        os.kill(os.getpid(), signal.SIGKILL)
    return take_step(self)
loop.take_step = or_die
with open(recipe, "rb") as file:
    run = RunFolder(folder, pickle.load(file))
stages.take_stages(run)
"""


@pytest.fixture
def recipe(tiny_recipe: Any) -> Any:
    """Ten steps a stage, a checkpoint every three. The bonus moves the weights where no episode is
    worth anything."""
    return replace(
        tiny_recipe,
        copy_pretraining=replace(tiny_recipe.copy_pretraining, max_steps=10),
        sft=replace(tiny_recipe.sft, steps=10),
        rl=Reinforcement("grpo", replace(tiny_recipe.rl.settings, steps=10, **GRPO)),
        checkpoint=CheckpointSettings(every_steps=3, every_minutes=None),
    )


def everything(run: RunFolder) -> None:
    stages.take_stages(run)


def metrics(run: RunFolder) -> list[dict[str, Any]]:
    """Without what the clock says."""
    return [
        {key: value for key, value in line.items() if not any(word in key for word in OF_THE_CLOCK)}
        for line in read_lines(run.metrics)
    ]


def weights(run: RunFolder, stage: str) -> dict[str, Any]:
    found: dict[str, Any] = load_model(run.model(stage))[0].state_dict()
    return found


def test_four_steps_kill_nine_and_two_more_are_six(tmp_path, recipe):
    """In two stages, at a step that is not a checkpoint's, by real processes that hash their words
    differently."""
    rl = Reinforcement("grpo", replace(recipe.rl.settings, steps=6))
    copy = replace(recipe.copy_pretraining, max_steps=6)
    recipe = replace(recipe, copy_pretraining=copy, sft=replace(recipe.sft, steps=6), rl=rl)
    whole = RunFolder(tmp_path / "whole", recipe)
    everything(whole)
    (tmp_path / "recipe").write_bytes(pickle.dumps(recipe))
    for number, stage in enumerate(STAGES[1:]):
        folders = (str(tmp_path / "killed"), str(tmp_path / "recipe"))
        command = [sys.executable, "-c", WORK, *folders, stage, "4"]
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert ("sft: going on after step 3" in ended.stderr) == (stage == "rl")
    killed = RunFolder(tmp_path / "killed", recipe)
    assert metrics(killed)[-1]["step"] == 4
    everything(killed)
    for stage in STAGES:
        one, other = weights(whole, stage), weights(killed, stage)
        assert all(torch.equal(one[name], other[name]) for name in one), stage
        assert not (killed.folder / "checkpoints").exists()
    assert metrics(killed) == metrics(whole)
    told = [(line["stage"], line["step"]) for line in metrics(killed)]
    assert told == [
        (stage, step) for stage in ("copy_pretraining", "sft", "rl") for step in range(1, 7)
    ]
    before, after = weights(whole, "sft"), weights(whole, "rl")
    # or the last stage would prove nothing
    assert any(not torch.equal(before[name], after[name]) for name in before)


# ---- how any loop is driven


class Counting:
    """A loop of ten steps that depend on its own state and on the process's generator; `at` is
    called in the middle of every step."""

    steps = 10

    def __init__(self, at: Any = lambda step: None):
        self.step, self.total, self.at = 0, torch.zeros(2), at

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def take_step(self) -> dict[str, Any]:
        self.at(self.step + 1)
        self.total = self.total * 1.5 + torch.rand(2)
        self.step += 1
        return {"loss": float(self.total.sum())}

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step, "total": self.total}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step, self.total = state["step"], state["total"]


class Killed(BaseException):
    pass


def send(number: int, at: int, times: int = 1) -> Any:
    def signalling(step: int) -> None:
        for _ in range(times if step == at else 0):
            os.kill(os.getpid(), number)

    return signalling


def die(at: int) -> Any:
    def dying(step: int) -> None:
        if step == at:
            raise Killed

    return dying


@pytest.fixture
def run(tmp_path: Path, recipe: Any) -> RunFolder:
    return RunFolder(tmp_path / "run", recipe)


@pytest.fixture
def uninterrupted(tmp_path: Path, recipe: Any) -> tuple[Any, list[dict[str, Any]]]:
    run, loop = RunFolder(tmp_path / "whole", recipe), Counting()
    run.drive("sft", loop)
    return loop.total, metrics(run)


def checkpoints(run: RunFolder) -> list[str]:
    return sorted(place.name for place in (run.folder / "checkpoints" / "sft").iterdir())


def stopped_at(run: RunFolder, step: int) -> None:
    with pytest.raises(Killed):
        run.drive("sft", Counting(die(step)))


@pytest.mark.parametrize("step", [1, 2, 4, 6, 10])
def test_a_loop_that_died_goes_on_from_its_newest_checkpoint(step, run, uninterrupted):
    stopped_at(run, step)
    assert len(metrics(run)) == step - 1
    torch.rand(7)  # another process would have another generator
    again = Counting()
    run.drive("sft", again)
    assert torch.equal(again.total, uninterrupted[0]) and metrics(run) == uninterrupted[1]
    assert checkpoints(run) == ["step-000006", "step-000009"]  # the two newest; `save` removes them


def test_seconds_count_the_work_and_not_the_rest(run):
    stopped_at(run, 6)
    lines = read_lines(run.metrics)
    manifest_path = run.folder / "checkpoints" / "sft" / "step-000003" / "manifest.json"
    manifest = json.loads(manifest_path.read_text())
    assert manifest["seconds"] == lines[2]["seconds"]
    manifest_path.write_text(json.dumps({**manifest, "seconds": 1000.0}))
    run.drive("sft", Counting())
    seconds = [line["seconds"] for line in read_lines(run.metrics)]
    assert all(1000 <= value < 1060 for value in seconds[3:]) and len(seconds) == 10


def test_where_every_checkpoint_is_damaged_the_stage_starts_again(run, uninterrupted):
    stopped_at(run, 8)
    for state in run.folder.glob("checkpoints/sft/*/state.pt"):
        state.write_bytes(b"")
    run.drive("sft", loop := Counting())
    assert torch.equal(loop.total, uninterrupted[0]) and metrics(run) == uninterrupted[1]


# ---- stopped on purpose


@pytest.mark.parametrize(
    ("number", "raised", "code"),
    [(signal.SIGINT, KeyboardInterrupt, None), (signal.SIGTERM, SystemExit, 143)],
)
def test_a_signal_ends_the_run_between_two_steps_with_a_checkpoint(
    number, raised, code, run, uninterrupted
):
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(raised) as stopped:
        run.drive("sft", Counting(send(number, at=4)))
    assert getattr(stopped.value, "code", None) == code
    assert checkpoints(run) == ["step-000003", "step-000004"] and len(metrics(run)) == 4
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    run.drive("sft", loop := Counting())
    assert torch.equal(loop.total, uninterrupted[0]) and metrics(run) == uninterrupted[1]


def test_a_second_signal_does_not_wait(run, capfd):
    with pytest.raises(KeyboardInterrupt):
        run.drive("sft", Counting(send(signal.SIGINT, at=5, times=2)))
    assert checkpoints(run) == ["step-000003"] and "again stops at once" in capfd.readouterr().err


def test_a_signal_in_the_last_step_leaves_nothing_to_do(run, uninterrupted):
    with pytest.raises(KeyboardInterrupt):
        run.drive("sft", Counting(send(signal.SIGINT, at=10)))
    run.drive("sft", loop := Counting(die(11)))
    assert torch.equal(loop.total, uninterrupted[0]) and metrics(run) == uninterrupted[1]


# ---- what a run will not go on with


def with_files(recipe: Any, folder: Path, seed: int = 3, queries: int = 5) -> Any:
    from tripwright.domains.travelplanner.queries.sample import make_queries
    from tripwright.world.generator import build_tables
    from tripwright.world.store import write_world

    world, file = (
        write_world(folder / f"world-{seed}", build_tables("nano", seed)),
        folder / "queries.jsonl",
    )
    write_lines(file, (query.record() for query in make_queries(world, queries, 1)))
    return replace(recipe, data=replace(recipe.data, world=str(world.folder), queries=str(file)))


def test_changed_data_is_refused_with_what_changed(tmp_path, recipe):
    given = with_files(recipe, tmp_path)
    run = RunFolder(tmp_path / "run", given)
    stopped_at(run, 8)
    file = Path(given.data.queries)
    before = file.read_text()
    file.write_text(before.replace('"days": 3', '"days": 5', 1))
    with pytest.raises(UserError, match=r"was trained on other data: queries: [0-9a-f]{12} ->"):
        RunFolder(run.folder, given).drive("sft", Counting())
    file.write_text(before)
    RunFolder(run.folder, given).drive("sft", Counting())
    assert len(metrics(run)) == 10
    other = with_files(recipe, tmp_path, seed=4)
    Path(given.data.world).rename(tmp_path / "away")
    Path(other.data.world).rename(given.data.world)
    with pytest.raises(UserError, match=r"other data: world: [0-9a-f]{12} -> [0-9a-f]{12}"):
        RunFolder(run.folder, given).drive("sft", Counting())


def test_a_changed_recipe_is_refused_by_the_path_of_the_setting(run):
    stopped_at(run, 8)
    other = replace(
        run.recipe,
        seed=1,
        sft=replace(run.recipe.sft, batch_size=7),
        dialect=replace(run.recipe.dialect, max_turns=3),
    )
    with pytest.raises(
        UserError,
        match=(
            r"another recipe: seed: 0 -> 1; dialect.max_turns: none -> 3; sft.batch_size: 2 ->"
            r" 7\. Put"
        ),
    ):
        RunFolder(run.folder, other)


def test_a_longer_stage_is_refused_with_the_way_to_train_longer(run):
    stages.make(run)
    # as if it were finished: until then the recipe may still be changed
    (run.folder / "model" / "sft").mkdir()
    with pytest.raises(UserError, match=r"grpo.steps: 10 -> 20\..* model.pretrained ="):
        RunFolder(
            run.folder,
            replace(
                run.recipe, rl=Reinforcement("grpo", replace(run.recipe.rl.settings, steps=20))
            ),
        )


def test_how_often_checkpoints_are_written_may_change(run, uninterrupted):
    stopped_at(run, 5)
    again = RunFolder(
        run.folder,
        replace(
            run.recipe, checkpoint=CheckpointSettings(every_steps=1, every_minutes=None, keep=3)
        ),
    )
    again.drive("sft", loop := Counting())
    assert torch.equal(loop.total, uninterrupted[0]) and checkpoints(run) == [
        "step-000007",
        "step-000008",
        "step-000009",
    ]
    assert json.loads((run.folder / "recipe.json").read_text())["checkpoint"]["keep"] == 3


def rewritten(run: RunFolder, **changed: Any) -> None:
    for path in run.folder.glob("checkpoints/sft/*/manifest.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


@pytest.mark.parametrize(
    "changed", [{"tripwright": "0.0.0"}, {"format": 0}, {"recipe_sha256": "0" * 64}]
)
def test_a_checkpoint_of_other_code_is_refused(changed, run):
    stopped_at(run, 8)
    rewritten(run, **changed)
    with pytest.raises(
        UserError,
        match=(
            rf"checkpoint of step 6 .* other conditions: {next(iter(changed))}: 0.* -> .* Restore"
            r" them, or remove"
        ),
    ):
        run.drive("sft", Counting())


def test_another_torch_or_other_threads_are_told_and_gone_on_with(run, capsys):
    stopped_at(run, 8)
    rewritten(run, torch="2.0", threads=64)
    run.drive("sft", Counting())
    said = capsys.readouterr().err
    assert f"not bit for bit: torch: 2.0 -> {torch.__version__}; threads: 64 -> 1" in said
    assert len(metrics(run)) == 10


# ---- one at a time


def test_two_processes_never_work_in_one_folder(run):
    words = rf"Process {os.getpid()} is at work in '.*run'\. Wait for it, or choose another folder"
    with run.alone(), pytest.raises(UserError, match=words):
        RunFolder(run.folder, run.recipe)
    with pytest.raises(UserError, match=words):  # and not while a stage is driven either
        run.drive("sft", Counting(lambda step: RunFolder(run.folder, run.recipe)))
    RunFolder(run.folder, run.recipe).drive("sft", Counting())


def test_the_lock_of_a_process_that_is_gone_is_taken_over(run):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (run.folder / "run.lock").write_text(f"{gone.pid}\n")
    with RunFolder(run.folder, run.recipe).alone():
        assert (run.folder / "run.lock").read_text() == f"{os.getpid()}\n"

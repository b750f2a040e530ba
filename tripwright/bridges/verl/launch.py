"""RL by verl as a stage of a run folder: verl's own environment, what a run writes for it, the
process, and its steps, which come in as those of any loop. So metrics, warnings, loggers and status
are the same, and a run that was killed goes on by the same command.

Two programs keep books. verl's newest checkpoint says how far the training is; what it has written
beyond is taken back here, and what it had written before we read it is taken over."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tripwright
from tripwright.bridges.verl import FOLDER, NAME, STEPS, STOP, TRACKER, VERSION
from tripwright.bridges.verl.settings import (
    ADAPTER,
    ATTENTION,
    CONFIGURATION,
    FLASH,
    PLUGIN,
    TRAIN,
    attention_of,
    check_for_verl,
    configuration,
    length_of,
    nested,
)
from tripwright.data.export import write_rows
from tripwright.errors import UserError
from tripwright.files import (
    MOST_AT_ONCE,
    keep_lines,
    open_file,
    whole_lines,
    write_atomically,
)
from tripwright.inference.local import inspect_model, make_adapter
from tripwright.inference.models import base_of, is_adapter, name_base
from tripwright.runs import VERL_MODELS, logged_steps
from tripwright.training.fit import size_of, verl_peak
from tripwright.training.held_out import Validation, evaluations, finished_score, is_due
from tripwright.training.loop import Loop
from tripwright.training.recipe import Recipe, missing_files
from tripwright.training.run_folder import RunFolder
from tripwright.training.stages import check_starting_model, stage_before, take_stages

SETTING = "TRIPWRIGHT_VERL"  # names the Python that has verl
LOG = "log.txt"
RAY = "ray_kwargs.ray_init"  # verl's keys of what it gives to Ray
LOGICAL_CPUS = 32  # of Ray's on a machine that only pretends to have GPUs
CONNECT_SECONDS = 10  # to a Ray that was started already
POLL_SECONDS = 0.2
LAST_WORDS_SECONDS = 2  # what Ray's workers said last comes a moment after they ended
END_SECONDS = 30  # a process that was told to end may take so long
_RAISED = re.compile(
    r"^(?:\x1b\[\d+m)?(?:\(\S+ pid=\d+[^)]*\)(?:\x1b\[0m)? )?"
    r"((?:[\w.]*(?:Error|Exception)|[\w.]*Down)(?=[:(]|$).*)"
)


def verl_python() -> str:
    """The interpreter that has verl: named by $TRIPWRIGHT_VERL, or what `make verl` has made.
    Raises UserError where there is none, or another version."""
    beside = Path(tripwright.__file__).parents[1] / ".venv-verl/bin/python"
    python = os.environ.get(SETTING) or (str(beside) if beside.is_file() else None)
    if python is None:
        raise UserError(
            f"No verl here: 'make verl' puts it into an environment of its own,"
            f" {beside.parents[1]}, 'make verl-gpu' for GPUs; ${SETTING} names the Python of"
            " another one."
        )
    found = _versions(python).get("verl", "none")
    if found != VERSION:
        raise UserError(f"'{python}' has verl {found}; expected {VERSION}. Make it: make verl")
    return python


@cache
def _versions(python: str) -> dict[str, str]:
    """Of the packages that this interpreter has. Raises UserError where it cannot be started."""
    asked = (
        "import json; from importlib.metadata import distributions;"
        "print(json.dumps({d.name.lower().replace('_', '-'): d.version for d in distributions()}))"
    )
    try:
        answer = subprocess.run([python, "-c", asked], capture_output=True, text=True)
    except OSError as error:
        raise UserError(f"${SETTING}: '{python}' cannot be started ({error}).") from None
    return dict(json.loads(answer.stdout)) if answer.returncode == 0 else {}


def check(recipe: Recipe) -> None:
    """Raises UserError for what verl does not do, and for all that is missing."""
    if lines := list(missing(recipe)):
        raise UserError(" ".join(lines))
    check_ray()


def missing(recipe: Recipe) -> Iterator[str]:
    """A sentence for each thing that a start needs and that is not there: verl, the sampler, the
    implementation of attention, and the recipe's world, queries and other files."""
    _, verl = check_for_verl(recipe)
    try:
        python = verl_python()
    except UserError as error:
        yield str(error)
    else:
        found, sampler = _versions(python), verl.sampler
        if sampler != "cpu" and sampler not in found:
            yield f"sampler: '{python}' has no {sampler}. 'make verl-gpu' installs SGLang."
        # flash-attn-4, which SGLang brings, is another package, which verl's default does not take
        if attention_of(verl) == FLASH and "flash-attn" not in found:
            yield (
                f"attention: '{python}' has no flash-attn, verl's default. 'make verl-gpu' builds"
                f' it; without it, and slower: [verl.options] "{ATTENTION}" = "sdpa".'
            )
    yield from missing_files(recipe)


def check_ray() -> None:
    """Raises UserError where $RAY_ADDRESS names a machine and nothing answers there: Ray itself
    would go on asking for many minutes."""
    address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not port.isdigit():  # "auto", "local"
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"RAY_ADDRESS is '{address}', and no Ray answers there ({error}). Start it: ray start"
            " --head; without RAY_ADDRESS verl starts a Ray of its own."
        ) from None


@dataclass(frozen=True)
class VerlCommand:
    """How verl is started for a run. `keys` are its configuration, `environment` what is set beside
    the present one (None: taken away)."""

    arguments: list[str]
    keys: Mapping[str, Any]
    environment: Mapping[str, str | None]


def command_for(recipe: Recipe, model: str, run: Path, python: str) -> VerlCommand:
    folder = run.absolute() / FOLDER
    _, verl = check_for_verl(recipe)
    on_cpu = verl.sampler == "cpu"
    plugins = [PLUGIN, *filter(None, [os.environ.get("VERL_USE_EXTERNAL_MODULES")])]
    shared = {
        "VERL_USE_EXTERNAL_MODULES": ",".join(plugins),
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")])),
    }
    if on_cpu:  # "cuda" is the name of the engine that we want: FSDP
        shared |= {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cuda", "OMP_NUM_THREADS": "1"}
    ray: dict[str, Any] = {}
    if on_cpu and "RAY_ADDRESS" not in os.environ:  # whatever else runs here, or was left behind
        ray = {"address": "local", "include_dashboard": False}
        ray |= {"num_cpus": LOGICAL_CPUS, "num_gpus": verl.gpus}
    keys = {
        **{f"{RAY}.{name}": value for name, value in ray.items()},
        **configuration(recipe, model, run),
        # verl does not hand these to Ray's workers
        **{f"{RAY}.runtime_env.env_vars.{name}": shared[name] for name in shared},
    }
    arguments = [
        *(python, "-m", "verl.trainer.main_ppo"),
        *("--config-path", str(folder), "--config-name", Path(CONFIGURATION).stem),
    ]
    # a busy machine takes longer to start Ray than the half minute that Ray gives it
    quiet = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_raylet_start_wait_time_s": "300",
    }
    gone = {"CUDA_VISIBLE_DEVICES": None} if on_cpu else {}
    return VerlCommand(arguments, keys, {**shared, **quiet, **gone})


def prepare(recipe: Recipe, run: Path, command: VerlCommand) -> None:
    """RUN/verl/: the configuration, and as many rows as a step has prompts."""
    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    whole = {
        "defaults": ["ppo_trainer", "_self_"],
        "hydra": {
            "searchpath": ["pkg://verl.trainer.config"],
            "run": {"dir": str(folder.absolute() / "hydra")},
        },
        **nested(command.keys),
    }
    write_atomically(folder / CONFIGURATION, json.dumps(whole, indent=2))
    # verl wants a table of prompts; the agent loop opens an episode by the number of its trip
    row = {
        "data_source": NAME,
        "prompt": [{"role": "user", "content": "a trip of the recipe"}],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "agent_name": NAME,
    }
    write_rows([row] * check_for_verl(recipe)[0].prompts_per_step, folder / TRAIN)


def newest_checkpoint(run: Path) -> int:
    """The last step that verl has saved whole; 0 where it has none."""
    try:
        with open_file(run / FOLDER / TRACKER, "r", most=MOST_AT_ONCE, encoding="ascii") as step:
            return int(step.read())
    except (OSError, ValueError):
        return 0


def saved_model(run: Path, step: int) -> Path:
    return run / VERL_MODELS.format(step)


class VerlProcess:
    """verl at work for a run; while entered. It dies with whoever started it. On leaving early it
    is asked to save after its step, and killed where that takes an error or a second signal."""

    def __init__(self, run: Path, command: VerlCommand):
        self.folder, self.command = run / FOLDER, command
        self.log = self.folder / LOG

    def __enter__(self) -> VerlProcess:
        (self.folder / STOP).unlink(missing_ok=True)
        environment = {**os.environ, **self.command.environment}
        with open_file(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.command.arguments,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in environment.items() if value is not None},
                start_new_session=True,  # Ctrl-C is ours to pass on
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind in (KeyboardInterrupt, SystemExit) and self.process.poll() is None:
                (self.folder / STOP).touch()
                self.process.wait()
        finally:
            self.end()

    def end(self) -> None:
        """Ray's processes stand in the same session."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is not None:
                return
            os.killpg(self.process.pid, number)
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                continue

    def wait_for(self, ready: Callable[[], bool], when: str) -> None:
        """Raises UserError where it ends before."""
        while not ready():
            if self.process.poll() is not None and not ready():
                time.sleep(LAST_WORDS_SECONDS)
                raise self.failure(when)
            time.sleep(POLL_SECONDS)

    def finish(self) -> None:
        """Waits for the end of a run whose steps are done. Raises UserError where it went wrong."""
        if self.process.wait() != 0:
            raise self.failure("after its last step")

    def failure(self, when: str) -> UserError:
        cause = cause_in(self.log.read_text(encoding="utf-8", errors="replace"))
        return UserError(
            f"verl ended with exit code {self.process.poll()} {when}: {cause}. All it said:"
            f" {self.log}. The same command goes on from the newest checkpoint."
        )


def cause_in(log: str) -> str:
    """The exception that began it: that of an agent loop where one raised, which verl only logs;
    else the last one."""
    lines = log.splitlines()
    starts = [n for n, line in enumerate(lines) if "Error in _run_prompt" in line]
    ended = _exceptions(lines)
    if starts and (loops := _exceptions(lines[starts[0] + 1 :])):
        return f"an agent loop raised {loops[0]}" + (f" ({ended[-1]})" if ended else "")
    return ended[-1] if ended else "no reason given"


def _exceptions(lines: list[str]) -> list[str]:
    return [match[1].rstrip(".") for line in lines if (match := _RAISED.match(line))]


def next_lines(path: Path, after: int) -> list[dict[str, Any]]:
    """The whole lines of the steps behind `after`."""
    rows = [json.loads(line.text) for line in whole_lines(path)] if path.is_file() else []
    return [row for row in rows if row["step"] > after]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class VerlLoop(Loop):
    """verl's steps: a step is taken when its line is there."""

    steps: int

    def __init__(self, process: VerlProcess | None, run: Path, steps: int, step: int):
        self.process, self.steps, self.step = process, steps, step
        self.path = run / FOLDER / STEPS
        self._rows: list[dict[str, Any]] = []

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def take_step(self) -> dict[str, Any]:
        process, when = self.process, f"after step {self.step} of {self.steps}"
        try:
            if process is not None:
                process.wait_for(self._read, when)
        except (KeyboardInterrupt, SystemExit):  # a second signal: nothing is waited for any more
            if process is not None:
                process.end()
            raise
        self._read()
        row = self._rows.pop(0)
        self.step = row.pop("step")
        return row

    def _read(self) -> bool:
        """Whether there is a next step."""
        self._rows = self._rows or next_lines(self.path, self.step)
        return bool(self._rows)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing: verl's own checkpoint decides, and `step` is of it already."""


class VerlValidation(Validation):
    """Played by verl's trainer, with its samplers (`inside/trainer.py`). Here its scores are waited
    for, and the checkpoints become models of the run."""

    loop: VerlLoop
    taken_up = 0  # verl's step when it was started: it evaluates from there on

    def take_up(self, saved: int) -> None:
        """Before verl is started: what it has not saved led nowhere; what a kill has left undone
        here is done."""
        behind, self.loop.step, self.taken_up = self.loop.step, saved, saved
        super().begin()
        self.loop.step = behind
        for step, folder in evaluations(self.run.folder):
            model = saved_model(self.run.folder, step)
            if finished_score(folder) and model.is_dir() and not self.run.done(self.name(step)):
                self.run.adopt(self.name(step), model)
        self._keep_best()

    def begin(self) -> None: ...

    def due(self, last: bool) -> bool:
        return self.loop.step >= self.taken_up and super().due(last)

    def model(self, step: int) -> Path:
        kept = super().model(step)  # the starting model is verl's to load
        return kept if step or kept.is_dir() else Path(self.run.recipe.model.pretrained or "")

    def save(self, name: str) -> None:
        step, run = self.loop.step, self.run
        self._wait(lambda: newest_checkpoint(run.folder) >= step)
        run.adopt(name, saved_model(run.folder, step))

    def evaluated(self, folder: Path, identity: dict[str, Any]) -> dict[str, Any]:
        self._wait(lambda: finished_score(folder) is not None)
        return finished_score(folder) or {}

    def _wait(self, ready: Callable[[], bool]) -> None:
        assert self.loop.process is not None
        self.loop.process.wait_for(ready, f"in the validation after step {self.loop.step}")


def train(run: RunFolder) -> None:
    """The stage "rl" of a run folder, after those before it, which our engine takes. A model that
    exists and goes straight to RL is loaded by verl's workers alone."""
    recipe, model = run.recipe, run.recipe.model.pretrained
    _, verl = check_for_verl(recipe)
    if model is not None and recipe.stages == ("start", "rl") and not is_adapter(model):
        run.settle_data()
        if Path(model).is_dir():
            check_starting_model(recipe, *inspect_model(model, elsewhere=verl.sampler != "cpu"))
    else:
        take_stages(run, "sft")
        model = str(run.model(stage_before(run, "rl")).absolute())
    if run.done("rl"):
        return
    if recipe.model.lora is not None:
        model = put_adapter_down(recipe, model, run.folder / FOLDER / ADAPTER)
    command = command_for(recipe, model, run.folder, verl_python())
    prepare(recipe, run.folder, command)
    steps, saved = length_of(recipe)[0] or 0, newest_checkpoint(run.folder)
    _check_ranks(run, saved)
    rows, _ = logged_steps(run.metrics)
    logged = max((row["step"] for row in rows if row["stage"] == "rl"), default=0)
    device = "cpu" if verl.sampler == "cpu" else "cuda"
    loop = VerlLoop(None, run.folder, steps, min(logged, saved))
    keep_lines(loop.path, lambda row: bool(row["step"] <= saved), "not a step of verl")
    during, left = None, saved < steps
    if recipe.validation is not None:
        start = stage_before(run, "rl")
        during = VerlValidation(run, recipe.validation, "rl", loop, None, start)
        during.take_up(saved)
        left = left or is_due(recipe.validation, run.folder, saved, True)
    if not left:
        run.drive("rl", loop, device, during)
    else:
        with VerlProcess(run.folder, command) as loop.process:
            run.drive("rl", loop, device, during)
            loop.process.finish()
    run.adopt("rl", saved_model(run.folder, newest_checkpoint(run.folder)))


def put_adapter_down(recipe: Recipe, model: str, folder: Path) -> str:
    """The adapter that RL begins with, of the stage before or as `stages.load_trainable` makes it;
    the base that it is for. In RL there is no dropout."""
    assert recipe.model.lora is not None
    base = base_of(model) if is_adapter(model) else model
    base = str(Path(base).resolve()) if Path(base).is_dir() else base
    if is_adapter(model):
        shutil.copytree(model, folder, dirs_exist_ok=True)
    else:
        make_adapter(base, recipe.model.lora, recipe.seed, folder)
    name_base(folder, base, folder.parents[1], lora_dropout=0.0)
    return base


def _check_ranks(run: RunFolder, saved: int) -> None:
    """verl's checkpoints are of as many ranks as wrote them."""
    verl = run.recipe.verl
    shards = list(saved_model(run.folder, saved).parent.glob("model_world_size_*_rank_0.pt"))
    if verl is not None and shards and f"_{verl.gpus}_" not in shards[0].name:
        was = shards[0].name.split("_")[3]
        raise UserError(
            f"verl's checkpoint in '{run.folder}' is of {was} GPUs, and [verl] has {verl.gpus}:"
            " go on with as many."
        )


def plan_lines(recipe: Recipe, run: Path) -> Iterator[str]:
    """The command with its environment, and the configuration key by key."""
    _, verl = check_for_verl(recipe)
    model, stage = recipe.model.pretrained, recipe.stages[-2]
    if model is None or stage != "start":
        stage = "start" if recipe.model.lora else stage  # the base of an adapter
        model = str((run / "model" / stage).absolute())
    command = command_for(recipe, model, run, "python")
    settings = [f"{k}={shlex.quote(v)}" for k, v in command.environment.items() if v is not None]
    yield "# command (python: that of 'make verl')"
    yield " \\\n  ".join([" ".join(settings), shlex.join(command.arguments)])
    yield "# configuration: what is not verl's default"
    if command.keys["trainer.total_training_steps"] is None:
        yield f"# its steps are counted when '{recipe.data.queries}' is there"
    yield from (f"{key}: {json.dumps(value)}" for key, value in command.keys.items())
    if verl.sampler == "cpu":
        return
    try:
        held = verl_peak(recipe, size_of(recipe))
    except UserError:  # a model that is not here yet
        return
    enough = [card.replace("_gb", " GB") for card, fits in held.fits.items() if fits]
    yield (
        f"# memory of each of {held.devices} GPUs, reckoned: {held.peak_gb:.1f} GB; cards that are"
        f" enough: {', '.join(enough) or 'neither of 80 nor of 141 GB'}"
    )

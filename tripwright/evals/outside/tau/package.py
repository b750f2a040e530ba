"""The package that runs the retail shop, in an environment of its own, spoken to over a process
boundary (`worker.py`).

The package is inspect-evals, whose port of τ²-bench carries tasks, database and rules. Sierra's own
`tau2` is on no package index: what `pip install tau2` brings is a library for magnetic relaxation,
and is refused by name.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.errors import UserError

WORKER = Path(__file__).with_name("worker.py")
WANTED = "inspect-evals"
LEAST = (0, 26)
INSTALL = (
    f"Make one with 'python3 -m venv DIR' and 'DIR/bin/pip install \"{WANTED}>=0.26\"', and give"
    " --python DIR/bin/python."
)
# until the environment is looked at: its imports take seconds, on a busy machine more
START_S = 300.0
LAST_WORDS_S = 2.0  # for what an ended process wrote to stderr, which explains its end, to be read
LOOK = (
    "import json, importlib.metadata as m; found = {}\n"
    "for name in ('inspect-evals', 'tau2', 'tau-bench'):\n"
    "    try: found[name] = [m.version(name), m.metadata(name).get('Summary') or '']\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)


class WorkerDown(Exception):
    """The other process ended, or has a problem that no model caused (law 4)."""


@dataclass(frozen=True)
class TaskText:
    """What the simulated customer is told: `simulator_prompt` as system prompt, then `opening` as
    the first words to it."""

    id: str
    simulator_prompt: str
    opening: str


def check_environment(python: str) -> str:
    """The version of the package there. Raises UserError for an interpreter or an environment that
    will not do."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", LOOK], capture_output=True, text=True, timeout=START_S, check=True
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        raise UserError(f"'{python}' is no Python interpreter that runs. {INSTALL}") from None
    if WANTED not in found:
        raise UserError(_why_not(python, found))
    said = str(found[WANTED][0])
    if tuple(int(part) for part in said.split(".")[:2] if part.isdigit()) < LEAST:
        raise UserError(
            f"'{python}' has {WANTED} {said}, expected {'.'.join(map(str, LEAST))} or newer."
            f" {INSTALL}"
        )
    return said


def _why_not(python: str, found: dict[str, list[str]]) -> str:
    if "tau2" in found:
        name, summary = f"tau2 {found['tau2'][0]}", found["tau2"][1] or "no summary"
        return (
            f"'{python}' has {name} ({summary}) and no {WANTED}. The tau2 of PyPI is a physics"
            f" library and not τ²-bench. {INSTALL}"
        )
    others = (
        f"found {', '.join(f'{name} {said[0]}' for name, said in found.items())}; " if found else ""
    )
    return f"'{python}' has no {WANTED}: {others}expected an environment with it. {INSTALL}"


class Package:
    """The worker process and what it said of itself. Threads may share one; their requests take
    turns."""

    def __init__(self, command: Sequence[str]):
        self._lock = threading.Lock()
        self._errors: deque[str] = deque(maxlen=5)
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        self._drainer.start()
        try:
            said = self.ask(op="hello")
            self.policy, self.schemas = str(said["policy"]), list(said["tools"])
            self.tasks = [
                TaskText(str(task["id"]), str(task["simulator_prompt"]), str(task["opening"]))
                for task in said["tasks"]
            ]
            self.identity = {key: said[key] for key in ("package", "version", "inspect_ai")}
        except (WorkerDown, LookupError, TypeError) as problem:
            self.close()
            raise UserError(f"The retail shop does not open: {problem}") from None

    @classmethod
    def start(cls, python: str) -> Package:
        """Raises UserError."""
        check_environment(python)
        return cls([python, "-I", str(WORKER)])

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Raises WorkerDown."""
        with self._lock:
            try:
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.write(json.dumps(asked) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
                answer = json.loads(line) if line else None
            except (OSError, ValueError) as error:
                raise WorkerDown(
                    f"its process cannot be spoken to ({type(error).__name__})"
                ) from None
        if not isinstance(answer, dict):
            self._drainer.join(timeout=LAST_WORDS_S)
            raise WorkerDown(
                f"its process ended{': ' + ' '.join(self._errors)[-300:] if self._errors else ''}"
            )
        if "fault" in answer:
            raise WorkerDown(str(answer["fault"]))
        return answer

    def close(self) -> None:
        with self._lock:
            try:
                if self._process.stdin is not None:
                    self._process.stdin.close()
                self._process.wait(timeout=10)
            except BrokenPipeError:  # it ended before
                self._process.wait()
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drain(self) -> None:
        """Or a full pipe would stop the other process. The last lines explain its end."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line.strip())

"""Files that a person or a stranger gives, thrown at their readers: runs, plans, requests, recipes
and services files, changed in a few places or bytes. `fuzz_judge.py --files` runs it.

A reader may refuse a file with a `UserError`, and nothing else. The files to begin with are made by
the commands themselves, and shipped: an expert's run, requests of both domains, every recipe,
examples/vendors/live.toml.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tripwright.cli.main import main
from tripwright.domains.deeptravel.requests.file import read_requests
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.travelplanner.query import read_queries
from tripwright.domains.travelplanner.scoring.lines import LineReader, read_plan
from tripwright.errors import UserError
from tripwright.evals.outcome import Outcome
from tripwright.runs import episode_lines
from tripwright.training.recipe import load_recipe
from tripwright.world.store import World

HOME = Path(__file__).resolve().parents[1]
VALUES = (
    '"x"|""|-1|0|1e400|nan|-inf|99999999999999999999|true|[]|{}|{a = 1}|["x", 1]|2024-02-30'
    '|1979-05-27|\'\'\'\n\'\'\'|"\\u0000"|"\\ud800"|0x10|"expert"|1.5|"file:///etc/passwd"|"[::1"'
).split("|")
ODD_BYTES = b'\x00 \xff\xfe \xef\xbb\xbf \r \x1b[2J \xed\xa0\x80 \n\n " { ]'.split(b" ")
LARGEST = 150_000  # bytes


class Files:
    """Good files by kind, each with its reader."""

    def __init__(self, changed: Callable[[Any, random.Random, list[Any]], Any]):
        self._changed = changed
        self._folder = Path(
            tempfile.mkdtemp(prefix="fuzz", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        )
        world, run, queries = (self._folder / name for name in ("world", "run", "queries.jsonl"))
        asked = self._folder / "asked.jsonl"
        for command in (
            f"world build --scale nano --seed 1 --out {world}",
            f"query make --world {world} --count 8 --seed 1 --out {queries}",
            f"run --policy expert --queries {queries} --world {world} --out {run}",
            f"request make --world {world} --count 8 --out {asked}",
        ):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                code = main(command.split())
            if code:
                raise SystemExit(f"{command}: {said.getvalue()}")
        self._world = World.open(world)
        recipes = sorted((HOME / "recipes").rglob("*.toml"))
        self.kinds: dict[str, tuple[str, list[bytes], Callable[[Path], object]]] = {
            "run": ("transcripts.jsonl", [_lines(run / "transcripts.jsonl", 2)], self._read_run),
            "plans": ("plans.jsonl", [_lines(run / "transcripts.jsonl", 3)], self._read_plans),
            "queries": ("queries.jsonl", [queries.read_bytes()], read_queries),
            "requests": ("requests.jsonl", [asked.read_bytes()], read_requests),
            "recipe": ("recipe.toml", [path.read_bytes() for path in recipes], load_recipe),
            "services": (
                "services.toml",
                [(HOME / "examples/vendors/live.toml").read_bytes()],
                load_services,
            ),
        }

    def make_input(self, index: int, seed: int) -> tuple[str, bytes, Callable[[], None]]:
        """(kind, the file, what is to be timed), the same each time."""
        rng = random.Random(f"files-{seed}-{index}")
        kind = list(self.kinds)[index % len(self.kinds)]
        name, good, read = self.kinds[kind]
        content = rng.choice(good)
        for _ in range(rng.choice((1, 1, 2, 4))):
            changed = self._change(content, name.endswith(".toml"), rng)
            content = changed if len(changed) <= LARGEST else content
        path = self._folder / name
        path.write_bytes(content)

        def run() -> None:
            with contextlib.suppress(UserError):
                read(path)

        return kind, content, run

    def _change(self, content: bytes, is_toml: bool, rng: random.Random) -> bytes:
        if rng.random() < 0.25:
            return _change_bytes(content, rng)
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        if rng.random() < 0.1:
            lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [lines[at], rng.choice(lines)]))
        elif is_toml:
            lines[at] = _change_toml(lines[at], rng)
        else:
            lines[at] = self._change_json(lines[at], rng)
        return b"\n".join(lines)

    def _change_json(self, line: bytes, rng: random.Random) -> bytes:
        try:
            return json.dumps(self._changed(json.loads(line), rng, [])).encode()
        except (ValueError, RecursionError):
            return line

    def _read_run(self, path: Path) -> None:
        for line in episode_lines(path):
            line.read(Outcome.of)

    def _read_plans(self, path: Path) -> None:
        for _ in LineReader(self._world).read(path):
            pass
        read_plan(path, None, self._world)


def _lines(path: Path, count: int) -> bytes:
    return b"\n".join(path.read_bytes().splitlines()[:count]) + b"\n"


def _change_bytes(content: bytes, rng: random.Random) -> bytes:
    start, end = sorted((rng.randint(0, len(content)), rng.randint(0, len(content))))
    ways: Iterator[bytes] = iter(
        (
            content[:start] + rng.choice(ODD_BYTES) + content[start:],
            content[:start],
            content[:start] + content[end:],
            content[:start] + bytes([rng.randrange(256)]) + content[start + 1 :],
            content.replace(b"\n", b"\r\n"),
            content.decode("utf-8", "replace").encode("utf-16"),
        )
    )
    return rng.choice(list(ways))


def _change_toml(line: bytes, rng: random.Random) -> bytes:
    text = line.decode("utf-8", "replace")
    key, equals, value = text.partition(" = ")
    if not equals:
        return rng.choice((f"[{text}]", text.strip("[]"), f"{text}x", "[x]", "")).encode()
    if rng.random() < 0.7:
        value = rng.choice(VALUES)
    else:
        key = rng.choice((f"{key}s", "x", key.upper(), f"{key}.y", ""))
    return f"{key} = {value}".encode()

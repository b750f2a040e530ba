"""Checkpoints of one stage: written whole or not at all, checked before they are believed (row B6).

    RUN/checkpoints/<stage>/step-000050/state.pt        what the next steps depend on, as tensors,
    numbers and texts RUN/checkpoints/<stage>/step-000050/manifest.json   step, seconds, the hash of
    state.pt, and what the state belongs to

A checkpoint is written beside its place, forced to disk and moved there, so a kill leaves the one
before. One that is damaged all the same (a disk that was full, a copy cut short) is told and passed
over.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt

from tripwright.errors import UserError

STATE, MANIFEST, PARTIAL = "state.pt", "manifest.json", ".partial"
FORMAT = 3  # of both files; another one is refused


@dataclass(frozen=True)
class CheckpointSettings:
    """A checkpoint is due after so many steps or minutes, whichever comes first (None: not by
    that), and at Ctrl-C or SIGTERM.

    None of this changes what is trained: it may be changed when a run is continued.
    """

    every_steps: Annotated[int, Ge(1)] | None = None
    every_minutes: Annotated[float, Gt(0)] | None = 2.0
    keep: Annotated[int, Ge(1)] = 2

    def due(self, steps: int, minutes: float) -> bool:
        """Whether to write one, so many steps and minutes after the last."""
        by_steps = self.every_steps is not None and steps >= self.every_steps
        return by_steps or (self.every_minutes is not None and minutes >= self.every_minutes)


@dataclass(frozen=True)
class Checkpoint:
    """One whose files are whole."""

    folder: Path
    manifest: dict[str, Any]

    def state(self, mapped: bool = False) -> dict[str, Any]:
        """On the CPU, whatever it was saved from; `mapped`: its numbers stay on the disk. Only
        tensors and plain values are read: a checkpoint runs no code. Raises UserError for one that
        holds anything else."""
        try:
            state: dict[str, Any] = torch.load(
                self.folder / STATE, map_location="cpu", weights_only=True, mmap=mapped
            )
        except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError):
            raise UserError(
                f"'{self.folder / STATE}' is no checkpoint of ours: expected tensors, numbers and"
                " texts alone. Nothing of it was run; delete its folder to go on without it."
            ) from None
        return state


class Checkpoints:
    """Those of one stage, in one folder."""

    def __init__(self, folder: Path, keep: int = 2):
        self.folder, self.keep = folder, keep

    def write(self, step: int, state: Mapping[str, Any], facts: Mapping[str, Any]) -> Path:
        """Writes the state after `step`; `facts` go into the manifest. Then only the `keep` newest
        are left. Raises UserError for a state that could not be read again: better now than when it
        is needed."""
        place = self.folder / f"step-{step:06d}"
        partial = place.with_name(place.name + PARTIAL)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with (partial / STATE).open("wb") as out:
            torch.save(dict(state), out)
            out.flush()
            os.fsync(out.fileno())
        Checkpoint(partial, {}).state(mapped=True)
        manifest = {"step": step, **facts, "sha256": _sha256(partial / STATE)}
        with (partial / MANIFEST).open("w", encoding="utf-8") as out:
            out.write(json.dumps(manifest, indent=2) + "\n")
            out.flush()
            os.fsync(out.fileno())
        _sync_folder(partial)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(partial, place)
        _sync_folder(self.folder)
        for old in self._places()[self.keep :]:
            shutil.rmtree(old)
        return place

    def newest(self) -> Checkpoint | None:
        """The newest that is whole. What lies beyond it (half written, damaged) is removed, damage
        with a word on stderr."""
        for partial in self.folder.glob(f"step-*{PARTIAL}"):
            shutil.rmtree(partial)
        for place in self._places():
            try:
                return Checkpoint(place, _sound_manifest(place))
            except ValueError as damage:
                print(
                    f"'{place}' is damaged ({damage}): it is removed, and the checkpoint before it"
                    " is used",
                    file=sys.stderr,
                )
                shutil.rmtree(place)
        return None

    def clear(self) -> None:
        """The stage is over, and its model saved."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.parent.is_dir() and not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()

    def _places(self) -> list[Path]:
        """Newest first."""
        folders = [
            place
            for place in self.folder.glob("step-*")
            if place.is_dir() and place.name[5:].isdigit()
        ]
        return sorted(folders, key=lambda place: int(place.name[5:]), reverse=True)


def _sound_manifest(place: Path) -> dict[str, Any]:
    """Raises ValueError with what is wrong."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        digest = _sha256(place / STATE)
    except FileNotFoundError as missing:
        raise ValueError(f"no {Path(missing.filename).name}") from None
    except ValueError:
        raise ValueError(f"{MANIFEST} is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("sha256") != digest:
        raise ValueError(f"{STATE} is not what {MANIFEST} says")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    """Forces the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- generators of random numbers that belong to the process


def process_generators() -> dict[str, Any]:
    """States of torch's and Python's own generators. A loop draws from generators of its own; a
    model's dropout does not."""
    version, words, gauss = random.getstate()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {
        "torch": torch.get_rng_state(),
        "cuda": devices,
        "python": [version, list(words), gauss],
    }


def set_process_generators(state: dict[str, Any]) -> None:
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    torch.set_rng_state(state["torch"])
    # on another machine there is nothing to go on from
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])


def seed_process_generators(seed: int) -> None:
    """As a stage begins: what ran before it in this process leaves no trace in it."""
    random.seed(seed)
    torch.manual_seed(seed)

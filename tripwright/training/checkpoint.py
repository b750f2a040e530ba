"""Checkpoints of one stage: written whole or not at all, checked before they are believed (row B6).

    RUN/checkpoints/<stage>/step-000050/state.pt        what the next steps depend on, as tensors,
                                                        numbers and texts
    RUN/checkpoints/<stage>/step-000050/manifest.json   step, seconds, the hash of state.pt, and
                                                        what the state belongs to

A checkpoint is written beside its place, forced to disk and moved there, so a kill leaves the one
before. One that is damaged all the same (a disk that was full, a copy cut short) is told and passed
over.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tripwright.errors import UserError
from tripwright.files import (
    json_object,
    open_file,
    whole_folder,
    write_atomically,
    written_by_library,
)
from tripwright.inference.models import memory_bytes
from tripwright.training.data_source import file_hash

STATE, MANIFEST, PARTIAL = "state.pt", "manifest.json", ".partial"
FORMAT = 3  # of both files; another one is refused


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
                f"'{self.folder / STATE}' is not a checkpoint: expected tensors, numbers and texts"
                " alone. Nothing of it was run. Delete its folder to go on without it."
            ) from None
        return state


@dataclass(frozen=True)
class Checkpoints:
    """Those of one stage, in one folder."""

    folder: Path
    keep: int = 2

    def write(self, step: int, state: Mapping[str, Any], facts: Mapping[str, Any]) -> Path:
        """Writes the state after `step`; `facts` go into the manifest. Then only the `keep` newest
        are left. Raises UserError for a state that could not be read again: better now than when it
        is needed."""
        place = self.folder / f"step-{step:06d}"
        with whole_folder(place) as partial, written_by_library(partial):
            torch.save(dict(state), partial / STATE)
            Checkpoint(partial, {}).state(mapped=True)
            manifest = {"step": step, **facts, "sha256": file_hash(partial / STATE)}
            write_atomically(partial / MANIFEST, json.dumps(manifest, indent=2) + "\n")
            for path in (partial / STATE, partial / MANIFEST, partial):
                _force_to_disk(path)
            shutil.rmtree(place, ignore_errors=True)
        _force_to_disk(self.folder)
        for old in self._places()[self.keep :]:
            shutil.rmtree(old)
        return place

    def newest(self) -> Checkpoint | None:
        """The newest that is whole. What lies beyond it (half written, damaged) is removed, damage
        with a word on stderr."""
        for partial in self.folder.glob(f"step-*{PARTIAL}"):
            shutil.rmtree(partial, ignore_errors=True)
        for place in self._places():
            manifest, state = json_object(place / MANIFEST) or {}, place / STATE
            with suppress(UserError, FileNotFoundError):
                open_file(state, most=memory_bytes()).close()
                if manifest.get("sha256") == file_hash(state):
                    return Checkpoint(place, manifest)
            print(
                f"'{place}' is damaged ({STATE} is not what {MANIFEST} says): it is removed, and"
                " the checkpoint before it is used",
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
        places = [place for place in self.folder.glob("step-*") if place.name[5:].isdigit()]
        places = [place for place in places if place.is_dir() and not place.is_symlink()]
        return sorted(places, key=lambda place: int(place.name[5:]), reverse=True)


def _force_to_disk(path: Path) -> None:
    """A file's content, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
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

"""Writes trajectories where an export is to go: a `.parquet` or `.jsonl` file, or a file in a
folder with LLaMA-Factory's list of data sets beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tripwright.data.files import StoredEpisode
from tripwright.data.layouts import dataset_info, llama_factory_rows, message_rows, trl_rows
from tripwright.data.tables import write_json_lines, write_rows
from tripwright.errors import NotJson, UserError, read_json
from tripwright.files import write_atomically

TRAJECTORY_LAYOUTS = ("messages", "trl", "llama-factory")
LAYOUTS = (*TRAJECTORY_LAYOUTS, "verl")
ENDINGS = (".parquet", ".jsonl")
DATASETS = "dataset_info.json"


def check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise UserError(f"Unknown layout '{layout}'. Available: {', '.join(LAYOUTS)}.")


def check_split(split: str) -> None:
    if not split.replace("_", "").replace("-", "").isalnum():
        raise UserError(
            f"--split '{split}' is no name of a file: letters, digits, '-' and '_' make one."
        )


def place_of(out: Path, split: str, layout: str) -> Path:
    """The file to write for `--out`."""
    if layout == "llama-factory":
        if out.is_file() or out.suffix in ENDINGS:
            raise UserError(
                f"--layout llama-factory writes a data file and {DATASETS}: name a folder for"
                f" --out, not '{out}'."
            )
        return out / f"tripwright_{split}.jsonl"
    if out.suffix in ENDINGS and not out.is_dir():
        return out
    if out.is_file() or (out.suffix and not out.is_dir()):
        raise UserError(
            f"'{out}' is neither a folder nor a name that ends in {' or '.join(ENDINGS)}."
        )
    return out / f"{split}.parquet"


def export(
    trajectories: Iterable[StoredEpisode], layout: str, out: Path, split: str = "train"
) -> tuple[Path, int]:
    """(the file written, its rows) for one of TRAJECTORY_LAYOUTS. Raises UserError before anything
    is half written."""
    path = place_of(out, split, layout)
    if layout == "llama-factory":
        return path, _export_llama_factory(trajectories, path)
    rows = message_rows(trajectories) if layout == "messages" else trl_rows(trajectories)
    return path, write_rows(rows, path, layout)


def _export_llama_factory(trajectories: Iterable[StoredEpisode], path: Path) -> int:
    """The list may be LLaMA-Factory's own: other data sets stay in it, and the file goes there
    under the name of ours."""
    listing = path.with_name(DATASETS)
    datasets = _datasets(listing)
    rows = write_json_lines(llama_factory_rows(trajectories), path)
    datasets[path.stem] = dataset_info(path.name)
    write_atomically(listing, json.dumps(datasets, indent=2, ensure_ascii=False) + "\n")
    return rows


def _datasets(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        datasets = read_json(path.read_bytes())
    except NotJson:
        datasets = None
    if not isinstance(datasets, dict):
        raise UserError(
            f"'{path}' is not a list of data sets (a JSON object). Mend it, or name another folder"
            " for --out."
        )
    return datasets

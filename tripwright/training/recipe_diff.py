"""What is different between two records of settings, in words: the setting's path, what it was,
what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tripwright.settings import RENAMED

MOST_SHOWN = 3
# settings that say only how long a stage is
LENGTHS = ("steps", "max_steps", "max_minutes", "max_epochs", "epochs")


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """ "sft.steps: 6 -> 7; seed: 0 -> 1 and 4 more"; empty if nothing differs."""
    lines = [
        f"{path}: {_shown(old)} -> {_shown(new)}" for path, old, new in differing(before, after)
    ]
    more = f" and {len(lines) - MOST_SHOWN} more" if len(lines) > MOST_SHOWN else ""
    return "; ".join(lines[:MOST_SHOWN]) + more


def differing(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, before, after) of every value that differs, in the order of `before`; None stands for
    what is not there."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from differing(
                before.get(key), after.get(key), f"{path}.{key}" if path else str(key)
            )
    elif before != after:
        yield path, before, after


def former_setting(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """The first setting of `before` that has another name now: an older version wrote it."""
    former_names = {name for name, _ in RENAMED}
    gone = (path for path, _, value in differing(before, after) if value is None)
    return next((path for path in gone if path.rpartition(".")[2] in former_names), None)


def how_to_train_longer(before: Mapping[str, Any], after: Mapping[str, Any], run: Path) -> str:
    """What to do about a changed recipe. A stage's learning rate follows its length, so a schedule
    under way cannot be drawn out."""
    only_lengths = all(
        path.rpartition(".")[2] in LENGTHS for path, _, _ in differing(before, after)
    )
    last = [
        stage
        for stage in ("rl", "sft", "copy_pretraining", "start")
        if (run / "model" / stage).is_dir()
    ]
    if only_lengths and last:
        return (
            "To train longer, start another run from this one's model: model.pretrained ="
            f' "{run / "model" / last[0]}".'
        )
    return "Choose another folder, or put the recipe back."


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    # of a hash, the beginning
    text = value[:12] if isinstance(value, str) and len(value) == 64 else str(value)
    return text if len(text) <= 60 else text[:60] + "…"

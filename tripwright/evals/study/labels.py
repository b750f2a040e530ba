"""What raters said: a file for each, a line for every change, only ever appended to, on disk before
the page hears that it is saved.

A line holds the rater's whole judgement of one item, so the last one wins.
Imports are files of their own in `labels/imports`, and the later moment wins between them.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.study.folder import LABELS, Study
from tripwright.files import Journal, whole_lines

LONGEST_NAME, LONGEST_NOTE, LONGEST_SHOWN = 40, 4_000, 80  # characters
# of one width: as texts they sort by time
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z")
_NAME = re.compile(r"\w[\w .'-]*")


class LabelProblem(UserError):
    """A label that cannot be taken: says what was found and what is accepted."""


@dataclass(frozen=True)
class Label:
    """One rater's judgement of one item. `values`: dimension → TRUE or FALSE; one that is not there
    is not judged yet."""

    item: str
    rater: str
    values: Mapping[str, bool]
    note: str = ""
    at: str = ""  # when, UTC, "2026-06-20T09:30:00.000000Z"

    def passes(self, keys: tuple[str, ...]) -> bool | None:
        """All TRUE; False as soon as one is FALSE, None while that is open."""
        values = [self.values.get(key) for key in keys]
        return False if False in values else None if None in values else True


def rater_name(value: Any) -> str:
    """The name as files and orders know it: "  Ann  Lee" and "ann lee" are one rater. Raises
    LabelProblem."""
    name = (
        unicodedata.normalize("NFC", " ".join(value.split())).casefold()
        if isinstance(value, str)
        else ""
    )
    if (
        not _NAME.fullmatch(name)
        or len(name) > LONGEST_NAME
        or len(name.encode()) > 2 * LONGEST_NAME
    ):
        raise LabelProblem(
            f"A rater's name begins with a letter or digit and has at most {LONGEST_NAME} letters,"
            f" digits, spaces and .'-_; found {shown(value)}."
        )
    return name


def checked(
    study: Study, item: Any, rater: Any, values: Any, note: Any = "", at: str = ""
) -> Label:
    """A label of this study. Raises LabelProblem, which names what is wrong."""
    if not isinstance(item, str) or item not in study.items:
        raise LabelProblem(f"No item {shown(item)} in this study.")
    if not isinstance(values, Mapping):
        raise LabelProblem(f"Expected the dimensions with true or false, found {shown(values)}.")
    if strange := sorted(str(key) for key in values if key not in study.keys):
        raise LabelProblem(
            f"No dimension {shown(strange[0])} in this study: expected {', '.join(study.keys)}."
        )
    for key, value in values.items():
        if not isinstance(value, bool | None):
            raise LabelProblem(f"'{key}' must be true, false or null, found {shown(value)}.")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise LabelProblem(f"A note is text of at most {LONGEST_NOTE:,} characters.")
    if at and not MOMENT.fullmatch(at):
        raise LabelProblem(f"A moment looks like 2026-06-20T09:30:00.000000Z, found {shown(at)}.")
    return Label(
        item,
        rater_name(rater),
        {key: value for key, value in values.items() if value is not None},
        note,
        at,
    )


def shown(value: Any) -> str:
    """A value as a message repeats it, however long it is."""
    return repr(value)[:LONGEST_SHOWN]


def now() -> str:
    return _written(datetime.datetime.now(datetime.UTC))


def append(study: Study, label: Label) -> Label:
    """Writes one label; on disk when this returns. Several processes may write at once. Returns it
    with its moment."""
    last = ""

    def take(record: Any) -> None:
        nonlocal last
        last = str(record["at"])

    with Journal(
        study.folder / LABELS / f"{quote(label.rater, safe='')}.jsonl",
        take,
        "not a label.",
        wait=True,
    ) as journal:
        stamped = Label(label.item, label.rater, label.values, label.note, _after(last))
        journal.append(asdict(stamped))
        journal.sync()
    return stamped


def read(study: Study) -> dict[str, dict[str, Label]]:
    """Rater → item → what counts. Items of `labels/` that the study does not have are somebody's
    mistake: UserError."""
    folder = study.folder / LABELS
    labels = [label for path in sorted(folder.rglob("*.jsonl")) for label in _labels(study, path)]
    latest: dict[str, dict[str, Label]] = {}
    for label in sorted(labels, key=lambda each: each.at):
        latest.setdefault(label.rater, {})[label.item] = label
    return latest


def _labels(study: Study, path: Path) -> Iterator[Label]:
    for line in whole_lines(path):
        try:
            record = read_json(line.text)
            if not isinstance(record, dict):
                raise LabelProblem("expected an object.")
            yield checked(
                study,
                record.get("item"),
                record.get("rater"),
                record.get("values"),
                record.get("note", ""),
                str(record.get("at", "")),
            )
        except (NotJson, LabelProblem) as problem:
            raise UserError(f"{path}:{line.number}: {problem}") from None


def _after(last: str) -> str:
    """Now, but later than `last`: a clock that was set back must not make an older judgement
    win."""
    moment = now()
    if moment > last:
        return moment
    return _written(datetime.datetime.fromisoformat(last) + datetime.timedelta(microseconds=1))


def _written(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"

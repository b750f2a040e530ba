"""Labels out of a study and into it, as CSV for spreadsheets or JSON lines for programs.

An exported line names the item, the run and the transcript's id: whoever reads it is no longer
blind. Merged, there is one line an item with what most raters say, which is the labelled file that
calibrates a judge.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.study.folder import LABELS, Study
from tripwright.evals.study.labels import Label, LabelProblem, checked, now, shown
from tripwright.evals.study.raters import majority
from tripwright.evals.study.summary import Labels, votes_on
from tripwright.evals.study.verdicts import RUBRIC, counterparts
from tripwright.files import write_atomically

FORMATS = (".csv", ".jsonl")
IMPORTS = "imports"
# of a line, besides the dimensions
OWN_FIELDS = ("item", "rater", "id", "run", "passes", "note", "at")
# with apostrophes before it, so that every text comes back as it was
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_WORDS = {
    **dict.fromkeys(("true", "1", "yes"), True),
    **dict.fromkeys(("false", "0", "no"), False),
    "": None,
}


def exported(study: Study, labels: Labels, run: str | None = None) -> list[dict[str, Any]]:
    """A line for each rater and item, by item; `run` keeps those of one run alone."""
    lines = []
    for item in _items(study, run):
        for rater, by_item in sorted(labels.items()):
            if label := by_item.get(item):
                about = {
                    "item": item,
                    "rater": rater,
                    **_origin(study, item),
                    "passes": label.passes(study.keys),
                }
                lines.append(
                    {
                        **about,
                        "dimensions": _values(study, label.values),
                        "note": label.note,
                        "at": label.at,
                    }
                )
    return lines


def merged(study: Study, labels: Labels, run: str | None = None) -> list[dict[str, Any]]:
    """A line for each item on which most raters agree in every dimension; `trajectory` and
    `rubrics` are what labels that a judge is held against consist of (`verify --labels`)."""
    votes = {key: votes_on(study, labels, key) for key in study.keys}
    lines = []
    for item in _items(study, run):
        values = {key: majority(votes[key][item].values()) for key in study.keys}
        if None not in values.values():
            raters = sorted({rater for key in study.keys for rater in votes[key][item]})
            passes = all(values.values())
            dimension_of = {
                name.removeprefix(RUBRIC): key
                for name, key in counterparts().items()
                if name.startswith(RUBRIC)
            }
            rubrics = {rubric: values[key] for rubric, key in dimension_of.items() if key in values}
            about = {
                "item": item,
                **_origin(study, item),
                "passes": passes,
                "trajectory": passes,
                "rubrics": rubrics,
            }
            lines.append({**about, "dimensions": values, "raters": raters})
    return lines


def write_export(study: Study, lines: list[dict[str, Any]], out: Path) -> None:
    if out.suffix not in FORMATS:
        raise UserError(f"'{out}' must end in {' or '.join(FORMATS)}.")
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".jsonl":
        write_atomically(
            out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        )
        return
    text = io.StringIO()
    others = [
        name
        for name in (lines[0] if lines else OWN_FIELDS)
        if name not in ("dimensions", "rubrics", "trajectory")
    ]
    place = others.index("passes") + 1
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*others[:place], *study.keys, *others[place:]])
    for line in lines:
        cells = [line["dimensions"][key] for key in study.keys]
        others_cells = [_csv_cell(line[name]) for name in others]
        writer.writerow([*others_cells[:place], *map(_csv_cell, cells), *others_cells[place:]])
    write_atomically(out, text.getvalue())


def import_labels(study: Study, path: Path) -> list[Label]:
    """Takes all lines of a file or none. Raises UserError with the number of the first bad line and
    how many there are.

    A line without a moment is from now, so it wins over what is there; one with a moment wins over
    earlier ones only.
    """
    if not path.is_file():
        raise UserError(f"No file at '{path}'. Expected labels in {' or '.join(FORMATS)}.")
    if path.suffix not in FORMATS:
        raise UserError(f"'{path}' is no file ending in {' or '.join(FORMATS)}.")
    moment, problems = now(), []
    imports: dict[tuple[str, str], Label] = {}
    for number, line in _lines(path):
        try:
            if isinstance(line, str):
                raise LabelProblem(line)
            label = _label(study, line, moment)
            if (label.rater, label.item) in imports:
                raise LabelProblem(f"'{label.rater}' has labelled {label.item} on an earlier line.")
            imports[label.rater, label.item] = label
        except LabelProblem as problem:
            problems.append(f"{path}:{number}: {problem}")
    if problems:
        more = f" ({len(problems) - 1} more lines are bad.)" if len(problems) > 1 else ""
        raise UserError(f"{problems[0]}{more} Nothing was imported.")
    if not imports:
        raise UserError(f"'{path}' holds no labels.")
    text = "".join(
        json.dumps(asdict(label), ensure_ascii=False) + "\n" for label in imports.values()
    )
    folder = study.folder / LABELS / IMPORTS
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(
        folder / f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}.jsonl", text
    )
    return list(imports.values())


def _label(study: Study, line: Mapping[str, Any], moment: str) -> Label:
    values = line.get("dimensions")
    if values is None:  # CSV: a column each
        if absent := [key for key in study.keys if key not in line]:
            raise LabelProblem(
                f"no '{absent[0]}': expected item, rater and {', '.join(study.keys)}."
            )
        if strange := [name for name in line if name not in (*OWN_FIELDS, *study.keys)]:
            raise LabelProblem(
                f"unknown column '{strange[0]}': expected {', '.join((*OWN_FIELDS, *study.keys))}."
            )
        values = {key: _read_word(key, line[key]) for key in study.keys}
    at = line.get("at") or ""
    label = checked(
        study,
        line.get("item"),
        line.get("rater"),
        values,
        line.get("note") or "",
        at if isinstance(at, str) else repr(at),
    )
    if label.at > moment:
        raise LabelProblem(f"the moment {label.at} is still to come.")
    return replace(label, at=label.at or moment)


def _read_word(key: str, cell: Any) -> bool | None:
    word = str("" if cell is None else cell).strip().casefold()
    if word not in _WORDS:
        raise LabelProblem(f"'{key}' must be TRUE, FALSE or empty, found {shown(cell)}.")
    return _WORDS[word]


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Numbered lines; a text says why a line is none."""
    content = path.read_bytes()
    if path.suffix == ".jsonl":
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                try:
                    record = read_json(line)
                    yield number, record if isinstance(record, dict) else "expected an object."
                except NotJson as problem:
                    yield number, f"not JSON ({problem})."
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserError(
            f"'{path}' is not text in UTF-8 (byte {problem.start + 1}). Nothing was imported."
        ) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        short = None in row or None in row.values()
        yield (
            reader.line_num,
            "not as many cells as the first line names."
            if short
            else {**row, "note": _plain(row.get("note", ""))},
        )


def _items(study: Study, run: str | None) -> list[str]:
    runs = dict.fromkeys(entry.run for entry in study.key.values())
    if run is not None and run not in runs:
        raise UserError(f"No run '{run}' in this study: expected {', '.join(runs)}.")
    return [item for item in study.items if run is None or study.key[item].run == run]


def _origin(study: Study, item: str) -> dict[str, str]:
    return {"id": study.key[item].id, "run": study.key[item].run}


def _values(study: Study, values: Mapping[str, bool]) -> dict[str, bool | None]:
    return {key: values.get(key) for key in study.keys}


def _csv_cell(value: Any) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe, as spreadsheets write
    it themselves."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).upper()
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if _FORMULA.match(text) else text


def _plain(text: str) -> str:
    """The inverse of `_csv_cell` for texts."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text

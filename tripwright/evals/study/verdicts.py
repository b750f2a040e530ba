"""What machines said about a transcript, as yes or no under a name, so that people's labels can be
held against it.

A verdict that is not there is no verdict: it is left out and never counted as a failure.
Transcripts carry the verdicts of their run; `tripwright verify --out` writes others, of rules or of
a judge, which are named after their file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripwright.domains import domains
from tripwright.domains.domain import judged_final
from tripwright.errors import UserError
from tripwright.evals.study.folder import Study
from tripwright.files import json_lines

ALL = "all"  # all dimensions TRUE
RUBRIC = "rubric "  # begins the name of a verdict on one rubric of an answer
OF_FILE = ": "  # between the name of a file of verdicts and a verdict in it


def verdicts_of(record: Mapping[str, Any]) -> dict[str, bool]:
    """Of a record of transcripts, as its domain names them."""
    domain = domains().get(record["domain"])
    return domain.opinions(record) if domain is not None else judged_final(record)


def counterpart(verdict: str) -> str:
    """The dimension it is held against; ALL of them where there is none alike."""
    return counterparts().get(verdict.rpartition(OF_FILE)[2], ALL)


def counterparts() -> dict[str, str]:
    """Verdict → the dimension that asks nearly the same, of all domains."""
    return {
        name: dimension
        for domain in domains().values()
        for name, dimension in domain.counterparts.items()
    }


def verdict_names(items: Iterable[Mapping[str, bool]]) -> Iterator[str]:
    """In the order of first appearance."""
    yield from dict.fromkeys(name for verdicts in items for name in verdicts)


def written_verdicts(study: Study, files: Sequence[str]) -> dict[str, dict[str, bool]]:
    """Item → verdicts of `tripwright verify --out`. Each of `given` is FILE, or RUN=FILE where the
    study has several runs.

    Raises UserError for a run that the study does not have, for what is no such file, and where
    none of its verdicts is of an item.
    """
    runs = list(dict.fromkeys(entry.run for entry in study.key.values()))
    by_item: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for each in files:
        run, path = _run_and_path(each, runs)
        of_id = {entry.id: entry.item for entry in study.key.values() if entry.run == run}
        by_id = _read(path)
        if not by_id.keys() & of_id.keys():
            ids = ", ".join(repr(id) for id in list(by_id)[:3])
            raise UserError(
                f"No verdict in '{path}' is of an item from run '{run}': the file has"
                f" {ids or 'none'}, the items are {', '.join(map(repr, list(of_id)[:3]))}."
            )
        for id, verdicts in by_id.items():
            if id in of_id:
                by_item[of_id[id]] |= {
                    f"{path.stem}{OF_FILE}{name}": passes for name, passes in verdicts.items()
                }
    return by_item


def _run_and_path(text: str, runs: Sequence[str]) -> tuple[str, Path]:
    """RUN=FILE, where RUN may itself hold a "=" and FILE may too: a run of the study decides."""
    for run in sorted(runs, key=len, reverse=True):
        if text.startswith(f"{run}="):
            return run, Path(text[len(run) + 1 :])
    if len(runs) == 1:
        return runs[0], Path(text)
    raise UserError(
        f"Of which run are the verdicts '{text}'? Give RUN=FILE, with RUN one of {', '.join(runs)}."
    )


def _read(path: Path) -> dict[str, dict[str, bool]]:
    """Id → verdicts, of a file that `tripwright verify --out` wrote."""
    if not path.is_file():
        raise UserError(
            f"No verdicts at '{path}': expected a file that 'tripwright verify --out' wrote."
        )
    by_id: dict[str, dict[str, bool]] = {}
    for number, record in json_lines(path):
        if not isinstance(record, dict) or "id" not in record or "reward" not in record:
            raise UserError(
                f"{path}:{number}: expected a verdict of 'tripwright verify --out', an object"
                ' with "id" and "reward".'
            )
        by_id[str(record["id"])] = _written(record)
    return by_id


def _written(verdict: Mapping[str, Any]) -> dict[str, bool]:
    """Its fields are those of the verifier in a transcript's own record."""
    return {
        name: passes
        for domain in domains().values()
        for name, passes in domain.opinions({"verifier": verdict}).items()
    }

"""Merges files of requests and divides them anew: no request in two parts, and the mix of levels
(and of what else marks the requests of their domain) of the whole in every part (rows P8, D7).

Where the counts allow it the mix is exact. Where they do not, each part has the whole number below
or above its exact share, chosen so that the parts' sizes and the groups' sizes still add up (a
controlled rounding; the largest remainders go first). Which request goes where depends on the seed
and on the requests alone, not on the order of the files or of their lines.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.data.files import asked_for, marks_of, one_domain, request_key
from tripwright.domains import domain_of_file, domains
from tripwright.domains.domain import Domain
from tripwright.errors import UserError
from tripwright.files import write_atomically

REST = "the rest"  # what goes into no part


@dataclass(frozen=True)
class SplitRequest:
    domain: Domain
    query: Any
    source: str  # file:line
    key: str

    @property
    def marks(self) -> dict[str, Any]:
        return marks_of(self.domain, self.query)

    @property
    def id(self) -> str | None:
        """None where the requests of its domain have none of their own."""
        return self.query.id if "id" in self.domain.request.model_fields else None

    def lot(self, draw: str) -> str:
        """By which requests are shuffled: equal for equal draws, whatever came before in the
        files."""
        return hashlib.sha256(f"{draw} {self.key}".encode()).hexdigest()


@dataclass
class MergeResult:
    requests: list[SplitRequest] = field(default_factory=list)
    duplicates: list[tuple[str, str]] = field(default_factory=list)  # (source, source of the first)
    differing: int = 0  # of the duplicates, those that ask for something else by their fields

    @property
    def marks(self) -> tuple[str, ...]:
        """Those whose mix can be kept."""
        return tuple(self.requests[0].marks)


def merge(paths: Sequence[Path]) -> MergeResult:
    """Every request once: of those with the same text the first is kept. Raises UserError for files
    of two domains, and for different requests with one id."""
    labelled = [(path, domain) for path in paths if (domain := domain_of_file(path))]
    # which says what is wrong with files of none
    domain = one_domain(labelled) if labelled else next(iter(domains().values()))
    merged, first = MergeResult(), dict[str, SplitRequest]()
    for path in paths:
        for line, query in domain.read(path):
            request = SplitRequest(domain, query, f"{path.name}:{line}", request_key(query))
            if (earlier := first.setdefault(request.key, request)) is request:
                merged.requests.append(request)
            else:
                merged.duplicates.append((request.source, earlier.source))
                merged.differing += asked_for(earlier.query) != asked_for(query)
    if not merged.requests:
        raise UserError(
            f"No queries in {', '.join(map(repr, map(str, paths)))}. Expected JSONL files, one"
            " query record per line."
        )
    _check_ids(merged.requests)
    return merged


def _check_ids(requests: Sequence[SplitRequest]) -> None:
    """Requests that have one go by it, in their run and beside their proof."""
    places: dict[str, str] = {}
    for request in requests:
        id = request.id
        if id and (there := places.setdefault(id, request.source)) != request.source:
            raise UserError(
                f"'{request.source}' has the id '{id}' of '{there}' and asks for something else:"
                " make them with different seeds."
            )


def divide(
    requests: Sequence[SplitRequest], sizes: dict[str, int], seed: int, keep: Sequence[str]
) -> dict[str, list[SplitRequest]]:
    """Part → its requests, shuffled. The first name in `keep` is kept best, the next one within
    it."""
    rest = len(requests) - sum(sizes.values())
    if rest < 0:
        raise UserError(
            f"--parts ask for {sum(sizes.values())} requests, and there are {len(requests)}"
            " different ones."
        )
    parts = _divide(
        sorted(requests, key=lambda request: request.lot(f"part {seed}")),
        [*sizes.values(), rest],
        tuple(keep),
    )
    files = dict(zip([*sizes, REST], parts, strict=True))
    return {
        name: sorted(part, key=lambda request: request.lot(f"place {seed}"))
        for name, part in files.items()
    }


def _divide(
    requests: list[SplitRequest], sizes: list[int], keep: tuple[str, ...]
) -> list[list[SplitRequest]]:
    if not keep:
        ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
        return [requests[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    groups: dict[str, list[SplitRequest]] = {}
    for request in requests:
        groups.setdefault(str(request.marks[keep[0]]), []).append(request)
    names = sorted(groups)
    table = rounded_shares(sizes, [len(groups[name]) for name in names])
    parts: list[list[SplitRequest]] = [[] for _ in sizes]
    for name, column in zip(names, zip(*table, strict=True), strict=True):
        for part, share in zip(parts, _divide(groups[name], list(column), keep[1:]), strict=True):
            part += share
    return parts


def rounded_shares(rows: Sequence[int], columns: Sequence[int]) -> list[list[int]]:
    """Whole numbers with these sums of rows and columns, each the floor or the ceiling of row ·
    column / total.

    What the floors leave is a flow of ones from rows to columns through the cells with a remainder;
    one always exists, because the remainders themselves are a fractional one. Cells with the
    largest remainders are tried first.
    """
    total = sum(rows)
    if total != sum(columns):
        raise ValueError(f"rows add up to {total}, columns to {sum(columns)}")
    if not total:
        return [[0] * len(columns) for _ in rows]
    table = [[row * column // total for column in columns] for row in rows]
    remainder = [[row * column % total for column in columns] for row in rows]
    quotas = [
        column - sum(table[i][j] for i in range(len(rows))) for j, column in enumerate(columns)
    ]
    raised: set[tuple[int, int]] = set()
    ranked = [
        sorted((j for j in range(len(columns)) if cells[j]), key=lambda j: (-cells[j], j))
        for cells in remainder
    ]

    def raise_one(row: int, visited: set[int]) -> bool:
        """One more for this row, if need be by moving ones that other rows have."""
        for column in ranked[row]:
            if (row, column) in raised or column in visited:
                continue
            visited.add(column)
            holders = [other for other, other_column in raised if other_column == column]
            if len(holders) < quotas[column]:
                raised.add((row, column))
                return True
            for other in sorted(holders):
                if raise_one(other, visited):
                    raised.remove((other, column))
                    raised.add((row, column))
                    return True
        return False

    for i, row in enumerate(rows):
        for _ in range(row - sum(table[i])):
            if not raise_one(i, set()):
                raise AssertionError("a controlled rounding always exists")
    return [
        [table[i][j] + ((i, j) in raised) for j in range(len(columns))] for i in range(len(rows))
    ]


def write_parts(
    parts: dict[str, list[SplitRequest]], out: Path, inputs: Sequence[Path]
) -> dict[str, Path]:
    """One file per part. Each query says where it comes from; `idx`, where records have one, counts
    anew (two files count from 0). A request with an id stays as it is."""
    places = {name: out / f"{name}.jsonl" for name in parts if name != REST}
    for path in places.values():
        if path.resolve() in {source.resolve() for source in inputs}:
            raise UserError(
                f"'{path}' is one of the files to be divided. Name another folder for --out."
            )
        if path.is_dir():
            raise UserError(f"'{path}' is a folder. Name another folder for --out.")
    refuse_other_parts(out, places.values())
    out.mkdir(parents=True, exist_ok=True)
    numbered = any(
        "idx" in (request.query.model_extra or {}) for part in parts.values() for request in part
    )
    for name, path in places.items():
        write_atomically(
            path,
            "".join(
                _line(request, place if numbered else None)
                for place, request in enumerate(parts[name])
            ),
        )
    return places


def refuse_other_parts(folder: Path, places: Iterable[Path]) -> None:
    """Raises UserError where a folder of parts holds requests of another division: parts that lie
    together must not overlap."""
    others = sorted(set(folder.glob("*.jsonl")) - set(places)) if folder.is_dir() else []
    if others:
        raise UserError(
            f"'{folder}' holds the requests of another division ({others[0].name}). Name another"
            " folder for --out."
        )


def mix(requests: Sequence[SplitRequest], keep: Sequence[str]) -> dict[str, int]:
    """ "easy 3" → how many."""
    counts = Counter(
        " ".join(_word(name, request.marks[name]) for name in keep) for request in requests
    )
    return dict(sorted(counts.items()))


def _word(name: str, mark: Any) -> str:
    return str(mark) if mark is not None else f"no {name}"


def _line(request: SplitRequest, idx: int | None) -> str:
    if request.id is not None:
        return json.dumps(request.query.record(), ensure_ascii=False) + "\n"
    numbered = {} if idx is None else {"idx": idx}
    return (
        json.dumps(
            {**numbered, **request.query.record(), **numbered, "source": request.source},
            ensure_ascii=False,
        )
        + "\n"
    )

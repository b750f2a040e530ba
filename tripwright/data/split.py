"""Merges files of requests and divides them anew: no request in two parts, and the mix of levels
(and of what else marks the requests of their domain) of the whole in every part (rows P8, D7).

Where the counts allow it the mix is exact; where they do not, a part has less than two requests of
a group more or fewer than its exact share. Which request goes where depends on the seed and on the
requests alone, not on the order of the files or of their lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.data.trajectories import marks_of, one_domain
from tripwright.domains import domain_of_file, domains
from tripwright.domains.domain import Domain, asked_for, request_key
from tripwright.errors import UserError
from tripwright.files import write_atomically

REST = "the rest"  # what goes into no part


def read_parts(text: str) -> dict[str, int]:
    """Names and sizes, as train:180,validation:45. Raises UserError."""
    pieces = [re.fullmatch(r"\s*([\w-]+):0*([1-9]\d*)\s*", piece) for piece in text.split(",")]
    sizes = {piece[1]: int(piece[2]) for piece in pieces if piece}
    if len(sizes) < len(pieces):
        raise UserError(
            f"--parts '{text}' are not names and sizes such as train:180,validation:45."
        )
    return sizes


@dataclass(frozen=True)
class SplitRequest:
    domain: Domain
    query: Any
    source: str  # file:line
    key: str

    @property
    def group(self) -> str:
        """What marks it, in words: "easy 3"."""
        marks = marks_of(self.domain, self.query)
        return " ".join(f"no {name}" if mark is None else str(mark) for name, mark in marks.items())

    @property
    def id(self) -> str | None:
        """None where the requests of its domain have none of their own."""
        return self.query.id if "id" in self.domain.requests.kind.model_fields else None

    def lot(self, draw: str) -> str:
        """By which requests are shuffled: equal for equal draws, whatever came before in the
        files."""
        return hashlib.sha256(f"{draw} {self.key}".encode()).hexdigest()


class MergeResult(NamedTuple):
    requests: list[SplitRequest]
    duplicates: int
    differing: int  # of the duplicates, those that ask for something else by their fields


def merge(paths: Sequence[Path]) -> MergeResult:
    """Every request once: of those with the same text the first is kept. Raises UserError for files
    of two domains, and for different requests with one id."""
    labelled = [(path, domain) for path in paths if (domain := domain_of_file(path))]
    # which says what is wrong with files of none
    domain = one_domain(labelled) if labelled else next(iter(domains().values()))
    first, duplicates, differing = dict[str, SplitRequest](), 0, 0
    for path in paths:
        for line, query in domain.requests.read(path):
            request = SplitRequest(domain, query, f"{path.name}:{line}", request_key(query))
            if (earlier := first.setdefault(request.key, request)) is not request:
                duplicates += 1
                differing += asked_for(earlier.query) != asked_for(query)
    places: dict[str, str] = {}  # of ids: a request that has one goes by it, as beside its proof
    for request in first.values():
        id = request.id
        if id and (there := places.setdefault(id, request.source)) != request.source:
            raise UserError(
                f"'{request.source}' has the id '{id}' of '{there}' and asks for something else:"
                " make them with different seeds."
            )
    return MergeResult(list(first.values()), duplicates, differing)


def divide(
    requests: Sequence[SplitRequest], sizes: dict[str, int], seed: int
) -> dict[str, list[SplitRequest]]:
    """Part → its requests, shuffled; what is left over is a part of its own.

    The requests are dealt group by group. The j-th request of a part of n out of all N is due
    between places (j - 1) · N/n and j · N/n, and of the parts whose next request is due, the one
    whose time ends first gets it. So no part is ever a whole request before or behind its share.
    """
    total = len(requests)
    if (rest := total - sum(sizes.values())) < 0:
        raise UserError(
            f"--parts ask for {sum(sizes.values())} requests, and there are {total} different ones."
        )
    shares = {**sizes, REST: rest}
    parts: dict[str, list[SplitRequest]] = {name: [] for name in shares}
    dealt = sorted(requests, key=lambda each: (each.group, each.lot(f"part {seed}")))
    for place, request in enumerate(dealt, start=1):
        due = [name for name, n in shares.items() if len(parts[name]) * total < place * n]
        name = min(due, key=lambda name: -(-(len(parts[name]) + 1) * total // shares[name]))
        parts[name].append(request)
    return {
        name: sorted(part, key=lambda request: request.lot(f"place {seed}"))
        for name, part in parts.items()
    }


def write_parts(parts: dict[str, list[SplitRequest]], out: Path) -> dict[str, Path]:
    """One file per part. Each query says where it comes from; `idx`, where records have one, counts
    anew (two files count from 0). A request with an id stays as it is."""
    places = {name: out / f"{name}.jsonl" for name in parts if name != REST}
    # parts that lie together must not overlap
    if out.is_dir() and (others := sorted(set(out.glob("*.jsonl")) - set(places.values()))):
        raise UserError(
            f"'{out}' holds the requests of another division ({others[0].name}). Name another"
            " folder for --out."
        )
    out.mkdir(parents=True, exist_ok=True)
    for name, path in places.items():
        lines = (json.dumps(_record(*each), ensure_ascii=False) for each in enumerate(parts[name]))
        write_atomically(path, "".join(f"{line}\n" for line in lines))
    return places


def mix(requests: Sequence[SplitRequest]) -> dict[str, int]:
    """ "easy 3" → how many."""
    return dict(sorted(Counter(request.group for request in requests).items()))


def _record(place: int, request: SplitRequest) -> dict[str, Any]:
    record: dict[str, Any] = request.query.record()
    if request.id is not None:
        return record
    return {**record, **({"idx": place} if "idx" in record else {}), "source": request.source}

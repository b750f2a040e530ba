"""A file of requests → the rows that verl's RLHFDataset reads (rows P8, P10): the prompt of an
episode, and what an agent loop needs to play and to judge it. Only the fields of a request go
there, nothing that its file adds, such as a plan that answers it: training data must not hold the
answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.data.files import marks_of
from tripwright.domains import domain_of, domain_of_file
from tripwright.domains.domain import Domain
from tripwright.errors import UserError

AGENT = "tripwright"  # the name under which an agent loop is registered


def verl_rows(
    queries: Path, dialect: Dialect, world: Any, split: str = "train", agent: str = AGENT
) -> Iterator[dict[str, Any]]:
    """`world` is the source of a place, or None (`domains/folders.py`).

    `extra_info.index` is the line of the query file, counted from 0. Texts of JSON, because
    Arrow fills missing keys with nulls."""
    domain = domain_of(dialect)
    holds = domain_of_file(queries) or domain
    if holds is not domain:
        raise UserError(
            f"'{queries}' holds {holds.title}, and dialect '{dialect.name}' answers {domain.title}:"
            " choose another --dialect."
        )
    system = dialect.prompt(dialect.offered())
    empty = True
    for line, request in domain.read(queries):
        empty = False
        origin = domain.origin(request)
        if world is not None and origin is not None and origin not in world.cities:
            raise UserError(
                f"{queries}:{line}: starts in {ascii(origin)}, no city of world '{world.name}': is"
                " it the right world?"
            )
        yield verl_row(domain, request, dialect, system, world, line - 1, split, agent)
    if empty:
        raise UserError(
            f"No queries in '{queries}'. Expected a JSONL file, one query record per line."
        )


def verl_row(
    domain: Domain,
    request: Any,
    dialect: Dialect,
    system: str,
    place: Any,
    index: int,
    split: str = "train",
    agent: str = AGENT,
) -> dict[str, Any]:
    """One request; `place` is the source of the place that it is about, or None."""
    name, content_hash = getattr(place, "name", None), getattr(place, "content_hash", None)
    return {
        "data_source": f"tripwright/{name}" if name is not None else "tripwright",
        "prompt": [
            {"role": "system", "content": system},
            {"role": "user", "content": request.query},
        ],
        "ability": "travel planning",
        "reward_model": {"style": "rule", "ground_truth": _asked(request)},
        "extra_info": {
            "index": index,
            "split": split,
            **marks_of(domain, request),
            "dialect": dialect.name,
            "world": name,
            "world_hash": content_hash,
        },
        "agent_name": agent,
    }


def _asked(request: Any) -> str:
    fields = {field.alias or name for name, field in type(request).model_fields.items()}
    return json.dumps(
        {key: value for key, value in request.record().items() if key in fields}, ensure_ascii=False
    )

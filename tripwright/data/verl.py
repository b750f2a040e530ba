"""A file of queries or of travellers' requests → the rows that verl's RLHFDataset reads (rows P8, P10): the prompt of an episode, and what
an agent loop needs to play and to judge it. The plan that a query may carry (`oracle`, `annotated_plan`) stays out: training data must not
hold the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.data.kinds import AnyRequest, kind_of_dialect, kind_of_file
from tripwright.errors import UserError
from tripwright.world.store import World

AGENT = "tripwright"  # the name under which an agent loop is registered
ANSWERS = ("oracle", "annotated_plan")


def verl_rows(queries: Path, dialect: Dialect, world: World | None, split: str = "train", agent: str = AGENT) -> Iterator[dict[str, Any]]:
    """`extra_info.index` is the line of the query file, counted from 0. Texts of JSON, because Arrow fills missing keys with nulls."""
    kind = kind_of_dialect(dialect)
    found = kind_of_file(queries) or kind
    if found is not kind:
        raise UserError(f"'{queries}' holds {found.name}, and dialect '{dialect.name}' answers {kind.name}: choose another --dialect.")
    system = dialect.prompt(dialect.offered())
    empty = True
    for line, query in kind.read_file(queries):
        empty = False
        if world is not None and (origin := getattr(query, kind.origin_key)) not in world.cities:
            raise UserError(
                f"{queries}:{line}: {kind.origin_key} {ascii(origin)} is no city of world '{world.name}': is it the right world?"
            )
        yield {
            "data_source": f"tripwright/{world.name}" if world is not None else "tripwright",
            "prompt": [{"role": "system", "content": system}, {"role": "user", "content": query.query}],
            "ability": "travel planning",
            "reward_model": {"style": "rule", "ground_truth": _asked(query)},
            "extra_info": {
                "index": line - 1,
                "split": split,
                "level": query.level,
                **kind.marks(query),
                "dialect": dialect.name,
                "world": world.name if world is not None else None,
                "world_hash": world.content_hash if world is not None else None,
            },
            "agent_name": agent,
        }
    if empty:
        raise UserError(f"No queries in '{queries}'. Expected a JSONL file, one query record per line.")


def _asked(query: AnyRequest) -> str:
    return json.dumps({key: value for key, value in query.record().items() if key not in ANSWERS}, ensure_ascii=False)

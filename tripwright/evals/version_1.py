"""Run folders of version 1, read as if they had been played today: for `report` and `compare`
alone.

Until version 2 a record said its domain by the key of its request, and its verdict had two groups
of facts, "commonsense" and "hard", whatever they were about. A domain that is as old reads its own
records (`Domain.version_1`). The tools' answers were kept as text: there are no typed rows in such
a folder (`Run.typed_rows`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tripwright.domains import domains
from tripwright.errors import UserError
from tripwright.evals.outside.task import CHECKS, OUTSIDE
from tripwright.runs import Record, Run, Upgrade
from tripwright.verdict import FORMAT, SCHEMA, format_group


def older_records(transcripts: Path) -> Upgrade:
    """What reads the older records of this file; its run card says by which rules they were
    judged."""
    return partial(_upgraded, rules=str(Run.at(transcripts.parent).card.get("rules")))


def _upgraded(record: Record, rules: str) -> Record:
    if isinstance(record.get("outside"), dict):
        return _outside(record, rules)
    for domain in domains().values():
        if (upgraded := domain.version_1(record, rules)) is not None:
            return upgraded
    raise UserError(
        f"Episode '{record.get('id')}' is of an older version and of no domain of today's:"
        f" {', '.join(domains())}."
    )


def _outside(record: Record, rules: str) -> Record:
    names, verdict = record["asked"]["commonsense"], record["verdict"]
    common = {
        key: value
        for key, value in record.items()
        if key not in ("plan", "schema_problem", "asked")
    } | {"domain": OUTSIDE}
    if verdict is None:
        return common | {"asked": {FORMAT: [SCHEMA], CHECKS: names}}
    checks = {"name": CHECKS, "gate": [FORMAT], "asked": names, "facts": verdict["commonsense"]}
    judgement = {key: verdict[key] for key in ("final", "delivered", "error")}
    return common | {
        "verdict": {
            "rules": rules,
            **judgement,
            "groups": [format_group(record["schema_problem"]).record(), checks],
        }
    }

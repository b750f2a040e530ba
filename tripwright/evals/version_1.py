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
from tripwright.runs import Record, Run, Upgrade


def older_records(transcripts: Path) -> Upgrade:
    """What reads the older records of this file; its run card says by which rules they were
    judged."""
    return partial(_upgraded, rules=str(Run.at(transcripts.parent).card.get("rules")))


def _upgraded(record: Record, rules: str) -> Record:
    for domain in domains().values():
        if (upgraded := domain.version_1(record, rules)) is not None:
            return upgraded
    raise UserError(
        f"Episode '{record.get('id')}' is of an older version and of no domain of today's:"
        f" {', '.join(domains())}."
    )

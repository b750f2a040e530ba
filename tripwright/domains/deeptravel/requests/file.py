"""Files of travellers' requests: one JSON object a line, beside it the proofs that each can be met;
a table in which people tick what is good before anybody trains on it; and how hard each is,
measured by attempts, which says for which training stage it is (DeepTravel, Appendix A.3.1; row
D8).

Nothing is accepted that was not ticked. An attempt that our side spoilt is no attempt (law 4). A
request that was tried less often than asked for has no difficulty: a share of one attempt is not a
measurement.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.request import MADE_BY, Level, TravelRequest
from tripwright.domains.domain import Requests
from tripwright.errors import UserError
from tripwright.files import csv_rows, csv_text, write_atomically
from tripwright.runs import episode_lines, transcripts_at

COLUMNS = ("accept", "id", "level", "request", "intents")
YES = frozenset(("x", "yes", "y", "1", "true", "ok"))
NO = frozenset(("", "no", "n", "0", "false", "-"))


def read_requests(path: str | Path) -> list[TravelRequest]:
    """All of them. Raises UserError, also where there are none, where one has no id, or where two
    have the same."""
    requests: list[TravelRequest] = []
    lines: dict[str, int] = {}
    for number, request in Requests(TravelRequest, MADE_BY).read(Path(path)):
        if not request.id:
            raise UserError(
                f"{path}:{number}: a request without an id. Expected a file made by '{MADE_BY}'."
            )
        if request.id in lines:
            raise UserError(
                f"{path}:{number}: the id '{request.id}' is that of line {lines[request.id]} too."
            )
        lines[request.id] = number
        requests.append(request)
    if not requests:
        raise UserError(f"No requests in '{path}'. Expected a JSONL file, as made by '{MADE_BY}'.")
    return requests


def write_requests(path: Path, requests: Iterable[TravelRequest]) -> None:
    write_atomically(path, lines_of(request.record() for request in requests))


def lines_of(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def proofs_beside(path: Path) -> Path:
    """requests.jsonl → requests.proofs.jsonl."""
    return path.with_name(f"{path.stem}.proofs{path.suffix}")


# ---- review


def write_review(requests: Sequence[TravelRequest]) -> str:
    """A table for a spreadsheet (CSV). Nothing is ticked."""
    rows = []
    for request in requests:
        intents = request.record()
        for name in ("id", "query", "level"):
            intents.pop(name, None)
        meant = "; ".join(f"{name}: {_shown(value)}" for name, value in intents.items())
        rows.append(("", request.id, request.level or "", request.query, meant))
    return csv_text(COLUMNS, rows)


def _shown(value: Any) -> str:
    return " and ".join(value) if isinstance(value, list) else str(value)


def accepted(requests: Sequence[TravelRequest], path: Path) -> list[TravelRequest]:
    """The ticked requests, in their own order. Raises UserError for what is no review of these
    requests, with the line; words that were edited are refused, since nobody has proved what they
    ask for."""
    by_id = {request.id: request for request in requests}
    ticked: dict[str, bool] = {}
    for line, row in csv_rows(path):
        if absent := [name for name in COLUMNS[:4] if name not in row]:
            raise UserError(f"{path}:1: no column '{absent[0]}' among {', '.join(COLUMNS)}.")
        name = row["id"].strip()
        if name not in by_id:
            raise UserError(f"{path}:{line}: '{name[:60]}' is the id of no request in the file.")
        if name in ticked:
            raise UserError(f"{path}:{line}: '{name}' was reviewed before.")
        if row["request"].split() != by_id[name].query.split():
            raise UserError(f"{path}:{line}: the words of '{name}' are not those in the file.")
        ticked[name] = _ticked(path, line, row["accept"])
    if not any(ticked.values()):
        raise UserError(f"No request is ticked in '{path}', a file made by 'request review'.")
    return [request for request in requests if ticked.get(request.id)]


def _ticked(path: Path, line: int, cell: str) -> bool:
    word = cell.strip().casefold()
    if word not in YES | NO:
        raise UserError(
            f"{path}:{line}: '{cell[:20]}' is neither a tick (x, yes) nor none (empty, no)."
        )
    return word in YES


# ---- difficulty: one minus the share of k attempts that passed

EASY, HARD = 0.25, 0.75  # up to which difficulty a request is easy; from which on it is hard
OTHER_SHARE = 0.1  # of a stage's requests that are of the other kind


class AttemptCount(NamedTuple):
    attempts: int
    passed: int

    @property
    def difficulty(self) -> float:
        return round(1 - self.passed / self.attempts, 6)

    @property
    def level(self) -> Level:
        return (
            "easy" if self.difficulty <= EASY else "hard" if self.difficulty >= HARD else "medium"
        )


@dataclass(frozen=True)
class Stages:
    """`sft`: what the cold start learns from, mostly easy; `rl`: what reinforcement learning goes
    on with, mostly hard. No request is in both. `left` were not tried often enough, and keep the
    level that they had."""

    sft: list[TravelRequest]
    rl: list[TravelRequest]
    left: list[TravelRequest]


def read_attempts(paths: Iterable[Path]) -> dict[str, AttemptCount]:
    """The words of a request → how often it was tried and passed, over files of episodes (a run's,
    or its folder).

    Unscored ones do not count. Raises UserError for a line that is no episode.
    """
    verdicts: dict[str, list[bool]] = defaultdict(list)
    for file in {transcripts_at(path, "episodes").resolve(): None for path in paths}:
        for line in episode_lines(file):
            text, final = line.read(_attempt)
            if final is not None:
                verdicts[text].append(final)
    return {text: AttemptCount(len(results), sum(results)) for text, results in verdicts.items()}


def _attempt(record: Mapping[str, Any]) -> tuple[str, bool | None]:
    """What was asked, and whether it passed; None where it is unscored."""
    verdict = record["verdict"]
    return str(record["request"]["query"]), None if verdict is None else bool(verdict["final"])


def measured(
    requests: Sequence[TravelRequest], attempts: dict[str, AttemptCount], least: int = 2
) -> dict[str, AttemptCount]:
    """Id → attempts, of the requests that were tried at least so often. Raises UserError where
    there are none."""
    tried = {each.id: attempts[each.query] for each in requests if each.query in attempts}
    rates = {id: count for id, count in tried.items() if count.attempts >= least}
    if not rates:
        raise UserError(
            f"None of the {len(requests)} requests has {least} scored attempts (requests tried at"
            f" all: {len(tried)}). Run each several times first."
        )
    return rates


def staged(
    requests: Sequence[TravelRequest],
    rates: dict[str, AttemptCount],
    other_share: float = OTHER_SHARE,
    seed: int = 0,
) -> Stages:
    """Easy requests for the cold start, the others for RL, and in each a small share of the other
    kind. Levels are those measured.

    A request that was never passed goes to RL too: the replay of failed groups (row D7) is made for
    it.
    """
    rng = random.Random(f"{seed}/stages")
    levelled = [
        each.model_copy(update={"level": rates[each.id].level})
        for each in requests
        if each.id in rates
    ]
    easy = [each.id for each in levelled if each.level == "easy"]
    hard = [each.id for each in levelled if each.level != "easy"]
    to_sft = rng.sample(hard, _share(len(easy), len(hard), other_share))
    to_rl = rng.sample(easy, _share(len(hard), len(easy), other_share))
    sft = {*easy, *to_sft} - set(to_rl)
    return Stages(
        [each for each in levelled if each.id in sft],
        [each for each in levelled if each.id not in sft],
        [each for each in requests if each.id not in rates],
    )


def _share(own: int, others: int, share: float) -> int:
    """How many of the `others` make up about this share beside `own`; no more than half of them."""
    return min(round(own * share / (1 - share)), others // 2)

"""Whether an episode is good enough to learn from. A plan is held to a set of rules, here or in its run (row S4); an answer with
recommendations was held to its transcript by the run's verifier (row D6). The format is strict in both (`clean.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

from tripwright.data.clean import NO_PLAN, ending_problem, format_problem
from tripwright.data.files import Episode, Run
from tripwright.data.kinds import REQUESTS, one_kind
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import Rules, check_rules, judge
from tripwright.errors import UserError
from tripwright.world.store import World

NOT_VERIFIED = "not passed by the verifier"


class Judging(Protocol):
    """`rules` says by what the runs were judged, all of them; `judged` counts the episodes that were judged here."""

    rules: str
    judged: int

    def problem(self, run: Run, episode: Episode) -> str | None:
        """The first reason to leave it, in the order ending, rules, format; None for a good one."""
        ...

    def verdict(self, run: Run, episode: Episode) -> dict[str, Any]: ...
    def rules_of(self, run: Run) -> str: ...


def judging_of(runs: Sequence[Run], worlds: Iterable[World] = (), rules: str | None = None) -> Judging:
    """`rules` None: the strict ones, where the runs hold plans. Raises UserError for what does not go with the runs."""
    if rules is not None:
        check_rules(rules)
    kind = one_kind((run.folder, run.kind) for run in runs)
    return _Verified(runs, list(worlds), rules) if kind is REQUESTS else _Judged(runs, list(worlds), rules or "strict")


class _Judged:
    """The verdicts of some runs' plans under one set of rules."""

    def __init__(self, runs: Sequence[Run], worlds: Sequence[World], rules: str):
        self.rules, self.judged = rules, 0
        self._worlds = {world.content_hash: world for world in worlds}
        for world in worlds:
            if world.content_hash not in {run.world_hash for run in runs}:
                raise UserError(f"No run was played in the world '{world.name}' as given. Give the world that the run card names.")
        for run in runs:
            _refuse_emptied(run)
            if run.rules != rules and run.world_hash not in self._worlds:
                raise UserError(
                    f"'{run.folder}' was judged under the {run.rules} rules: give its world with --world DIR, "
                    f"to judge it again under the {rules} ones."
                )

    def problem(self, run: Run, episode: Episode) -> str | None:
        if problem := ending_problem(episode.transcript):
            return problem
        if episode.record["plan"] is None:
            return NO_PLAN
        self.judged += run.world_hash in self._worlds
        if not self.verdict(run, episode)["final"]:
            return f"fails the {self.rules} rules"
        return format_problem(episode.transcript, run.dialect, paged=run.page_rows is not None)

    def verdict(self, run: Run, episode: Episode) -> dict[str, Any]:
        world = self._worlds.get(run.world_hash or "")
        if world is None:
            return _said(episode)
        judged = judge(cast(Query, episode.query), episode.record["plan"], world, cast(Rules, self.rules)).to_contract(0)
        return {key: value for key, value in judged.items() if key != "line"}

    def rules_of(self, run: Run) -> str:
        return self.rules


class _Verified:
    """The verdicts that the runs' verifiers gave when the episodes ended."""

    def __init__(self, runs: Sequence[Run], worlds: Sequence[World], rules: str | None):
        given = [option for option, value in (("--rules", rules), ("--world", worlds)) if value]
        if given:
            raise UserError(
                f"{given[0]} is for plans; the episodes of '{runs[0].folder}' were judged otherwise: {runs[0].rules}. Leave it out."
            )
        for run in runs:
            _refuse_emptied(run)
        self.rules, self.judged = ", ".join(sorted({run.rules for run in runs})), 0

    def problem(self, run: Run, episode: Episode) -> str | None:
        if problem := ending_problem(episode.transcript):
            return problem
        if not self.verdict(run, episode)["final"]:
            return NOT_VERIFIED
        return format_problem(episode.transcript, run.dialect, paged=run.page_rows is not None)

    def verdict(self, run: Run, episode: Episode) -> dict[str, Any]:
        return _said(episode)

    def rules_of(self, run: Run) -> str:
        return run.rules


def _said(episode: Episode) -> dict[str, Any]:
    """The run's own verdict."""
    return dict(episode.record["verdict"] or {"final": False})


def _refuse_emptied(run: Run) -> None:
    if run.card.get("emptied_tools"):
        raise UserError(f"'{run.folder}' was played with empty tools (--empty-tools): nothing in it was looked up. Leave it out.")

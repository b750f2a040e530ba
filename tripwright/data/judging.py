"""Whether an episode is good enough to learn from: it passes, by its run's own verdict or judged
here, and its format is clean (rows S4, D6; `clean.py`). A domain with several sets of rules is held
to the strictest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tripwright.data.clean import NO_PLAN, ending_problem, format_problem
from tripwright.data.files import SourceRun, StoredEpisode, one_domain
from tripwright.domains.domain import ClosedWorld
from tripwright.errors import UserError
from tripwright.verdict import Verdict

NOT_PASSED = "not passed by its verdict"


class Judging:
    """The verdicts of some runs of one domain. `rules` says by what they were judged, all of them;
    `judged` counts the episodes that were judged here. Raises UserError for what does not go with
    the runs."""

    def __init__(
        self,
        runs: Sequence[SourceRun],
        worlds: Iterable[ClosedWorld] = (),
        rules: str | None = None,
    ):
        self._domain = one_domain((run.folder, run.domain) for run in runs)
        self._worlds = {world.content_hash: world for world in worlds}
        self.judged = 0
        for run in runs:
            if run.card.get("emptied_tools"):
                raise UserError(
                    f"'{run.folder}' was played with empty tools (--empty-tools): nothing in it was"
                    " looked up. Leave it out."
                )
        if self._domain.judge_again is None:
            self._refuse(rules, runs[0])
            self.rules = ", ".join(sorted({run.rules for run in runs}))
        else:
            self.rules = self._checked(rules)
            self._check_worlds(runs)

    def problem(self, run: SourceRun, episode: StoredEpisode) -> str | None:
        """Why an episode is not kept: how it ended, else the rules, else its format. None for a
        good one."""
        if problem := ending_problem(episode.transcript):
            return problem
        if episode.verdict is None or not episode.verdict.readable:
            return NO_PLAN
        self.judged += run.world_hash in self._worlds
        if not self.verdict(run, episode).final:
            return (
                NOT_PASSED if self._domain.judge_again is None else f"fails the {self.rules} rules"
            )
        return format_problem(episode.transcript, run.dialect, paged=run.page_rows is not None)

    def verdict(self, run: SourceRun, episode: StoredEpisode) -> Verdict:
        """Of an episode that has one."""
        assert episode.verdict is not None
        world = self._worlds.get(run.world_hash or "")
        if world is None or self._domain.judge_again is None:
            return episode.verdict
        return self._domain.judge_again(episode.record, world, self.rules)

    def rules_of(self, run: SourceRun) -> str:
        return run.rules if self._domain.judge_again is None else self.rules

    def _refuse(self, rules: str | None, run: SourceRun) -> None:
        """Where nothing can be judged again, there is nothing to choose."""
        options = [
            option for option, value in (("--rules", rules), ("--world", self._worlds)) if value
        ]
        if options:
            raise UserError(
                f"{options[0]} is for what can be judged again; the episodes of '{run.folder}' were"
                f" {run.rules}. Leave {options[0]} out."
            )

    def _checked(self, rules: str | None) -> str:
        if rules is not None and rules not in self._domain.rules:
            raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(self._domain.rules)}.")
        return rules or self._domain.rules[0]

    def _check_worlds(self, runs: Sequence[SourceRun]) -> None:
        for content_hash, world in self._worlds.items():
            if content_hash not in {run.world_hash for run in runs}:
                raise UserError(
                    f"No run was played in the world '{world.name}' as given. Give the world that"
                    " the run card names."
                )
        for run in runs:
            if run.rules != self.rules and run.world_hash not in self._worlds:
                raise UserError(
                    f"'{run.folder}' was judged under the {run.rules} rules: give its world with"
                    f" --world DIR, to judge it again under the {self.rules} ones."
                )

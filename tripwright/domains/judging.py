"""An endpoint that takes part in judging: an LLM judge of answers that rules cannot read (rows D3,
D4), or one that turns an itinerary in words into a plan before the rules see it (row S2).

A domain says what such a model does there (`JudgingModel`); a recipe's `[judging]` table or the
file of `--judging` says which model, and what it may cost:

    model = "deepseek-chat"
    base_url = "https://api.deepseek.com/v1"
    max_cost_usd = 5.0
    price_in = 0.3      USD per million tokens
    price_out = 1.2

Every answer is kept in judgements.jsonl of the run folder, so none is paid for twice. Where the
endpoint does not answer, episodes are unscored and never failed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt

from tripwright.agent.dialect import Dialect
from tripwright.episode import Episode, Task
from tripwright.errors import UserError
from tripwright.files import toml_table
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import shown_url
from tripwright.llm.paid_calls import JudgementLog, Prices, prices_of
from tripwright.runs import JUDGEMENTS
from tripwright.settings import settings_of
from tripwright.verdict import Verdict, verified_by

# settings that may change when a run is gone on with
FREE = ("concurrency", "timeout_seconds", "retries", "api_key_env", "max_cost_usd")
Judged = Callable[[Task], Task]  # the same task, judged with the endpoint's help


def unchanged(task: Task) -> Task:
    return task


@dataclass(frozen=True, kw_only=True)
class JudgingSettings:
    """The endpoint, and what it may cost in one run folder. `concurrency` episodes are judged at
    once."""

    model: str
    base_url: str  # up to and including /v1
    api_key_env: str = "OPENAI_API_KEY"
    temperature: Annotated[float, Ge(0)] | None = None  # None: the server's
    max_tokens: Annotated[int, Ge(1)] | None = None  # of a reply
    timeout_seconds: Annotated[float, Gt(0)] = 300.0
    retries: Annotated[int, Ge(0)] = 4
    concurrency: Annotated[int, Ge(1)] = 8
    price_in: Annotated[float, Ge(0)] | None = None  # USD per million tokens
    price_out: Annotated[float, Ge(0)] | None = None
    max_cost_usd: Annotated[float, Ge(0)] | None = None

    def __post_init__(self) -> None:
        _ = self.prices  # which refuses what does not go together
        if shown_url(self.base_url) != self.base_url:  # a run folder keeps these settings
            raise UserError("base_url holds a password: name a variable with api_key_env.")

    @property
    def prices(self) -> Prices | None:
        return prices_of(self.price_in, self.price_out, max_usd=self.max_cost_usd)

    @property
    def name(self) -> str:
        """Of the one who judges, where no set of rules does."""
        return self.model

    def endpoint(self) -> ChatEndpoint:
        return ChatEndpoint(
            self.base_url,
            self.model,
            api_key_env=self.api_key_env,
            timeout_s=self.timeout_seconds,
            max_retries=self.retries,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )

    def log(self, path: Path | None) -> JudgementLog:
        return JudgementLog(path, self.prices)

    def card(self) -> dict[str, Any]:
        """What decides its verdicts, for a run card, and where it lives."""
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if name not in FREE}


@dataclass(frozen=True)
class JudgingModel:
    """What a model does in a domain's judging. `open` gives what makes a task one that it helps to
    judge; answers are kept at the path, or, without one, for as long as it is open."""

    settings: type[Any]
    open: Callable[[Any, Path | None], AbstractContextManager[Judged]]


@dataclass(frozen=True, kw_only=True)
class Judge:
    """How answers are judged beyond what a task says itself: with which rules, again, and with the
    help of a model. `settings` below are those of such a model, or None."""

    # sets of rules to choose from, the default and strictest first; () where there is one way to
    # judge, which scores call `name`
    rules: tuple[str, ...] = ()
    name: str = "rules"
    # rules → version, counted up where an answer may get another verdict; those left out have 1
    versions: Mapping[str, int] = field(default_factory=dict)
    # group of a verdict → those of its facts known beforehand, in order
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # (record of an episode, world, rules)
    again: Callable[[Mapping[str, Any], Any, str], Verdict] | None = None
    model: JudgingModel | None = None
    # (dialect, settings) → why its answers cannot be judged so
    refusal: Callable[[Dialect, Any], str | None] = lambda dialect, settings: None
    # reward that reads facts behind gates that are shut → the task with verdicts that have them
    ungated: Mapping[str, Callable[[Task], Task]] = field(default_factory=dict)
    # of the episodes of a training step, for its metrics
    figures: Callable[[Sequence[Episode]], dict[str, Any]] = lambda episodes: {}

    def rules_named(self, rules: str | None) -> str:
        """Those, or the strictest. Raises UserError for rules that it has not."""
        if rules is not None and rules not in self.rules:
            raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(self.rules)}.")
        return rules or self.rules[0]

    def settings(self, dialect: Dialect | None, table: Any, where: str) -> Any:
        """Of a table. Raises UserError for a wrong one, and where no model takes part in judging
        (of the dialect, where it is known)."""
        if self.model is None:
            raise UserError(f"{where}: these requests are judged without a model. Leave it out.")
        settings = settings_of(self.model.settings, table, where)
        if dialect is not None and (refusal := self.refusal(dialect, settings)):
            raise UserError(f"{where}: {refusal}")
        return settings

    def read_settings(self, dialect: Dialect | None, path: Path) -> Any:
        """Those in a file of --judging. Raises UserError."""
        return self.settings(dialect, toml_table(path), str(path))

    @contextmanager
    def opened(self, settings: Any, folder: Path) -> Iterator[Judged]:
        """What makes the tasks of a run folder ones that the model helps to judge; nothing without
        settings."""
        if settings is None or self.model is None:
            yield unchanged
            return
        with self.model.open(settings, folder / JUDGEMENTS) as judged:
            yield judged

    def name_with(self, settings: JudgingSettings | None) -> str:
        """What stands as the rules of a score, where there are none to choose from."""
        return self.name if settings is None else verified_by(settings.name)

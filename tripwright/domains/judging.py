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
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt

from tripwright.agent.dialect import Dialect
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.endpoint import shown_url
from tripwright.llm.paid_calls import JudgementLog, Prices, prices_of
from tripwright.runs import JUDGEMENTS
from tripwright.settings import settings_of
from tripwright.verdict import verified_by

# settings that may change when a run is gone on with
FREE = ("concurrency", "timeout_seconds", "retries", "api_key_env", "max_cost_usd")
Judged = Callable[[Task], Task]  # the same task, judged with the endpoint's help


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
        if self.max_cost_usd is not None and self.prices is None:
            raise UserError("max_cost_usd needs price_in and price_out.")
        if shown_url(self.base_url) != self.base_url:  # a run folder keeps these settings
            raise UserError("base_url holds a password: name a variable with api_key_env.")

    @property
    def prices(self) -> Prices | None:
        return prices_of(self.price_in, self.price_out)

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
        return JudgementLog(path, self.prices, self.max_cost_usd)

    def card(self) -> dict[str, Any]:
        """What decides its verdicts, for a run card, and where it lives."""
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if name not in FREE}


@dataclass(frozen=True)
class JudgingModel:
    """What a model does in a domain's judging. `open` gives what makes a task one that it helps
    to judge; answers are kept at the path, or, without one, for as long as it is open. `refusal`
    says why these settings do not go with a dialect."""

    settings: type[Any]
    open: Callable[[Any, Path | None], AbstractContextManager[Judged]]
    refusal: Callable[[Any, Dialect], str | None] = lambda settings, dialect: None


def judging_settings(
    model: JudgingModel | None, dialect: Dialect | None, table: Any, where: str
) -> Any:
    """Raises UserError for a wrong table, and where no model takes part in judging (of the dialect,
    where it is known)."""
    if model is None:
        raise UserError(f"{where}: these requests are judged without a model. Leave it out.")
    settings = settings_of(model.settings, table, where)
    if dialect is not None and (refusal := model.refusal(settings, dialect)):
        raise UserError(f"{where}: {refusal}")
    return settings


@contextmanager
def opened(model: JudgingModel | None, settings: Any, folder: Path) -> Iterator[Judged]:
    """What makes the tasks of a run folder ones that the model helps to judge; nothing without
    settings."""
    if settings is None or model is None:
        yield lambda task: task
        return
    with model.open(settings, folder / JUDGEMENTS) as judged:
        yield judged


def rules_without_choice(judged_by: str, settings: JudgingSettings | None) -> str:
    """What stands as the rules of a score, where a domain has no sets of rules to choose from."""
    return judged_by if settings is None else verified_by(settings.name)


def read_judging(model: JudgingModel | None, dialect: Dialect | None, path: Path) -> Any:
    """The settings in a file of --judging. Raises UserError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"--judging '{path}' cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error}).") from None
    return judging_settings(model, dialect, table, str(path))

"""The tables of a recipe: everything that decides a training run. Defaults stand in the dataclasses and nowhere else."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields
from typing import Any

from tripwright.agent.dialect import Dialect, OnMistake
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.inference.precision import AUTO
from tripwright.rl.settings import GrpoSettings, PpoSettings, RejectionSettings, RolloutSettings
from tripwright.sft.copying import CopySettings
from tripwright.sft.trainer import SftSettings
from tripwright.tools.faults import Faults
from tripwright.training.checkpoint import CheckpointSettings
from tripwright.training.nano import NanoShape

RL_TABLES = ("grpo", "ppo", "rft")


@dataclass(frozen=True)
class DataSettings:
    """Where trips come from: generated worlds, many of them; or, with `world` and `queries`, one given world and a query file.

    `mix` is what the exam and the cold start ask. RL may dwell on what is hard (row S8): `rl_mix`, None for the same. Generated trips never
    repeat, unless `rl_trips` bounds how many there are for RL, which then goes through them in epochs (row S6: 1,000 queries, 5 epochs).
    """

    scale: str = "nano"
    queries_per_world: int = 16
    mix: Mix = Mix()
    rl_mix: Mix | None = None
    rl_trips: int | None = None
    world: str | None = None
    queries: str | None = None


@dataclass(frozen=True)
class LiveSettings:
    """Row D2: what answers live tools, where that is not the closed world alone.

    `services` is a TOML file of vendors, in place of `data.world`. Answers are kept in `store` under the day `snapshot`. With `replay`
    nobody is asked: what is not recorded is an error that the model reads.
    """

    store: str
    snapshot: str
    services: str | None = None
    replay: bool = True


@dataclass(frozen=True)
class DialectSettings:
    """A dialect by name, with single limits changed where they are given."""

    name: str = "compact"
    max_turns: int | None = None
    max_calls: int | None = None
    max_tool_tokens: int | None = None
    max_turn_tokens: int | None = None
    context_tokens: int | None = None
    page_rows: int | None = None
    system_prompt: str | None = None
    on_malformed: OnMistake | None = None
    on_repeated: OnMistake | None = None

    def dialect(self) -> Dialect:
        changed = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name" and getattr(self, f.name) is not None}
        return dataclasses.replace(dialect_named(self.name), **changed)


@dataclass(frozen=True)
class ModelSettings:
    """`pretrained` (a folder, or a name that `from_pretrained` finds) or a new model of `shape` with a tokenizer made on the spot."""

    pretrained: str | None = None
    shape: NanoShape = NanoShape()
    tokenizer_transcripts: int = 160
    superwords: int = 320
    subwords: int = 1000


@dataclass(frozen=True)
class EvaluationSettings:
    """`difficulty_queries` (the exam's trips and more like them) are for policies without a mind, which cost nothing."""

    queries: int = 500
    difficulty_queries: int = 1000
    per_world: int = 20
    rows: int = 100
    rules: str = "strict"
    dtype: str = AUTO


@dataclass(frozen=True)
class Recipe:
    """`faults` are of the tools that RL rolls out with (row S9); cold start and examinations have none. Of `grpo`, `ppo` and `rft` there is
    one at most. `sinks` are other places that the metrics go to: see `sinks.SINKS`."""

    name: str = "nano"
    seed: int = 0
    threads: int = 2
    data: DataSettings = DataSettings()
    live: LiveSettings | None = None
    dialect: DialectSettings = DialectSettings()
    model: ModelSettings = ModelSettings()
    copy: CopySettings | None = None
    sft: SftSettings | None = None
    grpo: GrpoSettings | None = None
    ppo: PpoSettings | None = None
    rft: RejectionSettings | None = None
    faults: Faults | None = None
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    checkpoint: CheckpointSettings = CheckpointSettings()
    sinks: tuple[str, ...] = ()

    @property
    def rl(self) -> tuple[str, RolloutSettings] | None:
        """The table of reinforcement learning that there is, by name."""
        for name in RL_TABLES:
            if (settings := getattr(self, name)) is not None:
                return name, settings
        return None

    def record(self) -> dict[str, Any]:
        """The resolved recipe as plain JSON."""
        return dataclasses.asdict(self)

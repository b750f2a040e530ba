"""The tables of a recipe: everything that decides a training run. Defaults stand in the dataclasses
and nowhere else."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le, Lt, MinLen

from tripwright.agent.dialect import (
    Dialect,
    OnMistake,
    OnOverflow,
    OnParallel,
    OnRepeated,
    ShownWork,
)
from tripwright.domains import dialect_named, domain_of
from tripwright.domains.domain import Domain
from tripwright.inference.models import AUTO, LoraSettings
from tripwright.policies.settings import GREEDY, Decoding
from tripwright.rl.settings import RolloutSettings
from tripwright.sft.copy_pretraining import CopyPretrainingSettings
from tripwright.sft.trainer import SftSettings
from tripwright.tools.faults import Faults
from tripwright.training.checkpoint import CheckpointSettings
from tripwright.training.cluster import ClusterSettings
from tripwright.training.nano import NanoShape

Count = Annotated[int, Ge(1)]
DENSE_REWARD = "dense_reward"  # of models that are trained here, beside the metrics of any score


@dataclass(frozen=True)
class DataSettings:
    """Where trips come from: generated worlds, many of them; or, with `world` and `queries`, one
    given world and a query file.

    The exam's worlds are of `scale`; training's are of `training_scales` in turn (None: of the
    same).

    `mix` is what the exam and the cold start ask, in settings of the domain's own (None: its usual
    mix). RL may dwell on what is hard (row S8): `rl_mix`, None for the same. Generated trips never
    repeat, unless `rl_trips` bounds how many there are for RL, which then goes through them in
    epochs (row S6: 1,000 queries, 5 epochs). They are the same for every seed: a recipe that goes
    on from another's model reads new ones with a `first_world` that the other has not come to.
    """

    scale: str = "nano"
    training_scales: Annotated[tuple[str, ...], MinLen(1)] | None = None
    queries_per_world: Count = 16
    first_world: Annotated[int, Ge(0), Lt(100_000)] = 0  # of those that a stage may draw from
    mix: Any | None = None
    rl_mix: Any | None = None
    rl_trips: Count | None = None
    world: str | None = None
    queries: str | None = None

    @property
    def trained_scales(self) -> tuple[str, ...]:
        return self.training_scales or (self.scale,)


@dataclass(frozen=True)
class LiveSettings:
    """Row D2: what answers live tools, where that is not the closed world alone.

    `services` is a TOML file of vendors, in place of `data.world`. Answers are kept in `store`
    under the day `snapshot`. With `replay` nobody is asked: what is not recorded is an error that
    the model reads.
    """

    store: str
    snapshot: str
    services: str | None = None
    replay: bool = True


@dataclass(frozen=True)
class DialectSettings:
    """A dialect by name, with single limits changed where they are given."""

    name: str = "compact"
    max_turns: Count | None = None
    max_calls: Count | None = None
    max_tool_tokens: Count | None = None
    max_turn_tokens: Count | None = None
    context_tokens: Count | None = None
    max_prompt_tokens: Count | None = None
    max_response_tokens: Count | None = None
    page_rows: Count | None = None
    system_prompt: str | None = None
    on_malformed: OnMistake | None = None
    on_repeated: OnRepeated | None = None
    on_parallel: OnParallel | None = None
    on_overflow: OnOverflow | None = None
    shows_work: ShownWork | None = None  # of the expert whose transcripts are made

    def dialect(self) -> Dialect:
        changed = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name != "name" and getattr(self, f.name) is not None
        }
        return dataclasses.replace(dialect_named(self.name), **changed)


@dataclass(frozen=True)
class ModelSettings:
    """`pretrained` (a folder, or a name that `from_pretrained` finds) or a new model of `shape`
    with a tokenizer made on the spot, of so many transcripts of an expert's.

    `checkpoint_activations`: an update keeps of each layer only its input, and computes the rest
    again in the backward pass. Less memory, a forward pass more, the same gradients.

    `device` is where it is trained, evaluated and examined: "cpu", "cuda", "cuda:1", or "auto", the
    first GPU where there is one. It may change when a run is continued.

    `weights`: the number format that they are held in, trained and sampled from, whatever the
    checkpoint has. With "bfloat16" the optimizer steps float32 masters of them, and matrix
    products are in bfloat16 too.

    `lora`: every stage trains an adapter beside the starting model, which stays as it is.
    """

    pretrained: str | None = None
    shape: NanoShape = NanoShape()
    tokenizer_transcripts: Count = 160
    tokenizer_expert: str = "expert"
    superwords: Annotated[int, Ge(0)] = 320
    checkpoint_activations: bool = False
    device: str = AUTO
    weights: Literal["float32", "bfloat16"] = "float32"
    lora: LoraSettings | None = None


@dataclass(frozen=True)
class EvaluationSettings:
    """How held-out requests are played and judged, and which `tripwright examine` plays: all of
    `file`, in the place of data.queries, or so many generated ones (`queries`). `decoding` is that
    of validation, too (rows P9, S10).

    `difficulty_queries` (the exam's trips and more like them) are for policies without a mind,
    which cost nothing.
    """

    queries: Count = 500
    file: str | None = None
    difficulty_queries: Count = 1000
    per_world: Count = 20
    decoding: Decoding = GREEDY
    max_concurrent_rollouts: Count = 100
    context_tokens: Count | None = None  # None: the dialect's, as in training (row S6 has more)
    rules: str = "strict"


@dataclass(frozen=True)
class ValidationSettings:
    """Evaluation during RL, or during SFT where a recipe has no RL: `every` so many steps, after
    the last one and `at_start` (verl's test_freq and val_before_train; row P10). All requests of
    `file` are played, or so many generated ones (`queries`) in worlds that the exam does not ask
    about.

    The checkpoint with the highest `metric` of score.json is kept as a model folder; `keep = "all"`
    keeps one of every evaluation.
    """

    every: Count
    queries: Count = 64
    file: str | None = None
    at_start: bool = True
    metric: str = "final"
    keep: Literal["best", "all"] = "best"


class Reinforcement(NamedTuple):
    """An algorithm by its name in `rl.algorithms.ALGORITHMS`, which is the name of its table in
    TOML, and that table."""

    algorithm: str
    settings: RolloutSettings


@dataclass(frozen=True)
class Recipe:
    """`faults` are of the tools that RL rolls out with (row S9), and of a second examination; the
    cold start has none. `loggers` are other places that the metrics go to: see
    `loggers.LOGGERS`."""

    name: str = "nano"
    seed: Annotated[int, Ge(0), Le(2**63 - 1)] = 0
    threads: Count = 2
    data: DataSettings = DataSettings()
    live: LiveSettings | None = None
    dialect: DialectSettings = DialectSettings()
    judging: Any = None  # a model that takes part in it (`domains/judging.py`)
    model: ModelSettings = ModelSettings()
    copy_pretraining: CopyPretrainingSettings | None = None
    sft: SftSettings | None = None
    rl: Reinforcement | None = None
    faults: Faults | None = None
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    validation: ValidationSettings | None = None
    checkpoint: CheckpointSettings = CheckpointSettings()
    verl: ClusterSettings | None = None
    loggers: tuple[str, ...] = ()

    @property
    def domain(self) -> Domain:
        """What its dialect is about."""
        return domain_of(self.dialect.name)

    @property
    def held_out_dialect(self) -> Dialect:
        """The dialect of examinations and validation."""
        tokens = self.evaluation.context_tokens or self.dialect.dialect().context_tokens
        return dataclasses.replace(self.dialect.dialect(), context_tokens=tokens)

    @property
    def sampling_dtype(self) -> str:
        """Of evaluations: what RL samples in, or the cold start multiplies in."""
        stages = [self.rl.settings if self.rl else None, self.sft, self.copy_pretraining]
        return next((stage.dtype for stage in stages if stage is not None), AUTO)

    @property
    def mix(self) -> Any:
        """What the exam and the cold start ask."""
        return self.domain.mix() if self.data.mix is None else self.data.mix

    def record(self) -> dict[str, Any]:
        """The resolved recipe as plain JSON, with the names that TOML has."""
        record = dataclasses.asdict(
            dataclasses.replace(self, rl=None, data=dataclasses.replace(self.data, mix=self.mix))
        )
        del record["rl"]
        return (
            record
            if self.rl is None
            else record | {self.rl.algorithm: dataclasses.asdict(self.rl.settings)}
        )

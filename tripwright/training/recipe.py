"""A recipe: everything that decides a training run, in one TOML file.

Unknown keys and wrong types are refused before anything is loaded: a misspelt knob that is silently
ignored costs a night. TOML has no null: where a setting may be none, it is written "none". Defaults
stand in the dataclasses and nowhere else.

A recipe may begin from another one and say only what differs, so that two recipes of a comparison
cannot differ in anything else:

    base = "nano/grpo"   another recipe, by its name in `tripwright recipes` or a file beside this
    [grpo]
    group_size = 16      goes over the base's setting
    replay = "none"      takes a table of the base away

So do the command line's settings, `--set grpo.group_size=16`, which go over the file's.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Lt, MinLen

from tripwright.agent.dialect import (
    Dialect,
    OnMistake,
    OnOverflow,
    OnParallel,
    OnRepeated,
    ShownWork,
)
from tripwright.domains import dialect_named, domain_of, domains
from tripwright.domains.domain import Domain
from tripwright.errors import UserError
from tripwright.files import is_no_model, json_object, toml_table
from tripwright.inference.models import AUTO, PRECISIONS, LoraSettings, check_peft, device_named
from tripwright.inference.sampling import Sampling
from tripwright.llm.endpoint import is_address
from tripwright.policies.settings import GREEDY, Decoding
from tripwright.rewards.spec import OWN_NAME, check_reward_spec
from tripwright.runs import RECIPE, STAGES
from tripwright.settings import NONE, hints_of, settings_of, settings_values
from tripwright.tools.faults import Faults
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.grpo import GrpoSettings
from tripwright.training.loggers import check_loggers
from tripwright.training.losses import LOSSES
from tripwright.training.nano import NanoShape
from tripwright.training.ppo import PpoSettings
from tripwright.training.recipe_list import recipe_named
from tripwright.training.rollouts import RolloutSettings
from tripwright.training.sft import CopyPretrainingSettings, SftSettings

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
    repeat; those of a file are read in epochs (row S6). They are the same for every seed: a recipe
    that goes on from another's model reads new ones with a `first_world` that the other has not
    come to.
    """

    scale: str = "nano"
    training_scales: Annotated[tuple[str, ...], MinLen(1)] | None = None
    queries_per_world: Count = 16
    first_world: Annotated[int, Ge(0), Lt(100_000)] = 0  # of those that a stage may draw from
    mix: Any | None = None
    rl_mix: Any | None = None
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
        given = {name: value for name, value in vars(self).items() if value is not None}
        return replace(dialect_named(given.pop("name")), **given)


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

    `difficulty_queries` (the exam's trips and more like them) are for scripted baselines,
    which cost nothing.
    """

    queries: Count = 500
    file: str | None = None
    difficulty_queries: Count = 1000
    per_world: Count = 20
    decoding: Decoding = GREEDY
    max_concurrent_rollouts: Count = 100
    context_tokens: Count | None = None  # None: the dialect's, as in training (row S6 has more)
    rules: str | None = None  # by default the domain's strictest


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


@dataclass(frozen=True)
class CheckpointSettings:
    """A checkpoint is due after so many steps or minutes, whichever comes first (None: not by
    that), and at Ctrl-C or SIGTERM.

    None of this changes what is trained: it may be changed when a run is continued.
    """

    every_steps: Count | None = None
    every_minutes: Annotated[float, Gt(0)] | None = 2.0
    keep: Count = 2

    def due(self, steps: int, minutes: float) -> bool:
        """Whether to write one, so many steps and minutes after the last."""
        by_steps = self.every_steps is not None and steps >= self.every_steps
        return by_steps or (self.every_minutes is not None and minutes >= self.every_minutes)


@dataclass(frozen=True)
class ClusterSettings:
    """`sampler`: whose servers generate; "cpu" is our own engine, with all of verl on a CPU.

    `tensor_parallel` GPUs hold one copy of the sampler's weights. `memory_share` of a GPU is the
    sampler's while it generates. `offload`: weights and optimizer wait in the CPU's memory
    meanwhile. `sequence_parallel` GPUs share one row of the update. `episode_workers`: processes
    that play episodes. `options`: keys of verl's own, over everything that is said here.
    """

    nodes: Count = 1
    gpus_per_node: Count = 8
    sampler: Literal["vllm", "sglang", "cpu"] = "vllm"
    tensor_parallel: Count = 1
    memory_share: Annotated[float, Gt(0), Lt(1)] = 0.6
    offload: bool = False
    sequence_parallel: Count = 1
    episode_workers: Count = 8
    options: Any = None

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node


class Reinforcement(NamedTuple):
    """An algorithm by its name in `algorithms.ALGORITHMS`, which is the name of its table in TOML,
    and that table."""

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
    loggers: tuple[Literal["tensorboard", "wandb"], ...] = ()

    @property
    def domain(self) -> Domain:
        """What its dialect is about."""
        return domain_of(self.dialect.name)

    @property
    def held_out_dialect(self) -> Dialect:
        """The dialect of examinations and validation."""
        tokens = self.evaluation.context_tokens or self.dialect.dialect().context_tokens
        return replace(self.dialect.dialect(), context_tokens=tokens)

    @property
    def stages(self) -> tuple[str, ...]:
        """Those of `runs.STAGES` that it has, in their order."""
        tables = {"copy_pretraining": self.copy_pretraining, "sft": self.sft, "rl": self.rl}
        return tuple(stage for stage in STAGES if tables.get(stage, self.model) is not None)

    @property
    def sampling(self) -> Sampling:
        """How a model is sampled in examinations and validation: in the format that RL samples in,
        or the cold start multiplies in."""
        settings, how = self.evaluation, self.evaluation.decoding
        stages = [self.rl.settings if self.rl else None, self.sft, self.copy_pretraining]
        dtype = next((stage.dtype for stage in stages if stage is not None), AUTO)
        top_p = 1.0 if how.top_p is None else how.top_p
        rows = settings.max_concurrent_rollouts
        return Sampling(how.temperature, rows, self.seed, dtype, top_p, how.top_k)

    @property
    def mix(self) -> Any:
        """What the exam and the cold start ask."""
        generator = self.domain.generator
        return generator.mix() if generator and self.data.mix is None else self.data.mix

    def record(self) -> dict[str, Any]:
        """The resolved recipe as plain JSON, with the names that TOML has."""
        record = asdict(replace(self, rl=None, data=replace(self.data, mix=self.mix)))
        del record["rl"]
        return record | ({self.rl.algorithm: asdict(self.rl.settings)} if self.rl else {})


# ---- from files


def load_recipe(path: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """The recipe of a file, with settings that go over it ("grpo.clip.high=0.28"). Raises UserError
    in one line: file, key, what was found and what is accepted."""
    return _recipe(_changed(_with_base(Path(path), ()), changes), str(path))


def recipe_of_run(folder: Path, changes: Sequence[str] = ()) -> Recipe:
    """The recipe that a run folder was made by. Raises UserError where it holds none, or one of
    another version."""
    path = folder / RECIPE
    record = json_object(path) if path.is_file() else None
    if record is None:
        raise UserError(f"No training in '{folder}': expected a run folder with {RECIPE}.")
    return _recipe(_changed(_without_null(record), changes), str(path))


def changed(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """The same with settings that go over it, checked as a file is."""
    record = json.loads(json.dumps(recipe.record()))
    return _recipe(_changed(_without_null(record), changes), recipe.name)


def _changed(data: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The tables of a file with "key=value" over them, the value as TOML has it; what is no TOML is
    a text."""
    for change in changes:
        name, equals, text = change.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not equals or not all(keys):
            raise UserError(f"--set {change}: expected KEY=VALUE, such as grpo.clip.high=0.28.")
        try:
            value = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        for key in reversed(keys):
            value = {key: value}
        data = _merged(data, value)
    return data


def _without_null(value: Any) -> Any:
    """JSON's null as TOML writes it here."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items()}
    return NONE if value is None else value


def _recipe(data: dict[str, Any], where: str) -> Recipe:
    tables = {name: algorithm.settings for name, algorithm in ALGORITHMS.items()}
    hints = {name: hint for name, hint in hints_of(Recipe).items() if name != "rl"}
    values = settings_values(hints | tables, data, where)
    reinforcements = [Reinforcement(name, values.pop(name)) for name in tables if name in values]
    if len(reinforcements) > 1:
        found = "][".join(rl.algorithm for rl in reinforcements)
        raise UserError(f"{where}: one table of reinforcement learning a recipe: found [{found}].")
    recipe = Recipe(**values, rl=reinforcements[0] if reinforcements else None)
    mixes = {
        name: settings_of(recipe.domain.generated().mix, mix, f"{where}: data.{name}")
        for name in ("mix", "rl_mix")
        if (mix := getattr(recipe.data, name)) is not None
    }
    recipe = replace(recipe, data=replace(recipe.data, **mixes))
    if recipe.judging is not None:
        dialect = recipe.dialect.dialect()
        settings = recipe.domain.judge.settings(dialect, recipe.judging, f"{where}: judging")
        recipe = replace(recipe, judging=settings)
    recipe = _with_rules(recipe)
    try:
        check(recipe)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return recipe


def _with_base(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """The tables of a file over those of its base. `above`: the files that begin from this one."""
    if not path.is_file():
        raise UserError(f"No recipe at '{path}'. Recipes are TOML files; see the folder recipes/.")
    if path.resolve() in above:
        raise UserError(f"{path}: its base begins from this recipe again.")
    data = toml_table(path)
    base = data.pop("base", None)
    if base is None:
        return data
    if not isinstance(base, str):
        raise UserError(f"{path}: base is the name or the file of another recipe, found {base!r}.")
    beside = path.parent / base
    try:
        file = beside if beside.is_file() else Path(recipe_named(base).path)
    except UserError as error:
        raise UserError(f"{path}: base: {error}") from None
    return _merged(_with_base(file, (*above, path.resolve())), data)


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Table by table; what is no table is replaced. "none" takes a table of the base away."""
    merged = dict(base)
    for key, value in changes.items():
        before = merged.get(key)
        if isinstance(before, dict) and value == NONE:
            del merged[key]
        elif isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def _with_rules(recipe: Recipe) -> Recipe:
    """Training and examinations are held to the domain's strictest rules where the recipe does not
    say."""
    strictest, rl = next(iter(recipe.domain.judge.rules), None), recipe.rl
    evaluation = replace(recipe.evaluation, rules=recipe.evaluation.rules or strictest)
    if rl is not None:
        rl = rl._replace(settings=replace(rl.settings, rules=rl.settings.rules or strictest))
    return replace(recipe, evaluation=evaluation, rl=rl)


# ---- checks


def check(recipe: Recipe) -> None:
    """Raises UserError for the first thing that cannot work."""
    of_rl = _rl_problems(recipe, *recipe.rl) if recipe.rl is not None else ()
    tables = _dialect_problems, _data_problems, _held_out_problems, _stage_problems
    for problem in chain(*(table(recipe) for table in tables), of_rl):
        raise UserError(problem)


def _unknown(name: str, value: str, accepted: Iterable[str]) -> Iterator[str]:
    if value not in accepted:
        yield f"unknown {name} '{value}'. Accepted: {', '.join(accepted)}."


def _dialect_problems(recipe: Recipe) -> Iterator[str]:
    dialect = recipe.dialect.dialect()
    turn, context = dialect.max_turn_tokens, dialect.context_tokens
    if turn >= context:
        yield f"max_turn_tokens ({turn}) must be below context_tokens ({context})."
    plays = recipe.rl is not None or (recipe.sft is not None and recipe.sft.data is None)
    if plays and recipe.judging is None and (problem := recipe.domain.judge.refusal(dialect, None)):
        yield f"{problem} Name one in [judging]."
    if recipe.model.pretrained is None:
        check_positions(recipe, "the model", recipe.model.shape.positions)


def check_positions(recipe: Recipe, model: str, positions: int) -> None:
    """Raises UserError where what it is trained or examined on is longer."""
    dialects = {"dialect": recipe.dialect.dialect(), "evaluation": recipe.held_out_dialect}
    for table, dialect in dialects.items():
        if positions < dialect.context_tokens:
            found = f"{model} has {positions} positions, the {table} needs {dialect.context_tokens}"
            raise UserError(f"{found}: lower {table}.context_tokens.")


def _data_problems(recipe: Recipe) -> Iterator[str]:
    data, live = recipe.data, recipe.live
    if live is not None:
        if recipe.domain.live is None:
            able = [d.name for dom in domains().values() if dom.live for d in dom.dialects]
            yield f"dialect '{recipe.dialect.name}' has no live tools. Take {' or '.join(able)}."
        nobody = data.world is None and live.services is None and not live.replay
        if data.queries is None or nobody or (data.world is not None and live.services is not None):
            yield "[live] needs data.queries, and one of live.services, data.world or live.replay."
    elif (data.world is None) != (data.queries is None):
        yield "data.world and data.queries belong together: give both, or neither to generate."
    if data.queries is None:
        scales = recipe.domain.generated().scales
        yield from _unknown("data.scale", data.scale, scales)
        for scale in data.trained_scales:
            yield from _unknown("data.training_scales", scale, scales)
    elif data.training_scales is not None:
        yield "data.training_scales are of generated trips, not of data.queries."


def _held_out_problems(recipe: Recipe) -> Iterator[str]:
    validation = recipe.validation
    try:
        _ = recipe.sampling
    except UserError as error:
        yield f"evaluation.decoding: {error}"
    if (rules := recipe.evaluation.rules) is not None:
        yield from _unknown("evaluation.rules", rules, recipe.domain.judge.rules)
    for name, table in (("evaluation", recipe.evaluation), ("validation", validation)):
        if table is not None and table.file is not None and recipe.data.queries is None:
            yield f"{name}.file needs data.queries. Of generated requests give {name}.queries."
    if validation is not None:
        if recipe.rl is None and recipe.sft is None:
            yield "[validation] is during [sft], [grpo], [ppo], [rft] or [rl], and there is none."
        if validation.file is None and recipe.data.queries is not None:
            yield "[validation] needs a file of requests beside data.queries: validation.file."
        groups = recipe.domain.judge.facts
        rates = [f"{group}_{kind}" for group in groups for kind in ("micro", "macro")]
        metrics = ("final", "delivery", DENSE_REWARD, *rates)
        yield from _unknown("validation.metric", validation.metric, metrics)


def _stage_problems(recipe: Recipe) -> Iterator[str]:
    teachers, weights = recipe.domain.teachers, recipe.model.weights
    yield from _unknown("model.tokenizer_expert", recipe.model.tokenizer_expert, teachers)
    if recipe.sft is not None:
        yield from _unknown("sft.expert", recipe.sft.expert, teachers)
    stages = {"copy_pretraining": recipe.copy_pretraining, "sft": recipe.sft}
    for name, settings in (*stages.items(), *([recipe.rl] if recipe.rl else [])):
        if settings is None:
            continue
        yield from _unknown(f"{name}.dtype", settings.dtype, PRECISIONS)
        # wider ones would need a second copy of the weights, and narrower ones there are none
        if weights != "float32" and settings.dtype not in (AUTO, weights):
            found = f"{name}.dtype is '{settings.dtype}', but model.weights are '{weights}'"
            yield f"{found}: leave {name}.dtype out."
        if recipe.model.lora is not None and settings.optimizer.name == "muon":
            yield f'{name}.optimizer: [model.lora] needs {name}.optimizer.name = "adamw".'
        if isinstance(settings, SftSettings | RolloutSettings) and not (
            settings.steps or settings.max_minutes or settings.max_epochs
        ):
            yield f"{name} would never end: give steps, max_minutes or max_epochs."


def _rl_problems(recipe: Recipe, table: str, settings: RolloutSettings) -> Iterator[str]:
    data, domain, curriculum = recipe.data, recipe.domain, settings.curriculum
    by_epochs = settings.max_epochs is not None or curriculum.kind == "epochs"
    if by_epochs and data.queries is None:
        yield f"{table}: generated trips have no epochs: give data.queries, or count in steps."
    if settings.tools is not None and (data.world is None or not is_address(settings.tools)):
        yield f"{table}.tools is the address of a server of data.world, with data.queries."
    grpo = settings if isinstance(settings, GrpoSettings) else None
    if settings.server is not None:
        if not is_address(settings.server.url):
            found = f"found '{settings.server.url}'"
            yield f"{table}.server.url is an address, such as http://127.0.0.1:8000; {found}."
        if grpo is not None and grpo.branching is not None:
            yield f"{table}.branching is of our own engine: leave it or {table}.server out."
        if settings.tool_threads:
            yield f"{table}.tool_threads is of our own engine: leave it or {table}.server out."
    for name in settings.own:
        if not OWN_NAME.fullmatch(name):
            known = f", or a loss {' or '.join(LOSSES)}" if grpo and name == grpo.loss else ""
            yield f"{table}: '{name}' is no name of your own code. Expected module:function{known}."
    for spec in curriculum.rewards:
        try:
            check_reward_spec(spec, domain.rewards, domain.judge.facts)
        except UserError as error:
            yield f"{table}.curriculum.stages: {error}"
    if grpo is not None and grpo.credit == "evidence" and domain.credit is None:
        yield f'{table}.credit is "episode" for {domain.title}: their facts point at no words.'
    if settings.rules is not None:
        yield from _unknown(f"{table}.rules", settings.rules, domain.judge.rules)
    if isinstance(settings, PpoSettings) and recipe.dialect.dialect().on_overflow == "truncate":
        yield f'{table}: a value head needs whole contexts: set dialect.on_overflow = "end".'


def missing_files(recipe: Recipe) -> Iterator[str]:
    """A sentence for each file or folder that the recipe needs and that is not there. (A model may
    be on a hub.)"""
    live, model = recipe.live, recipe.model.pretrained
    for name, path in (
        ("data.world", recipe.data.world),
        ("data.queries", recipe.data.queries),
        ("evaluation.file", recipe.evaluation.file),
        ("validation.file", recipe.validation.file if recipe.validation else None),
        ("sft.data", recipe.sft.data if recipe.sft else None),
        ("live.services", live.services if live else None),
    ):
        if path is not None and not Path(path).exists():
            yield f"{name}: nothing at '{path}'."
    if live and live.replay and "://" not in live.store and not Path(live.store).is_file():
        yield f"live.store: no file '{live.store}'. Record it first, or set live.replay = false."
    if model is not None and is_no_model(model):
        yield (
            f"model.pretrained: no folder '{model}'. Make it first: the recipe's 'needs' says how."
        )


def check_needs(recipe: Recipe) -> None:
    """Raises UserError for the files and folders that the recipe needs and that are not there, or
    for the first package."""
    if lines := list(missing_files(recipe)):
        raise UserError(" ".join(lines))
    device_named(recipe.model.device)
    if recipe.model.lora is not None:
        check_peft("[model.lora]")
    check_loggers(recipe.loggers)


# ---- what differs between two recipes


MOST_SHOWN = 3


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """ "sft.steps: 6 -> 7; seed: 0 -> 1 and 4 more"; empty if nothing differs."""
    lines = [
        f"{path}: {_shown(old)} -> {_shown(new)}" for path, old, new in differing(before, after)
    ]
    more = f" and {len(lines) - MOST_SHOWN} more" if len(lines) > MOST_SHOWN else ""
    return "; ".join(lines[:MOST_SHOWN]) + more


def differing(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, before, after) of every value that differs, in the order of `before`; None stands for
    what is not there."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from differing(
                before.get(key), after.get(key), f"{path}.{key}" if path else str(key)
            )
    elif before != after:
        yield path, before, after


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    # of a hash, the beginning
    text = value[:12] if isinstance(value, str) and len(value) == 64 else str(value)
    return text if len(text) <= 60 else text[:60] + "…"

"""Whether a recipe's settings go together, said in one line before anything is loaded: a run that cannot work should end here."""

from __future__ import annotations

from pathlib import Path

from tripwright.domains.travelplanner.queries.sample import CITIES_VISITED
from tripwright.errors import UserError
from tripwright.inference.precision import PRECISIONS
from tripwright.learning.optim import OPTIMIZERS
from tripwright.rewards.curriculum import KINDS, Curriculum
from tripwright.rewards.shaped import HALVES, STAGES
from tripwright.rl.objectives import AGGREGATIONS, CORRECTIONS, KL_ESTIMATORS, LEVELS, NORMALISATIONS
from tripwright.rl.settings import GrpoSettings, PpoSettings, RolloutSettings
from tripwright.training.recipe_ranges import check_ranges
from tripwright.training.recipe_tables import RL_TABLES, Recipe
from tripwright.training.sinks import SINKS, check_sinks
from tripwright.transcript import StopReason
from tripwright.world.generator.scales import SCALES


def check(recipe: Recipe) -> None:
    """Raises UserError for the first thing that cannot work."""
    check_ranges(recipe)
    _dialect(recipe)
    _model(recipe)
    _data(recipe)
    one_of("evaluation.dtype", recipe.evaluation.dtype, PRECISIONS)
    for name in recipe.sinks:
        one_of("sinks", name, tuple(SINKS))
    for name in ("copy", "sft", *RL_TABLES):
        if (settings := getattr(recipe, name)) is not None:
            one_of(f"{name}.dtype", settings.dtype, PRECISIONS)
            one_of(f"{name}.optimizer.name", settings.optimizer.name, OPTIMIZERS)
    if recipe.copy and (recipe.copy.max_steps < 1 or not recipe.copy.lengths or min(recipe.copy.lengths) < 2):
        raise UserError("copy needs max_steps ≥ 1 and lengths ≥ 2.")
    if recipe.sft:
        check_end("sft", recipe.sft.steps, recipe.sft.max_minutes, recipe.sft.max_epochs)
    given = [name for name in RL_TABLES if getattr(recipe, name) is not None]
    if len(given) > 1:
        raise UserError(f"One kind of reinforcement learning a recipe: found [{']['.join(given)}].")
    if recipe.rl is not None:
        _rl(recipe, *recipe.rl)


def check_needs(recipe: Recipe) -> None:
    """Raises UserError for the first file, folder or package that the recipe needs and that is not there. (A model may be on a hub.)"""
    for name, path in (
        ("data.world", recipe.data.world),
        ("data.queries", recipe.data.queries),
        ("sft.data", recipe.sft.data if recipe.sft else None),
        ("live.services", recipe.live.services if recipe.live else None),
    ):
        if path is not None and not Path(path).exists():
            raise UserError(f"{name}: nothing at '{path}'.")
    live = recipe.live
    if live is not None and live.replay and "://" not in live.store and not Path(live.store).is_file():
        raise UserError(f"live.store: no file '{live.store}'. Record it first (tripwright run --store), or set live.replay = false.")
    model = recipe.model.pretrained
    if model is not None and (model.count("/") > 1 or model.startswith(("/", ".", "~"))) and not Path(model).is_dir():  # no hub's name
        raise UserError(
            f"model.pretrained: no folder '{model}'. Make it first (the recipe's 'needs' line says how), or name another folder or model."
        )
    check_sinks(recipe.sinks)


def one_of(name: str, found: str, accepted: tuple[str, ...]) -> None:
    if found not in accepted:
        raise UserError(f"unknown {name} '{found}'. Accepted: {', '.join(accepted)}.")


def _dialect(recipe: Recipe) -> None:
    dialect = recipe.dialect.dialect()
    if dialect.max_turn_tokens >= dialect.context_tokens:
        raise UserError(f"max_turn_tokens ({dialect.max_turn_tokens}) must be below context_tokens ({dialect.context_tokens}).")
    if recipe.model.pretrained is None and recipe.model.shape.positions < dialect.context_tokens:
        raise UserError(f"the model has {recipe.model.shape.positions} positions, the dialect needs {dialect.context_tokens}.")


def _model(recipe: Recipe) -> None:
    shape = recipe.model.shape
    if shape.heads % shape.kv_heads:
        raise UserError(f"model.shape.heads ({shape.heads}) must be a multiple of kv_heads ({shape.kv_heads}), which share them.")
    if shape.head_size % 2:
        raise UserError(f"model.shape.head_size must be even for rotary positions, found {shape.head_size}.")


def _data(recipe: Recipe) -> None:
    data, live = recipe.data, recipe.live
    if live is not None:
        if recipe.dialect.dialect().plan_format != "recommendations":
            raise UserError(f"[live] is of live tools: dialect '{recipe.dialect.name}' has none. Take deeptravel or deeptravel_compact.")
        nobody = data.world is None and live.services is None and not live.replay
        if data.queries is None or nobody or (data.world is not None and live.services is not None):
            raise UserError("[live] needs data.queries, and live.services or data.world (one of them) to say who answers, or live.replay.")
    elif (data.world is None) != (data.queries is None):
        raise UserError("data.world and data.queries belong together: give both, or neither for generated worlds.")
    if data.queries is None:
        one_of("data.scale", data.scale, tuple(SCALES))
    elif data.rl_trips is not None:
        raise UserError("data.rl_trips bounds generated trips; with data.queries the file does.")
    for name, mix in (("data.mix", data.mix), ("data.rl_mix", data.rl_mix)):
        if mix is not None and (not sum(mix.levels) or not mix.days or not set(mix.days) <= CITIES_VISITED.keys()):
            lengths = ", ".join(map(str, CITIES_VISITED))
            raise UserError(f"{name} needs days out of {lengths} and a level with weight, found days {mix.days} and levels {mix.levels}.")
        if mix is not None and mix.slack[0] > mix.slack[1]:
            raise UserError(f"{name}.slack is a range from low to high, found {mix.slack}.")


def _rl(recipe: Recipe, table: str, settings: RolloutSettings) -> None:
    check_end(table, settings.steps, settings.max_minutes, settings.max_epochs)
    endless = recipe.data.queries is None and recipe.data.rl_trips is None
    if endless and (settings.max_epochs is not None or settings.curriculum.kind == "epochs"):
        raise UserError(f"{table}: generated trips have no epochs: give data.rl_trips or data.queries, or count in steps.")
    least = 1 if table == "ppo" else 2
    if settings.group < least or settings.prompts < 1:
        raise UserError(f"{table} needs group ≥ {least} and prompts ≥ 1, found {settings.group} and {settings.prompts}.")
    if not 0 <= settings.final_rate <= 1:
        raise UserError(f"{table}.final_rate is a share of the learning rate, from 0 to 1; found {settings.final_rate}.")
    if settings.temperature <= 0:
        raise UserError(f"{table}.temperature must be above 0, found {settings.temperature}: a greedy group has nothing to compare.")
    if settings.tools is not None and (recipe.data.world is None or not settings.tools.startswith(("http://", "https://"))):
        raise UserError(f"{table}.tools is the http address of a server of one world, and needs data.world and data.queries.")
    _curriculum(table, settings.curriculum)
    halves = [name for name, _ in settings.curriculum.stages if name in HALVES]
    if halves and recipe.dialect.dialect().plan_format != "recommendations":
        raise UserError(f"{table}.curriculum.stages: '{halves[0]}' is a half of the joint reward of errands; plans have none.")
    if isinstance(settings, GrpoSettings):
        _grpo(settings)
        if settings.credit == "evidence" and recipe.dialect.dialect().plan_format == "recommendations":
            raise UserError('grpo.credit "evidence" reads plans in JSON; for recommendations take "episode".')
    if isinstance(settings, PpoSettings):
        one_of("ppo.aggregation", settings.aggregation, ("token-mean", "trajectory-mean"))


def _curriculum(table: str, curriculum: Curriculum) -> None:
    one_of(f"{table}.curriculum.kind", curriculum.kind, KINDS)
    unknown = [name for name, _ in curriculum.stages if name not in STAGES]
    if unknown or not curriculum.stages:
        found = unknown or "empty list"
        raise UserError(f"{table}.curriculum.stages: unknown {found}. Accepted: {', '.join(STAGES)}, with steps or epochs each.")


def _grpo(settings: GrpoSettings) -> None:
    one_of("grpo.aggregation", settings.aggregation, AGGREGATIONS)
    one_of("grpo.advantage.normalise", settings.advantage.normalise, NORMALISATIONS)
    one_of("grpo.kl.estimator", settings.kl.estimator, KL_ESTIMATORS)
    one_of("grpo.importance.correction", settings.importance.correction, CORRECTIONS)
    one_of("grpo.importance.level", settings.importance.level, LEVELS)
    if settings.kl.beta > 0 and settings.kl.estimator == "k1":
        raise UserError("grpo.kl.estimator 'k1' has no gradient in expectation as a term of the loss: take k2 or k3.")
    if pointless := {StopReason.ANSWER, StopReason.UNSCORED} & set(settings.out_of_loss):
        raise UserError(f"grpo.out_of_loss is for episodes that a limit or a mistake ended, found '{min(pointless)}'.")
    if settings.kl.beta < 0:
        raise UserError(f"grpo.kl.beta must not be negative, found {settings.kl.beta}.")
    if settings.filter.refill and settings.filter.min_std is None:
        raise UserError("grpo.filter.refill plays more groups in place of dropped ones: give filter.min_std (0.0: those that agree).")
    replay = settings.replay
    if replay is not None and (replay.every < 1 or replay.capacity < 1 or not 0 < replay.share <= 1):
        raise UserError("grpo.replay needs every ≥ 1, capacity ≥ 1 and a share above 0, 1 at most.")
    if replay is not None and replay.every == 1 and replay.share == 1:
        raise UserError("grpo.replay with every = 1 and share = 1 could play old trips for ever: give every ≥ 2 or a smaller share.")
    if replay is not None and int(settings.prompts * replay.share) < 1:
        raise UserError(f"grpo.replay.share {replay.share} of {settings.prompts} prompts is less than one.")
    branching = settings.branching
    if branching is not None and not 1 <= branching.initial <= settings.group:
        raise UserError(f"grpo.branching.initial must be from 1 to the group's size ({settings.group}), found {branching.initial}.")


def check_end(stage: str, steps: int | None, max_minutes: float | None, max_epochs: float | None = None) -> None:
    """A stage must have an end."""
    if steps is None and max_minutes is None and max_epochs is None:
        raise UserError(f"{stage} would never end: give steps, max_minutes or epochs.")
    if (steps is not None and steps < 1) or (max_minutes is not None and max_minutes <= 0) or (max_epochs is not None and max_epochs <= 0):
        raise UserError(f"{stage} needs steps ≥ 1, max_minutes above 0 and epochs above 0, found {steps}, {max_minutes} and {max_epochs}.")

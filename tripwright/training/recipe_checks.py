"""Whether a recipe's settings go together, said in one line before anything is loaded: a run that
cannot work should end here."""

from __future__ import annotations

from pathlib import Path

from tripwright.domains import domains
from tripwright.domains.domain import Domain
from tripwright.errors import UserError
from tripwright.files import is_no_model
from tripwright.inference.models import AUTO, PRECISIONS, check_peft, device_named
from tripwright.inference.sampling import Sampling
from tripwright.learning.optim import OPTIMIZERS
from tripwright.llm.endpoint import is_address
from tripwright.rewards.curriculum import Curriculum
from tripwright.rewards.spec import check_reward_spec
from tripwright.rl.grpo import GrpoSettings
from tripwright.rl.ppo import PpoSettings
from tripwright.rl.settings import RolloutSettings
from tripwright.rl.token_servers import RolloutServer
from tripwright.training.loggers import LOGGERS, check_loggers
from tripwright.training.recipe_tables import DENSE_REWARD, Recipe


def check(recipe: Recipe) -> None:
    """Raises UserError for the first thing that cannot work."""
    _dialect(recipe)
    _model(recipe)
    _data(recipe)
    _held_out(recipe)
    if recipe.domain.rules:
        one_of("evaluation.rules", recipe.evaluation.rules, recipe.domain.rules)
    for name in recipe.loggers:
        one_of("loggers", name, tuple(LOGGERS))
    for name, settings in (
        ("copy_pretraining", recipe.copy_pretraining),
        ("sft", recipe.sft),
        *([recipe.rl] if recipe.rl else []),
    ):
        if settings is not None:
            one_of(f"{name}.dtype", settings.dtype, PRECISIONS)
            _products(f"{name}.dtype", settings.dtype, recipe.model.weights)
            one_of(f"{name}.optimizer.name", settings.optimizer.name, OPTIMIZERS)
            settings.optimizer.check(f"{name}.optimizer")
            if recipe.model.lora is not None and settings.optimizer.name == "muon":
                raise UserError(
                    f"{name}.optimizer: Muon makes a whole matrix's step orthogonal, and with"
                    f" [model.lora] two thin factors are trained: set {name}.optimizer.name ="
                    ' "adamw".'
                )
    if recipe.copy_pretraining and not recipe.copy_pretraining.lengths:
        raise UserError(
            "copy_pretraining.lengths is empty: give the lengths of the strings that are repeated."
        )
    teachers = tuple(recipe.domain.teachers)
    one_of("model.tokenizer_expert", recipe.model.tokenizer_expert, teachers)
    if recipe.sft:
        check_end("sft", recipe.sft.steps, recipe.sft.max_minutes, recipe.sft.max_epochs)
        one_of("sft.expert", recipe.sft.expert, teachers)
    if recipe.rl is not None:
        _rl(recipe, *recipe.rl)


def check_needs(recipe: Recipe) -> None:
    """Raises UserError for the first file, folder or package that the recipe needs and that is not
    there. (A model may be on a hub.)"""
    for name, path in (
        ("data.world", recipe.data.world),
        ("data.queries", recipe.data.queries),
        ("evaluation.file", recipe.evaluation.file),
        ("validation.file", recipe.validation.file if recipe.validation else None),
        ("sft.data", recipe.sft.data if recipe.sft else None),
        ("live.services", recipe.live.services if recipe.live else None),
    ):
        if path is not None and not Path(path).exists():
            raise UserError(f"{name}: nothing at '{path}'.")
    live = recipe.live
    if (
        live is not None
        and live.replay
        and "://" not in live.store
        and not Path(live.store).is_file()
    ):
        raise UserError(
            f"live.store: no file '{live.store}'. Record it first (tripwright run --store), or set"
            " live.replay = false."
        )
    model = recipe.model.pretrained
    if model is not None and is_no_model(model):
        raise UserError(
            f"model.pretrained: no folder '{model}'. Make it first (the recipe's 'needs' line says"
            " how), or name another folder or model."
        )
    device_named(recipe.model.device)
    if recipe.model.lora is not None:
        check_peft("[model.lora]")
    check_loggers(recipe.loggers)


def one_of(name: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise UserError(f"unknown {name} '{value}'. Accepted: {', '.join(accepted)}.")


def _products(name: str, dtype: str, weights: str) -> None:
    """Wider ones would need a second copy of the weights, and narrower ones there are none."""
    if weights != "float32" and dtype not in (AUTO, weights):
        raise UserError(
            f"{name} is '{dtype}', but model.weights are '{weights}', which are multiplied as they"
            f" are: leave {name} out."
        )


def _dialect(recipe: Recipe) -> None:
    dialect = recipe.dialect.dialect()
    if dialect.max_turn_tokens >= dialect.context_tokens:
        raise UserError(
            f"max_turn_tokens ({dialect.max_turn_tokens}) must be below context_tokens"
            f" ({dialect.context_tokens})."
        )
    plays = recipe.rl is not None or (recipe.sft is not None and recipe.sft.data is None)
    problem = recipe.domain.unjudged(dialect) if plays and recipe.judging is None else None
    if problem is not None:
        raise UserError(f"{problem} Name one in [judging].")
    if recipe.model.pretrained is None:
        check_positions(recipe, "the model", recipe.model.shape.positions)


def check_positions(recipe: Recipe, model: str, positions: int) -> None:
    """Raises UserError where what it is trained or examined on is longer."""
    for table, dialect in (
        ("dialect", recipe.dialect.dialect()),
        ("evaluation", recipe.held_out_dialect),
    ):
        if positions < dialect.context_tokens:
            raise UserError(
                f"{model} has {positions} positions, the {table} needs {dialect.context_tokens}:"
                f" lower {table}.context_tokens."
            )


def _model(recipe: Recipe) -> None:
    shape = recipe.model.shape
    if shape.heads % shape.kv_heads:
        raise UserError(
            f"model.shape.heads ({shape.heads}) must be a multiple of kv_heads ({shape.kv_heads}),"
            " which share them."
        )
    if shape.head_size % 2:
        raise UserError(
            f"model.shape.head_size must be even for rotary positions, found {shape.head_size}."
        )


def _data(recipe: Recipe) -> None:
    data, live = recipe.data, recipe.live
    if live is not None:
        if recipe.domain.live is None:
            others = [
                dialect.name
                for domain in domains().values()
                if domain.live is not None
                for dialect in domain.dialects
            ]
            raise UserError(
                f"[live] is of live tools: dialect '{recipe.dialect.name}' has none. Take"
                f" {' or '.join(others)}."
            )
        nobody = data.world is None and live.services is None and not live.replay
        if data.queries is None or nobody or (data.world is not None and live.services is not None):
            raise UserError(
                "[live] needs data.queries, and live.services or data.world (one of them) to say"
                " who answers, or live.replay."
            )
    elif (data.world is None) != (data.queries is None):
        raise UserError(
            "data.world and data.queries belong together: give both, or neither for generated"
            " worlds."
        )
    if data.queries is None:
        one_of("data.scale", data.scale, tuple(recipe.domain.scales))
        for scale in data.trained_scales:
            one_of("data.training_scales", scale, tuple(recipe.domain.scales))
    elif data.training_scales is not None:
        raise UserError(
            "data.training_scales is of generated worlds; data.world names a given one."
        )
    elif data.rl_trips is not None:
        raise UserError("data.rl_trips bounds generated trips; with data.queries the file does.")


def _held_out(recipe: Recipe) -> None:
    how, validation = recipe.evaluation.decoding, recipe.validation
    try:
        Sampling(how.temperature, top_p=1.0 if how.top_p is None else how.top_p, top_k=how.top_k)
    except UserError as error:
        raise UserError(f"evaluation.decoding: {error}") from None
    for name, table in (("evaluation", recipe.evaluation), ("validation", validation)):
        if table is not None and table.file is not None and recipe.data.queries is None:
            raise UserError(
                f"{name}.file is of requests in the place of data.queries, and this recipe's worlds"
                f" are generated: say how many with {name}.queries."
            )
    if validation is None:
        return
    if recipe.rl is None and recipe.sft is None:
        raise UserError(
            "[validation] is during training, and this recipe has no [sft], [grpo], [ppo] or [rft]."
        )
    if validation.file is None and recipe.data.queries is not None:
        raise UserError(
            "[validation] needs a file of requests beside data.queries: validation.file."
        )
    rates = [f"{group}_{kind}" for group in recipe.domain.facts for kind in ("micro", "macro")]
    one_of("validation.metric", validation.metric, ("final", "delivery", DENSE_REWARD, *rates))


def _rl(recipe: Recipe, table: str, settings: RolloutSettings) -> None:
    check_end(table, settings.steps, settings.max_minutes, settings.max_epochs)
    endless = recipe.data.queries is None and recipe.data.rl_trips is None
    if endless and (settings.max_epochs is not None or settings.curriculum.kind == "epochs"):
        raise UserError(
            f"{table}: generated trips have no epochs: give data.rl_trips or data.queries, or count"
            " in steps."
        )
    if settings.tools is not None and (
        recipe.data.world is None or not settings.tools.startswith(("http://", "https://"))
    ):
        raise UserError(
            f"{table}.tools is the http address of a server of one world, and needs data.world and"
            " data.queries."
        )
    if settings.server is not None:
        _server(table, settings, settings.server)
    _curriculum(table, settings.curriculum, recipe.domain)
    if (
        isinstance(settings, GrpoSettings)
        and settings.credit == "evidence"
        and recipe.domain.credit is None
    ):
        raise UserError(
            f'{table}.credit "evidence" asks which words a fact is about, and {recipe.domain.title}'
            ' do not say it: take "episode".'
        )
    if recipe.domain.rules:
        one_of(f"{table}.rules", settings.rules, recipe.domain.rules)
    if isinstance(settings, PpoSettings) and recipe.dialect.dialect().on_overflow == "truncate":
        raise UserError(
            f"{table}: a value head goes from token to token of one context, and dialect"
            f" '{recipe.dialect.name}' cuts contexts: set dialect.on_overflow = \"end\"."
        )
    settings.check(table)


def _server(table: str, settings: RolloutSettings, server: RolloutServer) -> None:
    if not is_address(server.url):
        raise UserError(
            f"{table}.server.url is a server's address, such as http://127.0.0.1:8000; found"
            f" '{server.url}'."
        )
    if isinstance(settings, GrpoSettings) and settings.branching is not None:
        raise UserError(
            f"{table}.branching forks an episode inside our own engine, and {table}.server samples"
            " elsewhere: leave one of them out."
        )
    if settings.tool_threads:
        raise UserError(
            f"{table}.tool_threads is of our own engine: with {table}.server every episode has a"
            " thread of its own. Leave it out."
        )


def _curriculum(table: str, curriculum: Curriculum, domain: Domain) -> None:
    if not curriculum.stages:
        raise UserError(
            f"{table}.curriculum.stages: found none. Expected rewards with steps or epochs each."
        )
    for spec in curriculum.rewards:
        try:
            check_reward_spec(spec, domain.rewards, domain.facts)
        except UserError as error:
            raise UserError(f"{table}.curriculum.stages: {error}") from None


def check_end(
    stage: str, steps: int | None, max_minutes: float | None, max_epochs: float | None = None
) -> None:
    """A stage must have an end."""
    if steps is None and max_minutes is None and max_epochs is None:
        raise UserError(f"{stage} would never end: give steps, max_minutes or epochs.")
    if (
        (steps is not None and steps < 1)
        or (max_minutes is not None and max_minutes <= 0)
        or (max_epochs is not None and max_epochs <= 0)
    ):
        raise UserError(
            f"{stage} needs steps ≥ 1, max_minutes above 0 and epochs above 0, found {steps},"
            f" {max_minutes} and {max_epochs}."
        )

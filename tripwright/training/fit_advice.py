"""What to change in a recipe that needs more memory than there is: one change after the other, the
cheapest in quality and time first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tripwright.inference.models import AUTO
from tripwright.rl.grpo import GrpoSettings
from tripwright.training.fit import GB, StageMemory, memory, precision_name
from tripwright.training.model_shapes import ModelSize, known_models
from tripwright.training.recipe import Recipe

Step = tuple[str, Callable[[Recipe], Recipe]]  # as it is written in a recipe, and the change
LEAST_CONTEXT = 1024  # tokens: what a trip of three days takes in the shortest dialect
LEAST_ROWS = 8  # episodes played at once: with fewer, time grows more than memory shrinks


@dataclass(frozen=True)
class Change:
    """One setting, and the peak in GB once it and all changes before it are made."""

    setting: str
    peak_gb: float


def peak(stages: list[StageMemory]) -> float:
    return max(stage.peak for stage in stages) / GB


def changes(
    recipe: Recipe, model: ModelSize, most_gb: float, device: str
) -> tuple[list[Change], bool]:
    """(the changes in order, whether they suffice). Each one saves something; after the last that
    is needed there are no more. What saves nothing yet may do so once something else is smaller, so
    every step looks at all of them again."""
    context = recipe.dialect.dialect().context_tokens
    least = max(LEAST_CONTEXT, context // 2)  # with less, most trips could not be planned at all
    changed, steps = recipe, dict[str, Step]()
    while peak(memory(changed, model, device)) > most_gb:
        step = _next_step(changed, model, device, least)
        if step is None:
            break
        steps[step[0].partition(" = ")[0]] = step  # in place of a smaller step of the same change
        changed = step[1](changed)
    needed_changes: list[Change] = []
    for setting, change in steps.values():
        recipe = change(recipe)
        needed_changes.append(Change(setting, peak(memory(recipe, model, device))))
    now = peak(memory(recipe, model, device))
    if now > most_gb and (smaller := _smaller(recipe, model, most_gb, device)) is not None:
        needed_changes.append(
            Change(f'model.pretrained = "{smaller.name}"', peak(memory(recipe, smaller, device)))
        )
        now = needed_changes[-1].peak_gb
    return needed_changes, now <= most_gb


def _next_step(recipe: Recipe, model: ModelSize, device: str, least: int) -> Step | None:
    """The first one that saves something."""
    now = peak(memory(recipe, model, device))
    for setting, change in _candidates(recipe, device, least):
        if peak(memory(change(recipe), model, device)) < 0.99 * now:
            return setting, change
    return None


def _candidates(recipe: Recipe, device: str, least: int) -> Iterator[Step]:
    """The first ones change nothing but the time that a step takes. `least`: tokens that the
    context keeps."""
    if recipe.sft is not None and (recipe.sft.micro_batch_size or recipe.sft.batch_size) > 1:
        yield "sft.micro_batch_size = 1", _one_row_of_sft
    if recipe.rl is not None:
        name, settings = recipe.rl
        if settings.micro_batch_size > 1:
            yield f"{name}.micro_batch_size = 1", partial(_rl, micro_batch_size=1)
    if not recipe.model.checkpoint_activations:
        yield "model.checkpoint_activations = true", with_checkpointed_activations
    if recipe.rl is not None:
        name, settings = recipe.rl
        most = settings.max_concurrent_rollouts or settings.prompts_per_step * settings.group_size
        for rows in _fewer(most):
            setting = f"{name}.max_concurrent_rollouts = {rows}"
            yield setting, partial(_rl, max_concurrent_rollouts=rows)
        for rows in _fewer(recipe.evaluation.max_concurrent_rollouts):
            setting = f"evaluation.max_concurrent_rollouts = {rows}"
            yield setting, partial(_evaluation, max_concurrent_rollouts=rows)
        halves = device == "cuda" or precision_name(AUTO) != "float32"
        if precision_name(settings.dtype, device) == "float32" and halves:
            yield f'{name}.dtype = "bfloat16"', partial(_rl, dtype="bfloat16")
    if _may_be_narrow(recipe, device):
        yield 'model.weights = "bfloat16"', _with_narrow_weights
    if device == "cuda":
        yield from _smaller_states(recipe)
    if recipe.rl is not None:
        name, settings = recipe.rl
        if isinstance(settings, GrpoSettings) and settings.kl.beta:
            yield (
                f"{name}.kl.beta = 0.0 (no reference model)",
                partial(_rl, kl=replace(settings.kl, beta=0.0)),
            )
    context = recipe.dialect.dialect().context_tokens
    while context > least:
        context = max(least, context * 7 // 8)
        yield f"dialect.context_tokens = {context}", partial(_shorter, context=context)


def _smaller_states(recipe: Recipe) -> Iterator[Step]:
    """The optimizer's, of the stage that trains; "offloaded" takes the machine's memory."""
    rl, sft = recipe.rl, recipe.sft
    for state in ("8bit", "offloaded"):
        if rl is not None and (rl.settings.optimizer.name == "adamw" or state == "offloaded"):
            optimizer = replace(rl.settings.optimizer, state=state)
            yield f'{rl.algorithm}.optimizer.state = "{state}"', partial(_rl, optimizer=optimizer)
        if sft is not None and (sft.optimizer.name == "adamw" or state == "offloaded"):
            changed = replace(sft, optimizer=replace(sft.optimizer, state=state))
            yield f'sft.optimizer.state = "{state}"', partial(replace, sft=changed)


def _fewer(rows: int) -> Iterator[int]:
    """Half as many each time."""
    while rows > LEAST_ROWS:
        rows = max(LEAST_ROWS, rows // 2)
        yield rows


def with_checkpointed_activations(recipe: Recipe, on: bool = True) -> Recipe:
    return replace(recipe, model=replace(recipe.model, checkpoint_activations=on))


def _may_be_narrow(recipe: Recipe, device: str) -> bool:
    """Whether weights in bfloat16 go with what the recipe says of products, and with the device."""
    tables = [recipe.copy_pretraining, recipe.sft, recipe.rl.settings if recipe.rl else None]
    names = {precision_name(table.dtype, device) for table in tables if table is not None}
    return recipe.model.weights == "float32" and names == {"bfloat16"}


def _with_narrow_weights(recipe: Recipe) -> Recipe:
    return replace(recipe, model=replace(recipe.model, weights="bfloat16"))


def _one_row_of_sft(recipe: Recipe) -> Recipe:
    assert recipe.sft is not None
    return replace(recipe, sft=replace(recipe.sft, micro_batch_size=1))


def _rl(recipe: Recipe, **changed: Any) -> Recipe:
    assert recipe.rl is not None
    return replace(recipe, rl=recipe.rl._replace(settings=replace(recipe.rl.settings, **changed)))


def _evaluation(recipe: Recipe, **changed: Any) -> Recipe:
    return replace(recipe, evaluation=replace(recipe.evaluation, **changed))


def _shorter(recipe: Recipe, context: int) -> Recipe:
    """A turn and a tool's answer must have room in it."""
    now = recipe.dialect.dialect()
    turn, tool = min(now.max_turn_tokens, context // 4), min(now.max_tool_tokens, context // 4)
    return replace(
        recipe,
        dialect=replace(
            recipe.dialect, context_tokens=context, max_turn_tokens=turn, max_tool_tokens=tool
        ),
    )


def _smaller(recipe: Recipe, model: ModelSize, most_gb: float, device: str) -> ModelSize | None:
    """The largest known model of the same kind that fits."""
    fitting = [
        size
        for size in known_models().values()
        if size.kind == model.kind
        and size.parameters < model.parameters
        and peak(memory(recipe, size, device)) <= most_gb
    ]
    return max(fitting, key=lambda size: size.parameters, default=None)

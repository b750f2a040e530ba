"""TRL's GRPOTrainer with our tools and our judge: its loop asks the model, the environment of a
rollout holds an `OpenEpisode`. Nothing of TRL is imported (docs/gateway.md).

TRL makes the schemas of the tools from methods, so these are written from the schemas; it gives an
environment no last message, so the reward is a function that gets both. Tried with TRL 1.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any, ClassVar, Literal

from tripwright.bridges.gateway import EpisodeFault, OpenEpisode, dialect_of
from tripwright.errors import UserError

HINTS = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list}


class Environment:
    """One rollout's episode. Its public methods, of the classes that `environment` makes, are the
    model's tools; `prompt` is the column "prompt" of every row."""

    prompt: ClassVar[list[dict[str, Any]]]
    episode: OpenEpisode

    def reset(self, prompt: Any = None, **row: Any) -> str:
        """What TRL writes into the empty user message of the prompt."""
        self.episode = OpenEpisode(row)
        *system, user = self.episode.messages
        if [*system, {**user, "content": ""}] != prompt:
            raise UserError("The column 'prompt' of a row is that of the environment's class.")
        return str(user["content"])


def environment(row: dict[str, Any]) -> type[Environment]:
    """The `environment_factory` for rows of this one's dialect. Raises UserError where its tools
    stand in the prompt: TRL would show them twice."""
    (episode := OpenEpisode(row)).close()
    if not episode.tools:
        raise UserError(f"TRL gives a model native tools, and '{dialect_of(row).name}' has none.")
    *system, user = episode.messages
    # TRL lists methods by the names of the members, and calls them by their own
    methods = {f"tool_{n:03}": _tool(each["function"]) for n, each in enumerate(episode.tools)}
    opening = [*system, {**user, "content": ""}]
    return type("Trips", (Environment,), {"prompt": opening, **methods})


def _tool(function: dict[str, Any]) -> Callable[..., str]:
    """A method of which `transformers` makes the same schema. It takes whatever a model sends."""

    def call(self: Environment, /, **arguments: Any) -> str:
        return self.episode.call(function["name"], arguments)

    parameters, told = [Parameter("self", Parameter.POSITIONAL_ONLY)], []
    call.__annotations__.clear()
    for name, schema in function["parameters"]["properties"].items():
        hint = Literal[tuple(schema["enum"])] if "enum" in schema else HINTS[schema["type"]]
        default = Parameter.empty if name in function["parameters"].get("required", ()) else None
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))
        call.__annotations__[name] = hint
        told.append(f"    {name}: {schema['description']}")
    call.__name__ = function["name"]
    call.__doc__ = "\n".join([function["description"], "", "Args:", *told])
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def verdict(
    completions: Sequence[Sequence[dict[str, Any]]],
    environments: Sequence[Environment],
    log_metric: Callable[[str, float], None],
    **_: Any,
) -> list[float | None]:
    """The reward function. None where our side failed: TRL leaves such a rollout out of its group's
    baseline and gives it no advantage."""
    rewards: list[float | None] = []
    for trips, (*_before, last) in zip(environments, completions, strict=True):
        rewards.append(None)
        with suppress(EpisodeFault):
            if last["role"] == "assistant" and not last.get("tool_calls"):
                trips.episode.answer(last["content"])
            outcome = trips.episode.outcome()
            log_metric("passed", outcome["passed"])
            rewards[-1] = outcome["reward"]
        log_metric("unscored", rewards[-1] is None)
    return rewards

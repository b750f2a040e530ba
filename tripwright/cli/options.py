"""Options that several verbs share, and how a frozen dataclass becomes the options of a verb.

A verb takes its settings as one object or a few; `command` shows Typer each of their fields as a
parameter of its own, and builds the objects from what was given. A field is an option where it is
made by `option` or `argument` (or by `policies.settings.setting`), or where its annotation has one
of Typer's; any other keeps its default. A parameter of the verb itself may be made so too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tripwright.errors import UserError

KEY_VARIABLE = "OPENAI_API_KEY"

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Restart = Annotated[bool, typer.Option("--restart", help="Replace what is there.")]
Device = Annotated[
    str, typer.Option(help="local: where the model is: cpu, cuda, cuda:1 …; auto: a GPU if any.")
]
Dtype = Annotated[
    str,
    typer.Option(
        help="local: number format of its weights: bfloat16, float16, float32; auto: the fastest."
    ),
]
RecipeFile = Annotated[
    Path, typer.Argument(metavar="RECIPE", help="A TOML file, or a name of 'tripwright recipes'.")
]
RecipeOut = Annotated[Path | None, typer.Option(help="Run folder; default runs/RECIPE.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting that goes over the recipe's, such as grpo.clip.high=0.28; may be repeated.",
    ),
]


def option(default: Any, help: str, *names: str, **how: Any) -> Any:
    """A field that is an option; a `default` of ... is one that must be given."""
    return _field(default, typer.Option(*names, help=help, **how))


def flag(name: str, help: str) -> Any:
    """A field that is False unless its option is given; without a --no-."""
    return _field(False, typer.Option(name, help=help))


def argument(help: str, default: Any = ..., **how: Any) -> Any:
    """A field that is given by its place."""
    return _field(default, typer.Argument(help=help, **how))


def _field(default: Any, shown: Any) -> Any:
    given: dict[str, Any] = {} if default is ... else {"default": default}
    return field(kw_only=True, metadata={"typer": shown}, **given)


def command(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb as Typer is to see it: each field of its settings objects a parameter."""
    settings: dict[str, tuple[type[Any], list[str]]] = {}
    parameters = list[inspect.Parameter]()
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            shown = list(_parameters(kind))
            settings[parameter.name] = kind, [each.name for each in shown]
            parameters += shown
        elif isinstance(parameter.default, Field):
            parameters.append(_parameter(parameter.name, kind, parameter.default))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**given: Any) -> Any:
        objects = {
            name: kind(**{each: given.pop(each) for each in names})
            for name, (kind, names) in settings.items()
        }
        return verb(**objects, **given)

    run.__name__ = verb.__name__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters(kind: type[Any]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        if each.metadata or hasattr(hints[each.name], "__metadata__"):
            yield _parameter(each.name, hints[each.name], each)


def _parameter(name: str, hint: Any, made: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if made.default is MISSING else made.default
    if "typer" in made.metadata:
        hint = Annotated[hint, made.metadata["typer"]]
    elif "option" in made.metadata:
        names, how = made.metadata["option"]
        hint = Annotated[hint, typer.Option(*names, **how)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def check_folders(folders: list[Path]) -> None:
    """Raises UserError where one is missing, before work on the others is spent."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(
                f"No run folder at '{folder}'. Expected a folder made by 'tripwright quickstart',"
                " 'run' or 'train'."
            )


def read_levels(text: str) -> tuple[int, int, int]:
    try:
        easy, medium, hard = (int(part) for part in text.split(":"))
    except ValueError:
        easy, medium, hard = -1, -1, -1
    if min(easy, medium, hard) < 0 or not any((easy, medium, hard)):
        raise UserError(
            f"--levels '{text}' are not three weights such as 4:3:3, for easy, medium and hard."
        )
    return easy, medium, hard

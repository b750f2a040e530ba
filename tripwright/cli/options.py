"""Options that several verbs share, and how a frozen dataclass becomes the options of a verb.

A verb takes its settings as one object or a few; `command` shows Typer each of their fields as a
parameter of its own, and builds the objects from what was given. A field without `typer.Option` is
no option and keeps its default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tripwright.domains import OWN_DIALECTS
from tripwright.errors import UserError

KEY_VARIABLE = "OPENAI_API_KEY"

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Restart = Annotated[bool, typer.Option("--restart", help="Replace what is there.")]
Dialect = Annotated[
    str, typer.Option(help=f"Prompt, tool face and limits: {', '.join(OWN_DIALECTS)}.")
]
FirstOf = Annotated[int | None, typer.Option("--count", help="Only the first N.", min=1)]
Judging = Annotated[
    Path | None,
    typer.Option(help="A TOML file with the model that takes part in judging (docs/judging.md)."),
]
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
RunOut = Annotated[Path, typer.Option(help="Run folder; a run found there is continued.")]


@dataclass(frozen=True)
class PlaceFlags:
    """What answers the tools: the fields of `domains.domain.PlaceOptions`."""

    world: Annotated[Path | None, typer.Option(help="World folder to travel in.")] = None
    services: Annotated[
        Path | None, typer.Option(help="Live tools: instead of --world, a TOML file of services.")
    ] = None
    store: Annotated[
        str | None,
        typer.Option(help="Live tools: keep their answers in this SQLite file or database."),
    ] = None
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="With --store: the day they are kept under.",
            show_default="that of the run to be continued, else today",
        ),
    ] = None
    replay: Annotated[
        bool, typer.Option("--replay", help="With --store: ask nobody; answers come from it alone.")
    ] = False


@dataclass(frozen=True)
class ModelFlags:
    """The model that plays, and how its endpoint is asked: fields of `policies.settings`."""

    model: Annotated[
        str | None, typer.Option(help="endpoint: the model's name; local: a checkpoint folder.")
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="endpoint: its URL, up to and including /v1.")
    ] = None
    api_key_env: Annotated[
        str, typer.Option(help="endpoint: environment variable with the key.")
    ] = KEY_VARIABLE
    seed: Annotated[
        int, typer.Option(help="Of the sampling of 'local', and of policies that draw.", min=0)
    ] = 0
    concurrency: Annotated[
        int, typer.Option(help="endpoint: episodes under way at once.", min=1)
    ] = 8
    rows: Annotated[int, typer.Option(help="local: episodes in a batch.", min=1)] = 16
    device: Device = "auto"
    dtype: Dtype = "auto"
    timeout_s: Annotated[
        float,
        typer.Option(
            "--timeout",
            help="endpoint: seconds to wait for an answer, per attempt.",
            min=0.01,
            max=86_400,
        ),
    ] = 120.0
    max_retries: Annotated[
        int,
        typer.Option(
            "--retries",
            help="endpoint: further attempts at a request after a fault that may pass.",
            min=0,
        ),
    ] = 4


@dataclass(frozen=True)
class SamplingFlags:
    """How tokens are chosen: a paper's way, or one by one."""

    preset: Annotated[
        str | None,
        typer.Option(
            "--decoding",
            help="endpoint, local: a paper's way to sample, such as star or planner_r1.",
        ),
    ] = None
    temperature: Annotated[
        float | None, typer.Option(help="0 is greedy.", min=0, show_default="0")
    ] = None
    top_p: Annotated[
        float | None, typer.Option(help="endpoint, local: nucleus sampling.", min=0, max=1)
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            help="endpoint (where the server knows it), local: the k likeliest tokens; -1: all.",
            min=-1,
        ),
    ] = None


def command(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb as Typer is to see it: each field of its settings objects a parameter."""
    settings: dict[str, type[Any]] = {}
    parameters = list[inspect.Parameter]()
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            settings[parameter.name] = kind
            parameters += _parameters(kind)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**given: Any) -> Any:
        objects = {
            name: kind(**{each.name: given.pop(each.name) for each in _parameters(kind)})
            for name, kind in settings.items()
        }
        return verb(**objects, **given)

    run.__name__ = verb.__name__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters(kind: type[Any]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if hasattr(hints[field.name], "__metadata__"):
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(field),
                annotation=hints[field.name],
            )


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


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

"""The reference, written from the code while mkdocs builds the site: verbs, settings, Python."""

import dataclasses as dc
import inspect
import json
import textwrap
import types
import typing

import typer
from mkdocs.structure.files import File

import tripwright
from tripwright.cli.main import _app
from tripwright.cli.verbs import all_verbs
from tripwright.domains import domains
from tripwright.settings import hints_of
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.recipe import Recipe
from tripwright.training.rollouts import RolloutSettings

WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}
SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "at least"}


def on_files(files, config):
    for page in (verbs, settings, api):
        files.append(File.generated(config, f"reference/{page.__name__}.md", content=page()))


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells).replace(chr(10), ' ')} |\n" for cells in lines) + "\n"


def verbs():
    text = "# Every verb and its options\n\nWhat `tripwright VERB --help` says.\n\n"
    for verb in all_verbs():
        command = typer.main.get_command(_app(verb.words.split(), all_verbs()))
        for word in verb.words.split():
            command = command.commands[word]
        said, _, examples = command.help.replace("\b\n", "").partition("Examples:\n")
        code = textwrap.dedent(examples).strip()
        text += f"## {verb.words}\n\n{said.strip()}\n\n```\n{code}\n```\n\n"
        shown = filter(None, (p.get_help_record(typer.Context(command)) for p in command.params))
        text += _table(("option", "meaning"), [(f"`{name}`", help) for name, help in shown])
    return text


def settings():
    text = "# Every setting of a recipe\n\nTables and keys of the TOML file, and of `--set`.\n\n"
    hints = hints_of(Recipe)
    tables = {f.name: f for f in dc.fields(Recipe) if dc.is_dataclass(_bare(hints[f.name]))}
    text += _settings("Outside tables", Recipe, without={*tables, "rl", "judging"})
    for name, field in tables.items():
        text += _settings(f"[{name}]", _bare(hints[name]), _default(field))
    for domain in domains().values():
        if domain.generator:
            text += _settings(f"[data.mix] of {domain.title}", domain.generator.mix)
        if domain.judge.model:
            text += _settings(f"[judging] of {domain.title}", domain.judge.model.settings)
    text += _settings(f"[RL]: all of {', '.join(ALGORITHMS)}", RolloutSettings)
    for name, algorithm in ALGORITHMS.items():
        text += _settings(f"[{name}]", algorithm.settings, without=hints_of(RolloutSettings))
    return text


def _settings(title, kind, defaults=None, without=()):
    """A table of a recipe; the tables in it stand after it. What a setting means stands beside it
    in the source, or above it."""
    rows, inner, hints = [], "", hints_of(kind)
    source = "".join(map(inspect.getsource, kind.__mro__[-2::-1]))
    for field in dc.fields(kind):
        if field.name in without:
            continue
        hint, value = hints[field.name], getattr(defaults, field.name, _default(field))
        shown = "required" if value is dc.MISSING else f"`{_toml(value)}`"
        if dc.is_dataclass(table := _bare(hint)):
            name = f"{title.partition(']')[0].strip('[')}.{field.name}"
            inner += _settings(f"[{name}]", table, value)
            shown = "none" if value is None else f"[below](#{name.replace('.', '').lower()})"
        before, _, after = source.partition(f"\n    {field.name}: ")
        said = [after.partition("\n")[0].partition("  # ")[2]]
        while (line := before.rpartition("\n")[2].strip()).startswith("#"):
            said, before = [line[1:].strip(), *said], before.rpartition("\n")[0]
        rows.append((f"`{field.name}`", _type(hint), shown, " ".join(said).strip()))
    doc = inspect.getdoc(kind)
    doc = "" if doc.startswith(f"{kind.__name__}(") else doc
    head = ("key", "type", "default", "meaning")
    return f"## {title}\n\n{doc}\n\n" + (_table(head, rows) if rows else "") + inner


def _default(field):
    return field.default if field.default_factory is dc.MISSING else field.default_factory()


def _toml(value):
    return "none" if value is None else json.dumps(value, default=str)


def _bare(hint):
    """What a hint allows beside none."""
    kinds = [each for each in typing.get_args(hint) if each is not types.NoneType]
    return kinds[0] if types.NoneType in typing.get_args(hint) and len(kinds) == 1 else hint


def _type(hint):
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        limits = [pair for each in inner[1:] for pair in dc.asdict(each).items()]
        said = ", ".join(f"{SIGNS[k]} {v}" for k, v in limits if k in SIGNS and v is not None)
        return f"{_type(inner[0])} {said}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join("none" if each is types.NoneType else _type(each) for each in inner)
    if origin is tuple:
        return f"list of {_type(inner[0])}"
    said = inner if origin is typing.Literal else getattr(hint, "__members__", {}).values()
    return ", ".join(f"`{_toml(each)}`" for each in said) or WORDS.get(hint, "table")


def api():
    text = "# The Python interface\n\nWhat `import tripwright` gives.\n\n"
    for name in sorted(tripwright.__all__, key=str.lower):
        text += _described(name, getattr(tripwright, name))
        for part, each in vars(getattr(tripwright, name)).items():
            if inspect.isfunction(each) and part[0] != "_" or isinstance(each, property):
                text += _described(f"{name}.{part}", each)
    return text


def _described(name, thing):
    has_call = inspect.isfunction(thing) or dc.is_dataclass(thing)
    given = inspect.signature(thing).parameters.values() if has_call else ()
    doc = inspect.getdoc(thing) or ""
    call = "".join(f"    {each},\n".replace("'", "") for each in given if str(each) != "self")
    text = f"##{'#' if '.' in name else ''} {name}\n\n"
    text += f"```python\n{name}(\n{call})\n```\n\n" if call else ""
    return text + ("" if doc.startswith(f"{name}(") else f"{doc}\n\n")

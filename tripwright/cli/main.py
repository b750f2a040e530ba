"""The front door: finds the verb, runs it, and turns every expected failure into one line and an
exit code.

Only the module of the verb that was asked for is
loaded; all others are listed from the table of `cli/verbs.py`, so `tripwright --help` and the light
verbs start without torch (law 8). A verb whose module is not there is not listed.

Exit codes: 0 ok, 1 a check asked for failed (the verb raises typer.Exit(1)), 2 bad input, 130
stopped by the user, 141 the reader of our output went away. A bug of ours keeps its traceback.
"""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from tripwright import __version__
from tripwright.cli.options import command as as_command
from tripwright.cli.verbs import SECTIONS, Verb, all_verbs, groups
from tripwright.errors import UserError, one_line
from tripwright.progress import HarmlessOutput

# What extras bring without naming it in pyproject.toml: module → the requirement that brings it.
BROUGHT = {
    "starlette": "fastapi",
    "text_to_num": "text2num",
    "accelerate": "peft",
    "datasets": "trl",
    "huggingface_hub": "transformers",
}

# errors of writing that name no file: of the output, or of a large file
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# Typer brings its own copy of Click in some versions and the separate package in others. In both,
# the public BadParameter is a UsageError, which is the ClickException that every bad command line
# raises.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]


def main(argv: Sequence[str] | None = None, verbs: Sequence[Verb] | None = None) -> int:
    """Run one command line (default: this process's arguments; all verbs) and return its exit
    code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    streams: Any = sys.stdout, sys.stderr  # None: the caller closed it, and wants no output
    # a bug's traceback is harmless, too
    sys.stdout, sys.stderr = (stream and HarmlessOutput(stream) for stream in streams)
    code = _exit_code(words, all_verbs() if verbs is None else verbs)
    sys.stdout, sys.stderr = streams
    return code


def _exit_code(words: list[str], verbs: Sequence[Verb]) -> int:
    try:
        code = _run(words, verbs)
        if sys.stdout is not None:
            # a reader that left is noticed here, not in the interpreter's shutdown
            sys.stdout.flush()
        return code
    except UserError as error:
        return _complain(str(error))
    except ModuleNotFoundError as error:
        if extra := extra_of(error.name or ""):
            return _complain(
                f"this needs {error.name}, which the '{extra}' extra brings: pip install"
                f" 'tripwright[{extra}]'"
            )
        raise
    except (KeyboardInterrupt, typer.Abort):
        print("\nstopped; run the same command to continue", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _give_up_stdout()
        return 141
    except OSError as error:
        if error.filename is not None:
            return _complain(f"cannot use '{error.filename}': {error.strerror}.")
        if error.errno not in NO_ROOM:
            raise
        _give_up_stdout()
        return _complain(f"cannot write everything: {error.strerror}.")


def extra_of(module: str) -> str | None:
    """The extra of the installed tripwright that brings this module, by its own metadata: the
    smallest one where several do, None where none does."""
    name = module.partition(".")[0]
    wanted = BROUGHT.get(name, name).lower().replace("_", "-")
    packages: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("tripwright") or ():
        if found := re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement):
            packages.setdefault(found[2], []).append(found[1].lower().replace("_", "-"))
    extras = [extra for extra, names in packages.items() if wanted in names]
    return min(extras, key=lambda extra: len(packages[extra]), default=None)


def _give_up_stdout() -> None:
    """What it still holds goes nowhere: the interpreter would fail on it once more when it shuts
    down."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str], verbs: Sequence[Verb]) -> int:
    """Click's own main() is passed by: it would turn an interrupt and a closed pipe into exit codes
    before we can name them."""
    command = typer.main.get_command(_app(words, verbs))
    try:
        with command.make_context("tripwright", words) as context:
            result = command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except ClickException as error:
        return _complain(_usage_problem(error))
    return result if isinstance(result, int) else 0


def _app(words: Sequence[str], verbs: Sequence[Verb]) -> typer.Typer:
    """The verb that `words` ask for, with its real function; all verbs by name and one line each
    where they ask for none."""
    app = _group("Train, judge and serve LLM agents that plan trips with tools.", cls=_Front)
    app.callback(epilog="Examples of a verb: tripwright VERB --help")(_root)
    asked = [verb for verb in verbs if words[: verb.words.count(" ") + 1] == verb.words.split()]
    wanted = max(asked, key=lambda verb: len(verb.words), default=None)
    apps: dict[str, typer.Typer] = {}
    for verb in [wanted] if wanted else verbs:
        if importlib.util.find_spec(verb.module) is None or (not wanted and verb.words in groups()):
            continue  # what is a verb and a group stands in the list as a group
        *group, name = verb.words.split()
        parent = app
        for group_name in group:
            if group_name not in apps:
                apps[group_name] = _group(groups().get(group_name, ""))
                app.add_typer(apps[group_name], name=group_name, rich_help_panel=verb.section)
            parent = apps[group_name]
        function: Callable[..., Any] = lambda: None  # noqa: E731 - only listed, never run
        text = verb.help
        if wanted:
            function = getattr(importlib.import_module(verb.module), verb.function)
            text = _help(function)
        shown = parent.command(name, help=text, short_help=verb.help, rich_help_panel=verb.section)
        shown(as_command(function))
    return app


class _Front(TyperGroup):
    """All verbs, under the headings of their table."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels = {n: getattr(each, "rich_help_panel", "") for n, each in self.commands.items()}
        for section in dict.fromkeys((*SECTIONS, *panels.values())):  # a domain may have its own
            rows = [
                (name, command.get_short_help_str(200))
                for name, command in self.commands.items()
                if panels[name] == section
            ]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


def _group(help_text: str, **how: Any) -> typer.Typer:
    """Plain text throughout: no boxes, no markup, no shell-completion options in every help
    page."""
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        subcommand_metavar="VERB ...",
        **how,
    )


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tripwright {__version__}")
        raise typer.Exit()


def _root(
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=_print_version, help="Print the version."
    ),
) -> None:
    """The options before the verb."""


def _help(function: Callable[..., Any]) -> str:
    """The docstring, with `Examples:` and everything after it kept line by line (Click re-wraps a
    paragraph unless \\b precedes it)."""
    text = inspect.getdoc(function) or ""
    before, examples, after = text.partition("Examples:")
    if not examples or "\b" in text:
        return text
    return before + "\b\n" + examples + after.replace("\n\n", "\n\n\b\n")


def _usage_problem(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "tripwright"
    # typer's own check of choices speaks as pydantic does
    said = error.format_message().replace("Value error, ", "").removesuffix(".")
    return f"{said}{'' if said.endswith('?') else '.'} (see '{path} --help')"


def _complain(problem: str) -> int:
    print(f"tripwright: {one_line(problem)}", file=sys.stderr)  # it may quote a stranger's file
    return 2

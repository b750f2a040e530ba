"""The front door: finds the verb, runs it, and turns every expected failure into one line and an exit code.

The subtle thing is what is *not* imported. Only the module of the verb that was asked for is loaded; all others are listed from the
table below, so `tripwright --help` and the light verbs start without torch (law 8). A verb whose module is not there is not listed.

Exit codes: 0 ok, 1 a check asked for failed (the verb raises typer.Exit(1)), 2 bad input, 130 stopped by the user, 141 the reader of
our output went away. A bug of ours keeps its traceback.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from tripwright import __version__
from tripwright.errors import UserError


class Verb(NamedTuple):
    words: str  # as typed: "solve", "world build"
    module: str
    function: str
    help: str  # the line shown in lists; the verb's own --help is the function's docstring


VERBS = (
    Verb("quickstart", "tripwright.cli.quickstart", "quickstart", "See it all work: worlds, queries, cold start, RL, evaluation, report."),
    Verb("world build", "tripwright.cli.world", "build_world", "Generate a world from a seed."),
    Verb("world import", "tripwright.cli.world", "import_world", "Import the official TravelPlanner tables."),
    Verb("world info", "tripwright.cli.world", "info", "Say what is in a world."),
    Verb("world browse", "tripwright.cli.browse", "browse", "List cities, routes, hotels and more, with filters."),
    Verb("tool", "tripwright.cli.tool", "tool", "Call one tool by hand."),
    Verb("query make", "tripwright.domains.travelplanner.verbs.query", "make", "Make trip requests that a world can meet."),
    Verb("query check", "tripwright.domains.travelplanner.verbs.query", "check", "Check that trip requests can be met."),
    Verb(
        "query word",
        "tripwright.domains.travelplanner.verbs.word",
        "word",
        "Word trip requests anew, by grammar or by a model, and check the words.",
    ),
    Verb(
        "request make",
        "tripwright.domains.deeptravel.verbs.request",
        "make",
        "Make travellers' requests for the live tools, each proved possible.",
    ),
    Verb(
        "request difficulty",
        "tripwright.domains.deeptravel.verbs.request",
        "difficulty",
        "Measure how hard requests are by repeated attempts; split them.",
    ),
    Verb("request review", "tripwright.domains.deeptravel.verbs.request", "review", "Write requests as a file for people to look through."),
    Verb("request accept", "tripwright.domains.deeptravel.verbs.request", "accept", "Take over what people ticked and reworded."),
    Verb("solve", "tripwright.domains.travelplanner.verbs.solve", "solve", "Plan trips exactly, or prove that no plan exists."),
    Verb(
        "score",
        "tripwright.domains.travelplanner.verbs.score",
        "score",
        "Judge plans: verdicts, costs, TravelPlanner's metrics, rule sets compared.",
    ),
    Verb("show", "tripwright.domains.travelplanner.verbs.show", "show", "Show one plan with its verdict beside what it concerns."),
    Verb("format", "tripwright.domains.travelplanner.verbs.format", "format_itineraries", "Turn itineraries in words into plans."),
    Verb(
        "submission write", "tripwright.domains.travelplanner.verbs.submission", "write", "Write plans as a submission for the leaderboard."
    ),
    Verb("submission check", "tripwright.domains.travelplanner.verbs.submission", "check", "Check a submission's format."),
    Verb("run", "tripwright.cli.run", "run", "Run episodes with a policy; keep transcripts and score."),
    Verb(
        "verify",
        "tripwright.domains.deeptravel.verbs.verify",
        "verify",
        "Verify answers against their transcripts, by rules or an LLM judge.",
    ),
    Verb("sandbox info", "tripwright.domains.deeptravel.verbs.sandbox", "info", "Say what a store of live answers holds."),
    Verb(
        "sandbox refresh",
        "tripwright.domains.deeptravel.verbs.sandbox",
        "refresh_day",
        "Ask a day's questions again and keep the answers as a new day.",
    ),
    Verb("sandbox export", "tripwright.domains.deeptravel.verbs.sandbox", "export_day", "Write one day of answers as one file."),
    Verb("sandbox import", "tripwright.domains.deeptravel.verbs.sandbox", "import_day", "Add the day in a file to a store."),
    Verb("sandbox drop", "tripwright.domains.deeptravel.verbs.sandbox", "drop_day", "Delete a day from a store."),
    Verb("study make", "tripwright.cli.study", "make", "Draw episodes for people to judge, blind and in random order."),
    Verb("study serve", "tripwright.cli.study_serve", "serve", "Serve the page on which raters label them."),
    Verb("study agreement", "tripwright.cli.study", "agreement", "Say how raters judged and how far they agree."),
    Verb("study export", "tripwright.cli.study", "export", "Write the labels as CSV or JSON lines."),
    Verb("study import", "tripwright.cli.study", "import_", "Add labels that were made elsewhere."),
    Verb("data collect", "tripwright.cli.data", "collect", "Keep the good episodes of runs as training data."),
    Verb("data stats", "tripwright.cli.data", "stats", "Say what a file of trajectories holds."),
    Verb("data export", "tripwright.cli.data", "export", "Write training data as another trainer reads it."),
    Verb("data split", "tripwright.cli.data", "split", "Merge files of requests and divide them anew."),
    Verb("data reliability", "tripwright.cli.data", "reliability", "Compare a policy on synthetic and on given queries."),
    Verb("recipes", "tripwright.cli.recipes", "recipes", "List the recipes that come with it, with what they need; copy one."),
    Verb("fit", "tripwright.cli.fit", "fit", "Estimate memory and time of a recipe before it starts."),
    Verb("sft", "tripwright.cli.train", "sft", "Fine-tune a model on transcripts (cold start)."),
    Verb("train", "tripwright.cli.train", "train", "Train a model by reinforcement learning."),
    Verb("examine", "tripwright.cli.examine", "examine", "Examine a trained run in worlds it has never seen, with controls."),
    Verb("watch", "tripwright.cli.watch", "watch", "See how training goes, live, in the terminal or on a local page."),
    Verb("serve tools", "tripwright.cli.serve", "tools", "Serve the tools of a world over HTTP."),
    Verb("compare", "tripwright.cli.compare", "compare", "Compare runs: intervals, paired tests, queries gained and lost."),
    Verb("power", "tripwright.cli.power", "power", "Say how many queries a comparison needs to see a difference."),
    Verb("outside natural-plan", "tripwright.cli.outside_natural_plan", "natural_plan", "Natural Plan: planning in words."),
    Verb("outside multi-if", "tripwright.cli.outside_multi_if", "multi_if", "Multi-IF: instructions followed over three turns."),
    Verb("outside index", "tripwright.cli.outside_qa", "index", "Index a corpus for searching by words."),
    Verb("outside qa", "tripwright.cli.outside_qa", "qa", "Seven question sets with a Search tool, exact match."),
    Verb("outside tau-retail", "tripwright.cli.outside_tau", "tau_retail", "τ-bench retail, played by the package itself."),
    Verb("report", "tripwright.cli.report", "report", "Write one self-contained HTML page about one or more runs."),
)

GROUPS = {
    "outside": "Measure a model on benchmarks that are not about trips.",
    "world": "Build, import and inspect worlds.",
    "query": "Make, word and check trip requests.",
    "request": "Make, measure and review travellers' requests for the live tools.",
    "sandbox": "Look after recorded answers of live tools.",
    "study": "Have people judge transcripts, blind, and measure their agreement.",
    "data": "Collect, describe, divide and export training data.",
    "submission": "Write and check leaderboard submissions.",
    "serve": "Serve over HTTP.",
}

EXTRAS = {  # package → (what needs it, the extra that brings it)
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors", "numpy"), ("training", "train")),
    **dict.fromkeys(("starlette", "uvicorn", "uvloop", "httptools", "prometheus_client"), ("serving", "web")),
    **dict.fromkeys(("sentence_transformers", "faiss"), ("dense retrieval", "dense")),
    "psycopg": ("a PostgreSQL store", "postgres"),
    "mcp": ("tools of an MCP server", "mcp"),
    "pyarrow": ("writing Parquet files", "data"),
    "ortools": ("CP-SAT", "solver"),
}

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # errors of writing that name no file: of the output, or of a large file

# Typer brings its own copy of Click in some versions and the separate package in others. In both,
# the public BadParameter is a UsageError, which is the ClickException that every bad command line raises.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]


def main(argv: Sequence[str] | None = None, verbs: Sequence[Verb] = VERBS) -> int:
    """Run one command line (default: this process's arguments) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        code = _run(words, verbs)
        if sys.stdout is not None:  # None: the caller closed it, and wants no output
            sys.stdout.flush()  # a reader that left is noticed here, not in the interpreter's shutdown
        return code
    except UserError as error:
        return _complain(str(error))
    except ModuleNotFoundError as error:
        if extra := EXTRAS.get((error.name or "").partition(".")[0]):
            return _complain(f"{extra[0]} needs the '{extra[1]}' extra: pip install 'tripwright[{extra[1]}]'")
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


def _give_up_stdout() -> None:
    """What it still holds goes nowhere: the interpreter would fail on it once more when it shuts down."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str], verbs: Sequence[Verb]) -> int:
    """Click's own main() is passed by: it would turn an interrupt and a closed pipe into exit codes before we can name them."""
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
    """All verbs by name and one line each; the one that `words` asks for with its real function."""
    app = _group("Train, judge and serve LLM agents that plan trips with tools.")
    app.callback(epilog="Examples of a verb: tripwright VERB --help")(_root)
    groups: dict[str, typer.Typer] = {}
    for verb in verbs:
        if importlib.util.find_spec(verb.module) is None:
            continue
        *group, name = verb.words.split()
        asked = list(words[: len(group) + 1]) == [*group, name]
        function = getattr(importlib.import_module(verb.module), verb.function) if asked else _not_loaded
        parent = app
        for group_name in group:
            if group_name not in groups:
                groups[group_name] = _group(GROUPS.get(group_name, ""))
                app.add_typer(groups[group_name], name=group_name)
            parent = groups[group_name]
        parent.command(name, help=_help(function) if asked else verb.help, short_help=verb.help)(function)
    return app


def _group(help_text: str) -> typer.Typer:
    """Plain text throughout: no boxes, no markup, no shell-completion options in every help page."""
    return typer.Typer(
        help=help_text, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, subcommand_metavar="VERB ..."
    )


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tripwright {__version__}")
        raise typer.Exit()


def _root(version: bool = typer.Option(False, "--version", is_eager=True, callback=_print_version, help="Print the version.")) -> None:
    """The options before the verb."""


def _not_loaded() -> None:
    raise AssertionError("a verb that was not asked for was run")


def _help(function: Callable[..., Any]) -> str:
    """The docstring, with `Examples:` and everything after it kept line by line (Click re-wraps a paragraph unless \\b precedes it)."""
    text = inspect.getdoc(function) or ""
    before, examples, after = text.partition("Examples:")
    if not examples or "\b" in text:
        return text
    return before + "\b\n" + examples + after.replace("\n\n", "\n\n\b\n")


def _usage_problem(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "tripwright"
    return f"{error.format_message()} (see '{path} --help')"


def _complain(problem: str) -> int:
    print("tripwright: " + " ".join(problem.split()), file=sys.stderr)
    return 2

"""The table of verbs: those of the house, and those that domains bring (`verbs/__init__.py` in a
domain's folder).

Only names of modules stand here, so that listing all verbs loads none of them.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, get_args

from tripwright.domains import verb_packages

Section = Literal["worlds", "requests", "plans", "episodes", "learning"]
SECTIONS: tuple[Section, ...] = get_args(Section)


class Verb(NamedTuple):
    """A row. `section` says where in the lists it comes: within a section the house's verbs are
    first, then each domain's."""

    words: str  # as typed: "solve", "world build"
    module: str
    function: str
    help: str  # the line shown in lists; the verb's own --help is the function's docstring
    section: Section = "learning"


HOUSE = (
    Verb(
        "quickstart",
        "tripwright.cli.quickstart",
        "quickstart",
        "See it all work: worlds, queries, cold start, RL, evaluation, report.",
        "worlds",
    ),
    Verb(
        "world build",
        "tripwright.cli.world",
        "build_world",
        "Generate a world from a seed.",
        "worlds",
    ),
    Verb(
        "world import",
        "tripwright.cli.world",
        "import_world",
        "Import the official TravelPlanner tables.",
        "worlds",
    ),
    Verb("world info", "tripwright.cli.world", "info", "Say what is in a world.", "worlds"),
    Verb(
        "world browse",
        "tripwright.cli.browse",
        "browse",
        "List cities, routes, hotels and more, with filters.",
        "worlds",
    ),
    Verb("tool", "tripwright.cli.tool", "tool", "Call one tool by hand.", "worlds"),
    Verb(
        "run",
        "tripwright.cli.run",
        "run",
        "Run episodes with a policy; keep transcripts and score.",
        "episodes",
    ),
    Verb(
        "study make",
        "tripwright.cli.study",
        "make",
        "Draw episodes for people to judge, blind and in random order.",
    ),
    Verb(
        "study agreement",
        "tripwright.cli.study",
        "agreement",
        "Say how raters judged and how far they agree.",
    ),
    Verb("study import", "tripwright.cli.study", "import_", "Take the labels that people made."),
    Verb(
        "study export",
        "tripwright.cli.study",
        "export",
        "Write what most raters say of each item, to calibrate a judge.",
    ),
    Verb(
        "data collect",
        "tripwright.cli.data",
        "collect",
        "Keep the good episodes of runs as training data.",
    ),
    Verb("data stats", "tripwright.cli.data", "stats", "Say what a file of trajectories holds."),
    Verb(
        "data export",
        "tripwright.cli.data",
        "export",
        "Write training data as another trainer reads it.",
    ),
    Verb(
        "data split",
        "tripwright.cli.data",
        "split",
        "Merge files of requests and divide them anew.",
    ),
    Verb(
        "data reliability",
        "tripwright.cli.data",
        "reliability",
        "Compare a policy on synthetic and on given queries.",
    ),
    Verb(
        "recipes",
        "tripwright.cli.recipes",
        "recipes",
        "List the recipes that come with it, with what they need; copy one.",
    ),
    Verb(
        "fit", "tripwright.cli.fit", "fit", "Estimate memory and time of a recipe before it starts."
    ),
    Verb("sft", "tripwright.cli.train", "sft", "Fine-tune a model on transcripts (cold start)."),
    Verb("train", "tripwright.cli.train", "train", "Train a model by reinforcement learning."),
    Verb(
        "examine",
        "tripwright.cli.examine",
        "examine",
        "Examine a trained run in worlds it has never seen, with controls.",
    ),
    Verb(
        "merge",
        "tripwright.cli.merge",
        "merge",
        "Merge a LoRA adapter into its base: a plain model folder.",
    ),
    Verb(
        "watch",
        "tripwright.cli.watch",
        "watch",
        "See how training goes, live, in the terminal or on a local page.",
    ),
    Verb("serve", "tripwright.cli.serve_trips", "trips", "Serve trips: a page and an API."),
    Verb("serve tools", "tripwright.cli.serve", "tools", "Serve the tools of a world over HTTP."),
    Verb(
        "serve model",
        "tripwright.cli.serve_model",
        "model",
        "Serve a checkpoint for the rollouts of a training.",
    ),
    Verb(
        "compare",
        "tripwright.cli.compare",
        "compare",
        "Compare runs: intervals, paired tests, queries gained and lost.",
    ),
    Verb(
        "power",
        "tripwright.cli.power",
        "power",
        "Say how many queries a comparison needs to see a difference.",
    ),
    Verb(
        "outside import",
        "tripwright.cli.outside",
        "import_",
        "Import what another harness measured, to compare and report.",
    ),
    Verb(
        "report",
        "tripwright.cli.report",
        "report",
        "Write one self-contained HTML page about one or more runs.",
    ),
)

HOUSE_GROUPS = {
    "outside": "Benchmarks that are not about trips, played by other harnesses.",
    "world": "Build, import and inspect worlds.",
    "study": "Have people judge transcripts, blind, and measure their agreement.",
    "data": "Collect, describe, divide and export training data.",
    "serve": "Serve trips (a page and an API), or, with a word more, tools or a model.",
}


@cache
def all_verbs() -> tuple[Verb, ...]:
    """All of them, in the order of the lists."""
    rows = [*HOUSE, *(verb for package in verb_packages() for verb in package.VERBS)]
    return tuple(sorted(rows, key=lambda verb: SECTIONS.index(verb.section)))


@cache
def groups() -> dict[str, str]:
    """First word of verbs that share it → what they do."""
    return {
        **HOUSE_GROUPS,
        **{name: line for package in verb_packages() for name, line in package.GROUPS.items()},
    }

"""The table of verbs: those of the house, and those that domains bring (`verbs/__init__.py` in a
domain's folder).

Only names of modules stand here, so that listing all verbs loads none of them.
"""

from __future__ import annotations

from functools import cache
from keyword import iskeyword
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


def _house(words: str, help: str, section: Section = "learning", module: str = "") -> Verb:
    """Of `cli/<first word>.py`, where a function is named after the last word."""
    first, last = words.split()[0], words.split()[-1]
    function = f"{last}_" if iskeyword(last) else last
    return Verb(words, f"tripwright.cli.{module or first}", function, help, section)


HOUSE = (
    _house(
        "quickstart",
        "See it all work: worlds, queries, cold start, RL, evaluation, report.",
        "worlds",
    ),
    _house("world build", "Generate a world from a seed.", "worlds"),
    _house("world import", "Import the official TravelPlanner tables.", "worlds"),
    _house("world info", "Say what is in a world.", "worlds"),
    _house("world browse", "List cities, routes, hotels and more, with filters.", "worlds"),
    _house("tool", "Call one tool by hand.", "worlds"),
    _house("run", "Run episodes with a policy; keep transcripts and score.", "episodes"),
    _house("study make", "Draw episodes for people to judge, blind and in random order."),
    _house("study agreement", "Say how raters judged and how far they agree."),
    _house("study export", "Write what most raters say of each item, to calibrate a judge."),
    _house("data collect", "Keep the good episodes of runs as training data."),
    _house("data stats", "Say what a file of trajectories holds."),
    _house("data export", "Write training data as another trainer reads it."),
    _house("data split", "Merge files of requests and divide them anew."),
    _house("data reliability", "Compare a policy on synthetic and on given queries."),
    _house("recipes", "List the recipes that come with it, with what they need; copy one."),
    _house("fit", "Estimate memory and time of a recipe before it starts."),
    _house("sft", "Fine-tune a model on transcripts (cold start).", module="train"),
    _house("train", "Train a model by reinforcement learning."),
    _house("examine", "Examine a trained run in worlds it has never seen, with controls."),
    _house("merge", "Merge a LoRA adapter into its base: a plain model folder."),
    _house("watch", "See how training goes, live, in the terminal."),
    _house("serve", "Serve trips: a page and an API."),
    _house("serve tools", "Serve the tools of a world over HTTP."),
    _house("serve model", "Serve a checkpoint for the rollouts of a training."),
    _house("mcp", "Give an assistant a world's tools, planner and judge.", module="serve"),
    _house("compare", "Compare runs: intervals, paired tests, queries gained and lost."),
    _house("power", "Say how many queries a comparison needs to see a difference."),
    _house("report", "Write one self-contained HTML page about one or more runs."),
)

HOUSE_GROUPS = {
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

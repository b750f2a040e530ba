"""The table of verbs: those of the house, and those that domains bring (`verbs/__init__.py` in a
domain's folder).

Only names of modules stand here, so that listing all verbs loads none of them.
"""

from __future__ import annotations

from functools import cache
from keyword import iskeyword
from typing import Literal, NamedTuple, get_args

from tripwright.domains import verb_packages

Section = Literal["Start", "Data", "Judge", "Evaluate", "Train", "Serve"]
SECTIONS: tuple[Section, ...] = get_args(Section)


class Verb(NamedTuple):
    """A row. `section` is its heading in the list: within one the house's verbs are first, then
    each domain's."""

    words: str  # as typed: "solve", "world build"
    module: str
    function: str
    help: str  # the line shown in lists; the verb's own --help is the function's docstring
    section: Section = "Train"


def _house(words: str, help: str, section: Section = "Train", module: str = "") -> Verb:
    """Of `cli/<first word>.py`, where a function is named after the last word."""
    first, last = words.split()[0], words.split()[-1]
    function = f"{last}_" if iskeyword(last) else last
    return Verb(words, f"tripwright.cli.{module or first}", function, help, section)


HOUSE = (
    _house("quickstart", "See it all work: worlds, training by RL, a report.", "Start"),
    _house("world build", "Generate a world from a seed.", "Data"),
    _house("world import", "Import the official TravelPlanner tables.", "Data"),
    _house("world info", "Say what is in a world.", "Data"),
    _house("tool", "Call one tool by hand.", "Data"),
    _house("run", "Run episodes with a policy; keep transcripts and score.", "Evaluate"),
    _house("study make", "Draw episodes for people to judge, blind and in random order.", "Judge"),
    _house("study agreement", "Say how raters judged and how far they agree.", "Judge"),
    _house("study export", "Write what most raters say, to calibrate a judge.", "Judge"),
    _house("data collect", "Keep the good episodes of runs as training data.", "Data"),
    _house("data stats", "Say what a file of trajectories holds.", "Data"),
    _house("data export", "Write training data as another trainer reads it.", "Data"),
    _house("data split", "Merge files of requests and divide them anew.", "Data"),
    _house("data reliability", "Compare a policy on synthetic and on given queries.", "Data"),
    _house("recipes", "List the recipes that come with it, with what they need; copy one."),
    _house("fit", "Estimate memory and time of a recipe before it starts."),
    _house("sft", "Fine-tune a model on transcripts (cold start).", module="train"),
    _house("train", "Train a model by reinforcement learning."),
    _house("examine", "Examine a trained run in worlds it has never seen, with controls."),
    _house("merge", "Merge a LoRA adapter into its base: a plain model folder."),
    _house("serve", "Serve trips: a page and an API.", "Serve"),
    _house("serve tools", "Serve the tools of a world over HTTP.", "Serve"),
    _house("serve model", "Serve a checkpoint for the rollouts of a training.", "Serve"),
    _house("mcp", "Give an assistant a world's tools, planner and judge.", "Serve", module="serve"),
    _house("compare", "Compare runs: intervals, tests, queries gained and lost.", "Evaluate"),
    _house("power", "Say how many queries a comparison needs to see a difference.", "Evaluate"),
    _house("report", "Write one self-contained HTML page about one or more runs.", "Evaluate"),
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
    return tuple(sorted(rows, key=lambda verb: (*SECTIONS, verb.section).index(verb.section)))


@cache
def groups() -> dict[str, str]:
    """First word of verbs that share it → what they do."""
    return {
        **HOUSE_GROUPS,
        **{name: line for package in verb_packages() for name, line in package.GROUPS.items()},
    }

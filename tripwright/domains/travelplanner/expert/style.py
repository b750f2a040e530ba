"""How an expert plays: from the answer that it knows, or from what it reads; with how many words
and how many searches to spare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tripwright.errors import UserError

StyleName = Literal["direct", "spender", "comparing", "careful", "brief"]
Thoughts = Literal["none", "short", "long"]


@dataclass(frozen=True)
class ExpertStyle:
    """For STAR's cold-start data (row S4) and Planner-R1's schema (row P3).

    "direct" plays the oracle's plan, "spender" one with dearer places to stay, "comparing" one that
    comparisons and a sum lead to; they take no other setting. The others decide from answers alone,
    the same way for the same request and seed. `thoughts` are reasons in `<think>`; where a
    dialect asks for a thought in every turn, "none" says one word. `compared_cities` is how many
    cities beyond those asked for have their way there looked up first; `max_extra_searches` is how
    many searches, at most, compare further once a plan is found: only such as can lead to a cheaper
    one within that number.
    """

    name: StyleName = "direct"
    thoughts: Thoughts = "short"
    compared_cities: int = 0
    max_extra_searches: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in get_args(StyleName) or self.thoughts not in get_args(Thoughts):
            raise UserError(
                f"An expert's style is {', '.join(get_args(StyleName))} with thoughts"
                f" {', '.join(get_args(Thoughts))};"
                f" found '{self.name}', '{self.thoughts}'."
            )
        if min(self.compared_cities, self.max_extra_searches) < 0:
            numbers = f"{self.compared_cities} and {self.max_extra_searches}"
            raise UserError(
                f"compared_cities and max_extra_searches are at least 0, found {numbers}."
            )


DIRECT = ExpertStyle()
SPENDER = ExpertStyle("spender")
COMPARING = ExpertStyle("comparing")
CAREFUL = ExpertStyle("careful", "short", compared_cities=1, max_extra_searches=4)
BRIEF = ExpertStyle("brief", "none")
STYLES = {style.name: style for style in (DIRECT, SPENDER, COMPARING, CAREFUL, BRIEF)}


def style_named(name: str) -> ExpertStyle:
    matches = [style for key, style in STYLES.items() if key == name]
    if not matches:
        raise UserError(f"Unknown style '{name}'. The styles are {', '.join(STYLES)}.")
    return matches[0]

"""TravelPlanner's dialects: Planner-R1's for real models, the same with shown work, STAR's with
its limits for trained and for frontier models, and compact ones for tiny models (rows P2, P3, P7, S1, S2, S6).

Answer formats: "json" is Planner-R1's JSON and nothing else; "itinerary" (row S2) is JSON or an
itinerary in words.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import TurnFormat
from tripwright.domains.travelplanner.plan.plan import PLAN_SCHEMA
from tripwright.domains.travelplanner.tools.faces import COMPACT, PLANNER_R1, STAR

PROMPTS: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)

_PLANNER_R1 = Dialect(
    "planner_r1",
    PROMPTS["planner_r1"].replace("{schema}", json.dumps(PLAN_SCHEMA, indent=1)),
    face=PLANNER_R1,
    # Planner-R1, B.3: the engine takes the first call of a turn (`max_parallel_calls: 1`), and
    # the models of figures A.11 and A.12 repeat calls until the 30th turn: the prompt forbids it,
    # the engine not
    on_parallel="first",
    on_repeated="answer",
    # row P7: the prompt, the response and a tool's answer each have a limit (B.3, B.4), and what is
    # oldest leaves a context that they fill (section 2.1)
    max_prompt_tokens=2268,
    max_response_tokens=30500,
    max_tool_tokens=8192,
    on_overflow="truncate",
    max_turn_tokens=4096,  # ours: a turn always finds so much room; the longest plans need a quarter
)

_STAR = Dialect(
    "star",
    PROMPTS["star"],
    face=STAR,
    plan_format="itinerary",
    prose_answers=True,
    # STAR, Appendix E (rows S1, S5): one thought, then one call or answer, and nothing else; of
    # repeated calls nothing is printed
    on_repeated="answer",
    turns=TurnFormat(least_thoughts=1, words_outside=False),
    tools_in_prompt=False,  # the prompt itself lists them
    max_turns=61,  # 60 calls and the answer
    max_calls=60,
    context_tokens=32 * 1024,
    shows_work="long",
)

_COMPACT = Dialect(
    "compact",
    PROMPTS["compact"],
    face=COMPACT,
    # a tiny model learns the seven calls from examples; their schemas would be most of its context
    tools_in_prompt=False,
    max_turns=12,
    max_calls=11,
    max_tool_tokens=320,
    max_turn_tokens=224,
    context_tokens=1280,
    shows_work="long",
)

DIALECTS = (
    _PLANNER_R1,
    # words before each call take the place of thinking, which row P7 switches off
    replace(_PLANNER_R1, name="planner_r1_steps", shows_work="long"),
    _COMPACT,
    # room for trips over several cities, whose stays and ways are read and compared
    replace(
        _COMPACT,
        name="compact_long",
        max_turns=49,
        max_calls=48,
        max_turn_tokens=1024,
        context_tokens=6144,
        on_repeated="answer",  # a way that was asked for 3,000 tokens ago may be asked for again
    ),
    _STAR,
    # row S6: how the paper runs frontier models, which were not trained
    replace(_STAR, name="star_frontier", max_turns=101, max_calls=100, context_tokens=128 * 1024),
)

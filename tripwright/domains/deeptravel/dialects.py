"""DeepTravel's prompts, formats and limits (Appendices A.2.1 and A.4; rows D6, D7): the paper's own,
whose answers are Markdown and need a judge that reads; the same with answers in cards, which rules
judge; and cards for tiny models (row D11, B16)."""

from __future__ import annotations

from dataclasses import replace

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import TurnFormat
from tripwright.domains.deeptravel.cards import CARDS
from tripwright.domains.deeptravel.prompt import (
    DEEPTRAVEL_CARDS_COMPACT_PROMPT,
    DEEPTRAVEL_CARDS_PROMPT,
    DEEPTRAVEL_PROMPT,
)
from tripwright.domains.deeptravel.tools.faces import DEEPTRAVEL, DEEPTRAVEL_COMPACT

# DeepTravel, A.2.1 (row D6): `think` before the first call, `tool_response_thinking` after an
# answer, `tool_call_thinking` before a call; then the call or the answer, and nothing else
DEEPTRAVEL_TURNS = TurnFormat(
    ("think", "tool_response_thinking", "tool_call_thinking"),
    least_thoughts=1,
    function_calls=True,
    words_outside=False,
)
_PAPER = Dialect(
    "deeptravel",
    DEEPTRAVEL_PROMPT,
    face=DEEPTRAVEL,
    plan_format="recommendations",
    tools_in_prompt=False,  # the prompt itself lists them
    max_turns=8,  # row D7: 8 turns and 32K tokens
    max_calls=7,
    max_tool_tokens=4096,
    max_turn_tokens=4096,
    context_tokens=32 * 1024,
    on_repeated="answer",  # the paper prints nothing of repeated calls
    turns=DEEPTRAVEL_TURNS,
)

DIALECTS = (
    replace(
        _PAPER,
        name="deeptravel_cards",
        system_prompt=DEEPTRAVEL_CARDS_PROMPT,
        plan_format=CARDS,
        shows_work="long",
    ),
    _PAPER,
    Dialect(
        "deeptravel_cards_compact",
        DEEPTRAVEL_CARDS_COMPACT_PROMPT,
        face=DEEPTRAVEL_COMPACT,
        plan_format=CARDS,
        tools_in_prompt=False,  # as in "compact": a tiny model learns the six calls from examples
        max_turns=12,  # its hotels have no positions: which one is near is found by asking
        max_calls=11,
        max_tool_tokens=320,
        max_turn_tokens=320,
        context_tokens=2048,
        # a tiny model that stammers before a call has made it all the same
        turns=replace(DEEPTRAVEL_TURNS, least_thoughts=0, words_outside=True),
        shows_work="long",
    ),
)

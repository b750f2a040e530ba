"""TravelPlanner's dialects: Planner-R1's for real models, the same with shown work, STAR's with
its limits for trained and for frontier models, and compact ones for tiny models (rows P2, P3, P7, S1, S2, S6).

Answer formats: "json" is Planner-R1's JSON and nothing else; "itinerary" (row S2) is JSON or an
itinerary in words.
"""

from __future__ import annotations

import json
from dataclasses import replace

from tripwright.agent.dialect import TOOLS, Dialect
from tripwright.agent.turn import TurnFormat
from tripwright.domains.travelplanner.plan.plan import PLAN_SCHEMA
from tripwright.domains.travelplanner.tools.faces import COMPACT, PLANNER_R1, STAR

PLANNER_R1_PROMPT = f"""You are a helpful travel assistant that plans detailed travel itineraries by calling external functions (tools). \
You have access to the following tools and must use them as needed to gather accurate, up-to-date information.
# Behavior Guidelines
- If a task requires multiple steps or tools, proceed step by step, calling ONE TOOL per turn.
- Never assume details - always verify all information using tools.
- When you have gathered sufficient information to finalize the plan, respond with an <answer> block with the final itinerary in valid \
JSON format.
# Tool Usage Rules
- Do not repeat the same tool call with identical arguments.
- Always provide complete and correct function arguments.
# Final Plan Format
Once all necessary information is collected, respond with the final plan:
<answer>
[
{{
// Day 1 plan following schema
}},
{{
// Day 2 plan following schema
}},
// ... additional days
]
</answer>
**IMPORTANT CONSTRAINTS**
- The <answer> must contain ONLY valid JSON, strictly following the plan_schema.
- Do not include any explanatory text inside the <answer> block.
- Do not output <answer> until all needed tool calls are completed.
# Final Plan Schema
Each element in the <answer> JSON array should represent a single day of the trip and follow this schema exactly:
```json
{json.dumps(PLAN_SCHEMA, indent=1)}
```"""

STAR_PROMPT = f"""You are a helpful travel assistant. Your task is to help users create a comprehensive travel plan that fully satisfies \
their specific requirements. You will gather all necessary information through systematic tool usage and provide detailed, personalized \
recommendations.

Critical Format Requirements:
- Each response must follow EXACTLY one of these two patterns:
<think> thinking process </think> <tool_call> {{"name": "tool_name", "arguments": {{...}}}} </tool_call>
<think> thinking process </think> <answer> final travel plan </answer>
- You can have **ONLY ONE** <think> and **ONE** <tool_call> per response
- NEVER combine multiple tool calls in a single response
- After gathering all information, provide the final answer using pattern 2. The final itinerary must be wrapped in **CLOSED** <answer> \
tags.

Available Tools:
{TOOLS}

Task Guidelines:
- **Consistent Role as Travel Planner:** Always maintain your role as a Travel Assistant. Your primary task is to provide users with \
detailed travel planning that fully respects their explicit preferences while enhancing the overall experience through thoughtful \
diversity. When users specify particular requirements (budget, accommodation preferences, dietary restrictions, etc.), strictly adhere to \
these preferences.
- **Single Tool Call Discipline:** For each piece of required information, use exactly one tool and invoke it with a single <tool_call> \
</tool_call> sequence. Do not combine or chain multiple tool calls in a single response.
- **Absolute Trust in Tool Output:** Treat all tool outputs as authoritative and complete. Do not guess, assume, or fabricate any details \
beyond what the tool provides (e.g., do not invent a breakfast like "hotel coffee"). All elements of the plan, e.g., flights, \
accommodations, meals, and attractions, must **STRICTLY** align with the data returned from the tools. Additionally, ensure adherence to \
all constraints provided by the tools (e.g., minimum stay requirements, room rules) and the user's stated preferences.
- **Comprehensive Itinerary Synthesis:** Once all required information is gathered, compile a clear, day-by-day travel itinerary that \
includes: transportation (**BOTH** outbound and return journey if applicable), accommodation, attractions (e.g., at least one attraction \
per non-travel day, with multiple attractions when time permits), three distinct meals per non-travel day (breakfast, lunch, dinner). \
Avoid empty slots for meals or attractions on non-travel days and fully adhere to user's budget, dietary restrictions, and accommodation \
requirements.

Example Response Format:
<think> I need to find flights from New York to London for the user's travel dates </think>
<tool_call>
{{"name": "SearchFlight", "arguments": {{"departure": "New York", "destination": "London", "date": "2024-06-15"}}}}
</tool_call>

Now begin the conversation with the user."""

COMPACT_PROMPT = (
    "Plan the trip with the tools, one call a turn. Then give the plan as JSON in <answer>."
)

_PLANNER_R1 = Dialect(
    "planner_r1",
    PLANNER_R1_PROMPT,
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
    STAR_PROMPT,
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
    COMPACT_PROMPT,
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

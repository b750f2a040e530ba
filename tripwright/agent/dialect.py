"""A dialect = system prompt + tool face + plan format + limits: everything about an episode that is not the trip (rows P2, P3, P7)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tripwright.errors import UserError
from tripwright.trip.plan import PLAN_SCHEMA

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

COMPACT_PROMPT = "Plan the trip with the tools, one call a turn. Then give the plan as JSON in <answer>."


@dataclass(frozen=True)
class Dialect:
    """Limits are in tokens where they say so; `context_tokens` bounds prompt and response together."""

    name: str
    system_prompt: str
    face: str
    tools_in_prompt: bool = True  # whether the chat template is given the JSON schemas of the tools
    max_turns: int = 30
    max_calls: int = 30
    max_tool_tokens: int = 8192  # a longer tool answer is cut on the right (row P7)
    max_turn_tokens: int = 8192
    context_tokens: int = 2268 + 30500


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("planner_r1", PLANNER_R1_PROMPT, face="planner_r1"),
        Dialect(
            "compact",
            COMPACT_PROMPT,
            face="compact",
            tools_in_prompt=False,  # a tiny model learns the seven calls from examples; their schemas would be most of its context
            max_turns=12,
            max_calls=11,
            max_tool_tokens=320,
            max_turn_tokens=224,
            context_tokens=1024,
        ),
    )
}


def dialect_named(name: str) -> Dialect:
    if name not in DIALECTS:
        raise UserError(f"Unknown dialect '{name}'. The dialects are {', '.join(DIALECTS)}.")
    return DIALECTS[name]

"""A dialect = system prompt + tool face + plan format + limits: everything about an episode that is not the trip (rows P2, P3, P7, S1,
S6, S10, D6, D7)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from tripwright.agent.turn import DEEPTRAVEL_TURNS, ONE_THOUGHT, TurnFormat
from tripwright.domains.deeptravel.prompt import DEEPTRAVEL_COMPACT_PROMPT, DEEPTRAVEL_PROMPT, TOOLS
from tripwright.domains.travelplanner.plan.plan import PLAN_SCHEMA
from tripwright.errors import UserError
from tripwright.tools.faces import face_named

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

COMPACT_PROMPT = "Plan the trip with the tools, one call a turn. Then give the plan as JSON in <answer>."


PlanFormat = Literal["json", "itinerary", "recommendations", "text"]
OnMistake = Literal["end", "error"]
OnRepeated = Literal["end", "error", "answer"]


@dataclass(frozen=True)
class Dialect:
    """Limits are in tokens where they say so; `context_tokens` bounds prompt and response together.

    `plan_format` "json": an answer is row P3's JSON and nothing else. "itinerary" (row S2): an answer that is no JSON is read as an
    itinerary in words, by the parser `trip.itinerary`. "recommendations": it is row D11's markdown, which a verifier reads.
    "text": it is no plan; the job says how it is read.
    With an empty `system_prompt` there is no system message.
    `turns` says how a turn is read, and which thoughts may open it.
    `on_malformed` and `on_repeated` say what a turn gets that is neither a readable call nor an answer, and one that asks the same again:
    "end" ends the episode; "error" shows the model a short error message as a tool answer, and it may go on within its limits.
    A call that is repeated may also be answered again ("answer").
    """

    name: str
    system_prompt: str
    face: str
    plan_format: PlanFormat = "json"
    page_rows: int | None = None  # rows of a page, where long answers of searches come in pages
    tools_in_prompt: bool = True  # whether the chat template is given the JSON schemas of the tools
    max_turns: int = 30
    max_calls: int = 30
    max_tool_tokens: int = 8192  # a longer tool answer is cut on the right (row P7)
    max_turn_tokens: int = 8192
    context_tokens: int = 2268 + 30500
    on_malformed: OnMistake = "end"
    on_repeated: OnRepeated = "end"
    turns: TurnFormat = ONE_THOUGHT

    def schemas(self) -> list[dict[str, Any]] | None:
        """What a chat template is given of the tools; None where the dialect shows them otherwise or not at all."""
        return face_named(self.face).schemas(paged=self.page_rows is not None) if self.tools_in_prompt else None

    def prompt(self, schemas: list[dict[str, Any]]) -> str:
        """The system prompt, with these tools written where it asks for them."""
        if TOOLS not in self.system_prompt:
            return self.system_prompt
        return self.system_prompt.replace(TOOLS, "\n".join(json.dumps(schema["function"], ensure_ascii=False) for schema in schemas))


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
        Dialect(
            "star",
            STAR_PROMPT,
            face="star",
            plan_format="itinerary",
            tools_in_prompt=False,  # the prompt itself lists them
            max_turns=61,  # 60 calls and the answer
            max_calls=60,
            context_tokens=32 * 1024,
        ),
        Dialect(
            "deeptravel",
            DEEPTRAVEL_PROMPT,
            face="deeptravel",
            plan_format="recommendations",
            tools_in_prompt=False,  # the prompt itself lists them
            max_turns=8,  # row D7: 8 turns and 32K tokens
            max_calls=7,
            max_tool_tokens=4096,
            max_turn_tokens=4096,
            context_tokens=32 * 1024,
            turns=DEEPTRAVEL_TURNS,
        ),
        Dialect(
            "deeptravel_compact",
            DEEPTRAVEL_COMPACT_PROMPT,
            face="deeptravel_compact",
            plan_format="recommendations",
            tools_in_prompt=False,  # as in "compact": a tiny model learns the six calls from examples
            max_turns=8,
            max_calls=7,
            max_tool_tokens=320,
            max_turn_tokens=224,
            context_tokens=1024,
            turns=DEEPTRAVEL_TURNS,
        ),
    )
}


def dialect_named(name: str) -> Dialect:
    if name not in DIALECTS:
        raise UserError(f"Unknown dialect '{name}'. The dialects are {', '.join(DIALECTS)}.")
    return DIALECTS[name]

"""How a model is asked the questions of row S10, and in which notation it searches.

| dialect | prompt and notation | limits |
|---|---|---|
| `search_r1` | Search-R1's prompt and tags, top 3 | 4 searches, 500 tokens a turn and a result |
| `star_search` | STAR's pattern (row S1): one thought, then `<tool_call>` or `<answer>`; top 5 |
row S10: 60 calls, 32K tokens | | `search` | the same task for models with functions of their own |
row S10 |

STAR did not publish the prompt of its questions; `star_search` has the wording of its travel prompt
as far as that is not about travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.agent.dialect import TOOLS, Dialect
from tripwright.agent.turn import SEARCH_TURNS
from tripwright.errors import UserError
from tripwright.evals.outside.qa.search import INFORMATION, SCHEMA, TEXT

SEARCH_R1_PROMPT = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every"
    " time you get new information. After reasoning, if you find you lack some knowledge, you can"
    " call a search engine by <search> query </search> and it will return the top searched results"
    " between <information> and </information>. You can search as many times as your want. If you"
    " find no further external knowledge needed, you can directly provide the answer inside"
    " <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing"
    " </answer>. Question: {question}\n"
)

_TASK = (
    "You are a helpful assistant that answers questions. You gather the facts with a search tool"
    " over Wikipedia, one call a turn, and then give the answer in a few words: a name, a date, a"
    " number, yes or no, without an explanation."
)

STAR_SEARCH_PROMPT = f"""{_TASK}

Critical Format Requirements:
- Each response must follow EXACTLY one of these two patterns:
<think> thinking process </think> <tool_call> {{"name": "tool_name", "arguments": {{...}}}} </tool_call>
<think> thinking process </think> <answer> final answer </answer>
- You can have **ONLY ONE** <think> and **ONE** <tool_call> per response
- NEVER combine multiple tool calls in a single response
- The final answer must be wrapped in **CLOSED** <answer> tags.

Available Tools:
{TOOLS}

Example Response Format:
<think> I need the river first. </think>
<tool_call>
{{"name": "search", "arguments": {{"query": "river through Paris"}}}}
</tool_call>

Now begin the conversation with the user."""  # noqa: E501

SEARCH_PROMPT = f"""{_TASK}
Put the final answer between <answer> and </answer>. For example, <answer> Beijing </answer>."""


@dataclass(frozen=True)
class SearchDialect(Dialect):
    """`question_prompt` stands around the question, `top_k` is how many passages a search shows."""

    question_prompt: str = "{question}"
    top_k: int = 5

    def schemas(self) -> list[dict[str, Any]] | None:
        """The one tool; the faces of trips know nothing of it."""
        return [SCHEMA] if self.tools_in_prompt else None


SEARCH_DIALECTS = {
    dialect.name: dialect
    for dialect in (
        SearchDialect(
            "search_r1",
            "",  # everything is in the user's turn
            face=INFORMATION,
            plan_format="text",
            tools_in_prompt=False,
            max_turns=5,  # the paper's budget of 4, and the turn after it that may only answer
            max_calls=4,
            max_tool_tokens=500,
            max_turn_tokens=500,
            # out of reach; Search-R1 cuts off what is further back than 4,096 tokens
            context_tokens=8 * 1024,
            on_malformed="error",
            on_parallel="error",
            on_repeated="answer",
            turns=SEARCH_TURNS,
            question_prompt=SEARCH_R1_PROMPT,
            top_k=3,
        ),
        SearchDialect(
            "star_search",
            STAR_SEARCH_PROMPT,
            face=TEXT,
            plan_format="text",
            tools_in_prompt=False,  # the prompt itself lists it
            max_turns=61,  # 60 calls and the answer
            max_calls=60,
            context_tokens=32 * 1024,
            # row S10 counts context, budget and a missing answer as failures, and nothing else
            on_repeated="answer",
        ),
        SearchDialect(
            "search",
            SEARCH_PROMPT,
            face=TEXT,
            plan_format="text",
            max_turns=61,
            max_calls=60,
            context_tokens=32 * 1024,
            on_repeated="answer",
        ),
    )
}


def search_dialect(name: str) -> SearchDialect:
    if name not in SEARCH_DIALECTS:
        raise UserError(
            f"Unknown dialect '{name}'. For questions there are {', '.join(SEARCH_DIALECTS)}."
        )
    return SEARCH_DIALECTS[name]

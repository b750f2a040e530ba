"""A dialect = system prompt + tool face + answer format + limits: everything about an episode that
is not the request (rows P2, P3, P7, S1, S6, S10, D6, D7). The dialects themselves stand in the
domains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from tripwright.agent.turn import ONE_THOUGHT, TurnFormat
from tripwright.tools.face import Face

TOOLS = "{{Tools}}"  # where a system prompt is to hold the schemas of the tools

OnMistake = Literal["end", "error"]
OnRepeated = Literal["end", "error", "answer"]
OnParallel = Literal["end", "error", "first"]
OnOverflow = Literal["end", "truncate"]
ShownWork = Literal["none", "long"]


@dataclass(frozen=True)
class Dialect:
    """Limits are in tokens where they say so; `context_tokens` bounds prompt and response together,
    `max_prompt_tokens` and `max_response_tokens` each of them, where they are given.
    `on_overflow` says what happens when they leave no room for a turn: "end" gives the turn what
    room there is, and the episode ends with it; "truncate" leaves the oldest exchanges (a turn
    and what answered it) out of the context until a turn of `max_turn_tokens` has room, the prompt
    and the last exchange staying (Planner-R1, section 2.1).

    `plan_format` names the form of an answer, for instance "json"; the task reads it.
    `prose_answers` that it may be in free words, where a Markdown fence is no slip.
    With an empty `system_prompt` there is no system message.
    `turns` says how a turn is read, and which thoughts may open it.
    `on_malformed`, `on_repeated` and `on_parallel` say what a turn gets that is neither a readable
    call nor an answer, one that asks the same again, and one with several calls, or a call and an
    answer: "end" ends the episode; "error" shows the model a short error message as a tool answer,
    and it may go on within its limits. A call that is repeated may also be answered again
    ("answer"). Of several calls the first may be made ("first"): the turn stays in the transcript
    as it was said.
    `shows_work` is how an expert says what it chooses, where its domain has words for it: by name
    ("none"), or row by row, with what speaks for the one that it takes ("long").
    """

    name: str
    system_prompt: str
    face: Face
    plan_format: str = "json"
    prose_answers: bool = False
    page_rows: int | None = None  # rows of a page, where long answers of searches come in pages
    tools_in_prompt: bool = True  # whether the chat template is given the JSON schemas of the tools
    max_turns: int = 30
    max_calls: int = 30
    max_tool_tokens: int = 8192  # a longer tool answer is cut on the right (row P7)
    max_turn_tokens: int = 8192
    context_tokens: int = 2268 + 30500
    max_prompt_tokens: int | None = None
    max_response_tokens: int | None = None
    on_overflow: OnOverflow = "end"
    on_malformed: OnMistake = "end"
    on_repeated: OnRepeated = "end"
    on_parallel: OnParallel = "end"
    turns: TurnFormat = ONE_THOUGHT
    shows_work: ShownWork = "none"

    def schemas(self) -> list[dict[str, Any]] | None:
        """What a chat template is given of the tools; None where the dialect shows them otherwise
        or not at all."""
        return self.offered() if self.tools_in_prompt else None

    def offered(self) -> list[dict[str, Any]]:
        """The schemas of the face's tools, with a page number where answers come in pages."""
        return self.face.schemas(paged=self.page_rows is not None)

    def prompt(self, schemas: list[dict[str, Any]]) -> str:
        """The system prompt, with these tools written where it asks for them."""
        if TOOLS not in self.system_prompt:
            return self.system_prompt
        return self.system_prompt.replace(
            TOOLS,
            "\n".join(json.dumps(schema["function"], ensure_ascii=False) for schema in schemas),
        )

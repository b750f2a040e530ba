"""STAR's question answering (row S10) as a task of Inspect: its printed prompt, one Search tool,
exact match. docs/out-of-domain.md has the commands.

The prompt is that of STAR's Appendix E, word for word (the "final itinerary" in it, too); the
question is the user's first message. The limits are those of Appendix C.3: five passages a search,
60 calls, 32K tokens; a context that overflows, a spent budget and a missing answer are failures.
How a search shows its passages is not printed, and they are written as Search-R1 writes them. The
tool's schema is not printed either.
"""

from __future__ import annotations

import copy
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tripwright.agent.dialect import TOOLS, Dialect
from tripwright.agent.session import Session
from tripwright.agent.turn import TurnFormat
from tripwright.bridges.inspect_ai.solvers import EpisodeFault, chat_messages, converse, last_words
from tripwright.bridges.inspect_ai.tasks import in_one_line
from tripwright.errors import UserError
from tripwright.files import json_lines
from tripwright.llm.endpoint import is_address, shown_url
from tripwright.tools.answer import ToolAnswer, ToolError, defused, quoted
from tripwright.tools.face import Face, Page, Pieces, Refusal, ToolResult
from tripwright.tools.toolbox import read_arguments
from tripwright.transcript import StopReason

TIMEOUT_S = 60.0  # of a search
PROMPT = f"""You are a specialized AI Search Assistant designed to answer questions by systematically retrieving and synthesizing \
information from a comprehensive knowledge base.

Critical Format Requirements:
- Each response must follow EXACTLY one of these two patterns:
<think> thinking process </think> <tool_call> {{"name": "tool_name", "arguments": {{...}}}} </tool_call>
<think> thinking process </think> <answer> final answer </answer>
- You can have **ONLY ONE** <think> and **ONE** <tool_call> per response
- **NEVER** combine multiple tool calls in a single response
- After gathering all information, provide the final answer using pattern 2. The final itinerary must be wrapped in **CLOSED** <answer> \
tags.

Available Tools:
{TOOLS}

Task Guidelines:
- **Maintain Search Agent Identity:** You are a Search Assistant. Your core mission is to understand the user's question thoroughly, and \
then identify all information gaps that need to be filled. After systematically gathering relevant information using the Search tool, \
synthesize accurate, comprehensive answers from retrieved information.
- **Single Tool Call Discipline:** For each piece of required information, use exactly one tool and invoke it with a single <tool_call> \
</tool_call> sequence. Do not combine or chain multiple tool calls in a single response.
- **Absolute Trust in Tool Output:** Treat all tool outputs as authoritative and complete. Do not guess, assume, or fabricate any details \
beyond what the tool provides.
- **Synthesize Grounded Answers:** After gathering all required information, provide your thinking process in <think> </think> tags. \
Deliver a **CLEAR** and **CONCISE** final answer within <answer> </answer> tags. Ensure your answer directly addresses the user's question.

Example Response Format:
<think> I need to search for Leonardo DiCaprio's 1997 film. Let me retrieve information about his filmography from that year. </think>
<tool_call>
{{"name": "Search", "arguments": {{"query": "Leonardo DiCaprio 1997 film"}}}}
</tool_call>

Now begin the conversation with the user."""  # noqa: E501

TOOL = "Search"
PASSAGES = 5  # a search shows
SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Search Wikipedia. Returns the passages that match best, the best first.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to search for."}},
            "required": ["query"],
        },
    },
}


def _written(face: Face, result: ToolResult) -> Pieces:
    if isinstance(result, Page):
        return Pieces("\n".join(result.records) or "No passage matches.")
    return Pieces(f"Error: {result.problem}" if isinstance(result, Refusal) else str(result))


FACE = Face("star_search", _written, tables={})
DIALECT = Dialect(
    "star_search",
    PROMPT,
    face=FACE,
    plan_format="text",
    tools_in_prompt=False,  # the prompt itself lists it
    max_turns=61,  # 60 calls and the answer
    max_calls=60,
    context_tokens=32 * 1024,
    on_repeated="answer",
    turns=TurnFormat(least_thoughts=1, words_outside=False),
)


class WikipediaSearch:
    """The one tool of an episode, over a server with Search-R1's `POST /retrieve` at `url`. What
    goes wrong with the server is tried again and then our side's fault (`toolbox.answered`)."""

    face = FACE

    def __init__(self, url: str, passages: int = PASSAGES):
        self._url = f"{url.rstrip('/').removesuffix('/retrieve')}/retrieve"
        self._passages = passages

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [copy.deepcopy(SCHEMA)]

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Raises ToolError for what a model may get wrong."""
        query = read_arguments(arguments).get("query")
        if name != TOOL:
            raise ToolError(f"There is no tool {quoted(name)}. The tool is {TOOL}.", "unknown_tool")
        if not isinstance(query, str) or not query.strip():
            raise ToolError("query must be words to search for.", "missing_argument")
        body = {"queries": [query], "topk": self._passages, "return_scores": True}
        response = httpx2.post(self._url, json=body, timeout=TIMEOUT_S)
        if not response.is_success:  # httpx2's own words would have a password of the URL
            raise RuntimeError(f"{shown_url(self._url)} answered {response.status_code}")
        (found,) = response.json()["result"]
        contents = [each["document"]["contents"].partition("\n") for each in found]
        passages = [
            f"Doc {number}(Title: {defused(title)}) {defused(text)}"
            for number, (title, _, text) in enumerate(contents[: self._passages], start=1)
        ]
        return self.face.answer_whole(Page(passages, 1, len(passages), 1, 1))


# ---- questions and answers

SETS = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
SPLITS = ("test", "dev")  # the later three sets have no answers to their test questions


class Question(NamedTuple):
    """Of an episode: a question mark ends it, as Search-R1 asks."""

    query: str

    def record(self) -> dict[str, Any]:
        return {"query": self.query}


def read_questions(folder: Path) -> list[Sample]:
    """Of the sets that are there, in FlashRAG's layout: FOLDER/nq/test.jsonl with {"id",
    "question", "golden_answers"} per line. Raises UserError."""
    files = {
        name: path
        for name in SETS
        for split in reversed(SPLITS)
        if (path := folder / name / f"{split}.jsonl").is_file()
    }
    if not files:
        raise UserError(
            f"'{folder}' holds none of the sets {', '.join(SETS)}: expected FlashRAG's layout,"
            f" {folder}/nq/test.jsonl and so on."
        )
    return [
        _sample(name, record, f"{path}:{number}")
        for name, path in files.items()
        for number, record in json_lines(path)
    ]


def _sample(name: str, record: Any, where: str) -> Sample:
    try:
        text, answers = record["question"].strip().rstrip("?") + "?", record["golden_answers"]
        if not answers or not all(isinstance(answer, str) for answer in answers):
            raise TypeError
        id = f"{name}/{record['id']}"
        return Sample(text, target=answers, id=id, metadata={"level": name})
    except (KeyError, TypeError, AttributeError):
        raise UserError(
            f'{where}: expected {{"id": …, "question": "…", "golden_answers": ["…"]}}, as FlashRAG'
            " has it."
        ) from None


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(answer: str, golden: Sequence[str]) -> bool:
    """As Search-R1's `qa_em.py` compares: lower case, no ASCII punctuation, no articles, single
    blanks. (Inspect's `exact` splits at hyphens and reads numbers, and is kinder.)"""

    def normalised(text: str) -> str:
        bare = text.lower().translate(_NO_PUNCTUATION)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())

    return normalised(answer) in map(normalised, golden)


# ---- the task


@task
@in_one_line
def star_search(questions: str, retriever: str, passages: int = PASSAGES) -> Task:
    """FlashRAG's question sets under `questions`, with STAR's prompt and a Search tool over the
    server at `retriever`."""
    if not is_address(retriever):
        raise UserError(
            f"'{shown_url(retriever)}' is not a URL: expected one like http://localhost:8000."
        )
    return Task(
        dataset=MemoryDataset(read_questions(Path(questions)), name="star_search"),
        solver=searching(WikipediaSearch(retriever, passages)),
        scorer=answer_match(),
        fail_on_error=False,  # a dead server costs its samples, which eval-retry plays again
    )


@solver
def searching(tools: WikipediaSearch) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = Session(Question(state.input_text), tools, DIALECT)
        await converse(session, native_tools=False)
        transcript = session.transcript
        state.messages = chat_messages(transcript, "verbatim", tools.schemas)
        state.output = last_words(transcript, str(state.model))
        state.metadata["stop_reason"] = str(transcript.stop_reason)
        if transcript.stop_reason is StopReason.UNSCORED:
            raise EpisodeFault(transcript.fault or "unscored for an unknown reason")
        state.metadata["answer"] = transcript.answer
        return state

    return solve


@scorer(metrics=[grouped(accuracy(), "level"), stderr()])
def answer_match() -> Scorer:
    async def judge(state: TaskState, target: Target) -> Score:
        answer = state.metadata["answer"]
        right = answer is not None and exact_match(answer, list(target))
        stopped = None if answer is not None else f"no answer: {state.metadata['stop_reason']}"
        return Score(value=CORRECT if right else INCORRECT, answer=answer, explanation=stopped)

    return judge

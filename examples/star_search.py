"""STAR's question answering (row S10) as a task of Inspect: its printed prompt, one Search tool and
exact match, in tripwright's own episode loop. Inspect runs a file by its path; no kept library has
this benchmark. docs/out-of-domain.md has the commands:

    inspect eval examples/star_search.py -T questions=FlashRAG -T retriever=http://localhost:8000 …

The prompt is that of Appendix E, word for word (the "final itinerary" in it, too); the question is
the user's first message. The limits are those of Appendix C.3: five passages a search, 60 calls,
32K tokens; a context that overflows, a spent budget and a missing answer are failures. How a search
shows its passages is not printed, and they are written as Search-R1 writes them. The tool's schema
is not printed either.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Scorer, accuracy, grouped, scorer, stderr
from pydantic import BaseModel, ValidationError

from tripwright.agent.dialect import TOOLS, Dialect
from tripwright.agent.turn import TurnFormat
from tripwright.bridges.inspect_ai.trips import episode, final, in_one_line
from tripwright.episode import Asked, Episode, TaskDefaults
from tripwright.errors import UserError, first_problem
from tripwright.files import json_lines
from tripwright.llm.endpoint import Endpoint, Fault
from tripwright.tools.answer import ToolError, defused
from tripwright.tools.face import Face, Pieces, Refusal, ToolResult
from tripwright.tools.signatures import Core
from tripwright.tools.toolbox import AnswerBox, ToolHostDown
from tripwright.transcript import Transcript
from tripwright.verdict import Group, Verdict, facts_of, format_group

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

PASSAGES = 5  # a search shows


class WikipediaServer(Endpoint):
    """With Search-R1's `POST /retrieve`."""

    answer = "list of passages"


class WikipediaSearch(Core):
    """The one tool, over a server that may be named with its path. What goes wrong with the server
    is tried again and then our side's fault."""

    def __init__(self, url: str, passages: int = PASSAGES):
        self._server = WikipediaServer(
            url.rstrip("/").removesuffix("/retrieve"), api_key_env="RETRIEVER_API_KEY"
        )
        self._passages = passages

    def Search(self, query: str) -> str:
        """Search Wikipedia. Returns the passages that match best, the best first.

        Args:
            query: What to search for.
        """
        if not query.strip():
            raise ToolError("query must be words to search for.", "missing_argument")
        body = {"queries": [query], "topk": self._passages, "return_scores": True}
        reply = self._server.ask("/retrieve", body, self._shown)
        if isinstance(reply, Fault):
            raise ToolHostDown(reply.message)
        return reply.value

    def _shown(self, answer: Any) -> str:
        (found,) = answer["result"]
        contents = [each["document"]["contents"].partition("\n") for each in found]
        return "\n".join(
            f"Doc {number}(Title: {defused(title)}) {defused(text)}"
            for number, (title, _, text) in enumerate(contents[: self._passages], start=1)
        )


def _written(face: Face, result: ToolResult) -> Pieces:
    if isinstance(result, Refusal):
        return Pieces(f"Error: {result.problem}")
    return Pieces(result or "No passage matches.")


FACE = Face("star_search", _written, tables={}, core=WikipediaSearch)
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

SETS = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")


@dataclass(frozen=True)
class Question(TaskDefaults):
    """One question as an episode, judged by exact match with any of the golden answers."""

    id: str
    query: str
    golden: tuple[str, ...]
    box: AnswerBox
    domain = where = "star_search"

    @property
    def request(self) -> "Question":
        return self

    def record(self) -> dict[str, Any]:
        return {"query": self.query}

    def tools(self, dialect: Dialect, emptied: bool) -> AnswerBox:
        return self.box

    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        said = transcript.answer
        right = said is not None and exact_match(said, self.golden)
        answered = format_group(f"no answer: {transcript.stop_reason}" if said is None else None)
        facts = facts_of(exact_match=(right, f"expected {' or '.join(self.golden)}"))
        groups = answered, Group("answer", tuple(facts), facts)
        return Episode(self, transcript, Verdict("exact match", groups, right, said is not None))

    def asked(self, transcript: Transcript) -> Asked:
        return {"answer": ("exact_match",)}


class FlashRagLine(BaseModel):
    id: Any
    question: str
    golden_answers: Annotated[list[str], MinLen(1)]


def read_questions(folder: Path) -> list[Sample]:
    """Of the sets that are there, in FlashRAG's layout: a FlashRagLine per line of
    FOLDER/nq/test.jsonl, or of dev.jsonl, as three sets have no answers to their test questions.
    Raises UserError."""
    files = {
        name: path
        for name in SETS
        for split in ("dev", "test")
        if (path := folder / name / f"{split}.jsonl").is_file()
    }
    if not files:
        raise UserError(
            f"'{folder}' holds none of the sets {', '.join(SETS)}: expected FlashRAG's layout,"
            f" {folder}/nq/test.jsonl and so on."
        )
    samples = []
    for name, path in files.items():
        for number, record in json_lines(path):
            try:
                line = FlashRagLine.model_validate(record)
            except ValidationError as error:
                raise UserError(f"{path}:{number}: {first_problem(error)}.") from None
            text, about = line.question.strip().rstrip("?") + "?", {"level": name}
            whole = {"target": line.golden_answers, "id": f"{name}/{line.id}", "metadata": about}
            samples.append(Sample(text, **whole))
    return samples


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(answer: str, golden: Sequence[str]) -> bool:
    """As Search-R1's `qa_em.py` compares: lower case, no ASCII punctuation, no articles, single
    blanks. (Inspect's `exact` splits at hyphens and reads numbers, and is kinder.)"""

    def normalised(text: str) -> str:
        bare = text.lower().translate(_NO_PUNCTUATION)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())

    return normalised(answer) in map(normalised, golden)


@task
@in_one_line
def star_search(questions: str, retriever: str, passages: int = PASSAGES) -> Task:
    """FlashRAG's question sets under `questions`, with STAR's prompt and a Search tool over the
    server at `retriever`."""
    samples = read_questions(Path(questions))
    box = AnswerBox(WikipediaSearch(retriever, passages), FACE)
    asked = {
        str(each.id): Question(str(each.id), str(each.input), tuple(each.target), box)
        for each in samples
    }
    return Task(
        dataset=MemoryDataset(samples, name="star_search"),
        solver=episode(asked, DIALECT, native_tools=False, samples=1),
        scorer=answer_match(),
        fail_on_error=False,  # a dead server costs its samples, which eval-retry plays again
    )


@scorer(metrics=[grouped(accuracy(), "level", all="groups"), stderr()])
def answer_match() -> Scorer:
    """By the question's own verdict; "all" is the mean over the sets, the papers' "Avg."."""
    return final()

"""The one tool of row S10: `search`, over whatever retriever, in the words of a dialect.

Passages are other people's words and are shown as data: what could be a tag in them loses its angle
brackets.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tripwright.evals.outside.qa.passages import Passage, Retriever, RetrieverDown
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.errors import ToolError, defused, quoted
from tripwright.tools.face import Face, Page, Pieces, Refusal, ToolResult
from tripwright.tools.toolbox import ToolHostDown, read_arguments

TOOL = "search"
LONGEST_QUERY = 2000  # characters

SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Search Wikipedia. Returns the passages that match best, the best first.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to search for, in words."}
            },
            "required": ["query"],
        },
    },
}

INVALID = (
    "\nMy previous action is invalid. If I want to search, I should put the query between <search>"
    " and </search>. If I want to give the final answer, I should put the answer between <answer>"
    " and </answer>. Let me try again.\n"
)


def passages_text(passages: Sequence[Passage]) -> str:
    """As Search-R1 writes them: `Doc 1(Title: "Rome") Rome is …`, one a line."""
    return "".join(
        f"Doc {n}(Title: {defused(p.title)}) {defused(p.text)}\n"
        for n, p in enumerate(passages, start=1)
    ).strip()


def _as_information(face: Face, written: ToolResult) -> Pieces:
    """Search-R1's block, blank lines included. It has one sentence for whatever it cannot read."""
    is_page = isinstance(written, Page)
    return Pieces(
        f"\n\n<information>{passages_text(written.records)}</information>\n\n"
        if is_page
        else INVALID
    )


def _as_text(face: Face, written: ToolResult) -> Pieces:
    if isinstance(written, Page):
        return Pieces(passages_text(written.records) or "No passage matches.")
    return Pieces(f"Error: {written.problem}" if isinstance(written, Refusal) else str(written))


INFORMATION = Face("search_r1", _as_information, tables={})
TEXT = Face("search", _as_text, tables={})


class SearchTools:
    """The tools of one episode. With `emptied` nothing is ever found: what is still answered right
    was in the model's memory."""

    def __init__(
        self, retriever: Retriever, face: Face = TEXT, top_k: int = 5, emptied: bool = False
    ):
        if top_k < 1:
            raise ValueError(f"top_k is at least 1, found {top_k}")
        self.face, self._retriever, self._top_k, self._emptied = face, retriever, top_k, emptied

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [copy.deepcopy(SCHEMA)]

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Raises ToolHostDown where the retriever does not answer."""
        if self._emptied:
            return self.face.empty
        try:
            query = _read(name, arguments)
        except ToolError as error:
            return self.face.error(str(error), error.kind)
        try:
            found = list(self._retriever.search(query, self._top_k))
        except RetrieverDown as fault:
            raise ToolHostDown(f"the search was not answered: {fault}") from None
        return self.face.answer_whole(Page(found, 1, len(found), 1, 1))


def _read(name: str, arguments: Mapping[str, Any] | str) -> str:
    """The query. Raises ToolError for what a model may get wrong."""
    if not isinstance(name, str) or name.lower() != TOOL:
        raise ToolError(f"There is no tool {quoted(name)}. The tool is {TOOL}.", "unknown_tool")
    given = read_arguments(arguments)
    if unknown := [key for key in given if key != "query"]:
        raise ToolError(
            f"{TOOL} has no argument {quoted(unknown[0])}. It takes: query.", "unknown_argument"
        )
    if "query" not in given:
        raise ToolError(f"{TOOL} needs the argument query.", "missing_argument")
    query = given["query"]
    if not isinstance(query, str) or not query.strip():
        raise ToolError(f"query must be words to search for, found {quoted(query)}.", "wrong_type")
    if len(query) > LONGEST_QUERY:
        raise ToolError(
            f"query has {len(query):,} characters, at most {LONGEST_QUERY:,} are taken.", "too_long"
        )
    return query.strip()

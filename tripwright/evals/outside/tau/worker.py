"""τ²-bench's retail shop, run inside the package that maintains it: a program for the interpreter
of that package's own environment.

It is never imported by us. It reads one JSON object a line on stdin and answers with one a line on
stdout:

    {"op": "hello"}                                               what the package is, the policy,
    the tools, the tasks {"op": "open", "talk": 1, "task": "0"}                        a fresh shop
    {"op": "call", "talk": 1, "name": …, "arguments": {…}}        what a tool answers: {"text",
    "error"} {"op": "grade", "talk": 1, "said": [texts to the customer]}   {"database",
    "communicated", "explanation"}; the shop is closed {"op": "close", "talk": 1}
    the shop is closed without a grade

A problem of ours is {"fault": "…"}. Tools and rules are the package's own (inspect-evals, MIT, with
a port of τ²-bench and its data); none is written anew here. Each talk has a store of its own, as a
sample of Inspect's has.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

INSTANCE = "RetailAgent"


class Shop:
    """What one talk with a customer changes."""

    def __init__(self, sample: Any):
        self.sample = sample
        self._context = contextvars.Context()
        store = import_module("inspect_ai.util._store")
        self._context.run(store.init_subtask_store, store.Store())

    def run(self, work: Callable[[], Any]) -> Any:
        """Runs a coroutine with this shop's store."""
        return self._context.run(asyncio.run, work())


class Retail:
    def __init__(self, scratch: Path):
        self._scratch = scratch
        self._tools = {tool.name: tool for tool in _definitions()}
        samples = import_module("inspect_evals.tau2.retail.dataset").read_dataset(
            INSTANCE, shuffle=False
        )
        self._samples = {str(sample.id): sample for sample in samples}
        self._shops: dict[int, Shop] = {}

    def hello(self) -> dict[str, Any]:
        schemas = [
            {
                "type": "function",
                "function": {
                    "name": t.name,
                    "description": t.description,
                    "parameters": _parameters(t),
                },
            }
            for t in self._tools.values()
        ]
        tasks = [
            {"id": name, "simulator_prompt": sample.input[0].text, "opening": sample.input[1].text}
            for name, sample in self._samples.items()
        ]
        return {
            "package": "inspect-evals",
            "version": version("inspect-evals"),
            "inspect_ai": version("inspect-ai"),
            "policy": import_module("inspect_evals.tau2.retail.agents").get_domain_policy(),
            "tools": schemas,
            "tasks": tasks,
        }

    def open(self, talk: int, task: str) -> dict[str, Any]:
        self._shops[talk] = Shop(self._samples[task])
        return {}

    def call(self, talk: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        tool_error = import_module("inspect_ai.tool").ToolError
        tool = self._tools.get(name)
        if tool is None:
            return {"text": f"Error: Tool {name} not found", "error": True}
        try:
            inspect.signature(tool.tool).bind(**arguments)
            found = self._shops[talk].run(lambda: tool.tool(**arguments))
        except tool_error as error:
            return {"text": f"Error: {error.message}", "error": True}
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            # arguments of other kinds than the tool takes
            return {"text": f"Error: {type(error).__name__}: {error}", "error": True}
        return {"text": found if isinstance(found, str) else json.dumps(found), "error": False}

    def grade(self, talk: int, said: list[str]) -> dict[str, Any]:
        """By the two scorers of `tau2_retail`, which it multiplies."""
        shop = self._shops[talk]
        scorers = import_module("inspect_evals.tau2.common.scorer")
        correct = import_module("inspect_ai.scorer").CORRECT
        state, target = _state(shop.sample, said), import_module("inspect_ai.scorer").Target("")
        database = shop.run(lambda: scorers.db_match(domain="retail")(state, target))
        communicated = shop.run(lambda: scorers.score_communicated_info()(state, target))
        self.close(talk)
        return {
            "database": database.value == correct,
            "communicated": communicated.value == correct,
            "explanation": [database.explanation, communicated.explanation],
        }

    def close(self, talk: int) -> dict[str, Any]:
        self._shops.pop(talk, None)
        # the package unpacks its database into a new file each time and leaves it there
        for left in self._scratch.iterdir():
            left.unlink(missing_ok=True)
        return {}


def _definitions() -> list[Any]:
    tools = import_module("inspect_evals.tau2.retail.tools").all_retail_tools
    definition = import_module("inspect_ai.tool").ToolDef
    return [definition(make()) for make in tools]


def _parameters(tool: Any) -> Any:
    return json.loads(tool.parameters.model_dump_json(exclude_none=True))


def _state(sample: Any, said: list[str]) -> Any:
    """What the scorers read of a finished sample: the texts to the customer, and the task."""
    models = import_module("inspect_ai.model")
    messages = [sample.input[1], *(models.ChatMessageUser(content=text) for text in said)]
    state = import_module("inspect_ai.solver").TaskState
    return state(
        model=models.ModelName("none/none"),
        sample_id=sample.id,
        epoch=1,
        input="",
        messages=messages,
        metadata=sample.metadata,
    )


def main() -> None:
    # what the package prints must not stand among the answers
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory(prefix="tripwright-tau-") as scratch:
        tempfile.tempdir = scratch
        retail: Retail | None = None
        for line in sys.stdin:
            try:
                asked = json.loads(line)
                retail = retail or Retail(Path(scratch))
                answer = getattr(retail, asked.pop("op"))(**asked)
            except Exception as error:  # the other side decides what it means
                answer = {"fault": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()

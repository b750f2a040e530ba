"""One talk between an agent and a simulated customer, in a shop of its own: the tools of an episode
that also talk back.

The customer is a model behind an endpoint, asked as τ²-bench asks it: its scenario as system
prompt, the agent's words as a user's, greedy. It ends the talk with a sign. A customer or a shop
that does not answer is our side's fault (law 4).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any, Protocol

from tripwright.evals.outside.tau.package import Package, TaskText, WorkerDown
from tripwright.llm.client import Completion, Fault
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.errors import ToolError
from tripwright.tools.face import Face, Pieces, Refusal, ToolResult
from tripwright.tools.toolbox import ToolHostDown, read_arguments

ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
MOST_CUSTOMER_TURNS = 100  # as the package has it

_numbers = itertools.count(1)


class Customer(Protocol):
    """`llm.client.ChatEndpoint`, or whatever completes a conversation so."""

    def complete(self, messages: list[dict[str, Any]]) -> Completion | Fault: ...


def _as_text(face: Face, written: ToolResult) -> Pieces:
    return Pieces(f"Error: {written.problem}" if isinstance(written, Refusal) else "")


SHOP = Face("tau_retail", _as_text, tables={})


class Talk:
    """`first` is what the customer opens with, `fault` why there is no talk (then `first` is
    empty)."""

    face = SHOP

    def __init__(self, package: Package, customer: Customer, task: TaskText):
        self._package, self._customer = package, customer
        self._number = next(_numbers)
        self._heard: list[dict[str, Any]] = [
            {"role": "system", "content": task.simulator_prompt},
            {"role": "user", "content": task.opening},
        ]
        self.fault: str | None = None
        self.said: list[str] = []  # by the agent, to the customer
        self.first = ""
        self.ended = False  # by the customer
        try:
            package.ask(op="open", talk=self._number, task=task.id)
            self.first = self._next()
        except (WorkerDown, ToolHostDown) as fault:
            self.fault = (
                f"the shop did not open: {fault}" if isinstance(fault, WorkerDown) else str(fault)
            )

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return copy.deepcopy(self._package.schemas)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        try:
            given = dict(read_arguments(arguments))
        except ToolError as error:
            return self.face.error(str(error), error.kind)
        try:
            found = self._package.ask(op="call", talk=self._number, name=name, arguments=given)
        except WorkerDown as fault:
            raise ToolHostDown(f"the shop did not answer {name}: {fault}") from None
        return ToolAnswer(str(found["text"]), bool(found["error"]))

    def reply(self, answer: str) -> str | None:
        """The customer's next words; None when the customer has ended the talk, or has spoken as
        often as is allowed."""
        self.said.append(answer)
        if self.ended or len(self.said) >= MOST_CUSTOMER_TURNS:
            return None
        self._heard.append({"role": "user", "content": answer})
        words = self._next()
        return None if self.ended else words

    def grade(self) -> dict[str, Any]:
        """{"database", "communicated", "explanation"}, by the package's rules. Raises WorkerDown.
        Closes the shop."""
        return self._package.ask(op="grade", talk=self._number, said=self.said)

    def close(self) -> None:
        """Without a grade."""
        try:
            self._package.ask(op="close", talk=self._number)
        except WorkerDown:  # then there is nothing left to close
            return

    @property
    def customer_turns(self) -> int:
        return sum(message["role"] == "assistant" for message in self._heard)

    def _next(self) -> str:
        outcome = self._customer.complete(self._heard)
        if isinstance(outcome, Fault):
            raise ToolHostDown(
                f"the simulated customer did not answer: {outcome.kind} after {outcome.attempts}"
                f" attempts: {outcome.message}"
            )
        self._heard.append({"role": "assistant", "content": outcome.text})
        self.ended = any(sign in outcome.text for sign in ENDS)
        return outcome.text

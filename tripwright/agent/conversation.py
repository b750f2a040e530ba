"""A request that is not a trip: words for a model that has no tools, in one turn of the user's or
in several, said one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Conversation:
    """`query` opens it; each text of `further` follows an answer of the model's, whatever that
    says. `fields` are for the record only: the model is told nothing of them."""

    query: str
    further: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return {
            "query": self.query,
            **({"further": list(self.further)} if self.further else {}),
            **self.fields,
        }


@runtime_checkable
class Listener(Protocol):
    """Tools that talk back: someone who hears the model's answers and replies, as the simulated
    customer of τ-bench does. `fault` says why they cannot even begin: the session is then over
    before the model is asked (law 4)."""

    fault: str | None

    def reply(self, answer: str) -> str | None:
        """None where there is nothing more to say. Raises ToolHostDown."""
        ...

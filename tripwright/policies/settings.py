"""What a policy can be told, and what is made of it: the seam between names on the command line and
the policies behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError
from tripwright.policies.base import Policy


@dataclass(frozen=True)
class PolicySettings:
    """Everything that some policy can be told; what a policy has no use for must be left at
    None."""

    model: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"  # endpoint: the variable that holds its key
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None  # an endpoint must know it: it is no parameter of OpenAI's
    # Of local, of the sights of greedy-search, and of the wording and the order of cities of the
    # experts that decide from answers. An endpoint given one seed would answer every sample of a
    # query alike.
    seed: int = 0
    concurrency: int = 8  # endpoint: requests in flight
    rows: int = 16  # local: episodes in a batch
    device: str = "auto"  # local: one of inference.precision.device_named
    dtype: str = (
        "auto"  # local: number format of the weights, one of inference.precision.PRECISIONS
    )
    native_tools: bool = True
    tokenizer: Path | None = None  # endpoint: whose tokens the dialect's limits are counted in
    thinking: str | None = None  # endpoint: "on", "off", or as the server has it
    thinking_field: str | None = None
    timeout_s: float = 120.0
    max_retries: int = 4
    requests_per_second: float | None = None  # endpoint
    thoughts: str | None = None  # this and the next two: expert-careful, expert-brief
    extra_searches: int | None = None
    compared_cities: int | None = None

    def refuse_expert_options(self, policy: str) -> None:
        """Raises UserError where one of an expert's options was given to a policy that has none."""
        options = {
            "--thoughts": self.thoughts,
            "--extra-searches": self.extra_searches,
            "--compared-cities": self.compared_cities,
        }
        if names := [option for option, value in options.items() if value is not None]:
            raise UserError(
                f"Policy '{policy}' does not know {', '.join(names)}: leave it out, or choose"
                " --policy expert-careful or expert-brief."
            )

    def refuse_endpoint_options(self, policy: str) -> None:
        """Of those that another policy would not keep to."""
        options = {
            "--tokenizer": self.tokenizer,
            "--thinking": self.thinking,
            "--thinking-field": self.thinking_field,
        }
        if names := [option for option, value in options.items() if value is not None]:
            raise UserError(
                f"{' and '.join(names)} are for --policy endpoint: leave them out for '{policy}'."
            )

    def refuse_model(self, policy: str) -> None:
        if self.model or self.base_url:
            raise UserError(
                f"Policy '{policy}' uses no model: leave --model and --base-url out, or choose"
                " --policy endpoint or local."
            )


@dataclass(frozen=True)
class PolicyChoice:
    """A policy with the tokenizer format its sessions need (None for text), and what a run card
    says about both."""

    policy: Policy
    chat: ChatFormat | None
    identity: dict[str, Any]
    decoding: dict[str, Any]


def plain(
    name: str, policy: Callable[[], Policy]
) -> Callable[[PolicySettings, Dialect], PolicyChoice]:
    """For a domain's table of policies: one that takes no settings, by its name there."""

    def chosen(settings: PolicySettings, dialect: Dialect) -> PolicyChoice:
        settings.refuse_expert_options(name)
        return PolicyChoice(policy(), None, {"kind": name}, {})

    return chosen

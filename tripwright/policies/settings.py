"""What a policy can be told, and what is made of it: the seam between names on the command line and
the policies behind them.

A decoding preset says how a model's tokens are chosen in an evaluation, by the papers' names (rows
P9 and S10), and nothing of how many samples a query gets, nor of limits: those are --samples and
the dialect's (S10's 32K tokens and 60 calls are dialect "star"). Those of Planner-R1's benchmarks
out of domain stand in the commands of docs/out-of-domain.md. Thinking is switched on or off in the
words that each kind of server knows: there is no common one (row P7: Planner-R1 trains and tests
without)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.errors import UserError
from tripwright.policies.base import Policy


@dataclass(frozen=True)
class Decoding:
    """`temperature` 0 is greedy. None leaves top-p or top-k alone: the whole distribution, or the
    server's own setting, which can be the model's (`generation_config.json`). `top_k` -1 says that
    there is no limit, as vLLM and SGLang write it."""

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None


GREEDY = Decoding()
PRESETS = {
    "greedy": GREEDY,
    "planner_r1": GREEDY,  # row P9: validation and test, one sample
    "planner_r1_train": Decoding(1.0, 1.0, -1),  # eight samples
    "star": Decoding(0.6, 0.95),  # row S10
}


def decoding_of(
    preset: str | None, temperature: float | None, top_p: float | None, top_k: int | None
) -> Decoding:
    """The preset's, or what is given one by one: greedy where nothing is."""
    if preset is None:
        return Decoding(temperature or 0.0, top_p, top_k)
    if preset not in PRESETS:
        raise UserError(f"Unknown decoding '{preset}'. The presets are {', '.join(PRESETS)}.")
    options = {"--temperature": temperature, "--top-p": top_p, "--top-k": top_k}
    if names := [name for name, value in options.items() if value is not None]:
        raise UserError(
            f"--decoding {preset} says {PRESETS[preset]}: leave {', '.join(names)} out, or leave"
            " --decoding out."
        )
    return PRESETS[preset]


# by the field of a request
FIELDS: Mapping[str, Callable[[bool], Any]] = {
    # vLLM and SGLang: Qwen's templates read the one, DeepSeek's the other
    "chat_template_kwargs": lambda on: {"enable_thinking": on, "thinking": on},
    # Alibaba Cloud, SiliconFlow
    "enable_thinking": lambda on: on,
    # DeepSeek, Zhipu, Moonshot, Volcengine
    "thinking": lambda on: {"type": "enabled" if on else "disabled"},
    # OpenRouter
    "reasoning": lambda on: {"enabled": on},
    # OpenAI, Gemini
    "reasoning_effort": lambda on: "medium" if on else "none",
}
USUAL_FIELD = "chat_template_kwargs"


def thinking_fields(thinking: str | None, field: str | None) -> dict[str, Any]:
    """What is sent with every request: nothing, where nothing is asked for."""
    if thinking is None:
        if field is not None:
            raise UserError("--thinking-field says how --thinking is sent: give both, or neither.")
        return {}
    if thinking not in ("on", "off"):
        raise UserError(f"--thinking is on or off, found '{thinking}'.")
    name = field or USUAL_FIELD
    if name not in FIELDS:
        raise UserError(f"Unknown --thinking-field '{name}'. Accepted: {', '.join(FIELDS)}.")
    return {name: FIELDS[name](thinking == "on")}


# what an endpoint can be told and nobody else, what models, and what players of a domain
OF_ENDPOINTS = ("tokenizer", "thinking", "thinking_field")
OF_MODELS = ("model", "base_url")
OF_PLAYERS = ("thoughts", "extra_searches", "compared_cities")


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
    device: str = "auto"  # local: one of inference.models.device_named
    dtype: str = "auto"  # local: number format of the weights, one of inference.models.PRECISIONS
    native_tools: bool = True
    tokenizer: Path | None = None  # endpoint: whose tokens the dialect's limits are counted in
    thinking: str | None = None  # endpoint: "on", "off", or as the server has it
    thinking_field: str | None = None
    timeout_s: float = 120.0
    max_retries: int = 4
    requests_per_second: float | None = None  # endpoint
    thoughts: str | None = None  # this and the next two: players that decide from answers
    extra_searches: int | None = None
    compared_cities: int | None = None

    def refuse(self, policy: str, options: Iterable[str], others: str) -> None:
        """Raises UserError where `policy` was given one of the options, which only `others`
        know."""
        if given := [name for name in options if getattr(self, name) is not None]:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise UserError(
                f"Policy '{policy}' does not know {options}: leave it out, or choose --policy"
                f" {others}."
            )


@dataclass(frozen=True)
class PolicyChoice:
    """A policy with the tokenizer format its sessions need (None for text), and what a run card
    says about both."""

    policy: Policy
    chat: ChatFormat | None
    identity: dict[str, Any]
    decoding: dict[str, Any]

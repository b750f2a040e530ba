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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.episode import Policy
from tripwright.errors import UserError, named
from tripwright.llm.paid_calls import Prices, prices_of


@dataclass(frozen=True)
class Decoding:
    """`temperature` 0 is greedy. None leaves top-p or top-k alone: the whole distribution, or the
    server's own setting, which can be the model's (`generation_config.json`). `top_k` -1 says that
    there is no limit, as vLLM and SGLang write it."""

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None


GREEDY = Decoding()
SERVER = "server"  # the preset of which an endpoint is sent nothing: some models refuse to be told
PRESETS = {
    "greedy": GREEDY,
    "planner_r1": GREEDY,  # row P9: validation and test, one sample
    "planner_r1_train": Decoding(1.0, 1.0, -1),  # eight samples
    "star": Decoding(0.6, 0.95),  # row S10
    SERVER: Decoding(1.0),
}


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
# of the length of an answer; OpenAI's later models take the second alone
LENGTHS = {each: each for each in ("max_tokens", "max_completion_tokens")}


def thinking_fields(thinking: str | None, field: str | None) -> dict[str, Any]:
    """What is sent with every request: nothing, where nothing is asked for."""
    if thinking is None:
        if field is not None:
            raise UserError("--thinking-field says how --thinking is sent: give both, or neither.")
        return {}
    on = named("--thinking", thinking, {"on": True, "off": False})
    name = field or USUAL_FIELD
    return {name: named("--thinking-field", name, FIELDS)(on)}


# a word of a refusal → the option that cures it
CURES = {
    "reasoning_content": "--no-native-tools, or --thinking off and --thinking-field thinking",
    "max_tokens": "--max-tokens-field max_completion_tokens",
    "max_completion_tokens": "--max-tokens-field max_tokens",
    **dict.fromkeys(("temperature", "top_p", "top_k"), "--decoding server, which sends none"),
    **dict.fromkeys(FIELDS, "another --thinking-field, or leave --thinking out"),
    "tool": "--no-native-tools",
}

# what an endpoint can be told and nobody else, what models, and what players of a domain
OF_ENDPOINTS = (
    *("tokenizer", "thinking", "thinking_field", "filtered"),
    *("price_in", "price_out", "price_cached", "max_cost_usd"),
)
OF_MODELS, OF_LOCAL = ("model", "base_url"), ("step",)
URL_NAMES = "--base-url", "--endpoint"  # the same in every verb that asks one
OF_PLAYERS = ("thoughts", "extra_searches", "compared_cities")


def setting(default: Any, help: str, *names: str, **how: Any) -> Any:
    """A field that `tripwright run` has as an option; `names` and `how` are Typer's."""
    return field(default=default, metadata={"option": (names, {"help": help, **how})})


@dataclass(frozen=True)
class PolicySettings:
    """A policy by its `name`, and everything that some policy can be told; what it has no use for
    must be left at None. Without a name it is the endpoint at `base_url`, or else the local
    `model`.

        PolicySettings(model="Qwen/Qwen3-8B", base_url="http://localhost:8000/v1", preset="star")
        PolicySettings(name="expert-careful", thoughts="long")
    """

    model: str | None = setting(
        None, "endpoint: the model's name; local: a checkpoint's folder, or a training's."
    )
    step: str | None = setting(
        None, "local: of a training, the checkpoint of that step, or 'best'; else the last stage."
    )
    base_url: str | None = setting(None, "endpoint: its URL, up to and including /v1.", *URL_NAMES)
    api_key_env: str = setting("OPENAI_API_KEY", "endpoint: environment variable with the key.")
    # An endpoint given one seed would answer every sample of a query alike.
    seed: int = setting(0, "Of the sampling of 'local', and of policies that draw.", min=0)
    concurrency: int = setting(8, "endpoint: episodes under way at once.", min=1)
    rows: int = setting(16, "local: episodes in a batch.", min=1)
    device: str = setting(
        "auto", "local: where the model is: cpu, cuda, cuda:1 …; auto: a GPU if any."
    )
    dtype: str = setting(
        "auto",
        "local: number format of its weights: bfloat16, float16, float32; auto: the fastest.",
    )
    timeout_s: float = setting(
        120.0,
        "endpoint: seconds that a whole answer may take, per attempt.",
        "--timeout",
        min=0.01,
        max=86_400,
    )
    max_retries: int = setting(
        4,
        "endpoint: further attempts at a request after a fault that may pass.",
        "--retries",
        min=0,
    )
    native_tools: bool = setting(
        True, "endpoint: tools as JSON functions, or described in the system prompt."
    )
    tokenizer: Path | None = setting(
        None,
        "endpoint: folder of its tokenizer, to count the dialect's limits by.",
        show_default="an estimate",
    )
    thinking: str | None = setting(
        None, "endpoint: on or off.", show_default="as the server has it"
    )
    thinking_field: str | None = setting(
        None, f"endpoint: how --thinking is sent: {', '.join(FIELDS)}.", show_default=USUAL_FIELD
    )
    max_tokens_field: str = setting(
        "max_tokens", f"endpoint: how the length of an answer is sent: {', '.join(LENGTHS)}."
    )
    filtered: str | None = setting(
        None,
        "endpoint: episodes that its content filter ends are failed (of the model) or unscored.",
        show_default="failed",
    )
    requests_per_second: float | None = setting(
        None, "endpoint: at most so many, retries included.", min=0.001
    )
    thoughts: str | None = setting(
        None, "expert-careful, expert-brief: none, short or long reasons."
    )
    extra_searches: int | None = setting(
        None, "The same: at most so many searches for a better plan than the first.", min=0
    )
    compared_cities: int | None = setting(
        None, "The same: cities beyond those asked for that are looked at first.", min=0
    )
    preset: str | None = setting(
        None, "endpoint, local: a paper's way to sample, such as star or planner_r1.", "--decoding"
    )
    temperature: float | None = setting(None, "0 is greedy.", min=0, show_default="0")
    top_p: float | None = setting(None, "endpoint, local: nucleus sampling.", min=0, max=1)
    top_k: int | None = setting(
        None,
        "endpoint (where the server knows it), local: the k likeliest tokens; -1: all.",
        min=-1,
    )
    price_in: float | None = setting(None, "endpoint: USD per million prompt tokens.", min=0)
    price_out: float | None = setting(None, "endpoint: USD per million completion tokens.", min=0)
    price_cached: float | None = setting(
        None,
        "endpoint: USD per million prompt tokens from its cache.",
        min=0,
        show_default="as --price-in",
    )
    max_cost_usd: float | None = setting(
        None, "endpoint: stop before the next request when OUT has cost so much.", min=0
    )
    name: str = ""

    @property
    def policy(self) -> str:
        return self.name or ("endpoint" if self.base_url else "local")

    @property
    def decoding(self) -> Decoding:
        """The preset's, or what is given one by one: greedy where nothing is."""
        if self.preset is None:
            return Decoding(self.temperature or 0.0, self.top_p, self.top_k)
        decoding = named("decoding", self.preset, PRESETS)
        options = {"--temperature": self.temperature, "--top-p": self.top_p, "--top-k": self.top_k}
        if names := [name for name, value in options.items() if value is not None]:
            raise UserError(
                f"--decoding {self.preset} says {decoding}: leave {', '.join(names)} out, or leave"
                " --decoding out."
            )
        return decoding

    @property
    def prices(self) -> Prices | None:
        return prices_of(self.price_in, self.price_out, self.price_cached, self.max_cost_usd)

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

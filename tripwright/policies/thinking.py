"""Thinking on or off, in the words that each kind of server knows: there is no common one (row P7:
Planner-R1 trains and tests without)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tripwright.errors import UserError

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

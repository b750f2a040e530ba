"""How a model's tokens are chosen in an evaluation, by the papers' names (rows P9 and S10).
Those of Planner-R1's benchmarks out of domain stand in the commands of docs/out-of-domain.md.

A preset says nothing of how many samples a query gets, nor of limits: those are --samples and the
dialect's (S10's 32K tokens and 60 calls are dialect "star").
"""

from __future__ import annotations

from dataclasses import dataclass

from tripwright.errors import UserError


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

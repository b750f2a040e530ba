"""Loaded into verl's processes beside our plugin (VERL_USE_EXTERNAL_MODULES), by the proofs alone:
writes down what a step was made of, and breaks things on purpose.

    PROBE=DIR            rollouts and gradients of each step, as DIR/step-N.pt and DIR/gradient-N.pt
    EXACT=1              samples in float64: what shares a batch no longer moves a token
    SABOTAGE=weights     the samplers say they have new weights, and keep the first ones
    SABOTAGE=silence     the samplers are not told of new weights at all
    SABOTAGE=loop        an agent loop raises
"""

import os
from pathlib import Path
from typing import Any

import torch
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

from tripwright.bridges.verl import step as verl_step
from tripwright.bridges.verl.inside import sampler, trainer
from tripwright.inference.service import TokenService

FOLDER, SABOTAGE = os.environ.get("PROBE"), os.environ.get("SABOTAGE")


def rollouts_as_data(rollouts: list[Any]) -> dict[str, Any]:
    """By episode: what it is trained on."""
    return {
        r.episode.task.id: {
            "token_ids": r.episode.transcript.token_ids,
            "loss_mask": r.episode.transcript.loss_mask,
            "logprobs": r.episode.transcript.logprobs,
            "reward": r.reward.total,
            "advantage": r.advantage,
        }
        for r in rollouts
    }


if FOLDER:
    plain_updates, plain_step = verl_step.updates_of, FSDPEngine.optimizer_step
    steps = 0

    def updates_of(rollouts: list[Any], *arguments: Any) -> list[Any]:
        number = len(list(Path(FOLDER).glob("step-*.pt"))) + 1
        torch.save(rollouts_as_data(rollouts), Path(FOLDER) / f"step-{number}.pt")
        return plain_updates(rollouts, *arguments)

    def optimizer_step(engine: Any) -> Any:
        global steps
        steps += 1
        gradients = {
            name.removeprefix("base_model.model."): parameter.grad.full_tensor().clone()
            for name, parameter in engine.module.named_parameters()
            if parameter.grad is not None
        }
        if torch.distributed.get_rank() == 0:
            torch.save(gradients, Path(FOLDER) / f"gradient-{steps}.pt")
        return plain_step(engine)

    trainer.updates_of, FSDPEngine.optimizer_step = updates_of, optimizer_step

if os.environ.get("EXACT"):
    plain_service = TokenService.__init__

    def in_float64(service: Any, model: Any, *arguments: Any) -> None:
        plain_service(service, model.double(), *arguments)

    TokenService.__init__ = in_float64

if SABOTAGE == "weights":
    plain_put = TokenService.put

    def put(service: Any, weights: Any) -> None:
        if not hasattr(service, "sabotaged"):
            service.sabotaged = True
            plain_put(service, weights)

    TokenService.put = put

# a server's process loads this while `sampler` is half imported, and sends no weights itself
if SABOTAGE == "silence" and hasattr(sampler, "EngineSender"):
    plain_send = sampler.EngineSender.update_weights

    async def update_weights(sender: Any, weights: Any, *arguments: Any, **more: Any) -> None:
        if not hasattr(sender, "sabotaged"):
            sender.sabotaged = True
            await plain_send(sender, weights, *arguments, **more)
            return
        for _ in weights:  # each rank must drain it
            pass

    sampler.EngineSender.update_weights = update_weights

if SABOTAGE == "loop":
    plain_open = verl_step.Conditions.open

    def open_session(self: Any, number: int, group: str, member: int, chat: Any) -> Any:
        if number % 2 and member == 1:
            raise RuntimeError("the loop was sabotaged")
        return plain_open(self, number, group, member, chat)

    verl_step.Conditions.open = open_session

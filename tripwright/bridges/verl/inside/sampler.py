"""Our inference engine behind verl's rollout interface: an actor that answers requests for tokens
(`inference.service`), the replica that starts it, and the worker's side, which sends it the weights
by verl's own path.

An episode's random numbers are its own, as in `training/`: so it samples what the local engine
would, whichever server it is sent to.
"""

from __future__ import annotations

import asyncio
from typing import Any

import ray
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from tripwright.inference.service import TokenService


class EngineServer:
    """One model on one CPU. Between two versions of its weights nothing is sampled, and nothing of
    the older one's cache is kept."""

    def __init__(self, model_path: str, rows: int):
        torch.set_num_threads(1)
        config = AutoConfig.from_pretrained(model_path)
        config._attn_implementation = "sdpa"
        self.service = TokenService(AutoModelForCausalLM.from_config(config).float(), rows)
        self.version: int | None = None

    async def load_weights(self, state: dict[str, torch.Tensor], version: int) -> None:
        await asyncio.to_thread(self.service.put, state)
        self.version = version

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        if self.version is None:
            raise RuntimeError("asked for tokens before there were weights")
        how, top_k = sampling_params, int(sampling_params["top_k"])
        turn = await asyncio.wrap_future(
            self.service.sample(
                how["name"],
                list(prompt_ids),
                int(how["max_tokens"]),
                (float(how["temperature"]), float(how["top_p"]), None if top_k < 1 else top_k),
                int(how["stop_token_ids"][0]),
                None,
            )
        )
        return TokenOutput(
            token_ids=turn.token_ids,
            log_probs=turn.logprobs,
            stop_reason="length" if turn.cut else "completed",
            extra_fields={"global_steps": self.version},
        )

    async def wake_up(self) -> None: ...
    async def sleep(self) -> None: ...
    async def clear_kv_cache(self) -> None: ...
    async def release_kv_cache(self) -> None: ...
    async def resume_kv_cache(self) -> None: ...
    async def resume_generation(self) -> None: ...
    async def abort_all_requests(self, reject_request: bool = False) -> None: ...


def server_name(rank: int) -> str:
    return f"tripwright_sampler_{rank}"


class EngineReplica(RolloutReplica):
    """One server a worker."""

    async def launch_servers(self) -> None:
        name, config = server_name(self.replica_rank), self.config
        server = (
            ray.remote(EngineServer)
            .options(name=name, num_cpus=1, max_concurrency=self.max_concurrency)
            .remote(self.model_config.path, config.max_num_seqs)
        )
        await server.clear_kv_cache.remote()
        self.servers, self._server_handle, self._server_address = [server], server, name


class EngineSender(BaseRollout):
    """Lives in the training worker; rank r feeds replica r."""

    async def resume(self, tags: list[str]) -> None: ...
    async def release(self) -> None: ...

    async def update_weights(
        self, weights: Any, global_steps: int | None = None, peft_config: Any = None, **more: Any
    ) -> None:
        """With an adapter its base comes once, and then the adapter: W + alpha/rank·B·A is sent."""
        # every rank must drain it: each tensor is gathered from all of them
        state = {name: tensor.detach().cpu().clone() for name, tensor in weights}
        if peft_config and not more["base_sync_done"]:
            self.base = {name.replace(".base_layer.", "."): w for name, w in state.items()}
            return
        if peft_config:
            adapter, state, end = state, dict(self.base), ".lora_A.weight"
            for name in (name.removesuffix(end) for name in adapter if name.endswith(end)):
                delta = adapter[f"{name}.lora_B.weight"] @ adapter[f"{name}{end}"]
                layer = f"{name.removeprefix('base_model.model.')}.weight"
                state[layer] = state[layer] + delta * (peft_config["lora_alpha"] / peft_config["r"])
        server = ray.get_actor(server_name(torch.distributed.get_rank()))
        await server.load_weights.remote(state, global_steps)

"""A checkpoint behind the requests that reinforcement learning sends to vLLM and to SGLang, sampled
by our engine: the second process of a training, on a machine without a GPU.

Both faces at once, and of each as much as `training/served.py` asks. What a request asks beyond it
is refused by name, never left undone in silence.
"""

from __future__ import annotations

import asyncio
import hmac
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Len, MinLen
from fastapi import Depends, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tripwright.episode import Turn
from tripwright.errors import UserError
from tripwright.files import shared_token
from tripwright.server.serving import within

if TYPE_CHECKING:
    from tripwright.inference.service import TokenService

FREE_ROUTES = (
    *("/health", "/v1/completions", "/generate"),
    *("/is_sleeping", "/weight_info", "/model_info"),
)
MOST_BODY_BYTES = 64 * 1024 * 1024  # a prompt of a million token ids has some seven
Zero = Annotated[float, Ge(0), Le(0)]
One = Annotated[float, Ge(1), Le(1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Sampling(_Strict):
    temperature: Annotated[float, Ge(0)] = 1.0
    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    top_k: int = -1
    min_p: Zero = 0.0
    repetition_penalty: One = 1.0
    presence_penalty: Zero = 0.0
    frequency_penalty: Zero = 0.0
    stop_token_ids: Annotated[list[int], Len(1, 1)]


class _Completion(_Sampling):
    """vLLM's `POST /v1/completions`."""

    model: str | None = None
    prompt: Annotated[list[int], MinLen(1)]
    request_id: str = ""
    max_tokens: Annotated[int, Ge(1)] = 16
    seed: int | None = None
    ignore_eos: Literal[True]
    logprobs: Annotated[int, Ge(0), Le(1)] = 0
    return_token_ids: Literal[True]


class _SglangSampling(_Sampling):
    max_new_tokens: Annotated[int, Ge(1)] = 128
    sampling_seed: int | None = None


class _Generate(_Strict):
    """SGLang's `POST /generate`."""

    rid: str = ""
    input_ids: Annotated[list[int], MinLen(1)]
    sampling_params: _SglangSampling
    return_logprob: bool = False


class _Load(_Strict):
    """SGLang's `POST /update_weights_from_disk`."""

    model_path: Path
    weight_version: str | None = None
    flush_cache: bool = True


class _Reload(_Strict):
    """vLLM's `POST /collective_rpc`, to load weights."""

    method: Literal["reload_weights"]
    kwargs: dict[Literal["weights_path"], Path]


class _ReadFiles(_Strict):
    """The same, to load them from files, as is always done here."""

    method: Literal["update_config"]
    kwargs: dict[Literal["overrides"], dict[Literal["load_config"], dict[str, Literal["auto"]]]]


Tags = tuple[Literal["weights", "kv_cache"], ...]
ALL_TAGS: Tags = ("weights", "kv_cache")


class _Tags(_Strict):
    tags: Tags = ALL_TAGS


class _Version(_Strict):
    new_version: str


def make_app(folder: str, rows: int, device: str, dtype: str, token: Path) -> ASGIApp:
    # heavy, and only needed by the worker
    from tripwright.inference.local import load_to_sample
    from tripwright.inference.service import TokenService

    model, tokenizer = load_to_sample(folder, device, dtype)
    return ModelApi(TokenService(model, rows), tokenizer, folder, token).app


class ModelApi:
    def __init__(self, service: TokenService, tokenizer: Any, name: str, token: Path):
        self.service, self.tokenizer, self.name, self.token = service, tokenizer, name, token
        self.version, self.going = "default", asyncio.Event()
        self.going.set()
        kinds = (RequestValidationError, UserError, HTTPException)
        routes = FastAPI(
            openapi_url=None,
            exception_handlers=dict.fromkeys(kinds, _refused),
            dependencies=[Depends(self.has_token)],
        )

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await routes(scope, within(receive, MOST_BODY_BYTES), send)

        self.app: ASGIApp = app
        for method, path, do in (
            ("GET", "/health", lambda: Response()),
            ("POST", "/v1/completions", self.completions),
            ("GET", "/is_sleeping", lambda: {"is_sleeping": self.service.asleep}),
            ("POST", "/sleep", self.sleep),
            ("POST", "/wake_up", self.wake_up),
            ("POST", "/pause", self.pause),
            ("POST", "/resume", self.go_on),
            ("POST", "/collective_rpc", self.collective_rpc),
            ("POST", "/reset_prefix_cache", self.forget),
            ("POST", "/update_weight_version", self.update_version),
            ("GET", "/weight_info", lambda: {"weight_version": self.version}),
            ("POST", "/generate", self.generate),
            ("POST", "/release_memory_occupation", self.release),
            ("POST", "/resume_memory_occupation", self.resume),
            ("POST", "/update_weights_from_disk", self.update_from_disk),
            ("GET", "/flush_cache", self.forget),
            ("GET", "/model_info", self.model_info),
        ):
            routes.add_api_route(path, do, methods=[method], response_model=None)

    def has_token(self, request: Request) -> None:
        """Of every route that changes something. Raises HTTPException."""
        sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        if request.scope["path"] not in FREE_ROUTES and not hmac.compare_digest(
            sent, shared_token(self.token).encode()
        ):
            raise HTTPException(401, "Weights want this server's token: [grpo.server] token = FILE")

    # ---- tokens

    async def completions(self, asked: _Completion) -> Response:
        turn = await self._turn(asked.request_id, asked.prompt, asked.max_tokens, asked, asked.seed)
        logprobs = {"token_logprobs": turn.logprobs, "tokens": None, "top_logprobs": None}
        choice = {
            "index": 0,
            "text": self.tokenizer.decode(turn.token_ids),
            "logprobs": {**logprobs, "text_offset": None},
            "finish_reason": "length" if turn.cut else "stop",
            "stop_reason": None if turn.cut else asked.stop_token_ids[0],
            "prompt_token_ids": asked.prompt,
            "token_ids": turn.token_ids,
        }
        counts = {
            "prompt_tokens": len(asked.prompt),
            "completion_tokens": len(turn.token_ids),
            "total_tokens": len(asked.prompt) + len(turn.token_ids),
        }
        kind = {"id": asked.request_id, "object": "text_completion", "model": self.name}
        return JSONResponse({**kind, "choices": [choice], "usage": counts})

    async def generate(self, asked: _Generate) -> Response:
        how = asked.sampling_params
        turn = await self._turn(
            asked.rid, asked.input_ids, how.max_new_tokens, how, how.sampling_seed
        )
        ended = {"type": "length", "length": how.max_new_tokens}
        if not turn.cut:
            ended = {"type": "stop", "matched": how.stop_token_ids[0]}
        pairs = zip(turn.logprobs, turn.token_ids, strict=True)
        meta = {
            "id": asked.rid,
            "finish_reason": ended,
            "prompt_tokens": len(asked.input_ids),
            "completion_tokens": len(turn.token_ids),
            "weight_version": self.version,
            "output_token_logprobs": [(logprob, token, None) for logprob, token in pairs],
        }
        text = self.tokenizer.decode(turn.token_ids)
        return JSONResponse({"text": text, "output_ids": turn.token_ids, "meta_info": meta})

    async def _turn(
        self, name: str, prompt: list[int], max_tokens: int, how: _Sampling, seed: int | None
    ) -> Turn:
        if not all(0 <= token < self.service.vocabulary for token in prompt):
            raise UserError(f"Token ids are from 0 to {self.service.vocabulary - 1:,}.")
        if len(prompt) + max_tokens > self.service.positions:
            raise UserError(
                f"The maximum model length is {self.service.positions:,} tokens; found"
                f" {len(prompt):,} in the prompt and {max_tokens:,} to sample."
            )
        await self.going.wait()
        if not self.service.ready:
            raise HTTPException(503, "This model is asleep, or has no weights since it woke.")
        sampling = (how.temperature, how.top_p, None if how.top_k < 1 else how.top_k)
        stop_id = how.stop_token_ids[0]
        turn = self.service.sample(name, prompt, max_tokens, sampling, stop_id, seed)
        return await asyncio.wrap_future(turn)

    # ---- weights and memory: vLLM's

    def sleep(self, level: int = 1) -> dict[str, Any]:
        if level != 2:
            raise UserError("Only sleep of level 2 is known here, which gives the weights up.")
        self.service.sleep()
        return self._done()

    def wake_up(self, tags: Annotated[Tags, Query()] = ALL_TAGS) -> dict[str, Any]:
        self.service.wake(tags)
        return self._done()

    async def pause(self, mode: Literal["keep"]) -> dict[str, Any]:
        """Requests that come are kept until `resume`."""
        self.going.clear()
        return {"status": "paused"}

    async def go_on(self) -> dict[str, Any]:
        self.going.set()
        return {"status": "resumed"}

    def collective_rpc(self, asked: _Reload | _ReadFiles) -> dict[str, Any]:
        if isinstance(asked, _Reload):
            self.service.load(asked.kwargs["weights_path"])
        return self._done()

    def update_version(self, asked: _Version) -> dict[str, Any]:
        self.version = asked.new_version
        return {"success": True, "new_version": self.version}

    # ---- SGLang's

    def release(self, asked: _Tags) -> dict[str, Any]:
        self.service.sleep(asked.tags)
        return self._done()

    def resume(self, asked: _Tags) -> dict[str, Any]:
        self.service.wake(asked.tags)
        return self._done()

    def update_from_disk(self, asked: _Load) -> dict[str, Any]:
        self.service.load(asked.model_path)
        self.version = asked.weight_version or self.version
        return self._done()

    def model_info(self) -> dict[str, Any]:
        return {"model_path": self.name, "weight_version": self.version}

    # ---- both

    def forget(self) -> dict[str, Any]:
        self.service.forget()
        return self._done()

    def _done(self) -> dict[str, Any]:
        """The real ones say less: what memory is held is told by ours alone."""
        return {"success": True, "memory_mb": self.service.memory_mb}


async def _refused(_: Request, error: Exception) -> Response:
    status, message = 400, str(error)
    if isinstance(error, HTTPException):
        status, message = error.status_code, error.detail
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        message = f"'{'.'.join(map(str, first['loc'][1:]))}': {first['msg']}"
    return JSONResponse({"error": {"message": message, "code": status}}, status)

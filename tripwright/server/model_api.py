"""A checkpoint behind the requests that reinforcement learning sends to vLLM and to SGLang, and
behind OpenAI's chat completions, sampled by our engine: the second process of a training, on a
machine without a GPU.

All faces at once, of vLLM's and SGLang's as much as `training/served.py` asks. What a request asks
beyond it is refused by name, never left undone in silence.

Who chats sends texts, and the model goes on after the ids that it sampled (law 5): of a
conversation that begins as one that was had here, only what is new is encoded. So a session, whose
name stands in its address (/sessions/NAME/v1, as rLLM has it) or in X-Session-ID (as verifiers
sends it), is one growing sequence for as long as its messages only grow.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import uuid
from array import array
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Len, MaxLen, MinLen
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Query
from pydantic import AfterValidator
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp

from tripwright.agent.chat import ChatFormat
from tripwright.agent.turn import EITHER_NOTATION, calls_of, opened, write_call
from tripwright.episode import Turn
from tripwright.errors import UserError
from tripwright.files import shared_token
from tripwright.llm.client import RequestedCall
from tripwright.policies.endpoint import TOOL_CALL, call_text
from tripwright.server.guard import Strict
from tripwright.server.serving import OneReader, refusals

if TYPE_CHECKING:
    from tripwright.inference.service import TokenService

FREE_ROUTES = (
    *("/health", "/v1/completions", "/generate"),
    *("/is_sleeping", "/weight_info", "/model_info"),
)
CHAT, MODELS = "/v1/chat/completions", "/v1/models"  # free, too, of every session
MOST_BODY_BYTES = 64 * 1024 * 1024  # a prompt of a million token ids has some seven
# that are remembered, of all sessions: some 200 MB. A turn counts as some more than it has
MOST_KEPT_TOKENS, TOKENS_OF_A_TURN = 16_000_000, 200
ENCODED_AT_ONCE = 4  # prompts; more wait for their turn
LEFT_S = 0.5  # between two looks whether a client is still there
Zero = Annotated[float, Ge(0), Le(0)]
One = Annotated[float, Ge(1), Le(1)]
Text = Annotated[str, MinLen(0)]  # of a text with a bound, pydantic refuses halves of characters


class _Sampling(Strict):
    temperature: Annotated[float, Ge(0)] = 1.0
    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    top_k: int = -1
    min_p: Zero = 0.0
    repetition_penalty: One = 1.0
    presence_penalty: Zero = 0.0
    frequency_penalty: Zero = 0.0
    stop_token_ids: Annotated[list[int], MaxLen(1)] = []


class _Completion(_Sampling):
    """vLLM's `POST /v1/completions`."""

    model: str | None = None
    prompt: Annotated[Text | list[int], MinLen(1)]
    request_id: str = ""
    max_tokens: Annotated[int, Ge(1)] = 16
    seed: int | None = None
    ignore_eos: bool = False
    logprobs: Annotated[int, Ge(0), Le(1)] | None = None
    return_token_ids: bool = False


class _SglangSampling(_Sampling):
    stop_token_ids: Annotated[list[int], Len(1, 1)]
    max_new_tokens: Annotated[int, Ge(1)] = 128
    sampling_seed: int | None = None


class _Generate(Strict):
    """SGLang's `POST /generate`."""

    rid: str = ""
    input_ids: Annotated[list[int], MinLen(1)]
    sampling_params: _SglangSampling
    return_logprob: bool = False


class _Function(Strict):
    name: Text
    arguments: Text


class _NativeCall(Strict):
    id: str = ""
    type: Literal["function"] = "function"
    function: _Function


class _Part(Strict):
    type: Literal["text"]
    text: Text


def _tool(said: dict[str, Any]) -> dict[str, Any]:
    """As it came: templates write all that a client says of it."""
    function = said.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ValueError("expected {'type': 'function', 'function': {'name': …}}")
    return said


class _Message(Strict):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | list[_Part] | None = None
    tool_calls: list[_NativeCall] | None = None
    tool_call_id: str = ""
    name: str | None = None
    # what the openai package sends back of an answer
    refusal: None = None
    audio: None = None
    function_call: None = None
    annotations: Annotated[list[Any], Len(0, 0)] | None = None

    def plain(self) -> dict[str, str]:
        """Role and text: calls as words, a tool's answer as one although it came in words
        (`policies.endpoint.messages`). Equal for what was said here and what a client makes of
        it."""
        role, said = self.role.replace("developer", "system"), self.content or ""
        text = said if isinstance(said, str) else "".join(part.text for part in said)
        if role == "assistant":
            made = (RequestedCall("", *vars(c.function).values()) for c in self.tool_calls or ())
            words, calls = calls_of(opened(text + "".join(map(call_text, made)), EITHER_NOTATION))
            text = words.strip() + "".join(write_call(call.name, call.arguments) for call in calls)
        before, after = "<tool_response>\n", "\n</tool_response>"
        if role == "user" and text.startswith(before) and text.endswith(after):
            return {"role": "tool", "content": text[len(before) : -len(after)]}
        return {"role": role, "content": text}


class _Chat(_Sampling):
    """OpenAI's `POST /v1/chat/completions`."""

    stop_token_ids: Annotated[list[int], Len(0, 0)] = []
    model: Text
    messages: Annotated[list[_Message], MinLen(1)]
    tools: list[Annotated[dict[str, Any], AfterValidator(_tool)]] | None = None
    tool_choice: Literal["auto", "none"] | None = None
    parallel_tool_calls: Literal[True] | None = None
    max_tokens: Annotated[int, Ge(1)] | None = None
    max_completion_tokens: Annotated[int, Ge(1)] | None = None
    seed: int | None = None
    stop: Annotated[str, MinLen(1)] | list[Annotated[str, MinLen(1)]] | None = None
    n: Literal[1] = 1
    logprobs: bool = False
    stream: bool = False
    stream_options: dict[Literal["include_usage"], bool] = {}
    user: str | None = None


def _keys(start: Any, messages: Sequence[dict[str, str]]) -> list[bytes]:
    """Of a conversation after each of its messages."""
    parts = (json.dumps(part).encode() for part in (start, *messages))
    return list(accumulate(parts, lambda so_far, part: blake2b(so_far + part).digest()))[1:]


class _Said(NamedTuple):
    """A turn of the model, after another or as the first."""

    before: _Said | None
    turn: dict[str, Any]

    def line(self) -> list[dict[str, Any]]:
        """From the first turn to this one."""
        here: _Said | None = self
        turns = list[dict[str, Any]]()
        while here is not None:
            turns.append(here.turn)
            here = here.before
        return turns[::-1]


@dataclass
class _Kept:
    """Of a session, or of a conversation without one: its turns, by the conversation that each
    ends."""

    turns: dict[bytes, _Said] = field(default_factory=dict)
    tokens: int = 0


@dataclass
class _Hearing:
    """A turn's text while it is sampled: `tell` is given what is certain of it, up to a stop or to
    a mark, or to what may become one. Called in the engine's thread; says whether a stop has
    come."""

    decode: Callable[[list[int]], str]
    stops: Sequence[str]
    marks: Sequence[str]
    tell: Callable[[str], object] = len
    text: str = ""
    start: int = 0  # of the ids that were heard last: what a token is as text depends on those
    heard: int = 0
    given_up: bool = False

    def left(self, _: Sequence[int]) -> bool:
        """In place of a call, where nobody reads along."""
        return self.given_up

    def __call__(self, ids: Sequence[int]) -> bool:
        before, now = (self.decode(list(ids[self.start : n])) for n in (self.heard, len(ids)))
        if not now.endswith("\ufffd"):  # half a character
            self.text += now[len(before) :]
            self.start, self.heard = self.heard, len(ids)
            text, marks = self.text, (*self.stops, *self.marks)
            begun = (n for mark in marks for n in range(1, len(mark)) if text.endswith(mark[:n]))
            found = (text.find(mark) for mark in marks if mark in text)
            self.tell(text[: min(found, default=len(text) - max(begun, default=0))])
        return self.given_up or any(stop in self.text for stop in self.stops)


class _Load(Strict):
    """SGLang's `POST /update_weights_from_disk`."""

    model_path: Path
    weight_version: str | None = None
    flush_cache: bool = True


class _Reload(Strict):
    """vLLM's `POST /collective_rpc`, to load weights."""

    method: Literal["reload_weights"]
    kwargs: dict[Literal["weights_path"], Path]


class _ReadFiles(Strict):
    """The same, to load them from files, as is always done here."""

    method: Literal["update_config"]
    kwargs: dict[Literal["overrides"], dict[Literal["load_config"], dict[str, Literal["auto"]]]]


Tags = tuple[Literal["weights", "kv_cache"], ...]
ALL_TAGS: Tags = ("weights", "kv_cache")


class _Tags(Strict):
    tags: Tags = ALL_TAGS


class _Version(Strict):
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
        # of a conversation that may fit: reading many more would keep everybody waiting
        self.most_characters = service.positions * max(map(len, tokenizer.get_vocab()))
        self.version, self.going = "default", asyncio.Event()
        # of sessions, and of conversations without one by their opening; the latest last
        self.kept = OrderedDict[tuple[str, bytes], _Kept]()
        self.kept_tokens = self.forgotten = 0
        self.encoding = CapacityLimiter(ENCODED_AT_ONCE)
        self.format = lru_cache(8)(lambda tools: ChatFormat(tokenizer, json.loads(tools)))
        self.going.set()
        routes = FastAPI(
            openapi_url=None,
            exception_handlers=refusals(400),
            dependencies=[Depends(self.has_token)],
        )
        self.app: ASGIApp = OneReader(routes, MOST_BODY_BYTES)
        for method, path, do in (
            ("GET", "/health", lambda: Response()),
            ("POST", "/v1/completions", self.completions),
            ("GET", MODELS, self.models),
            ("POST", CHAT, self.chat),
            ("GET", "/sessions/{name:path}" + MODELS, self.models),
            ("POST", "/sessions/{name:path}" + CHAT, self.chat),
            ("GET", "/sessions/{name:path}", self.session),
            ("DELETE", "/sessions/{name:path}", self.session),
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
        endpoint = request.scope["endpoint"]
        free = request.scope["path"] in FREE_ROUTES or endpoint in (self.chat, self.models)
        if not free and not hmac.compare_digest(sent, shared_token(self.token).encode()):
            want = "Weights and sessions want this server's token"
            raise HTTPException(401, f"{want}: [grpo.server] token = FILE")

    # ---- tokens

    async def completions(self, asked: _Completion) -> Response:
        words, stops, eos = asked.prompt, asked.stop_token_ids, self.tokenizer.eos_token_id
        prompt = [] if isinstance(words, str) else words
        if isinstance(words, str):
            self._check_length(len(words))
            prompt = await to_thread.run_sync(self.tokenizer.encode, words, limiter=self.encoding)
        if not asked.ignore_eos and stops not in ([], [eos]):
            raise UserError("One token ends a turn here: with 'stop_token_ids', 'ignore_eos' true.")
        asked.stop_token_ids = stops or [-1 if asked.ignore_eos or eos is None else eos]
        turn = await self._turn(asked.request_id, prompt, asked.max_tokens, asked, asked.seed)
        logprobs = {"token_logprobs": turn.logprobs, "tokens": None, "top_logprobs": None}
        choice = {
            "index": 0,
            "text": self.tokenizer.decode(turn.token_ids, skip_special_tokens=not asked.ignore_eos),
            "logprobs": None if asked.logprobs is None else {**logprobs, "text_offset": None},
            "finish_reason": "length" if turn.cut else "stop",
            "stop_reason": None if turn.cut or not stops else stops[0],
        }
        if asked.return_token_ids:
            choice |= {"prompt_token_ids": prompt, "token_ids": turn.token_ids}
        name = asked.request_id or f"cmpl-{uuid.uuid4().hex}"
        kind = {"id": name, "object": "text_completion", "created": int(time.time())}
        kind |= {"model": self.name, "choices": [choice], "usage": _usage(prompt, turn)}
        return JSONResponse(kind)

    async def generate(self, asked: _Generate) -> Response:
        prompt, how = asked.input_ids, asked.sampling_params
        turn = await self._turn(asked.rid, prompt, how.max_new_tokens, how, how.sampling_seed)
        ended = {"type": "length", "length": how.max_new_tokens}
        if not turn.cut:
            ended = {"type": "stop", "matched": how.stop_token_ids[0]}
        pairs = zip(turn.logprobs, turn.token_ids, strict=True)
        meta = {
            "id": asked.rid,
            "finish_reason": ended,
            "prompt_tokens": len(prompt),
            "completion_tokens": len(turn.token_ids),
            "weight_version": self.version,
            "output_token_logprobs": [(logprob, token, None) for logprob, token in pairs],
        }
        text = self.tokenizer.decode(turn.token_ids)
        return JSONResponse({"text": text, "output_ids": turn.token_ids, "meta_info": meta})

    def _check_length(self, characters: int) -> None:
        if characters > self.most_characters:
            told = f"{self.service.positions:,} tokens; found {characters:,} characters"
            raise UserError(f"The maximum model length is {told}.")

    async def _turn(self, *asked: Any) -> Turn:
        return await (await self._begun(*asked))

    async def _begun(
        self,
        name: str,
        prompt: list[int],
        max_tokens: int,
        how: _Sampling,
        seed: int | None,
        hear: Callable[[Sequence[int]], bool] | None = None,
    ) -> asyncio.Future[Turn]:
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
        turn = self.service.sample(name, prompt, max_tokens, sampling, stop_id, seed, hear)
        return asyncio.wrap_future(turn)

    # ---- chat

    def models(self) -> dict[str, Any]:
        model = {"id": self.name, "object": "model", "created": 0, "owned_by": "tripwright"}
        more = {"root": self.name, "max_model_len": self.service.positions}
        return {"object": "list", "data": [{**model, **more}]}

    async def chat(self, asked: _Chat, request: Request) -> Response:
        if asked.tool_choice == "none":
            asked.tools = None
        if asked.model != self.name:
            raise HTTPException(404, f"There is no model '{asked.model}' here but '{self.name}'.")
        session = request.path_params.get("name") or request.headers.get("x-session-id", "")
        # off the event loop, for which everybody waits
        chat, messages, whose, last, read = await to_thread.run_sync(
            self._prepared, asked, session, limiter=self.encoding
        )
        line = last.line() if last else []
        said = sum(len(turn["token_ids"]) for turn in line)
        parts = ("prompt_token_ids", "token_ids")
        prompt = [token for turn in line for part in parts for token in turn[part]] + read
        most = asked.max_completion_tokens or asked.max_tokens
        most = most or max(1, self.service.positions - len(prompt))
        loop, texts = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        stops = [asked.stop] if isinstance(asked.stop, str) else asked.stop or []
        hear = _Hearing(chat.decode, stops, [TOOL_CALL] * bool(asked.tools))
        hear.tell = lambda text: loop.call_soon_threadsafe(texts.put_nowait, text)
        asked.stop_token_ids = [chat.stop_id]
        # an episode's session goes on with the episode's random numbers
        name, heard = f"{session} @{said}", hear if asked.stream or stops else hear.left
        future = await self._begun(name, prompt, most, asked, asked.seed, heard)
        future.add_done_callback(lambda _: texts.put_nowait(None))

        def finish(turn: Turn) -> dict[str, Any]:
            """What is answered without a stream; the turn is kept."""
            choice = _choice(asked, chat, turn, stops)
            kept = asked.model_dump(include={"temperature", "top_p", "top_k"})
            kept |= {"prompt_token_ids": array("i", read), "token_ids": array("i", turn.token_ids)}
            kept |= {"logprobs": array("d", turn.logprobs), "weight_version": self.version}
            kept["finish_reason"] = choice["finish_reason"]
            past = sum(message["role"] == "assistant" for message in messages) - len(line)
            kept["assistant_read"] = past - sum(turn["assistant_read"] for turn in line)
            messages.append(_Message.model_validate(choice["message"]).plain())
            self._keep(whose, _keys([session, asked.tools], messages)[-1], _Said(last, kept))
            return {"choices": [choice], "usage": _usage(prompt, turn)}

        about = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time())}
        about |= {"model": self.name, "object": "chat.completion" + ".chunk" * asked.stream}
        if not asked.stream:
            while not (await asyncio.wait([future], timeout=LEFT_S))[0]:
                hear.given_up = hear.given_up or await request.is_disconnected()
            turn = await future
            if hear.given_up:  # nobody was told it, so it is not kept
                return Response(status_code=499)
            return JSONResponse({**about, **finish(turn)})
        counts = asked.stream_options.get("include_usage", False)
        events = _events(about, hear, texts, future, finish, counts)
        return StreamingResponse(events, media_type="text/event-stream")

    def _prepared(
        self, asked: _Chat, session: str
    ) -> tuple[ChatFormat, list[dict[str, str]], tuple[str, bytes], _Said | None, list[int]]:
        """The conversation and whose it is; its last turn that was said here, and the ids since
        then: all of them, where none was."""
        chat, messages = self.format(json.dumps(asked.tools)), [m.plain() for m in asked.messages]
        if messages[-1]["role"] == "assistant":
            raise UserError("The last message is the assistant's: expected a user's or a tool's.")
        self._check_length(sum(len(m["content"]) for m in messages))
        keys = _keys([session, asked.tools], messages)
        said_at = (n for n, m in enumerate(messages[1:]) if m["role"] == "assistant")
        whose = session, b"" if session else keys[next(said_at, -1)]
        said = self.kept.get(whose, _Kept()).turns
        for number in range(len(keys) - 1, 0, -1):
            if (last := said.get(keys[number - 1])) is not None:
                ended = last.turn["token_ids"][-1] == chat.stop_id
                read = [chat.stop_id] * (not ended) + chat.between(messages[number:])
                return chat, messages, whose, last, read
        return chat, messages, whose, None, chat.prompt(messages)

    def _keep(self, whose: tuple[str, bytes], key: bytes, said: _Said) -> None:
        """Over the bound, sessions that were idle longest are forgotten, each as a whole."""
        turns = [said.turn] if whose in self.kept else said.line()
        kept = self.kept.setdefault(whose, _Kept())
        self.kept.move_to_end(whose)
        kept.turns[key] = said
        for turn in turns:
            tokens = len(turn["prompt_token_ids"]) + len(turn["token_ids"]) + TOKENS_OF_A_TURN
            kept.tokens, self.kept_tokens = kept.tokens + tokens, self.kept_tokens + tokens
        while self.kept_tokens > MOST_KEPT_TOKENS:
            self.kept_tokens -= self.kept.popitem(last=False)[1].tokens
            self.forgotten += 1

    async def session(self, name: str, request: Request) -> Response:
        """Its turns, of which each read the ids since the one before and said its own: one sequence
        where its messages only grew. DELETE forgets it."""
        mine = [whose for whose in self.kept if whose[0] == name]
        said = [each for whose in mine for each in self.kept[whose].turns.values()]
        gone_on = {id(each.before) for each in said}
        if request.method == "DELETE":
            for whose in mine:
                self.kept_tokens -= self.kept.pop(whose).tokens
        ends = [each.line() for each in said if id(each) not in gone_on]
        about = {"session_id": name, "sequences": ends, "forgotten": self.forgotten}
        return Response(json.dumps(about, default=list), media_type="application/json")

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


def _usage(prompt: list[int], turn: Turn) -> dict[str, int]:
    read, said = len(prompt), len(turn.token_ids)
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}


def _choice(asked: _Chat, chat: ChatFormat, turn: Turn, stops: list[str]) -> dict[str, Any]:
    ids = turn.token_ids
    whole = chat.decode(ids if turn.cut else ids[:-1])
    text = whole[: min((whole.find(stop) for stop in stops if stop in whole), default=None)]
    words, calls = calls_of(text) if asked.tools else (text, [])
    message: dict[str, Any] = {"role": "assistant", "content": words or None}
    for call in calls:  # nine letters and digits are what the strictest clients take as an id
        function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
        made = {"id": f"call{uuid.uuid4().hex[:5]}", "type": "function", "function": function}
        message.setdefault("tool_calls", []).append(made)
    pieces: list[dict[str, Any]] = [
        {"token": chat.decode([token]), "logprob": logprob, "bytes": None, "top_logprobs": []}
        for token, logprob in zip(ids, turn.logprobs, strict=True)
        if asked.logprobs
    ]
    ended = "length" if turn.cut and text == whole else "tool_calls" if calls else "stop"
    about = {"index": 0, "finish_reason": ended}
    return {**about, "message": message, "logprobs": {"content": pieces} if pieces else None}


async def _events(
    about: dict[str, Any],
    hear: _Hearing,
    texts: asyncio.Queue[str | None],
    future: asyncio.Future[Turn],
    finish: Callable[[Turn], dict[str, Any]],
    counts: bool,
) -> AsyncIterator[str]:
    """The answer as a stream. `texts`: what is certain of the turn, until None."""

    def event(*choices: dict[str, Any], **more: Any) -> str:
        return f"data: {json.dumps({**about, 'choices': choices, **more})}\n\n"

    def new(**delta: Any) -> str:
        return event({"index": 0, "delta": delta, "finish_reason": None})

    shown = 0
    yield new(role="assistant", content="")
    try:
        while (text := await texts.get()) is not None:
            if len(text) > shown:
                yield new(content=text[shown:])
                shown = len(text)
    finally:
        hear.given_up = True  # whoever read along has left, or it is done
    answer = finish(await future)
    (choice,) = answer["choices"]
    said = choice.pop("message")
    if rest := (said["content"] or "")[shown:]:
        yield new(content=rest)
    if calls := said.get("tool_calls"):
        yield new(tool_calls=[{"index": n, **call} for n, call in enumerate(calls)])
    yield event({**choice, "delta": {}})  # with all log-probabilities, where they are asked for
    if counts:
        yield event(usage=answer["usage"])
    yield "data: [DONE]\n\n"

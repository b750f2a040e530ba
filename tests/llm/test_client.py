"""The client against a real server on this machine, one misbehaviour at a time."""

import base64
import gzip
import json
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from itertools import chain, repeat
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import Pace, backoff_s
from tripwright.llm.http import MAX_ANSWER_MB, retry_after_s
from tripwright.policies.settings import CURES

MESSAGES = [{"role": "user", "content": "Plan a trip."}]
TOOLS = [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}]
Reply = tuple[int, bytes, dict[str, str]] | None  # None: hangs


class Server:
    """Answers the n-th request with the n-th reply, the last one for ever."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.replies: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> Reply:
        self.requests.append({name: value for name, value in request.items() if name != "port"})
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


@pytest.fixture
def server(serve: Callable[..., str]) -> Server:
    return Server(serve)


def endpoint(url: str, **settings: Any) -> ChatEndpoint:
    return ChatEndpoint(
        url, "tiny", **{"timeout_s": 60.0, "max_retries": 2, "first_wait_s": 0.001, **settings}
    )


def answers(body: Any, status: int = 200, **headers: str) -> Reply:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return status, raw, {name.replace("_", "-"): value for name, value in headers.items()}


def says(message: Any, **more: Any) -> Reply:
    return answers({"choices": [{"message": message, "finish_reason": "stop"}], **more})


GOOD = says(
    {"role": "assistant", "content": "Hello."}, usage={"prompt_tokens": 7, "completion_tokens": 2}
)


def test_a_good_answer_and_what_was_sent(server, monkeypatch):
    monkeypatch.setenv("TRIP_KEY", "secret-key")
    server.replies = [GOOD]
    sampling = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 64}
    thinking_off = {"chat_template_kwargs": {"enable_thinking": False}}
    client = endpoint(server.url, api_key_env="TRIP_KEY", extra_body=thinking_off, **sampling)
    completion = client.complete(MESSAGES)
    assert isinstance(completion, Completion) and completion.usage.pop("seconds") > 0
    counts = {"prompt_tokens": 7.0, "completion_tokens": 2.0}
    said = {"role": "assistant", "content": "Hello."}
    assert completion == Completion("Hello.", (), "stop", counts, message=said)
    asked = {"model": "tiny", "messages": MESSAGES, **sampling, **thinking_off}
    place = {"path": "/v1/chat/completions", "key": "Bearer secret-key"}
    assert server.requests == [place | asked]


def test_settings_left_open_are_not_sent_and_no_key_is_needed(server):
    server.replies = [GOOD]
    assert isinstance(endpoint(server.url).complete(MESSAGES), Completion)
    assert set(server.requests[0]) == {"path", "key", "model", "messages"}


def test_odd_text_of_the_model_can_be_sent_back(server):
    server.replies = [answers('{"choices": [{"message": {"content": "a\\ud800b"}}]}')]
    client = endpoint(server.url)
    completion = client.complete(MESSAGES)
    assert isinstance(completion, Completion) and completion.finish_reason is None
    assert isinstance(
        client.complete([*MESSAGES, {"role": "assistant", "content": completion.text}, *MESSAGES]),
        Completion,
    )


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"prompt_tokens": 60, "completion_tokens": 1}, {"prompt_tokens": 60.0}),
        ({"prompt_tokens": 60, "completion_tokens": 10**400}, {"prompt_tokens": 60.0}),
        ({"prompt_tokens": 60, "completion_tokens": True}, {"prompt_tokens": 60.0}),
        ({"prompt_tokens": 0, "completion_tokens": 300}, {"completion_tokens": 300.0}),
        ({"prompt_tokens": -60, "completion_tokens": float("nan")}, {}),
        ("lots", {}),
        (None, {}),
    ],
)
def test_a_count_of_tokens_that_cannot_be_is_ours(server, capsys, usage, told):
    server.replies = [says({"content": "x" * 300}, usage=usage)]
    client = endpoint(server.url)
    for _ in range(2):
        completion = client.complete(MESSAGES)
        assert isinstance(completion, Completion) and completion.usage.pop("seconds") > 0
        sent = len(json.dumps({"model": "tiny", "messages": MESSAGES}))
        ours = {"prompt_tokens": float(-(-sent // 3)), "completion_tokens": 100.0}
        assert completion.usage == {**ours, **told, "uncounted_requests": 1.0}
    assert capsys.readouterr().err.count("counted by us") == 1


@pytest.mark.parametrize(("cached", "kept"), [(5, 5.0), (-5, None), (61, None), ("5", None)])
def test_a_cache_holds_no_more_than_the_prompt(server, cached, kept):
    usage = {"prompt_tokens": 60, "completion_tokens": 1, "prompt_cache_hit_tokens": cached}
    server.replies = [says({"content": "x"}, usage=usage)]
    completion = endpoint(server.url).complete(MESSAGES)
    assert isinstance(completion, Completion) and completion.usage.get("cached_tokens") == kept


NO_COMPLETION = {
    "null": answers("null"),
    "no-choices": answers({"choices": []}),
    "no-message": answers({"choices": [{"finish_reason": "stop"}]}),
    "message-is-text": says("hello"),
    "content-is-number": says({"content": 3}),
    "nameless-call": says({"tool_calls": [{"function": {}}]}),
    "error-with-200": answers({"error": {"message": "overloaded"}}),
}
NO_JSON = {
    "html": answers("<html>Welcome</html>", Content_Type="text/html"),
    "cut-json": answers('{"choices": [{"mess'),
    "empty": answers(""),
    "deep-json": answers("[" * 100_000),
}
BOMB = b" " * int(MAX_ANSWER_MB * 1e6 + 1)
PACKED = {"Content-Encoding": "gzip"}
REFUSED = {
    "bad-gzip": ((200, b"not gzip", PACKED), "header check"),
    "cut-gzip": ((200, gzip.compress(b"[1]" * 99)[:-12], PACKED), "other than JSON"),
    "gzip-bomb": ((200, gzip.compress(BOMB), PACKED), "more than 16 MB"),
    "error-bomb": ((500, gzip.compress(BOMB), PACKED), "more than 16 MB"),
    "large": ((200, BOMB, {}), "more than 16 MB"),
    "packed-otherwise": ((200, b"", {"Content-Encoding": "gzip, br"}), "packed as 'gzip, br'"),
}
TRANSIENT: dict[str, tuple[Reply, str, str]] = {
    "500": (answers({"error": {"message": "boom"}}, 500), "server_error", "500: .*boom"),
    "502-html": (answers("<html>Bad gateway</html>", 502), "server_error", "502"),
    "529": (answers({"error": {"message": "overloaded"}}, 529), "rate_limit", "529: .*overloaded"),
    "429": (answers({"error": {"message": "slow down"}}, 429), "rate_limit", "429: .*slow down"),
    **{name: (reply, "bad_response", "other than JSON") for name, reply in NO_JSON.items()},
    **{name: (reply, "bad_response", "chat completion") for name, reply in NO_COMPLETION.items()},
    **{name: (reply, "bad_response", said) for name, (reply, said) in REFUSED.items()},
    "cut": (answers("{}", Content_Length="9999"), "connection", "cannot be reached"),
}


@pytest.mark.parametrize("what", TRANSIENT)
def test_what_may_pass_is_retried_and_then_a_fault(server, what):
    reply, kind, said = TRANSIENT[what]
    server.replies = [reply]
    fault = endpoint(server.url).complete(MESSAGES)
    assert isinstance(fault, Fault) and (fault.kind, fault.attempts) == (kind, 3)
    assert len(server.requests) == 3
    assert fault.message.isprintable() and len(fault.message) < 400
    assert re.search(said, fault.message), fault.message


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
DRIPPED = {
    "nothing": (b"", b""),
    "status": (b"", b"H"),
    "headers": (HEAD, b"a"),
    "informational": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (HEAD + b"content-length: 99999\r\n\r\n", b" "),
    "stream": (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"8\r\n: wait\n\n\r\n"),
    "packed": (
        HEAD + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"")[:10],
        b"\0\0\0\xff\xff",
    ),
}


@pytest.mark.parametrize("what", DRIPPED)
def test_the_whole_answer_has_timeout_s(raw, what):
    """However little comes at a time, and however soon the next."""
    head, drop = DRIPPED[what]
    client = endpoint(raw(lambda: chain([head], repeat(drop)), 0.02).url, timeout_s=0.3)
    started = time.monotonic()
    fault = client.complete(MESSAGES)
    assert isinstance(fault, Fault) and (fault.kind, fault.attempts) == ("timeout", 3)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(("key", "hidden"), [("e", False), ("s3cret/of+mine?42", True)])
def test_a_key_is_hidden_where_it_is_long_enough_to_be_one(server, monkeypatch, key, hidden):
    """In each of its forms, whatever its variable is called; a letter would garble the rest."""
    monkeypatch.setenv("MY_LOGIN", key)
    said = f"the key {key} and {base64.b64encode(key.encode()).decode()}, {key.encode().hex()}"
    server.replies = [answers({"error": {"message": said}}, 500)]
    fault = endpoint(server.url, api_key_env="MY_LOGIN", max_retries=0).complete(MESSAGES)
    assert isinstance(fault, Fault)
    assert fault.message.endswith("the key *** and ***, ***." if hidden else f"{said}.")


def test_retry_after_is_honoured(server):
    server.replies = [answers({}, 429, Retry_After="0.15"), GOOD]
    started = time.monotonic()
    assert isinstance(endpoint(server.url).complete(MESSAGES), Completion)
    assert time.monotonic() - started >= 0.15


def test_retry_after_is_read_as_number_or_date():
    assert retry_after_s("3") == 3.0
    soon = time.time() + 60
    for date in (formatdate(soon, usegmt=True), time.asctime(time.gmtime(soon))):
        assert 50 < (retry_after_s(date) or 0) <= 60
    never = "Mon, 01 Jan 99999999999999999999 00:00:00"
    for header in (None, "", "soon", "-1", "1e400", "nan", never):
        assert retry_after_s(header) is None


def test_waits_grow_and_are_bounded(server, monkeypatch):
    assert 0.75 <= backoff_s(1.0, 1, 60.0) <= 1.25 and 3.0 <= backoff_s(1.0, 3, 60.0) <= 5.0
    held: list[float] = []
    monkeypatch.setattr(Pace, "hold", lambda pace, seconds: held.append(seconds))
    for wait in ("1e9", formatdate(time.time() + 1e6, usegmt=True), "70"):
        server.replies, server.requests[:] = [answers("{}", 529, retry_after=wait), GOOD], []
        assert isinstance(endpoint(server.url, timeout_s=90.0).complete(MESSAGES), Completion)
    assert held == [90.0, 90.0, 70.0] and backoff_s(1.0, 1000, 60.0) == 60.0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("https://me:pass@inside.example:8443/x?key=1", "'https://inside.example:8443'"),
        ("//169.254.169.254/latest", "'http://169.254.169.254'"),
        ("/v2/\x1b[2J", "'http://127.0.0.1:"),
        ("http://[", "'no address'"),
    ],
)
def test_no_redirect_is_followed(server, status, target, shown):
    server.replies = [answers("{}", status, location=target)]
    with pytest.raises(UserError, match="redirect") as caught:
        endpoint(server.url).complete(MESSAGES)
    assert shown in str(caught.value) and len(server.requests) == 1
    assert str(caught.value).isprintable() and "key=1" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, {"message": "bad key secret-key"}, "OPENAI_API_KEY, which is set"),
        (403, {"message": "not yours"}, "OPENAI_API_KEY, which is set"),
        (404, {"message": "model not found"}, "Check the model 'tiny'"),
        (429, {"message": "no credit", "code": "insufficient_quota"}, "the account"),
        (400, {"message": "The `reasoning_content` must be passed back."}, "--no-native-tools"),
    ],
)
def test_what_will_never_pass_is_the_users_to_mend(server, monkeypatch, status, error, said):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    server.replies = [answers({"error": error}, status)]
    with pytest.raises(UserError) as caught:
        endpoint(server.url, cures=CURES).complete(MESSAGES, TOOLS)
    assert said in str(caught.value) and str(status) in str(caught.value)
    assert "secret-key" not in str(caught.value) and "\n" not in str(caught.value)
    assert len(server.requests) == 1


def filtered(**more: Any) -> Reply:
    return answers({"choices": [{"finish_reason": "content_filter", **more}]})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (answers({"error": {"code": "content_filter", "message": "no"}}, 400), ""),
        (answers({"error": {"message": "Content Exists Risk"}}, 400), ""),
        (filtered(), ""),
        (filtered(message=None), ""),
        (filtered(message={"content": "I am"}), "I am"),
    ],
)
def test_what_a_content_filter_refuses_or_cuts_off_is_a_completion(server, reply, text):
    server.replies = [reply]
    completion = endpoint(server.url).complete(MESSAGES)
    assert isinstance(completion, Completion) and completion.finish_reason == "content_filter"
    assert completion.text == text and completion.usage["prompt_tokens"] > 20
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "too long", "code": "context_length_exceeded"}, "context_overflow"),
        ({"message": "This model's maximum context length is 4096 tokens."}, "context_overflow"),
        ({"message": "tool choice needs --enable-auto-tool-choice"}, "rejected"),
    ],
)
def test_a_refused_request_is_not_repeated(server, error, kind):
    server.replies = [answers({"error": error}, 400)]
    fault = endpoint(server.url).complete(MESSAGES)
    assert isinstance(fault, Fault) and (fault.kind, fault.attempts) == (kind, 1)
    assert error["message"] in fault.message


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "localhost:8000/v1"}, "is not a URL"),
        ({"model": ""}, "No model named"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"max_retries": -1}, "max_retries"),
    ],
)
def test_wrong_settings_are_named(settings, said):
    with pytest.raises(UserError, match=said):
        ChatEndpoint(**{"base_url": "http://x/v1", "model": "tiny", **settings})

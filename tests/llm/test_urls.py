"""A user and a password in a URL are nobody else's to read: not in a message, not in a run card."""

from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Fault
from tripwright.llm.endpoint import shown_url

DEAD = "http://me:S3cret@127.0.0.1:9"  # nobody listens there
SHOWN = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:S3cret@host:8000/v1", "http://host:8000/v1"),
        ("https://S3cret@host/v1", "https://host/v1"),
        ("http://me:a@S3cret@host/v1", "http://host/v1"),
        ("me:S3cret@host/v1", "host/v1"),  # no URL: shown when it is refused
        ("http://me:S3cret@[host/v1", "http://[host/v1"),
        ("http://host/v1/@me", "http://host/v1/@me"),
        ("http://host/v1?to=me@host", "http://host/v1?to=me@host"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("", ""),
    ],
)
def test_user_and_password_are_left_out_and_nothing_else(url, shown):
    assert shown_url(url) == shown


def test_a_dead_endpoints_fault_does_not_say_them():
    endpoint = ChatEndpoint(f"{DEAD}/v1", "m", max_retries=1, first_wait_s=0.001)
    fault = endpoint.complete([{"role": "user", "content": "Hello."}])
    assert isinstance(fault, Fault) and fault.message.startswith(f"{SHOWN}/v1 cannot be reached")
    assert "S3cret" not in fault.message + repr(endpoint)
    assert (fault.kind, fault.attempts) == ("connection", 2)


@pytest.mark.parametrize(
    ("status", "body"), [(500, b"{}"), (400, b"{}"), (200, b"{}"), (200, b"no JSON")]
)
def test_they_are_sent_and_not_said(serve, status, body):
    keys: list[str] = []

    def answer(asked: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        keys.append(asked["key"])
        return status, body, {}

    endpoint = ChatEndpoint(
        serve(answer).replace("http://", "http://me:S3cret@"), "m", max_retries=0
    )
    fault = endpoint.complete([{"role": "user", "content": "Hello."}])
    assert isinstance(fault, Fault) and fault.message.startswith("http://127.0.0.1:")
    assert keys == ["Basic bWU6UzNjcmV0"]


def test_a_refusal_does_not_say_them(serve):
    url = serve(lambda _: (401, b"{}", {})).replace("http://", "http://me:S3cret@")
    with pytest.raises(UserError) as refused:
        ChatEndpoint(url, "m").complete([{"role": "user", "content": "Hello."}])
    with pytest.raises(UserError) as no_url:
        ChatEndpoint("ftp://me:S3cret@host/v1", "m")
    assert "S3cret" not in f"{refused.value}{no_url.value}"

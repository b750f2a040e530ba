"""A vendor who means harm, on real sockets: it floods, redirects, repeats keys. How it drips and
packs, tests/llm/test_client.py says: both ask through one `Endpoint`."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import python
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox
from tripwright.llm.http import ProviderFault, Redaction

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
KEY = "s3cret/of+mine?42"
TABLE: Any = {"params": {"q": "{query}"}, "rows": "found"}


def fault_of(work: Callable[[], object]) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        work()
    return caught.value


def server_at(url: str, **options: Any) -> Any:
    """A service, asked for one tool."""
    pytest.importorskip("jmespath")
    from tripwright.domains.deeptravel.vendors.http import HttpMap, HttpOptions, HttpProvider

    table = HttpMap(url=url, **TABLE)
    return HttpProvider("http", HttpOptions(maps={"web_search": table}, **options))


def fault_at(url: str, **options: Any) -> ProviderFault:
    return fault_of(lambda: server_at(url, **options).ask("web_search", {"query": "x"}))


def endless() -> Iterator[bytes]:
    yield CHUNKED
    while True:
        yield b"10000\r\n" + b" " * 65536 + b"\r\n"


def test_an_answer_is_read_to_its_limit_and_no_further(raw):
    """In a process of its own, whose memory is measured: blanks without end."""
    pytest.importorskip("jmespath")
    code = f"""
import resource
from tests.domains.deeptravel.sandbox.vendors.test_hostile_vendors import fault_at
import httpx2, jmespath
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fault = fault_at({raw(endless).url!r}, timeout_s=30)
print(fault.kind, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, fault)
"""
    ran = python("-c", code)
    kind, grown_mb, *message = ran.stdout.split()
    assert kind == "bad_response" and "more than 16 MB" in " ".join(message), ran.stderr
    assert int(grown_mb) < 80, ran.stdout


# ---- keys


def test_a_key_in_the_path_comes_from_a_variable_and_is_written_nowhere(vendor, monkeypatch):
    monkeypatch.setenv("MAPS_PASS", KEY)  # a name that says nothing
    vendor.says(f"no: {KEY}", 500)
    fault = fault_at(f"{vendor.base_url}/{{MAPS_PASS}}/v1")
    assert vendor.asked[0][0] == "/s3cret%2Fof%2Bmine%3F42/v1?q=x"
    assert not any(secret in str(fault) for secret in (KEY, "s3cret%2F"))


def test_a_variable_that_a_services_file_names_is_hidden_whatever_its_name(tmp_path, monkeypatch):
    pytest.importorskip("jmespath")
    monkeypatch.setenv("RAIL_LOGIN", KEY)
    path = tmp_path / "live.toml"
    path.write_text(
        "[tools]\nweb_search = 'http-rail'\n[vendors.http-rail]\n"
        "headers.x-key = '{RAIL_LOGIN}'\n[vendors.http-rail.maps.web_search]\n"
        "url = 'https://rail.example/{query}'\n"
    )
    sandbox = Sandbox(load_services(path))
    question = sandbox.question("web_search", {"query": f"my {KEY}"})
    assert question.arguments == '{"query":"my ***"}'


def ways_to_write(key: str) -> Iterator[str]:
    raw = key.encode()
    for text in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        yield from (text, text.rstrip("="))
    yield from (raw.hex(), raw.hex().upper())
    yield "".join(f"%{byte:02x}" for byte in raw)
    yield "".join(f"%{byte:02X}" for byte in raw)


@pytest.mark.parametrize("key", [KEY, "a" * 8, "ab" * 16, "x9!" * 7, "é~ü" * 4])
def test_a_key_is_hidden_in_base64_in_hexadecimal_digits_and_in_urls(key):
    hide = Redaction({"MY_KEY": key})
    for written in ways_to_write(key):
        assert hide(f"[{written}]") == "[***]", written
    for user in ("", "m", "me", "you"):  # wherever it begins in base64: only its last bits stay
        hidden = hide(base64.b64encode(f"{user}:{key}".encode()).decode())
        assert "***" in hidden and len(hidden) < 15


def test_a_redirect_is_not_followed_and_takes_no_key_along(vendor, raw):
    elsewhere = raw(lambda: iter([OK + b"content-length: 2\r\n\r\n{}"]))
    for location in (f"{elsewhere.url}/x", "file:///etc/passwd"):
        vendor.says("", 307, {"location": location})
        shown = location.removesuffix("/x").removesuffix("/etc/passwd")
        assert f"a redirect to '{shown}'" in str(fault_at(vendor.base_url))
    assert elsewhere.paths == []

"""A vendor who means harm, on real sockets: it drips, floods, packs, repeats keys."""

from __future__ import annotations

import base64
import gzip
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox
from tripwright.domains.deeptravel.sandbox.services import load_services
from tripwright.domains.deeptravel.sandbox.store import open_store
from tripwright.domains.deeptravel.vendors.nominatim import Nominatim
from tripwright.errors import UserError
from tripwright.tools.http import HttpCaller, Redaction

Pieces = Callable[[], Iterator[bytes]]
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
KEY = "s3cret/of+mine?42"


class Raw:
    """Answers every connection with the same bytes, piece by piece, until the test ends."""

    def __init__(self, pieces: Pieces, pause_s: float = 0.0):
        self.pieces, self.pause_s, self.ended = pieces, pause_s, threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.paths: list[str] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=self.answer, args=(self.listening.accept()[0],), daemon=True
                ).start()

    def answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.paths.append(connection.recv(65536).decode("latin-1").split(" ")[1])
            for piece in self.pieces():
                if self.ended.wait(self.pause_s):
                    return
                connection.sendall(piece)

    def close(self) -> None:
        self.ended.set()
        self.listening.close()


@pytest.fixture
def raw() -> Iterator[Callable[..., Raw]]:
    started: list[Raw] = []

    def start(pieces: Pieces, pause_s: float = 0.0) -> Raw:
        started.append(Raw(pieces, pause_s))
        return started[-1]

    yield start
    for server in started:
        server.close()


def drip(head: bytes) -> Pieces:
    def pieces() -> Iterator[bytes]:
        yield head
        while True:
            yield b"x"

    return pieces


def fault_of(work: Callable[[], object]) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        work()
    return caught.value


@pytest.mark.parametrize(
    "head",
    [b"", OK + b"x-long: ", OK + b"content-length: 100000\r\n\r\n", CHUNKED + b"fffff\r\n"],
    ids=["status", "headers", "body", "chunks"],
)
def test_an_attempt_ends_after_timeout_s_however_slowly_the_answer_drips(
    raw: Callable[..., Raw], head: bytes
) -> None:
    """Each read gets its byte in time; the attempt as a whole has none."""
    vendor = Nominatim(base_url=raw(drip(head), pause_s=0.05).url, timeout_s=0.6)
    began = time.monotonic()
    fault = fault_of(lambda: vendor.ask("poi_search", {"query": "Tate", "city_name": "London"}))
    assert fault.kind == "timeout" and "did not answer within 0.6 s" in str(fault)
    assert time.monotonic() - began < 5  # dripping, it would take hours


@pytest.mark.parametrize(
    "head",
    [b"", OK + b"content-type: application/json\r\ncontent-length: 100000\r\n\r\n"],
    ids=["status", "body"],
)
def test_an_attempt_at_an_mcp_server_ends_too(raw: Callable[..., Raw], head: bytes) -> None:
    pytest.importorskip("mcp")
    from tripwright.domains.deeptravel.vendors.mcp import McpProvider
    from tripwright.domains.deeptravel.vendors.mcp_session import McpServer

    provider = McpProvider(
        McpServer(url=raw(drip(head), pause_s=0.05).url, timeout_s=0.6), {}, ("weather",)
    )
    began = time.monotonic()
    assert fault_of(lambda: provider.ask("weather", {})).kind == "timeout"
    assert time.monotonic() - began < 5


def test_an_attempt_at_an_mcp_command_ends_too() -> None:
    pytest.importorskip("mcp")
    from tripwright.domains.deeptravel.vendors.mcp import McpProvider
    from tripwright.domains.deeptravel.vendors.mcp_session import McpServer

    drips = "import time\nwhile True: print('{', end='', flush=True); time.sleep(0.05)"
    server = McpServer(command=[sys.executable, "-c", drips], timeout_s=1.0)
    provider = McpProvider(server, {}, ("weather",))
    began = time.monotonic()
    assert fault_of(lambda: provider.ask("weather", {})).kind == "timeout"
    assert time.monotonic() - began < 5
    provider.close()


def packed(name: str, megabytes: int) -> Pieces:
    def pieces() -> Iterator[bytes]:
        pack = zlib.compressobj(9, zlib.DEFLATED, 31 if name == "gzip" else 15)
        yield OK + f"content-encoding: {name}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        for _ in range(megabytes):
            if piece := pack.compress(b" " * 1_000_000):
                yield b"%x\r\n%s\r\n" % (len(piece), piece)
        piece = pack.flush()
        yield b"%x\r\n%s\r\n0\r\n\r\n" % (len(piece), piece)

    return pieces


def endless() -> Iterator[bytes]:
    yield CHUNKED
    while True:
        yield b"10000\r\n" + b" " * 65536 + b"\r\n"


@pytest.mark.parametrize(
    "pieces", [packed("gzip", 300), packed("deflate", 300), endless], ids=["gzip", "deflate", "raw"]
)
def test_an_answer_is_read_to_max_answer_mb_and_no_further(
    raw: Callable[..., Raw], pieces: Pieces
) -> None:
    """In a process of its own, whose memory is measured: three hundred megabytes of blanks."""
    code = f"""
import resource
from tripwright.tools.http import HttpCaller, ProviderFault
import httpx2, tripwright.tools.http
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    HttpCaller({raw(pieces).url!r}, max_answer_mb=5).get("/")
except ProviderFault as fault:
    print(fault.kind, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, fault)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    kind, grown_mb, *message = ran.stdout.split()
    assert kind == "bad_response" and "answered with more than 5 MB" in " ".join(message)
    assert int(grown_mb) < 60, ran.stdout


def test_encodings_that_nobody_here_unpacks_are_no_answer(vendor: Any) -> None:
    for name in ("br", "zstd", "gzip, gzip, gzip, gzip, gzip, gzip", "nonsense"):
        vendor.on("*", vendor.answer(gzip.compress(b"{}"), headers={"content-encoding": name}))
        fault = fault_of(lambda: HttpCaller(vendor.base_url).get("/"))
        assert fault.kind in ("bad_response", "connection"), name


def test_the_limit_is_set_in_the_services_file(vendor: Any, tmp_path: Path) -> None:
    path = tmp_path / "live.toml"
    text = f"""
        [tools]
        poi_search = "nominatim"
        [vendors.nominatim]
        base_url = "{vendor.base_url}"
        max_answer_mb = """
    vendor.on("/search", "[" + " " * 3000 + "]")
    path.write_text(f"{text}0.002")
    ask = load_services(path)["poi_search"].ask
    fault = fault_of(lambda: ask("poi_search", {"query": "Tate", "city_name": "London"}))
    assert "more than 0.002 MB" in str(fault)
    path.write_text(f"{text}0.004")
    asked = load_services(path)["poi_search"].ask("poi_search", {"query": "T", "city_name": "L"})
    assert asked.records == ()
    path.write_text(f"{text}0")
    with pytest.raises(UserError, match="max_answer_mb"):
        load_services(path)


@pytest.mark.parametrize(
    "wait", ["nan", "-1", "1e400", "Mon, 01 Jan 99999999999999999999 00:00:00"]
)
def test_a_wait_that_is_none_is_no_wait(vendor: Any, wait: str) -> None:
    vendor.on("*", vendor.answer("", 429, headers={"retry-after": wait}))
    fault = fault_of(lambda: HttpCaller(vendor.base_url).get("/"))
    assert (fault.kind, fault.retry_after_s) == ("rate_limit", None)


@pytest.mark.parametrize("packed_too", [False, True])
def test_an_mcp_server_is_limited_too(vendor: Any, packed_too: bool) -> None:
    pytest.importorskip("mcp")
    from tripwright.domains.deeptravel.vendors.mcp import McpProvider
    from tripwright.domains.deeptravel.vendors.mcp_session import McpServer

    body = b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "' + b"a" * 2_000_000
    headers = {"content-encoding": "gzip"} if packed_too else {}
    vendor.on("*", vendor.answer(gzip.compress(body) if packed_too else body, headers=headers))
    server = McpServer(url=f"{vendor.base_url}/mcp", timeout_s=5, max_answer_mb=1)
    fault = fault_of(lambda: McpProvider(server, {}, ("weather",)).ask("weather", {}))
    assert fault.kind == "bad_response"
    assert "packed" in str(fault) or "more than 1 MB" in str(fault)


# ---- keys


def test_a_key_in_the_path_comes_from_a_variable_and_is_written_nowhere(
    vendor: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAPS_PASS", KEY)  # a name that says nothing
    vendor.on("*", [{"lat": "51.5", "lon": "-0.12", "display_name": f"Tate {KEY}, London"}])
    path = tmp_path / "live.toml"
    path.write_text(
        f"""
        [tools]
        poi_search = "nominatim"
        [vendors.nominatim]
        base_url = "{vendor.base_url}/{{MAPS_PASS}}/v1"
        requests_per_second = 0
        """
    )
    store = open_store(str(tmp_path / "live.sqlite"))
    services = load_services(path, store)
    sandbox = Sandbox(services, store, "record", "2026-06-20")
    asked = sandbox.ask("poi_search", {"query": "Tate", "city_name": "London"})
    store.close()
    assert vendor.paths() == ["/s3cret%2Fof%2Bmine%3F42/v1/search"]
    assert f"server={vendor.base_url}/{{MAPS_PASS}}/v1" in services["poi_search"].version
    assert "***" in asked.answer.to_json()  # type: ignore[union-attr]
    vendor.on("*", vendor.answer(f"no: {KEY}", 500))
    ask = services["poi_search"].ask
    fault = fault_of(lambda: ask("poi_search", {"query": "b", "city_name": "c"}))
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("live.sqlite*"))
    for secret in (KEY, "s3cret%2Fof%2Bmine%3F42"):
        assert secret not in f"{fault}{services['poi_search'].version}"
        assert secret.encode() not in kept


@pytest.mark.parametrize(
    "url",
    [
        "https://maps.example/s3cret-of-mine-42/v1",
        "https://maps.example/AbCdEfGhIjKl1234",
        "https://maps.example/v1/0123456789abcdef",
        "https://maps.example/" + "deadbeefcafe" * 3,
        "https://{MAPS_PASS}/v1",
    ],
)
def test_a_key_that_is_written_into_an_address_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPS_PASS", KEY)
    with pytest.raises(UserError) as refusal:
        Nominatim(base_url=url)
    assert not any(part in str(refusal.value) for part in ("s3cret", "AbCd", "0123", "dead"))


@pytest.mark.parametrize(
    "path", ["", "/", "/v1/api", "/nominatim/search.php", "/otp-routing/api/v2"]
)
def test_a_plain_path_is_none(path: str) -> None:
    assert Nominatim(base_url=f"https://maps.example{path}").version


def test_a_variable_of_an_address_that_is_not_set_is_named() -> None:
    with pytest.raises(UserError, match="NO_SUCH_VARIABLE, which is not set"):
        Nominatim(base_url="https://maps.example/{NO_SUCH_VARIABLE}")


def test_a_variable_that_a_services_file_names_is_hidden_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setenv("RAIL_LOGIN", KEY)
    path = tmp_path / "live.toml"
    path.write_text(
        "[tools]\nweather = 'mcp-rail'\n[vendors.mcp-rail]\ncommand = ['rail']\n"
        "env = ['RAIL_LOGIN']\nown = ['weather']\n"
    )
    sandbox = Sandbox(load_services(path))
    assert sandbox.question("weather", {"city": f"my {KEY}"}).arguments == '{"city":"my ***"}'


def ways_to_write(key: str) -> Iterator[str]:
    raw = key.encode()
    for text in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        yield from (text, text.rstrip("="))
    yield from (raw.hex(), raw.hex().upper())
    yield "".join(f"%{byte:02x}" for byte in raw)
    yield "".join(f"%{byte:02X}" for byte in raw)


@pytest.mark.parametrize("key", [KEY, "a" * 8, "ab" * 16, "x9!" * 7, "é~ü" * 4])
def test_a_key_is_hidden_in_base64_in_hexadecimal_digits_and_in_urls(key: str) -> None:
    hide = Redaction({"MY_KEY": key})
    for written in ways_to_write(key):
        assert hide(f"[{written}]") == "[***]", written
    for user in ("", "m", "me", "you"):  # wherever it begins in base64: only its last bits stay
        hidden = hide(base64.b64encode(f"{user}:{key}".encode()).decode())
        assert "***" in hidden and len(hidden) < 15


# ---- what a terminal and a reader get


def test_a_message_holds_no_control_characters(vendor: Any) -> None:
    vendor.on("*", vendor.answer("\x1b[2J\x1b]0;owned\x07 no\u202e\x00", 500))
    fault = fault_of(lambda: HttpCaller(vendor.base_url).get("/"))
    assert str(fault).isprintable()


def test_a_redirect_is_not_followed_and_takes_no_key_along(
    vendor: Any, raw: Callable[..., Raw]
) -> None:
    elsewhere = raw(lambda: iter([OK + b"content-length: 2\r\n\r\n{}"]))
    for location in (f"{elsewhere.url}/x", "file:///etc/passwd"):
        vendor.on("*", vendor.answer("", 307, {"location": location}))
        with suppress(Exception):
            HttpCaller(vendor.base_url, {"authorization": KEY}).get("/")
    assert elsewhere.paths == []

"""How every server here runs: a port that is opened first, uvicorn's workers behind it, what they
say on stderr, bodies of bounded size, and a documentation page with scripts from this server alone.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import asdict
from functools import partial
from multiprocessing import parent_process
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.supervisors import Multiprocess

from tripwright.domains.desk import FormProblems
from tripwright.errors import NotJson, UserError, read_json
from tripwright.progress import HarmlessOutput
from tripwright.server.guard import BoundedProtocol, guarded, problem
from tripwright.tools.toolbox import ToolHostDown


def say(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # its reader left, its disk is full, or it was closed
        return


async def refused(_: Request, error: Exception, mistake: int = 422) -> Response:
    """The answer in place of what a route raised; `mistake`: the status of a UserError."""
    match error:
        case HTTPException():
            return problem(error.status_code, str(error.detail), headers=dict(error.headers or {}))
        case RequestValidationError():
            problems = [
                {"field": ".".join(map(str, each["loc"][1:])), "message": each["msg"]}
                for each in error.errors()
            ]
            words = "; ".join(": ".join(filter(None, each.values())) for each in problems)
            return problem(mistake, words, [{**each, "nearest": []} for each in problems])
        case NotJson():
            return problem(400, f"The body is not JSON ({error}).")
        case FormProblems():
            return problem(mistake, str(error), [asdict(each) for each in error.problems])
        case UserError():
            return problem(mistake, str(error))
        case ToolHostDown():
            return problem(503, str(error))
    say(traceback.format_exc())
    return problem(500, "The server failed on this request; its log says why.")


def refusals(mistake: int = 422) -> dict[Any, Any]:
    """FastAPI's `exception_handlers`."""
    kinds = (HTTPException, RequestValidationError, UserError, ToolHostDown, Exception)
    return dict.fromkeys(kinds, partial(refused, mistake=mistake))


def within(receive: Receive, most_bytes: int) -> Receive:
    """ASGI: what comes of a request. Whoever reads more than so large a body meets a 413."""
    size = 0

    async def receive_some() -> MutableMapping[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most_bytes:
            raise HTTPException(413, f"The body is larger than {most_bytes:,} bytes.")
        return message

    return receive_some


class OneReader:
    """ASGI: before an app whatever JSON it is sent was read as all JSON is here, so that a key that
    comes twice in an object is refused; but at `own`, where the app sees to that."""

    def __init__(self, app: ASGIApp, most_bytes: int, own: str = ""):
        self._app, self._most_bytes, self._own = app, most_bytes, own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        request = Request(scope, within(receive, self._most_bytes))
        try:
            body = await request.body()
            if body and scope["path"] != self._own:
                read_json(body)
        except ClientDisconnect:
            return None  # nobody waits for it
        except (HTTPException, NotJson) as error:
            return await (await refused(request, error))(scope, receive, send)
        read = iter([{"type": "http.request", "body": body}])

        async def receive_again() -> MutableMapping[str, Any]:
            return next(read, None) or await receive()

        await self._app(scope, receive_again, send)


FILES = "/docs-files"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)


def add_docs(app: FastAPI) -> None:
    """GET /docs, of an app that was made with `docs_url=None`, and GET /metrics."""
    app.add_api_route("/metrics", metrics, include_in_schema=False)
    app.mount(FILES, StaticFiles(packages=[("fastapi_offline", "static")]))

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
            swagger_css_url=f"{FILES}/swagger-ui.css",
            swagger_favicon_url=f"{FILES}/favicon.png",
        )
        return HTMLResponse(page.body, headers={"Content-Security-Policy": POLICY})


COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def open_port(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free one. Raises UserError where it cannot be had."""
    if not 0 <= port <= 65_535:
        raise UserError(f"Port {port} does not exist: expected 1 to 65535, or 0 for any free one.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except socket.gaierror:
        raise UserError(
            f"Host '{host}' is no address of this machine: expected one like 127.0.0.1 or 0.0.0.0."
        ) from None
    except OSError as error:
        why = (
            "is already in use"
            if error.errno == errno.EADDRINUSE
            else f"cannot be opened ({os.strerror(error.errno or 0)})"
        )
        raise UserError(
            f"Port {port} of {host} {why}. Choose another with --port; --port 0 takes any free one."
        ) from None


def url_of(listener: socket.socket) -> str:
    """Where a client on this machine finds the listener."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(
    make: Callable[[], ASGIApp],
    host: str,
    port: int,
    workers: int,
    announce: Callable[[str], str],
    allow_host: Sequence[str] | None = None,
    proxy: Sequence[str] | None = None,
    allow_origin: Sequence[str] | None = None,
) -> int:
    """Until SIGTERM or Ctrl-C; the exit code. `make` is pickled, and called in each worker;
    `announce` makes the line on stderr of the address. `proxy`: those whose word on a client's
    address is taken."""
    config = uvicorn.Config(
        partial(_in_worker, make, host, allow_host or (), allow_origin or ()),
        factory=True,
        workers=workers,
        http=BoundedProtocol,
        ws="none",
        log_config=None,  # warnings and tracebacks still reach stderr
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxy),
        forwarded_allow_ips=list(proxy or ()),
        # an agent thinks between two calls, and its connection should still be there
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        timeout_worker_healthcheck=30,  # loading a model may hold up the thread that answers it
    )
    metrics = TemporaryDirectory(prefix="tripwright-metrics-")
    with open_port(host, port) as listener, metrics as folder:
        os.environ[COUNTS_FOLDER] = folder
        os.environ["PYTHONSAFEPATH"] = "1"  # workers import nothing from the current folder
        supervisor = _Workers(config, [listener])
        # signals are heeded from here on; requests wait for the first worker
        say(announce(url_of(listener)))
        supervisor.run()
    # below 0: stopped by our signal; above: could not start
    return max(0, *(worker.exitcode or 0 for worker in supervisor.processes))


class _Workers(Multiprocess):
    def init_processes(self) -> None:
        """A terminal's Ctrl-C reaches workers too, which do not heed it before they serve."""
        heed = signal.signal(signal.SIGINT, signal.SIG_IGN)  # and what starts now inherits that
        super().init_processes()
        signal.signal(signal.SIGINT, heed)


def _in_worker(
    make: Callable[[], ASGIApp], host: str, allow_host: Sequence[str], origins: Sequence[str]
) -> ASGIApp:
    Thread(target=_stop_with_parent, daemon=True).start()
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # a connection is one of them
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    if sys.stderr is not None:  # uvicorn's own lines and tracebacks, too
        sys.stderr = HarmlessOutput(sys.stderr)
    app = guarded(make(), host, allow_host, origins)
    gc.collect()
    gc.freeze()  # what is loaded now stays: the collector need not look at it again
    return app


def _stop_with_parent() -> None:
    """A supervisor that was killed leaves its workers, who would keep the port."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def metrics() -> Response:
    """The counts of all workers, the dead included, in Prometheus' text format."""
    registry = REGISTRY
    if COUNTS_FOLDER in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

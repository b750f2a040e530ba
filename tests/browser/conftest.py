"""Debian's Chromium without a window, driven over its debugging pipe: a page that people use is
tested as people use it."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 60
FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --disable-extensions --disable-dev-shm-usage --remote-debugging-pipe
""".split()


class Browser:
    """One Chromium with one page at a time. Messages are JSON, each ended by a zero byte (the
    DevTools protocol's pipe)."""

    def __init__(self, program: str, profile: Path):
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        command = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._number, self._unread = 0, b""
        self._session: str | None = None
        self.requested: list[str] = []  # addresses that the page asked for
        # errors and uncaught exceptions of the page, refused loads among them
        self.complaints: list[str] = []

    def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._hear(answer)

    def open(self, url: str, width: int = 1440, height: int = 900, dark: bool = False) -> None:
        """A fresh page with storage of its own."""
        self._session = None
        context = self.ask("Target.createBrowserContext")["browserContextId"]
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=context)[
            "targetId"
        ]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        mobile = width < 600
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        schemes = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[*schemes, {"name": "prefers-reduced-motion", "value": "reduce"}],
        )
        self.requested.clear()
        self.complaints.clear()
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.js(f"Boolean({expression})"):
            assert time.monotonic() < deadline, self._instead(expression)
            time.sleep(0.02)

    def _instead(self, expression: str) -> str:
        state = self.js(
            "[document.activeElement.id, document.visibilityState, document.body.innerText]"
        )
        return f"it never came true: {expression}; focus, visibility and text: {state}; complaints: {self.complaints}"

    def text(self, selector: str) -> str:
        return str(self.js(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """With the mouse, at the middle of the element, after scrolling it into view."""
        place = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, *keys: str) -> None:
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = {"Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9}.get(
                key, ord(key.upper()[0])
            )
            self.ask(
                "Input.dispatchKeyEvent",
                type="keyDown",
                key=key,
                text=text,
                windowsVirtualKeyCode=code,
            )
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\0" not in self._unread:
            assert select.select([self._from], [], [], max(0, deadline - time.monotonic()))[0], (
                "the browser does not answer"
            )
            read = os.read(self._from, 1 << 20)
            assert read, "the browser has ended"
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))

    def _hear(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requested.append(said["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(said["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.complaints.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None or shutil.which("bash") is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    found = Browser(program, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def opened(browser: Browser) -> Callable[..., Browser]:
    """opened(url, width=…, height=…, dark=…) → the browser with that page."""

    def go(url: str, **size: Any) -> Browser:
        browser.open(url, **size)
        return browser

    return go

"""Runs the shell lines of a page of docs/ as written, but for the ports, which are free ones."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def shell_lines(section: str) -> list[str]:
    """Of the `sh` blocks; a line that ends in a backslash goes on in the next."""
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in re.split(r"(?<!\\)\n", block.strip())]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


class Walk:
    """`ports` are those that the page names. What starts a server (`python`, `tripwright serve`,
    which listens at 8000) goes on beside the other lines until the end."""

    def __init__(self, folder: Path, ports: Sequence[str]):
        self.folder, self.ports = folder, {each: free_port() for each in ports}
        bin = Path(sys.executable).parent
        self.env = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}

    def placed(self, text: str) -> str:
        for port, own in self.ports.items():
            text = re.sub(rf"\b{port}\b", own, text)
        return text

    def printed(self, lines: Sequence[str]) -> list[str]:
        """By each line that starts no server."""
        servers, printed = [], []
        try:
            for line in lines:
                if line.startswith("export "):
                    name, _, value = line.removeprefix("export ").partition("=")
                    self.env[name] = value
                elif line.startswith(("python examples", "tripwright serve")):
                    more = " --port 8000" if line.startswith("tripwright") else ""
                    words = self.placed(line + more).split()
                    quiet = subprocess.DEVNULL
                    servers.append(
                        subprocess.Popen(words, cwd=self.folder, env=self.env, stderr=quiet)
                    )
                    self.reach(words[-1])
                elif not line.startswith("pip "):
                    done = subprocess.run(
                        self.placed(line),
                        shell=True,
                        cwd=self.folder,
                        env=self.env,
                        capture_output=True,
                        text=True,
                    )
                    assert done.returncode == 0, (line, done.stderr)
                    printed.append(done.stdout)
        finally:
            for server in servers:
                server.terminate()
                server.wait(20)
        return printed

    def reach(self, port: str) -> None:
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", int(port))).close()
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"nobody listens at {port}")

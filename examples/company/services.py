"""Two little HTTP services of a made-up company, trains and stays, each with a JSON of its own:
what examples/company/services.toml puts behind the live tools (docs/live-tools.md).

    COMPANY_KEY=a-key-of-ours python examples/company/services.py 8101 8102
"""

import json
import os
import sys
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

CITIES = ("Munich", "Salzburg", "Vienna")
TRAINS = (("RJ 63", "07:28", "11:30", 54.9), ("ICE 21", "11:22", "15:18", 79.9))
STAYS = (
    ("Pension Anna", "Burggasse 4", 2, 84.0, 3.9),
    ("Hotel Post", "Postgasse 1", 3, 131.5, 4.4),
)


def trains(path: str, asked: dict[str, str]) -> tuple[int, object]:
    if not {asked["from"], asked["to"]} <= {*CITIES}:
        return 404, {"reason": "unknown city"}
    connections = [
        {
            "train": {"id": number, "operator": "Own Rail"},
            "dep": {"station": f"{asked['from']} Hbf", "at": f"{asked['date']}T{leaves}:00+01:00"},
            "arr": {"station": f"{asked['to']} Hbf", "at": f"{asked['date']}T{arrives}:00+01:00"},
            "fare": {"amount": fare, "currency": "EUR"},
        }
        for number, leaves, arrives, fare in TRAINS
    ]
    return 200, {"data": {"connections": connections}}


def stays(path: str, asked: dict[str, str]) -> tuple[int, object]:
    city = unquote(path.rpartition("/")[2])
    nights = (date.fromisoformat(asked["out"]) - date.fromisoformat(asked["in"])).days
    items = [
        {
            "hotel": {"title": name, "street": f"{street}, {city}", "stars": stars},
            "offer": {"sleeps": sleeps, "total": {"value": f"{night * nights:.2f}", "iso": "EUR"}},
        }
        for name, street, sleeps, night, stars in STAYS
        if city in CITIES and asked.get("name", "") in name
    ]
    return 200, {"items": items}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        status, body = 401, {"reason": "who are you?"}  # type: tuple[int, object]
        if self.headers["X-Api-Key"] == os.environ["COMPANY_KEY"]:
            answer = trains if parts.path == "/v2/trains" else stays
            status, body = answer(parts.path, dict(parse_qsl(parts.query)))
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


if __name__ == "__main__":
    servers = [ThreadingHTTPServer(("127.0.0.1", int(port)), Handler) for port in sys.argv[1:]]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()

"""The functions of examples/vendors, each against its vendor's answers as the documentation shows
them (recorded.json). No server is asked."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.world.generator import build_tables
from tripwright.world.store import write_world

httpx2 = pytest.importorskip("httpx2")

FOLDER = Path(__file__).parents[5] / "examples" / "vendors"
RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-dev-4dF7secret0kEy")
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", "duffel_test_s3cret-of-mine")


@pytest.mark.parametrize("function", RECORDED)
def test_a_vendors_published_answer_becomes_rows(function, tmp_path, monkeypatch):
    recorded = RECORDED[function]
    asked = []

    def answer(self: Any, request: Any) -> Any:
        where = unquote_plus(request.url.raw_path.decode())
        fitting = [path for path in recorded["answers"] if where.startswith(path)]
        asked.append(max(fitting, key=len))
        return httpx2.Response(200, json=recorded["answers"][asked[-1]], request=request)

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", answer)
    services = tmp_path / "live.toml"
    where = (FOLDER / function).as_posix()
    services.write_text(
        f"[tools]\n{recorded['tool']} = 'python'\n[vendors.python]\nfunction = '{where}'\n"
    )
    provider = load_services(services)[recorded["tool"]]
    found = json.loads(provider.ask(recorded["tool"], recorded["call"]).to_json())
    kind = RECORDS[recorded["tool"]].__name__.replace("PointOfInterest", "Place")
    assert found["records"] == [{"kind": kind, **row} for row in recorded["rows"]], found["note"]
    assert set(asked) == recorded["answers"].keys()


def test_the_services_file_beside_them_answers_all_six_tools():
    services = load_services(FOLDER / "live.toml")
    assert list(services) == list(RECORDS)
    assert all(tool in provider.tools for tool, provider in services.items())


def test_what_that_file_shows_as_a_comment_works_too(tmp_path, monkeypatch):
    monkeypatch.setenv("RAIL_TOKEN", "s3cret-of-the-rail")
    write_world(tmp_path / "world", build_tables("nano", 7))
    text = (FOLDER / "live.toml").read_text(encoding="utf-8")
    shown = [part.partition("\n# [")[2] for part in text.split("\n\n") if "\n# [" in part]
    assert len(shown) == 2
    for part in shown:
        tables = "[" + part.replace("\n# ", "\n").replace("worlds/small", str(tmp_path / "world"))
        if "python-tavily" in tables:
            tools = '[tools]\nweb_search = "python-tavily"\n'
            tables = tools + tables.replace("tavily.py", f"{FOLDER}/tavily.py")
        (tmp_path / "live.toml").write_text(tables)
        assert len(load_services(tmp_path / "live.toml")) == 1


def test_an_example_is_short():
    for path in FOLDER.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 60, path.name

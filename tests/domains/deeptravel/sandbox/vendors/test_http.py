"""A company's HTTP services behind the live tools: docs/live-tools.md's walk as written, against
the two services that it names; and every mistake of a table, or fault of a service, in one line."""

import json
import re
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jmespath")

from tests.walk import Walk, shell_lines
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.tools.answers import HotelOffer, Money, TrainOffer
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "live-tools.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A company's HTTP services\n")[2].partition("\n## ")[0]
TABLE = (ROOT / "examples" / "company" / "services.toml").read_text(encoding="utf-8")
WAY = {"depart_city_name": "Rome", "arrival_city_name": "Bad Ischl", "depart_date": "2027-03-05"}
STAY = {"city_name": "Rome", "checkin_date": "2027-03-05", "checkout_date": "2027-03-08"}
ROW = {
    "number": 571,
    "departs_at": "2027-03-05T09:00+01:00",
    "arrives_at": "2027-03-05 12:30+02:00",
    "price": "49.50",
}
TRAINS = {"params": {"a": "{depart_city_name}", "b": "{arrival_city_name}"}}
TRAINS |= {"rows": "found", "currency": "EUR"}


# ---- the walk


def test_the_walk_runs_as_written(tmp_path):
    walk = Walk(tmp_path, ["8101", "8102", "8000"])
    folder = tmp_path / "examples" / "company"
    folder.mkdir(parents=True)
    for name in ("services.py", "services.toml"):
        text = (ROOT / "examples" / "company" / name).read_text(encoding="utf-8")
        (folder / name).write_text(walk.placed(text))
    trains, stays, trip = map(json.loads, walk.printed(shell_lines(SECTION)))
    assert [row["minutes"] for row in trains["rows"]] == [242, 236]
    assert [row["price"] for row in stays["rows"]] == [168.0, 263.0]
    view = trip["view"]
    assert trip["status"] == "done" and view["passed"] and view["currency"] == "EUR"
    assert view["cost"] == 2 * 2 * 54.9 + 168.0 and view["budget"] == 500


def test_an_mcp_server_of_the_official_package_answers_the_table_that_is_shown(tmp_path):
    server = pytest.importorskip("mcp.server")
    uvicorn = pytest.importorskip("uvicorn")
    rail = server.MCPServer("rail")

    @rail.tool()
    def trains(origin: str, destination: str, day: str) -> list[dict[str, str]]:
        leaves, arrives = (f"{day}T{clock}:00+01:00" for clock in ("07:00", "09:30"))
        return [{"code": f"G {origin}", "leaves": leaves, "arrives": arrives}]

    app = rail.streamable_http_app()
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        port = running.servers[0].sockets[0].getsockname()[1]
        (table,) = re.findall(r"^```toml\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
        here = table.replace("https://rail.example", f"http://127.0.0.1:{port}")
        (tmp_path / "s.toml").write_text(here)
        provider = load_services(tmp_path / "s.toml")["train_search"]
        (found,) = provider.ask("train_search", WAY).records
        (tmp_path / "s.toml").write_text(
            here.replace('params.name = "trains"', 'params.name = "x"')
        )
        with pytest.raises(ProviderFault):
            load_services(tmp_path / "s.toml")["train_search"].ask("train_search", WAY)
    finally:
        running.should_exit = True
        thread.join()
    assert (found.number, found.minutes, found.depart_city) == ("G Rome", 150, "Rome")


# ---- answers


@pytest.fixture
def made(serve: Callable[..., str], tmp_path: Path) -> Callable[..., Any]:
    """made(tool, answer, table, …) → its provider; `answer` is of the `serve` fixture, or JSON."""

    def made(tool: str, answer: Any, table: dict[str, Any], **options: Any) -> Any:
        answering = answer if callable(answer) else lambda _: (200, json.dumps(answer).encode(), {})
        url = serve(answering).removesuffix("/v1")
        table = {"url": f"{url}/x?day={{depart_date}}" if tool == "train_search" else url, **table}
        lines = [f'[tools]\n{tool} = "http"\n[vendors.http]']
        lines += [f"{name} = {_toml(value)}" for name, value in options.items()]
        lines += [f"[vendors.http.maps.{tool}]"]
        lines += [f"{name} = {_toml(value)}" for name, value in table.items()]
        (tmp_path / "s.toml").write_text("\n".join(lines))
        return load_services(tmp_path / "s.toml")[tool]

    return made


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def test_what_is_asked_is_quoted_and_what_comes_is_read(made):
    asked = []

    def answer(request):
        asked.append(request["path"])
        return 200, json.dumps({"found": [ROW]}).encode(), {}

    provider = made("train_search", answer, TRAINS)
    city = "Ro/me?&x=1"
    (record,) = provider.ask("train_search", {**WAY, "depart_city_name": city}).records
    assert asked == ["/x?day=2027-03-05&a=Ro%2Fme%3F%26x%3D1&b=Bad+Ischl"]
    assert record == TrainOffer(
        *("571", "", city, "", "Bad Ischl", "", "2027-03-05T09:00", "2027-03-05T12:30", 150),
        price=Money(49.5, "EUR"),
    )


@pytest.mark.parametrize(("per", "amount"), [("night", 240.0), ("stay", 80.0)])
def test_a_hotels_price_is_of_a_night_or_of_the_stay(made, per, amount):
    body = {"where": "{city_name}", "days": ["{checkin_date}", "{checkout_date}"], "rooms": 1}
    table = {"body": body, "fields": {"price": "p.v", "currency": "p.c"}, "price_per": per}
    asked = []

    def answer(request):
        asked.append({name: request[name] for name in body})
        return 200, json.dumps([{"name": "Lake", "p": {"v": 80, "c": "chf"}}]).encode(), {}

    answered = made("hotel_search", answer, table).ask("hotel_search", STAY)
    assert asked == [{"where": "Rome", "days": ["2027-03-05", "2027-03-08"], "rooms": 1}]
    days = ("2027-03-05", "2027-03-08")
    assert answered.records == (HotelOffer("Lake", "Rome", *days, price=Money(amount, "CHF")),)


def test_nothing_is_an_answer(made):
    for found in ({"found": []}, lambda _: (404, b"{}", {})):
        provider = made("train_search", found, {**TRAINS, "nothing": [404]})
        answered = provider.ask("train_search", WAY)
        assert answered.records == () and not answered.refused


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        ({"trains": []}, "bad_response", "maps.train_search answered with no list at 'found'"),
        ({"found": [ROW, {}]}, "bad_response", "answered row 2 without 'number'"),
        ({"found": [{**ROW, "price": "9,50"}]}, "bad_response", "answered row 1 with 'price'"),
        ({"found": [{**ROW, "arrives_at": "noon"}]}, "bad_response", "row 1 with 'arrives_at'"),
        (lambda _: (200, b"<html>", {}), "bad_response", "other than JSON"),
        (lambda _: (401, b"{}", {}), "unauthorized", "answered 401"),
        (lambda _: (404, b"{}", {}), "bad_response", "answered 404"),
        (lambda _: (429, b"{}", {"Retry-After": "7"}), "rate_limit", "answered 429"),
        (lambda _: (503, b"{}", {}), "server_error", "answered 503"),
        (lambda _: (302, b"", {"Location": "http://10.0.0.1/k?y=1"}), "bad_response", "10.0.0.1'"),
        (lambda _: (200, b'"' + b"x" * 17_000_000 + b'"', {}), "bad_response", "more than 16 MB"),
        (lambda _: None, "timeout", "within 1 s"),
    ],
)
def test_a_fault_is_ours_and_says_why(made, answer, kind, said):
    provider = made("train_search", answer, TRAINS, timeout_s=1.0)
    with pytest.raises(ProviderFault) as fault:
        provider.ask("train_search", WAY)
    wait_s = 7.0 if kind == "rate_limit" else None
    assert (fault.value.kind, fault.value.retry_after_s) == (kind, wait_s)
    assert said in str(fault.value)


def test_a_key_is_sent_and_never_repeated(made, monkeypatch):
    monkeypatch.setenv("OUR_LOGIN", "s3cret-of-ours")

    def answer(request):
        return 500, f"{request['key']} and {request['path']}".encode(), {}

    headers = {"Authorization": "Bearer {OUR_LOGIN}"}
    table = {**TRAINS, "params": {**TRAINS["params"], "k": "{OUR_LOGIN}"}}
    provider = made("train_search", answer, table, headers=headers)
    with pytest.raises(ProviderFault) as fault:
        provider.ask("train_search", WAY)
    assert "Bearer ***" in str(fault.value) and "k=***" in str(fault.value)


# ---- mistakes of a table


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("number = ", "numero = ", "maps.train_search.fields.numero is no field"),
        ('"train.id"', '"train..id"', "maps.train_search.fields.number is no JMESPath"),
        ('rows = "items"', 'rows = "items["', "maps.hotel_search.rows is no JMESPath"),
        ('price_per = "stay"', "", "maps.hotel_search.price_per is missing"),
        ('price_per = "stay"', 'price_per = "week"', "maps.hotel_search.price_per"),
        (', currency = "fare.currency"', "", "maps.train_search.currency is missing"),
        ('currency = "EUR"', 'currency = "EURO"', "currency: There is no currency 'EURO'"),
        ("{depart_date}", "{day}", "maps.train_search.params.date: {day} is neither"),
        (', date = "{depart_date}"', "", "sends '{depart_date}' nowhere"),
        ("{COMPANY_KEY}", "{NO_SUCH_KEY}", "vendors.http.headers.X-Api-Key needs the environment"),
        ("{COMPANY_KEY}", "9f8e7d6c", "X-Api-Key holds a key"),
        ("http://127.0.0.1:8101/v2", "file:///v2", "maps.train_search.url is no plain address"),
        ("nothing = [404]", 'nothing = "404"', "maps.train_search.nothing"),
    ],
)
def test_a_mistake_in_the_table_is_one_line_that_names_it(old, new, said, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPANY_KEY", "a-key-of-ours")
    assert tomllib.loads(TABLE) and old in TABLE
    (tmp_path / "s.toml").write_text(TABLE.replace(old, new, 1).replace(", }", " }"))
    with pytest.raises(UserError) as error:
        load_services(tmp_path / "s.toml")
    assert said in str(error.value) and "\n" not in str(error.value)

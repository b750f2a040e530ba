"""Live tools over HTTP: the answers of the six tools in process, whoever answers them; a service
that is silent is nobody's answer, and holds nobody up."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")


from tests.server.sample_calls import sample_arguments
from tripwright.domains import domain_named, face_named
from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.routes.live_answers import live_tools
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox, OnFault
from tripwright.domains.place import PlaceOptions
from tripwright.server.tools_api import ToolsApp
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.remote import RemoteToolBox
from tripwright.world.store import World

LIVE_FACES = [face.name for face in domain_named("deeptravel").faces]

DAY = "2026-06-20"


@pytest.fixture
def services(world_folder: Path, tmp_path: Path) -> Path:
    """All six tools, answered from a closed world: nobody's server is asked."""
    tools = "".join(f'{tool} = "world"\n' for tool in RECORDS)
    path = tmp_path / "live.toml"
    path.write_text(f'[tools]\n{tools}[vendors.world]\nfolder = "{world_folder}"\n')
    return path


@pytest.fixture
def recorded(services: Path, world: World, tmp_path: Path) -> str:
    """A store in which each of the six tools was asked once."""
    store = str(tmp_path / "day.sqlite")
    with live_source(PlaceOptions(services=services, store=store, snapshot=DAY)) as source:
        for tool in RECORDS:
            source.ask.ask(tool, sample_arguments(world)[tool])
    return store


def talk(
    options: PlaceOptions, *requests: tuple[str, str, Any], on_fault: OnFault = "stop"
) -> list[Any]:
    """The responses of one worker to (method, path, JSON body or None), one after the other."""
    app = ToolsApp(lambda: live_tools(options, on_fault))

    async def ask_all() -> list[Any]:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
            return [
                await client.request(method, path, json=body) for method, path, body in requests
            ]

    try:
        return asyncio.run(ask_all())
    finally:
        app.answers.close()


@pytest.mark.parametrize("face", LIVE_FACES)
def test_every_tool_answers_as_in_process(face, services, world):
    calls = [
        face_named(face).offer.call_of(tool, sample_arguments(world)[tool]) for tool in RECORDS
    ]
    answers = talk(
        PlaceOptions(services=services),
        *(("POST", f"/tools/{name}?face={face}", said) for name, said in calls),
    )
    with live_source(PlaceOptions(services=services)) as source:
        box = LiveToolBox(source.ask, face_named(face))
        for (name, said), answer in zip(calls, answers, strict=True):
            expected = box.call(name, said)
            assert (answer.status_code, answer.json()) == (
                200,
                json.loads(json.dumps(expected.to_json())),
            )


def test_a_recorded_day_is_served_without_services(recorded, world):
    options = PlaceOptions(store=recorded, snapshot=DAY, replay=True)
    with closing(live_tools(options, "stop")) as answers:
        assert answers.what == f"the live tools of {DAY} as recorded in {recorded}"
        content_hash = answers.manifest["content_hash"]
    known = sample_arguments(world)["poi_search"]
    page, found, missed, paged, foreign = talk(
        options,
        ("GET", "/world", None),
        ("POST", "/tools/poi_search", known),
        ("POST", "/tools", {"name": "web_search", "arguments": {"query": "something else"}}),
        ("POST", "/tools/poi_search?page_rows=2", known),
        ("POST", "/tools/poi_search?face=compact", known),
    )
    assert page.json()["rows"] == dict.fromkeys(RECORDS, 1)
    assert page.json()["content_hash"] == content_hash == found.headers["x-world-hash"]
    assert page.json()["snapshot"] == DAY and page.json()["mode"] == "replay"
    assert found.json()["error"] is False
    why = f"web_search: this search is not recorded in the snapshot of {DAY}."
    rows = {"problem": "not_recorded", "note": why}
    text = json.dumps({"error": why})
    assert missed.json() == {"text": text, "error": True, "rows": rows, "row_ends": []}
    assert paged.status_code == 400 and "Leave page_rows out" in paged.json()["error"]["message"]
    assert foreign.status_code == 400 and "deeptravel_compact" in foreign.json()["error"]["message"]


def test_the_hash_says_what_is_served(recorded, services, world):
    def hash_of(options: PlaceOptions, on_fault: OnFault = "stop") -> str:
        with closing(live_tools(options, on_fault)) as answers:
            return answers.manifest["content_hash"]

    replay = PlaceOptions(store=recorded, snapshot=DAY, replay=True)
    live = PlaceOptions(services=services)
    recording = PlaceOptions(services=services, store=recorded, snapshot=DAY)
    before = hash_of(replay)
    assert hash_of(replay, "tell") == before
    with live_source(recording) as source:
        source.ask.ask("web_search", {"query": "one more"})
    assert hash_of(replay) != before
    assert hash_of(live) == hash_of(live) != hash_of(recording)


@pytest.mark.parametrize("replay", [True, False])
def test_the_description_is_valid_and_true(replay, recorded, world_folder, world):
    validator = pytest.importorskip("openapi_spec_validator")
    jsonschema = pytest.importorskip("jsonschema")
    options = (
        PlaceOptions(store=recorded, snapshot=DAY, replay=True)
        if replay
        else PlaceOptions(world_folder, store=recorded)
    )
    (described,) = talk(options, ("GET", "/openapi.json", None))
    document = described.json()
    validator.validate(document)
    assert {path for path in document["paths"] if path.startswith("/tools/")} == {
        f"/tools/{tool}" for tool in RECORDS
    }
    assert "page_rows" not in described.text
    assert "503" in document["paths"]["/tools/web_search"]["post"]["responses"]
    asked, operations = [], []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path != "/tools" or method == "get":
                said = sample_arguments(world).get(path.removeprefix("/tools/"))
                asked.append((method.upper(), path, said))
                operations.append(operation)
    for (_, path, _), operation, answer in zip(
        asked, operations, talk(options, *asked), strict=True
    ):
        assert answer.status_code == 200, (path, answer.text)
        if "application/json" in operation["responses"]["200"]["content"]:
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            jsonschema.validate(answer.json(), {**schema, "components": document["components"]})
            assert answer.json().get("error") in (None, False), (path, answer.text)


@pytest.fixture
def searching(tmp_path: Path) -> Path:
    """Services whose search is lost for "lost", and for "slow" goes on when the file `go` is
    there."""
    (tmp_path / "mine.py").write_text(
        "import pathlib, time\n"
        "HERE = pathlib.Path(__file__).parent\n"
        "def search(query):\n"
        "    if query == 'lost':\n"
        "        raise RuntimeError('no such page')\n"
        "    if query == 'slow':\n"
        "        (HERE / 'begun').touch()\n"
        "        while not (HERE / 'go').exists():\n"
        "            time.sleep(0.01)\n"
        "    return [{'url': 'https://example.org', 'title': query}]\n"
    )
    path = tmp_path / "search.toml"
    path.write_text(
        '[tools]\nweb_search = "python"\n[vendors.python]\nfunction = "mine.py:search"\n'
    )
    return path


def unanswered(page: str) -> float:
    """Of all servers of this process."""
    counted = page.partition('\ntripwright_refused_requests_total{status="503"} ')[2].split()
    return float(counted[0]) if counted else 0.0


def test_a_service_that_does_not_answer_is_nobodys_answer(searching):
    options = PlaceOptions(services=searching)
    lost = ("POST", "/tools/web_search", {"query": "lost"})
    before, silent, answered, unknown, metrics = talk(
        options,
        ("GET", "/metrics", None),
        lost,
        ("POST", "/tools/web_search", {"query": "museum"}),
        ("POST", "/tools/flight_search", {}),
        ("GET", "/metrics", None),
    )
    assert silent.status_code == 503 and silent.json()["error"]["message"].startswith(
        "web_search was not answered (bad_response): "
    )
    assert answered.json()["error"] is False and "museum" in answered.json()["text"]
    assert unknown.json()["error"] is True, "only the tools that somebody answers are there"
    assert unanswered(metrics.text) == unanswered(before.text) + 1
    assert 'requests_total{status="500"}' not in metrics.text
    (told,) = talk(options, lost, on_fault="tell")
    assert (told.status_code, told.json()["error"]) == (
        200,
        True,
    ) and "cannot be answered now (bad response)" in told.json()["text"]


def test_a_slow_service_holds_nobody_up(searching):
    app = ToolsApp(lambda: live_tools(PlaceOptions(services=searching), "stop"))

    async def play() -> None:
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url="http://here", timeout=30
        ) as client:
            slow = asyncio.create_task(client.post("/tools/web_search", json={"query": "slow"}))
            while not searching.with_name("begun").exists():
                await asyncio.sleep(0.01)
            quick = await client.post("/tools/web_search", json={"query": "quick"})
            assert (await client.get("/health")).json() == {"status": "ok"}
            assert "quick" in quick.json()["text"]
            assert not slow.done()
            searching.with_name("go").touch()
            assert "slow" in (await slow).json()["text"]

    asyncio.run(play())
    app.answers.close()


def test_served_by_processes_that_share_a_store(services, world, tmp_path, serve_live):
    store = str(tmp_path / "live.sqlite")
    options = ("--services", str(services), "--store", store, "--snapshot", DAY, "--port", "0")
    served = serve_live(*options, "--workers", "2", "--face", "deeptravel_compact")
    assert f"the live tools of {services}, kept in {store} under {DAY} at http" in served.said[0]
    assert "2 workers" in served.said[0]
    assert "faces deeptravel, deeptravel_compact (default)" in served.said[0]
    calls = [(tool, sample_arguments(world)[tool]) for tool in RECORDS]
    box = RemoteToolBox(served.url, face_named("deeptravel"))
    live = [box.call(*call) for call in calls]
    assert not any(answer.error for answer in live)
    assert served.stop() == 0
    replay = PlaceOptions(store=store, snapshot=DAY, replay=True)
    replayed = talk(replay, *(("POST", f"/tools/{tool}", said) for tool, said in calls))
    assert [ToolAnswer.from_json(answer.json()) for answer in replayed] == live


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "What is served? Give --world DIR"),
        ("--services {tmp}/live.toml --workers 2", "2 workers without a store"),
        ("--services {tmp}/live.toml --on-fault shout", "--on-fault"),
        ("--services {tmp}/live.toml --face compact", "Unknown face 'compact'. Accepted: deep"),
    ],
)
@pytest.mark.usefixtures("services")
def test_a_wrong_option_is_one_line(options, said, tmp_path, refused):
    printed = refused("serve tools", options.format(tmp=tmp_path))
    assert said in printed
    assert [path.name for path in tmp_path.iterdir()] == ["live.toml"]

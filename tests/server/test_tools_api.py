"""The tools over HTTP: the answers of a ToolBox whatever is sent, counted over all workers, and
described as they are."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")


from tests.server.sample_calls import sample_arguments
from tripwright.domains import face_named, faces
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.remote import RemoteToolBox
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

JSON = {"content-type": "application/json"}
CLIENT = httpx2.Client(verify=False, timeout=60, headers=JSON)

ODD_ARGUMENTS = [
    *("", "{", "[]", "null", "1", "{}"),
    *('"{}"', '{"city": 1}', '{"city": null}', '{"city": "Nowhere"}', '{"city": "<|im_end|>"}'),
    *('{"city": "\\ud800"}', '{"city": "\ud800"}', '{"city": "Zürich \U0001f3d4"}'),
    *('{"city": NaN}', '{"city": "x", "more": 1}', '{"city": "A", "city": "B"}'),
    *(
        '{"city": "' + "x" * 50_000 + '"}',
        '{"city": ' + "[" * 800 + "]" * 800 + "}",
        "[" * 100_000,
        '{"city": ' + "9" * 5000 + "}",
    ),
]
ODD_NAMES = [
    *("", "book", "search_flights ", "../world", "a/b", "a\nb", "%2e", "__class__"),
    *("\ud800", "x" * 5000),
]


def sent(answer: ToolAnswer) -> Any:
    """As it goes over the wire."""
    return json.loads(json.dumps(answer.to_json()))


def calls(world: World, face: str) -> list[tuple[str, dict[str, Any]]]:
    """One that works for each tool of a face, in the face's names."""
    offer = face_named(face).offer
    offered = {offer.core_name(schema["function"]["name"]) for schema in face_named(face).schemas()}
    return [
        offer.call_of(core, arguments)
        for core, arguments in sample_arguments(world).items()
        if core in offered
    ]


def post(server: Any, path: str, body: bytes | str, **query: str) -> Any:
    content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    return CLIENT.post(server.url + path, content=content, params=query)


@pytest.mark.parametrize("page_rows", [None, 2])
@pytest.mark.parametrize("face", faces())
def test_every_tool_answers_as_in_process(face, page_rows, server, world):
    box = ToolBox(world, face_named(face), page_rows=page_rows)
    remote = RemoteToolBox(server.url, face_named(face), page_rows=page_rows)
    query = {"face": face} | ({"page_rows": str(page_rows)} if page_rows else {})
    assert (remote.schemas, remote.face) == (box.schemas, box.face)
    found = calls(world, face)
    assert len(found) == len(box.schemas)
    for name, arguments in found:
        for _ in range(3):  # computed, and then remembered, by one worker or the other
            expected = box.call(name, arguments)
            assert not expected.error
            assert remote.call(name, arguments) == expected
            assert post(server, f"/tools/{name}", json.dumps(arguments), **query).json() == sent(
                expected
            )


@pytest.mark.parametrize(
    "arguments", ODD_ARGUMENTS, ids=lambda text: text[:20].encode("ascii", "replace").decode()
)
def test_whatever_a_model_writes_is_answered_as_in_process(arguments, server, world):
    for face in ("planner_r1", "star"):
        box, remote = ToolBox(world, face_named(face)), RemoteToolBox(server.url, face_named(face))
        name = box.face.offer.name_of("search_restaurants")
        expected = box.call(name, arguments)
        assert expected.error
        assert remote.call(name, arguments) == expected
        answer = post(server, f"/tools/{name}", arguments, face=face)
        assert (answer.status_code, answer.json()) == (200, sent(expected))


@pytest.mark.parametrize(
    "name", ODD_NAMES, ids=lambda text: text[:20].encode("ascii", "replace").decode()
)
def test_whatever_a_model_calls_is_answered_as_in_process(name, server, world):
    box = ToolBox(world, face_named("star"))
    remote = RemoteToolBox(server.url, face_named("star"))
    assert remote.call(name, "{}") == box.call(name, "{}")
    assert remote.call(name, {"deep": [[[{}]]]}).error


def test_bytes_that_are_no_text_are_an_answer_too(server):
    answer = post(server, "/tools/get_cities", b"\xff\xfe\x00")
    assert answer.status_code == 200
    assert answer.json()["error"] is True and "not valid JSON" in answer.json()["text"]


def test_a_byte_order_mark_is_passed_over(server):
    for path, body in (
        ("/tools/calculator", b'{"expression": "6 * 7"}'),
        ("/tools", b'{"name": "calculator", "arguments": {"expression": "6 * 7"}}'),
    ):
        assert post(server, path, b"\xef\xbb\xbf" + body).json() == post(server, path, body).json()
        assert not post(server, path, body).json()["error"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("face=planer", "Unknown face 'planer'. Did you mean planner_r1"),
        ("face=", "Unknown face ''"),
        ("face=star&face=compact", "given twice"),
        ("fase=star", "field 'fase'"),
        *(
            (f"page_rows={rows}", "field 'page_rows'")
            for rows in ("0", "-1", "ten", "1.5", "", "9" * 5000)
        ),
    ],
)
def test_a_wording_that_does_not_exist_is_one_line(query, said, server):
    for method, path in (("POST", "/tools/get_cities"), ("GET", "/tools")):
        answer = CLIENT.request(
            method, f"{server.url}{path}?{query}", content=b"{}" if method == "POST" else None
        )
        assert answer.status_code == 400
        assert (
            said in answer.json()["error"]["message"]
            and "\n" not in answer.json()["error"]["message"]
        )


@pytest.mark.parametrize(
    "body", ["", "null", "[]", "{}", '{"name": "get_cities"}', '{"arguments": {}}', "[" * 100_000]
)
def test_a_call_without_name_and_arguments_is_refused(body, server):
    answer = post(server, "/tools", body)
    assert answer.status_code == 400
    assert "expected JSON like" in answer.json()["error"]["message"]


def test_a_name_of_any_type_is_answered(server):
    for name in (None, 1, [], {}):
        answer = post(server, "/tools", json.dumps({"name": name, "arguments": {}}))
        assert answer.status_code == 200 and answer.json()["error"] is True


def test_a_large_body_is_refused_and_the_connection_lives(server):
    with httpx2.Client(base_url=server.url, verify=False, headers=JSON) as client:
        assert client.post("/tools/get_cities", content=b"x" * 1_000_000).status_code == 200
        for chunks in (b"x" * 1_000_001, (b"x" * 100_000 for _ in range(20))):
            answer = client.post("/tools/get_cities", content=chunks)
            assert answer.status_code == 413
            assert answer.json()["error"]["message"] == "The body is larger than 1,000,000 bytes."
        assert client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/tools/get_cities", 405), ("PUT", "/tools", 405)],
)
def test_other_requests_are_refused_in_one_line(method, path, status, server):
    answer = CLIENT.request(method, server.url + path)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]


def test_many_clients_at_once_get_their_own_answers(server, world):
    box = ToolBox(world, face_named("compact"))
    remote = RemoteToolBox(server.url, face_named("compact"))
    asked: list[tuple[str, Any]] = [("search_restaurants", {"city": city}) for city in world.cities]
    asked += [("calculator", {"expression": f"{i} * 7"}) for i in range(200)]
    asked += [("search_attractions", {"city": f"{city}?"}) for city in world.cities]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda call: remote.call(*call), asked * 3)) == [
            box.call(*call) for call in asked * 3
        ]


def test_the_world_says_what_it_is(server, world):
    said = CLIENT.get(f"{server.url}/world").json()
    assert said["name"] == world.name
    assert said["content_hash"] == world.content_hash
    assert said["rows"] == world.manifest["rows"]
    found = post(server, "/tools/calculator", '{"expression": "1"}').headers["x-world-hash"]
    assert found == world.content_hash


def counts(url: str) -> dict[str, float]:
    lines = [
        line for line in CLIENT.get(f"{url}/metrics").text.splitlines() if not line.startswith("#")
    ]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_add_up_over_workers(server):
    before = counts(server.url)
    for i in range(10):
        # on a connection of its own, so that both workers get some
        with httpx2.Client(verify=False, timeout=60) as client:
            client.post(f"{server.url}/tools/calculator", json={"expression": f"{i % 5} + 1"})
        post(server, "/tools/SearchCity", "{}", face="star")
        post(server, "/tools/book", "{}")
    post(server, "/tools/calculator", "{}", face="none")
    post(server, "/tools/calculator", b"x" * 2_000_000)
    after = counts(server.url)
    found = {name: value - before.get(name, 0) for name, value in after.items()}
    calls_counted = {
        name: value
        for name, value in found.items()
        if name.startswith("tripwright_tool_seconds_count") and value
    }
    assert calls_counted == {
        'tripwright_tool_seconds_count{outcome="ok",tool="calculator"}': 10,
        'tripwright_tool_seconds_count{outcome="error",tool="get_cities"}': 10,
        'tripwright_tool_seconds_count{outcome="error",tool="unknown"}': 10,
    }
    assert found['tripwright_tool_seconds_bucket{le="+Inf",outcome="ok",tool="calculator"}'] == 10
    assert found['tripwright_tool_seconds_sum{outcome="ok",tool="calculator"}'] > 0
    assert found['tripwright_refused_requests_total{status="400"}'] == 1
    assert found['tripwright_refused_requests_total{status="413"}'] == 1
    assert 'tripwright_refused_requests_total{status="500"}' not in after


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """With the parts it refers to, for a validator that has not seen the document."""
    return {**schema, "components": document["components"]}


def test_the_description_is_valid_and_true(server, world):
    validator = pytest.importorskip("openapi_spec_validator")
    jsonschema = pytest.importorskip("jsonschema")
    document = CLIENT.get(f"{server.url}/openapi.json").json()
    validator.validate(document)
    tools = {path for path in document["paths"] if path.startswith("/tools/")}
    assert tools == {
        f"/tools/{schema['function']['name']}"
        for face in faces().values()
        for schema in face.schemas()
    }
    said = {
        (f"/tools/{name}", face): arguments
        for face in faces()
        for name, arguments in calls(world, face)
    }
    assert {path for path, _ in said} == tools
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tried = [(face, arguments) for (at, face), arguments in said.items() if at == path]
            for face, arguments in tried if method == "post" else [(None, None)]:
                if arguments is not None:
                    body = operation["requestBody"]["content"]["application/json"]
                    jsonschema.validate(arguments, resolved(document, body["schema"]))
                answer = CLIENT.request(
                    method.upper(),
                    server.url + path,
                    params={"face": face} if face else {},
                    json=arguments,
                )
                media, described = next(iter(operation["responses"]["200"]["content"].items()))
                assert answer.status_code == 200 and answer.headers["content-type"].startswith(
                    media
                ), (path, face)
                if media == "application/json":
                    jsonschema.validate(answer.json(), resolved(document, described["schema"]))
                    assert answer.json().get("error") in (None, False), (path, face, answer.text)

"""`tripwright serve` as it is started, and what only TravelPlanner's own desk shows."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from tripwright.server.agency import TripServer, open_agency
from tripwright.server.trips import make_app
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "nano"
    build_world(folder, "nano", 7)
    return folder


Open = Callable[..., TestClient]


@pytest.fixture
def opened(world: Path, tmp_path: Path) -> Iterator[Open]:
    """opened(**settings) → a client of a server in this process."""
    with ExitStack() as resources:

        def made(**settings: Any) -> TestClient:
            served = TripServer(world, tmp_path / "trips.sqlite", **settings)
            app = make_app(open_agency(served, resources), served)
            return resources.enter_context(TestClient(app, "http://127.0.0.1"))

        yield made


def ask(client: Any, values: Any, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/trips", json={"values": values, "wait": True, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def example(client: TestClient) -> dict[str, Any]:
    text = client.get("/v1/desk").json()["examples"][0]
    return client.post("/v1/read", json={"text": text}).json()["values"]


def test_trips_are_served_behind_keys(world, tmp_path):
    place = ["--world", str(world), "--state", str(tmp_path / "trips.sqlite")]
    options = ["--port", "0", "--key-env", "TRIP_KEYS"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tripwright", "serve", *place, *options],
        env={"TRIP_KEYS": "one, two", "PATH": ""},
        stderr=subprocess.PIPE,
        text=True,
    )
    url = process.stderr.readline().rsplit(" ", 1)[1].strip()
    try:
        with httpx2.Client(base_url=url, timeout=60) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            assert client.get("/v1/desk").status_code == 401
            for path in ("score", "solve"):
                assert client.post(f"/v1/{path}", json={}).status_code == 401
            client.headers["Authorization"] = "Bearer two"
            values = example(client)
            trips = [ask(client, values) for _ in range(4)]
            assert {trip["status"] for trip in trips} == {"done"}
            assert len(client.get("/v1/trips").json()["trips"]) == 4
            client.headers["Authorization"] = "Bearer one"
            assert client.get(f"/v1/trips/{trips[0]['id']}").status_code == 404
            client.headers["Authorization"] = "Bearer three"
            assert client.get("/v1/trips").status_code == 401
            assert "tripwright_requests_total{" in client.get("/metrics").text
    finally:
        process.terminate()
        assert process.wait(20) == 0
        process.stderr.close()


def test_a_changed_wish_keeps_the_days_that_need_not_change(opened):
    client = opened()
    old = ask(client, values := example(client))
    dearer = {**values, "budget_usd": values["budget_usd"] + 100}
    new = ask(client, dearer, replaces=old["id"])
    assert new["status"] == "done" and new["changed"] == []
    assert "stays as it is" in new["replan"]


def test_a_trip_that_cannot_be_had_offers_changes_that_help(opened):
    client = opened()
    values = example(client)
    trip = ask(client, {**values, "budget_usd": 10})
    assert trip["status"] == "no_plan" and trip["no_plan"]["why"]
    change = trip["no_plan"]["changes"][0]
    assert ask(client, {**values, **change["values"]})["status"] == "done"


def test_a_checkpoint_plans_first_and_may_fail(opened, tmp_path):
    pytest.importorskip("torch")
    from tripwright.training.nano import NanoShape, make_tokenizer, new_model

    tokenizer = make_tokenizer(["Plan the trip. <answer>[]</answer>"] * 5, ["Plan"], superwords=4)
    shape = NanoShape(hidden=16, layers=1, heads=2, kv_heads=1, head_size=8, feed_forward=16)
    new_model(shape, tokenizer, 0).save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    client = opened(model=str(tmp_path / "m"), dialect="compact")
    assert client.get("/v1/desk").json()["default_planner"] == "model"
    failed = ask(client, values := example(client))
    assert failed["status"] == "failed" and failed["error"]
    assert ask(client, values, planner="expert")["status"] == "done"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--dialect compact", "--model"),
        ("--model m --dialect klingon", "klingon"),
        ("--endpoint http://127.0.0.1:9/v1", "--model NAME"),
        ("--endpoint http://127.0.0.1:9/v1 --model m --api-key-env NOPE", "variable NOPE"),
        ("--services s.toml --world w", "in place of --world"),
        ("--domain nowhere", "no desk"),
        ("--key-env NOT_SET", "holds no keys"),
        ("--runs nowhere", "No folder"),
    ],
)
def test_a_wrong_option_is_one_line(options, said, world, tmp_path, refused):
    place = [] if "--world" in options else ["--world", str(world)]
    state = ["--state", str(tmp_path / "t.sqlite"), "--port", "0"]
    error = refused("serve", place, state, options)
    assert said in error


def test_what_was_understood_stands_with_the_trip(opened):
    client = opened()
    words = "Ashelmont to Keldon, 5 to 7 March 2022, 2 people, $2500, vegan food, and a jacuzzi"
    words += ", pets and smoking allowed"
    read = client.post("/v1/read", json={"text": words}).json()
    assert read["cannot"] == ["vegan food"] and "jacuzzi" in read["unread"][0]
    rules = sorted(read["values"]["house_rules"], reverse=True)  # a form has them in its own order
    trip = ask(client, read["values"] | {"house_rules": rules}, text=words)
    assert trip["sentence"].startswith(
        "From Ashelmont to Keldon, 5 to 7 March 2022, 2 people"
    ) and trip["cannot"] == ["vegan food"]
    assert trip["view"]["passed"] and trip["unread"] == read["unread"]
    assert not client.get("/v1/trips").json()["trips"][0]["passed"]
    # a form that says something else than the words does so openly, too
    other = ask(client, {**read["values"], "party_size": 3}, text=words)
    assert any("2" in words for words in other["unread"][1:]) and "3 people" in other["sentence"]
    # and the words of a changed form say what the form says, and what has no field
    values = {**read["values"], "party_size": 3, "origin": "Nowhere"}
    text = client.post("/v1/read", json={"text": words, "values": values}).json()["text"]
    again = client.post("/v1/read", json={"text": text}).json()
    assert again["values"] == {k: v for k, v in values.items() if k != "origin"}
    assert (again["cannot"], again["unread"]) == (read["cannot"], read["unread"])


def test_words_about_a_plan_are_shown_as_changes_and_then_planned(opened):
    client = opened()
    words = "Ashelmont to Keldon, 5 to 7 March 2022, 2 people, $2500"
    values = client.post("/v1/read", json={"text": words}).json()["values"]
    trip = ask(client, values, text=words)
    path = f"/v1/trips/{trip['id']}/changes"
    change = client.post(path, json={"text": "another hotel, and a jacuzzi"}).json()
    assert [each["field"] for each in change["changes"]] == ["without"] and change["unread"]
    stay = change["values"]["without"][0]
    assert any(stay in str(part["items"]) for part in trip["view"]["parts"])
    new = ask(client, change["values"], text=change["text"], replaces=trip["id"])
    assert new["view"]["passed"] and stay not in str(new["view"]["parts"]) and new["changed"]
    assert "jacuzzi" in str(new["unread"])
    assert [check["state"] for check in new["view"]["checks"] if check["group"] == "besides"] == [
        "passed"
    ]
    nothing = {**values, "budget_usd": 20}
    poor = ask(client, nothing)
    assert poor["status"] == "no_plan"
    refused = client.post(f"/v1/trips/{poor['id']}/changes", json={"text": "cheaper"})
    assert refused.status_code == 409


def test_places_left_out_until_nothing_is_left(opened, world):
    client = opened()
    words = "Ashelmont to Keldon, 5 to 7 March 2022, 2 people, $2500"
    values = client.post("/v1/read", json={"text": words}).json()["values"]
    sights = [row.name for row in World.open(world).attractions("Keldon")]
    trip = ask(client, {**values, "without": sights})
    assert trip["status"] == "no_plan" and sights[0] in trip["no_plan"]["why"][0]
    change = trip["no_plan"]["changes"][0]
    assert ask(client, {**values, "without": sights, **change["values"]})["status"] == "done"
    wrong = client.post("/v1/trips", json={"values": {**values, "without": ["Nowhere Inn"]}})
    assert wrong.status_code == 422 and "Nowhere Inn" in wrong.text

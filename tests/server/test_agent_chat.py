"""The agent as chat completions: what the openai package makes of it, with streams and without, and
what is said where words are no request."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest
import uvicorn

openai = pytest.importorskip("openai")

from tripwright.server.agency import TripServer, open_agency
from tripwright.server.trips import make_app
from tripwright.world.generator import build_world

KEY = "a-key-of-ours"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    """Of a server with a key, over a real port."""
    folder = tmp_path_factory.mktemp("chat")
    build_world(folder / "world", "nano", 7)
    with ExitStack() as opened, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAT_KEYS", KEY)
        settings = TripServer(folder / "world", folder / "trips.sqlite", key_env="CHAT_KEYS")
        app = make_app(open_agency(settings, opened), settings)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield openai.OpenAI(api_key=KEY, base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def wish(client: openai.OpenAI) -> str:
    desk = client.get("/desk", cast_to=httpx2.Response).json()
    return str(desk["examples"][0])


def asked(client: openai.OpenAI, *texts: str, **more):
    messages = [{"role": "user", "content": text} for text in texts]
    return client.chat.completions.create(model="expert", messages=messages, **more)


def test_planners_are_models(client):
    assert [model.id for model in client.models.list()][0] == "expert"


def test_an_answer_is_the_plan_and_what_was_looked_up_stands_beside_it(client, wish):
    answer = asked(client, wish, temperature=0.3)
    message = answer.choices[0].message
    assert message.content.startswith("Understood: ") and "**Total**: " in message.content
    assert "✓ " in message.content and "search_" in message.reasoning_content


def test_a_stream_says_the_same_piece_by_piece(client, wish):
    chunks = list(asked(client, wish, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    looked_up = [delta.reasoning_content for delta in deltas if hasattr(delta, "reasoning_content")]
    assert len(looked_up) > 4 and "rows" in "".join(looked_up)
    plan = "".join(delta.content or "" for delta in deltas)
    assert plan == asked(client, wish).choices[0].message.content
    assert chunks[-1].usage.total_tokens == 0  # nobody's model


def test_words_that_are_no_request_are_asked_back(client, wish):
    answer = asked(client, "Something nice, please.").choices[0].message.content
    assert "?" in answer and "Understood" not in answer
    first, _, rest = wish.partition(". ")
    assert "**Total**" in asked(client, f"{first}.", rest).choices[0].message.content


def test_a_wrong_key_or_planner_is_refused(client, wish):
    with pytest.raises(openai.AuthenticationError):
        asked(client.with_options(api_key="another"), wish)
    with pytest.raises(openai.UnprocessableEntityError, match="planner"):
        client.chat.completions.create(model="x", messages=[{"role": "user", "content": wish}])


def test_a_trip_that_nobody_waits_for_is_cancelled(client, wish, monkeypatch):
    from tripwright.server.store import TripStore

    ended = []
    finish = TripStore.finish
    monkeypatch.setattr(
        TripStore, "tell", lambda self, *more: time.sleep(0.2) or True
    )  # a slow agent, whose calls nobody hears
    monkeypatch.setattr(
        TripStore,
        "finish",
        lambda self, id, *more: ended.append(more[0]) or finish(self, id, *more),
    )
    with asked(client, wish, stream=True) as stream:
        next(iter(stream))
    for _ in range(100):
        if "cancelled" in ended:
            return
        time.sleep(0.05)
    raise AssertionError(ended)

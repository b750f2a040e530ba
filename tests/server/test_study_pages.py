"""What the labelling page's server answers, whom it refuses, and that its files come with the
package."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")

from tripwright.evals.study.dimensions import paper_dimensions
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import read
from tripwright.evals.study.sample import make_study, sources
from tripwright.server import study as pages
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

Ask = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    call = ToolCall(
        "hotel_search",
        {"city_name": "Berryton"},
        json.dumps({"rows": [{"row": 1, "name": "Kendale Inn"}]}),
    )
    call.rows = Rows("HotelOffer", ("name",), (("Kendale Inn",),), total=1)
    answer = "### Stay\n- Kendale Inn <b>here</b> [call 1, row 1]"
    transcript = Transcript(
        [Segment("assistant", "THOUGHT", call=call), Segment("tool", call.result)],
        StopReason.ANSWER,
        answer,
    )
    path = tmp_path / "secret-run.jsonl"
    lines = [
        {
            "id": f"id-{n}",
            "domain": "deeptravel",
            "request": {"query": f"Trip {n}."},
            "verdict": {"final": True},
            "transcript": transcript.to_json(),
        }
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    make_study(sources([path]), tmp_path / "study", paper_dimensions())
    return Study.open(tmp_path / "study")


@pytest.fixture
def ask(study: Study) -> Ask:
    """ask(method, path, …) → the answer of a server for this machine alone."""

    def send(method: str, path: str, local_only: bool = True, **more: Any) -> Any:
        async def go() -> Any:
            transport = httpx2.ASGITransport(app=pages.make_app(str(study.folder), local_only))
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8330"
            ) as client:
                return await client.request(method, path, **more)

        return asyncio.run(go())

    return send


def label(study: Study, **changed: Any) -> dict[str, Any]:
    return {
        "rater": "Ann",
        "item": next(iter(study.items)),
        "values": {"clarity": True},
        "note": "fine",
        **changed,
    }


def test_a_label_is_on_disk_when_it_is_acknowledged_and_comes_back(ask: Ask, study: Study) -> None:
    answer = ask("PUT", "/api/labels", json=label(study))
    assert answer.status_code == 200
    (said,) = read(study)["ann"].values()
    assert (said.values, said.note, said.at) == ({"clarity": True}, "fine", answer.json()["saved"])
    again = ask("GET", "/api/rater", params={"name": " ANN "}).json()
    assert again["labels"] == {said.item: {"values": {"clarity": True}, "note": "fine"}} and again[
        "order"
    ] == study.order("ann")


def test_raters_do_not_see_each_other(ask: Ask, study: Study) -> None:
    ask("PUT", "/api/labels", json=label(study))
    found = ask("GET", "/api/rater", params={"name": "Bob"})
    assert found.json()["labels"] == {} and "ann" not in found.text


def test_nothing_that_is_sent_says_where_an_item_is_from(ask: Ask, study: Study) -> None:
    sent = ask("GET", "/api/study").text + ask("GET", "/api/rater", params={"name": "Ann"}).text
    sent += "".join(ask("GET", f"/api/items/{item}").text for item in study.items)
    sent += "".join(ask("GET", f"/{path}").text for path in pages.PAGE)
    for secret in ("secret-run", "id-0", "id-1", "id-2", "THOUGHT", "verdict", "key.jsonl"):
        assert secret not in sent, secret
    for path in ("/key.jsonl", "/../key.jsonl", "/api/items/..%2Fkey.jsonl", "/labels/ann.jsonl"):
        assert ask("GET", path).status_code == 404


def test_an_item_is_sent_as_a_tree_and_not_as_html(ask: Ask, study: Study) -> None:
    view = ask("GET", f"/api/items/{next(iter(study.items))}").json()
    (item,) = view["answer"]["blocks"][1]["items"]
    assert item[0]["inline"] == [
        {"kind": "text", "text": "Kendale Inn <b>here</b> "},
        {"kind": "card", "call": 1, "row": 1, "found": True},
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"item": "item-9"}, "No item 'item-9'"),
        ({"rater": "../../x"}, "A rater's name"),
        ({"values": {"beauty": True}}, "No dimension"),
        ({"values": {"clarity": "yes"}}, "true, false or null"),
        ({"note": "x" * 5000}, "at most 4,000"),
    ],
)
def test_a_bad_label_is_refused_in_words_and_nothing_is_written(
    changed: dict[str, Any], words: str, ask: Ask, study: Study
) -> None:
    answer = ask("PUT", "/api/labels", json=label(study, **changed))
    assert answer.status_code == 400 and words in answer.json()["detail"]
    assert read(study) == {}


def test_bodies_that_are_no_labels_are_refused(ask: Ask, study: Study) -> None:
    headers = {"content-type": "application/json"}
    for body, status in ((b"{", 400), (b"[]", 400), (b"x" * 70_000, 413)):
        assert ask("PUT", "/api/labels", content=body, headers=headers).status_code == status
    assert (
        ask("GET", "/api/rater").status_code == 400 and ask("GET", "/api/labels").status_code == 405
    )


@pytest.mark.parametrize(
    ("headers", "local_only", "status"),
    [
        ({"host": "127.0.0.1:8330"}, True, 200),
        ({"host": "localhost:8330"}, True, 200),
        ({"host": "[::1]:8330"}, True, 200),
        ({"host": "evil.example"}, True, 403),
        ({"host": "["}, True, 403),
        ({"host": "127.0.0.1.evil.example"}, True, 403),
        ({"host": "lab.example"}, False, 200),
        ({"sec-fetch-site": "cross-site"}, True, 403),
        ({"sec-fetch-site": "same-origin"}, True, 200),
        ({"content-type": "text/plain"}, True, 403),
    ],
)
def test_other_sites_pages_cannot_write_here(
    headers: dict[str, str], local_only: bool, status: int, ask: Ask, study: Study
) -> None:
    whole = {"content-type": "application/json", **headers}
    answer = ask("PUT", "/api/labels", local_only, content=json.dumps(label(study)), headers=whole)
    assert answer.status_code == status
    assert bool(read(study)) == (status == 200)


def test_the_page_comes_whole_and_may_load_nothing_but_itself(ask: Ask) -> None:
    scripts = {name: name for name in pages.REPORT_SCRIPTS}
    for path, name in (pages.PAGE | scripts).items():
        answer = ask("GET", f"/{path}")
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(
            pages.TYPES[Path(name).suffix]
        )
        policy = answer.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy
            and "script-src 'self'" in policy
            and "unsafe" not in policy
            and "http" not in policy
        )
        assert not re.search(r"https?://", answer.text), "the page names an address elsewhere"
        assert (
            "innerHTML" not in answer.text
            and "insertAdjacentHTML" not in answer.text
            and "eval(" not in answer.text
        )
    page = ask("GET", "/").text
    assert set(re.findall(r'(?:href|src)="([^"]+)"', page)) == {
        "data:,",
        "study.css",
        "study.js",
        *scripts,
    }

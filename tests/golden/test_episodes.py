"""What agents are shown and what they say: the expert's episodes in every dialect as token ids, and
those of the policies without a model.

A model learns from these bytes, so a changed word, token or mask is a changed experiment. Only what
was shown is held fast (roles, texts, ids, masks, why it stopped, the answer) and, of judged
episodes, the facts of the verdict: records may get further fields.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DIALECTS = (
    *("planner_r1", "planner_r1_steps", "compact", "star"),
    *("deeptravel_cards", "deeptravel_cards_compact"),
)
EPISODES, PLAYED = 200, 50

OF_TRIPS = ("expert-careful", "expert-brief", "greedy-search", "first-row", "cheapest-row")
OF_ERRANDS = ("errand-expert", "errand-first-row", "errand-cheapest")
RUNS = [
    *((policy, dialect, "") for policy in OF_TRIPS for dialect in ("compact", "planner_r1")),
    *(
        (policy, dialect, "")
        for policy in OF_ERRANDS
        for dialect in ("deeptravel_cards", "deeptravel_cards_compact")
    ),
    ("expert-careful", "star", "--thoughts long --extra-searches 3 --seed 3"),
    ("expert", "star", "--faults 0.2 --faults-seed 5"),
    ("cheapest-row", "compact", "--empty-tools"),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, program: Callable[..., list[str]]) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("shown")
    program(folder, Path(__file__).with_name("shown_episodes.py"), folder, EPISODES, *DIALECTS)
    return folder


def test_tokenizer(shown, pins):
    """Made of the compact dialects' episodes; all ids of this file are its."""
    vocabulary = json.loads((shown / "tokenizer.json").read_text(encoding="utf-8"))
    parts = [
        json.dumps(vocabulary[part], sort_keys=True)
        for part in ("model", "added_tokens", "pre_tokenizer", "decoder")
    ]
    pins.lines(
        "tokenizer", [*parts, (shown / "chat_template.jinja").read_text(encoding="utf-8")], shown
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_experts_episodes_as_tokens(dialect, shown, records, pins):
    path = shown / f"{dialect}.jsonl"
    assert len(records(path)) == EPISODES
    pins.lines(f"shown_{dialect}", path.read_text(encoding="utf-8").splitlines(), path)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, tripwright: Callable[..., list[str]]) -> Path:
    """A folder with the world `nano`, `queries.jsonl` of trips and `requests.jsonl` of errands in
    it."""
    folder = tmp_path_factory.mktemp("asked")
    tripwright(folder, "world", "build", "--out", "nano", "--scale", "nano", "--seed", 11)
    of_queries = (
        f"--count {PLAYED} --days 3,5,7 --levels 1:1:1 --seed 2 --workers 1 --out queries.jsonl"
    )
    tripwright(folder, "query", "make", "--world", "nano", *of_queries.split())
    of_requests = f"--count {PLAYED} --constraints mixed --seed 2 --out requests.jsonl"
    tripwright(folder, "request", "make", "--world", "nano", *of_requests.split())
    return folder


@pytest.mark.parametrize(("policy", "dialect", "options"), RUNS)
def test_episodes_without_a_model(policy, dialect, options, asked, tripwright, records, pins):
    name = "_".join([policy, dialect, *(word.strip("-") for word in options.split())])
    errands = dialect.startswith("deeptravel")
    asked_of = "requests.jsonl" if errands else "queries.jsonl"
    rules = "" if errands else "--rules strict"
    words = f"run --policy {policy} --dialect {dialect} --queries {asked_of} --world nano"
    tripwright(asked, *f"{words} --out {name} --quiet {rules} {options}".split())
    episodes = sorted(
        records(asked / name / "transcripts.jsonl"), key=lambda episode: episode["id"]
    )
    assert len(episodes) == PLAYED
    pins.lines(f"played_{name}", map(what_was_shown, episodes), asked / name)
    pins.lines(f"judged_{name}", map(what_was_judged, episodes), asked / name)


def what_was_shown(episode: dict[str, Any]) -> str:
    transcript = episode["transcript"]
    segments = [[segment["role"], segment["text"]] for segment in transcript["segments"]]
    return json.dumps(
        [segments, transcript["stop_reason"], transcript["answer"]], ensure_ascii=False
    )


def what_was_judged(episode: dict[str, Any]) -> str:
    """The plan, whether it passes, and each constraint with its state and message."""
    verdict = episode["verdict"]
    groups = [group["facts"] or {} for group in verdict["groups"] if group["name"] != "format"]
    facts = [
        [name, fact["state"], fact["message"]] for group in groups for name, fact in group.items()
    ]
    cost = verdict.get("details", {}).get("total_cost")
    return json.dumps([episode.get("plan"), verdict["final"], cost, facts], ensure_ascii=False)

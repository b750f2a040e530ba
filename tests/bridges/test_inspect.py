"""Our tasks in Inspect AI: the same episodes with the same figures as `tripwright run`, whoever
plays; nothing lost that can be kept."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "inspect_ai", reason="Inspect AI is an extra: pip install 'tripwright[inspect]'"
)

from inspect_ai import Task, eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model

from tests.evals.conftest import choice_of
from tests.files import write_lines
from tripwright.bridges.inspect_ai import trips
from tripwright.bridges.inspect_ai.trips import EPISODE, explained, tool_infos
from tripwright.cli.main import main
from tripwright.domains import dialect_named, faces
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import read_queries
from tripwright.runs import TRANSCRIPTS, episodes
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, eight queries and six travellers' requests in it."""
    folder = tmp_path_factory.mktemp("inspect")
    world = build_world(folder / "world", "nano", 2)
    write_lines(folder / "queries.jsonl", (query.record() for query in make_queries(world, 8, 1)))
    made = "--count 6 --constraints mixed --levels 2:1:1 --out".split()
    where = ["--world", str(folder / "world"), *made, str(folder / "requests.jsonl")]
    assert main(["request", "make", *where]) == 0
    return folder


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    return World.open(folder / "world")


def evaluated(task: Task, tmp_path: Path, **settings: Any) -> EvalLog:
    (log,) = eval(
        task,
        model=settings.pop("model", "mockllm/model"),
        log_dir=str(tmp_path / "logs"),
        display="none",
        **settings,
    )
    return log


def of_trips(folder: Path, **settings: Any) -> Task:
    return trips(queries=str(folder / "queries.jsonl"), world=str(folder / "world"), **settings)


def run_score(
    folder: Path, out: Path, *words: str, queries: str = "queries.jsonl"
) -> dict[str, Any]:
    place = ["--world", str(folder / "world"), "--out", str(out)]
    assert main(["run", "--queries", str(folder / queries), *place, *words]) == 0
    return json.loads((out / "score.json").read_text())


def figures(log: EvalLog) -> dict[str, float]:
    """The metrics of `facts`, by name."""
    assert log.status == "success" and log.results is not None
    (found,) = [score for score in log.results.scores if score.name == "facts"]
    return {metric.name: metric.value for metric in found.metrics.values()}


def expected(score: dict[str, Any]) -> dict[str, float]:
    """What Inspect is to say of a score.json."""
    named = {
        **score["metrics"],
        **{f"final_{level}": found["final"] for level, found in score.get("levels", {}).items()},
    }
    shares = {
        name: found["value"]
        for name, found in score["constraints"].items()
        if found["value"] is not None
    }
    ends = (("", "value"), ("_low", "low"), ("_high", "high"))
    return shares | {
        f"{name}{end}": found[key]
        for name, found in named.items()
        if found["value"] is not None
        for end, key in ends
    }


def accuracy(log: EvalLog) -> float:
    (found,) = [score for score in log.results.scores if score.name == "final"]
    return found.metrics["accuracy"].value


def records(log: EvalLog) -> dict[str, dict[str, Any]]:
    return {sample.store[EPISODE]["id"]: sample.store[EPISODE] for sample in log.samples or []}


def test_every_verdict_is_explained(folder, tmp_path):
    run_score(folder, tmp_path / "run", *"--policy cheapest-row --dialect compact".split())
    finals = set()
    for record in episodes(tmp_path / "run" / TRANSCRIPTS):
        groups = record["verdict"]["groups"][1:]
        facts_of = [fact for group in groups for fact in (group["facts"] or {}).items()]
        failed = [name for name, fact in facts_of if fact["passed"] is False]
        assert all(f" {name}: failed" in explained(record) for name in failed)
        finals.add(record["verdict"]["final"])
        assert ("Every fact passed." in explained(record)) is record["verdict"]["final"]
    assert False in finals


class Expert:
    """An endpoint, and a mock of Inspect's, that play the expert by native tool calls."""

    def __init__(self, world: World, folder: Path) -> None:
        queries = read_queries(folder / "queries.jsonl")
        self.turns = {
            query.query: expert_turns(query, world, dialect_named("planner_r1"))
            for query in queries
        }
        self.sent: dict[str, list[Any]] = {}

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        messages = request["messages"]
        self.sent.setdefault(messages[1]["content"], []).append([messages, request.get("tools")])
        said = sum(message["role"] == "assistant" for message in messages)
        choice = choice_of(self.turns[messages[1]["content"]][said])
        body = {"choices": [choice], "usage": {"prompt_tokens": 900, "completion_tokens": 100}}
        return 200, json.dumps(body).encode(), {}

    def mock(
        self, messages: list[Any], tools: list[Any], choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        self.sent.setdefault(messages[1].text, []).append([messages, tools])
        said = sum(message.role == "assistant" for message in messages)
        message = choice_of(self.turns[messages[1].text][said])["message"]
        if "tool_calls" not in message:
            return counted(ModelOutput.from_content("mock", message["content"]))
        call, arguments = message["tool_calls"][0]["function"].values()
        made = ModelOutput.for_tool_call(
            "mock", call, json.loads(arguments), content=message["content"]
        )
        return counted(made)


def counted(output: ModelOutput) -> ModelOutput:
    """The mock of Inspect's downloads a tokenizer to count what is not counted."""
    output.usage = ModelUsage(input_tokens=900, output_tokens=100, total_tokens=1000)
    return output


def as_sent(messages: list[Any]) -> list[Any]:
    """Inspect's messages as an OpenAI-compatible endpoint gets them."""
    plain: list[Any] = []
    for message in messages:
        said: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.role == "tool":
            said["tool_call_id"] = message.tool_call_id
        if getattr(message, "tool_calls", None):
            functions = [
                (call.id, {"name": call.function, "arguments": json.dumps(call.arguments)})
                for call in message.tool_calls
            ]
            said["tool_calls"] = [
                {"id": id, "type": "function", "function": function} for id, function in functions
            ]
        plain.append(said)
    return plain


def test_inspects_own_model_is_sent_what_our_client_sends(folder, world, tmp_path, serve):
    ours, inspects = Expert(world, folder), Expert(world, folder)
    endpoint = ("--policy", "endpoint", "--model", "m", "--base-url", serve(ours.answer))
    score = run_score(folder, tmp_path / "run", *endpoint)
    log = evaluated(
        of_trips(folder), tmp_path, model=get_model("mockllm/model", custom_outputs=inspects.mock)
    )
    assert accuracy(log) == score["metrics"]["final"]["value"] == 1.0
    assert ours.sent.keys() == inspects.sent.keys()
    for request, turns in ours.sent.items():
        assert [as_sent(messages) for messages, _ in inspects.sent[request]] == [
            messages for messages, _ in turns
        ]
        assert {tool.name for tool in inspects.sent[request][0][1]} == {
            tool["function"]["name"] for tool in turns[0][1]
        }
    assert figures(log) == pytest.approx(expected(score)), "tokens as counted, too"
    cards = [(log.eval.metadata or {})["run_card"], score["run_card"]]
    of_who_plays = ("date", "policy", "decoding", "transcripts_version")
    theirs, ours_too = (
        {key: value for key, value in card.items() if key not in of_who_plays} for card in cards
    )
    assert theirs == ours_too

    def texts(record: dict[str, Any]) -> list[str]:
        return [segment["text"] for segment in record["transcript"]["segments"]]

    run = {line["id"]: texts(line) for line in episodes(tmp_path / "run" / TRANSCRIPTS)}
    assert run == {id: texts(record) for id, record in records(log).items()}


def test_a_model_that_says_nothing_of_use_fails_its_episodes(folder, tmp_path):
    model = get_model(
        "mockllm/model",
        custom_outputs=lambda *given: counted(ModelOutput.from_content("mock", "I would love to!")),
    )
    log = evaluated(of_trips(folder, samples=2), tmp_path, model=model)
    assert {id[-4:] for id in records(log)} == {"-s00", "-s01"} and len(records(log)) == 16
    assert accuracy(log) == 0.0 and figures(log)["delivery"] == 0.0
    assert {record["transcript"]["stop_reason"] for record in records(log).values()} == {
        "format_error"
    }


@pytest.mark.parametrize("face", faces())
def test_no_part_of_a_tools_schema_is_lost(face):
    """One thing is added: an object takes no further arguments, which providers need who read calls
    strictly."""
    schemas = faces()[face].schemas(paged=True)
    sent = [
        {"type": "function", "function": tool.model_dump(exclude_none=True)}
        for tool in tool_infos(schemas)
    ]
    for schema in schemas:
        schema["function"]["parameters"]["additionalProperties"] = False
    assert sent == schemas


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"rules": "kind"}, "'kind'"), ({"store": "a.sqlite"}, "answer from a closed world")],
)
def test_a_mistake_is_one_line(settings, said, folder):
    given = {"queries": str(folder / "queries.jsonl"), "world": str(folder / "world"), **settings}
    with pytest.raises(PrerequisiteError, match="(?s)^[^\n]*$") as error:
        trips(**given)
    assert said in str(error.value)


def test_requests_are_read_as_run_reads_them(folder, tmp_path):
    """Days without dates are refused before anything is played."""
    first, *rest = (folder / "queries.jsonl").read_text().splitlines()
    record = json.loads(first)
    lines = [json.dumps({**record, "date": record["date"][:-1]}), *rest]
    (tmp_path / "short.jsonl").write_text("".join(line + "\n" for line in lines))
    with pytest.raises(PrerequisiteError, match="short.jsonl:1: field 'date'"):
        trips(queries=str(tmp_path / "short.jsonl"), world=str(folder / "world"))

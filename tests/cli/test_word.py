"""`tripwright query word` as a user types it: by the grammar, and by endpoints that lie, die in the
middle and come back."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import completion
from tests.files import read_lines, write_lines
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.reading import mismatches
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.world.generator import build_world
from tripwright.world.store import World

COUNT = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("word")
    world = build_world(folder / "world", "nano", 2)
    queries = make_queries(world, COUNT, 1, Mix(days=(3, 5), levels=(1, 1, 1)))
    write_lines(folder / "queries.jsonl", (query.record() for query in queries))
    return folder


class Writer:
    """An endpoint that gives the texts that the requests had; `mood` says how it misbehaves."""

    def __init__(self, folder: Path, serve: Callable[..., str]) -> None:
        self.mood, self.requests = "well", 0
        queries = read_queries(folder / "queries.jsonl")
        self.texts = {fields(query.record()): query.query for query in queries}
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.requests += 1
        asked = json.loads(request["messages"][1]["content"].partition("\n\n")[2])
        text, corrected = self.texts[fields(asked)], len(request["messages"]) > 2
        if self.mood == "lies" or (self.mood == "lies at first" and not corrected):
            text = re.sub(r"\$[0-9,]+", "$1", text)
        if self.mood == "shut" or (self.mood == "half" and self.requests % 2):
            return 401 if self.mood == "shut" else 500, b"{}", {}
        return completion(text)


def fields(record: dict[str, Any]) -> str:
    names = ("org", "dest", "date", "people_number", "budget", "local_constraint")
    return json.dumps([record[name] for name in names])


@pytest.fixture
def writer(folder: Path, serve: Callable[..., str]) -> Writer:
    return Writer(folder, serve)


@pytest.fixture
def word(folder: Path) -> Callable[..., list[object]]:
    """word(out, *words) → the command that words the requests."""
    given = ["query", "word", folder / "queries.jsonl", "--world", folder / "world"]
    return lambda out, *words: [*given, "--out", out, *words]


def by(writer: Writer, *words: str) -> list[str]:
    model = f"--model m --base-url {writer.url} --retries 0 --concurrency 1"
    return [*model.split(), *words]


def worded(folder: Path, out: Path) -> list[dict[str, Any]]:
    """The lines written, each of which must say what its request says and keep all of its
    fields."""
    world = World.open(folder / "world")
    asked = [query.record() for query in read_queries(folder / "queries.jsonl")]
    records = read_lines(out)
    for record in records:
        before = asked[record["wording"]["line"] - 1]
        assert {name: record[name] for name in before} == {**before, "query": record["query"]}
        query, places = Query.model_validate(record), Gazetteer(world.cities)
        assert mismatches(query, record["query"], places) == []
    lines = [record["wording"]["line"] for record in records]
    assert lines == sorted(lines)
    return records


@pytest.mark.parametrize("style", ["rich", "plain"])
def test_by_the_grammar(folder, tmp_path, style, word, typed):
    out = tmp_path / "new" / "worded.jsonl"
    assert typed(word(out, "--style", style), "--seed 3 --json").record["accepted"] == COUNT
    records = worded(folder, out)
    assert [record["worded_by"] for record in records] == [f"grammar:{style}"] * COUNT
    again, other = tmp_path / "again.jsonl", tmp_path / "other.jsonl"
    for path, seed in ((again, 3), (other, 4)):
        typed(word(path, "--style", style), f"--seed {seed}")
    assert again.read_bytes() == out.read_bytes() != other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.jsonl", "new", "other.jsonl"]


def test_by_a_model_that_has_to_be_corrected(folder, tmp_path, writer, word, typed):
    writer.mood, out = "lies at first", tmp_path / "worded.jsonl"
    counts = typed(word(out, *by(writer, "--json"))).record
    assert (counts["accepted"], counts["rejected"], counts["unscored"]) == (COUNT, 0, 0)
    assert counts["rejected_texts_by_field"] == {"budget": COUNT}
    assert counts["worded_by"] == {"m": COUNT}
    assert {record["worded_by"] for record in worded(folder, out)} == {"m"}


def test_a_model_that_stays_wrong_is_left_out_or_replaced(folder, tmp_path, writer, word, typed):
    writer.mood, out = "lies", tmp_path / "worded.jsonl"
    told = typed(word(out, *by(writer, "--corrections", "1", "--json")))
    assert told.record["rejected"] == COUNT
    assert told.record["rejected_texts_by_field"] == {"budget": 2 * COUNT}
    assert "line 1: rejected: m: budget: it must say" in told.err and f"{COUNT} not in" in told.err
    assert worded(folder, out) == []
    with_fallback = tmp_path / "fallback.jsonl"
    typed(word(with_fallback, *by(writer, "--corrections", "0", "--fallback")))
    writers = [record["worded_by"] for record in worded(folder, with_fallback)]
    assert writers == ["grammar:rich"] * COUNT


def test_a_death_in_the_middle_and_the_same_command_again(folder, tmp_path, writer, word, typed):
    writer.mood, out = "half", tmp_path / "worded.jsonl"
    told = typed(word(out, *by(writer, "--json")))
    assert told.record["unscored"] == COUNT // 2 and "The same command tries" in told.err
    assert len(worded(folder, out)) == COUNT // 2
    with out.open("ab") as torn:
        torn.write('{"org": "Ho\u00df'.encode()[:-1])
    writer.mood, asked = "well", writer.requests
    told = typed(word(out, *by(writer)))
    assert writer.requests - asked == COUNT // 2  # what is there is not asked again
    assert len(worded(folder, out)) == COUNT
    assert f"{COUNT // 2} of {COUNT} requests are there already" in told.err


def test_a_wrong_key_in_the_middle_keeps_what_is_there(folder, tmp_path, writer, word, typed):
    out = tmp_path / "worded.jsonl"
    writer.mood = "half"
    typed(word(out, *by(writer)))
    before = out.read_bytes()
    writer.mood = "shut"
    told = typed(word(out, *by(writer)), code=2).err.splitlines()
    assert "OPENAI_API_KEY" in told[-1] and out.read_bytes() == before


def test_a_file_of_something_else_is_not_touched(tmp_path, writer, word, typed, refused):
    out = tmp_path / "worded.jsonl"
    typed(word(out))
    before = out.read_bytes()
    for other in (by(writer), ["--seed", "1"], ["--style", "plain"]):
        said = refused(word(out, *other))
        assert "worded.jsonl:1: was not made from these requests by" in said
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--style baroque", "'baroque' is not one of"),
        ("--model m", "go together"),
        ("--base-url http://localhost:1/v1", "go together"),
        ("--base-url http://localhost:1/v1 --model m --api-key-env NOPE", "variable NOPE"),
        ("--model m --base-url localhost", "is not a URL"),
        ("--fallback", "--fallback goes with --model"),
        ("--retries -1", "--retries"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, words, told, word, refused):
    assert told in refused(word(tmp_path / "new" / "out.jsonl"), words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"org": "Atlantis"}, "in.jsonl:1: 'Atlantis' is no city of the world"),
        ({"dest": "Atlantis", "visiting_city_number": 2}, "in.jsonl:1: 'Atlantis' is no state"),
        ({"local_constraint": {"room type": "suite"}}, "in.jsonl:1: no text can say this request"),
        ({"days": 9}, "in.jsonl:1: field 'date': expected 9 days"),
        ({"budget": "much"}, "in.jsonl:1: field 'budget"),
        (None, "No query in"),
    ],
)
def test_requests_that_cannot_be_worded_are_one_line(folder, tmp_path, change, told, refused):
    path, record = tmp_path / "in.jsonl", read_queries(folder / "queries.jsonl")[0].record()
    path.write_text("" if change is None else json.dumps({**record, **change}) + "\n")
    command = ["query", "word", str(path), "--world", str(folder / "world"), "--out"]
    problem = refused(command, f"{tmp_path}/out.jsonl")
    assert told in problem
    assert "is what the command reads" in refused(command, f"{path}")
    assert list(tmp_path.iterdir()) == [path]

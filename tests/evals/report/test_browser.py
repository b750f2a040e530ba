"""What the transcript browser's page holds: columns about every episode, packed transcripts of as
many as fit, and no way out for text."""

import base64
import gzip
import hashlib
import html
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import fact_record, verdict_record
from tests.files import write_lines
from tripwright.agent.chat import TokenWords
from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.report import report_page, write_report
from tripwright.evals.report.folder import ReportedRun
from tripwright.evals.report.viewer import Viewer, blocks, drawn
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript

Line = Callable[..., dict[str, Any]]
HOSTILE = "</script><script>alert(1)</script><!--<script>\u2028 ü \ud800"


def columns_of(page: str) -> dict[str, Any]:
    columns = r'<script type="application/json" id="episode-columns">(.*?)</script>'
    return dict(json.loads(re.search(columns, page, re.DOTALL)[1]))


def pieces_of(page: str) -> list[list[dict[str, Any]]]:
    pieces = r'<script type="application/octet-stream" id="piece-\d+">(.*?)</script>'
    texts = (
        gzip.decompress(base64.b64decode(piece)) for piece in re.findall(pieces, page, re.DOTALL)
    )
    return [[json.loads(line) for line in text.decode().split("\n")] for text in texts]


def indexed(folder: Path) -> Any:
    return Viewer({"run": ReportedRun(folder)})


@pytest.fixture
def run(tmp_path: Path, trip_line: Line) -> Path:
    """Two evaluations on the same three requests, and a script's, in a folder as training leaves
    it."""
    folder = tmp_path / "run"
    passes = {"after_sft": (), "after_rl": (0, 2), "difficulty/expert": (0, 1, 2)}
    for name, passing in passes.items():
        lines = [trip_line(f"t{i}", f"Trip number {i}.", i in passing) for i in range(3)]
        write_lines(folder / "eval" / name / "transcripts.jsonl", lines)
    return folder


def test_every_evaluation_is_indexed_the_main_one_first_and_requests_are_shared(run):
    (run / "eval/after_rl/score.json").write_text('{"metrics": {}, "n": 3}')
    index = indexed(run)
    assert [(source.name, source.key) for source in index.sources] == [
        ("After RL", "after_rl"),
        ("After SFT", "after_sft"),
        ("Expert (script)", "difficulty/expert"),
    ]
    assert len(index.entries) == 9
    works = [work for _, work in index.entries[:3]]
    assert [(work.id, work.query, work.final) for work in works] == [
        (f"t{i}", query, i != 1) for i, query in enumerate(index.queries)
    ]
    first, second = works[:2]
    assert (first.turns, first.calls, first.count("error"), first.refused) == (4, 2, 1, 1)
    assert (first.completion_tokens, first.cost) == (2.0, 260.0)
    assert second.failed == ("is_valid_restaurants",)
    columns = columns_of(write_report(run).read_text())
    marks = {"level": "easy", "days": "3 days"}
    assert columns["queries"] == [[f"Trip number {i}.", marks] for i in range(3)]
    assert columns["query"] == [0, 1, 2] * 3 and columns["verdict"][:3] == [1, 0, 1]


def test_the_same_words_about_another_world_are_another_request(tmp_path, trip_line):
    write_lines(
        tmp_path / "transcripts.jsonl", [trip_line("a"), {**trip_line("b"), "world": "elsewhere"}]
    )
    assert len(indexed(tmp_path).queries) == 2


def test_the_last_try_of_an_episode_counts_and_bad_lines_are_told(tmp_path, trip_line):
    path = write_lines(
        tmp_path / "transcripts.jsonl",
        [trip_line("a", passed=None), trip_line("b"), trip_line("a", passed=False)],
    )
    with path.open("a") as lines:
        lines.write('\n{"id": 3}\n{"id": "cut')
    index = indexed(tmp_path)
    assert {work.id: work.final for _, work in index.entries} == {"a": False, "b": True}
    page = write_report(tmp_path).read_text()
    assert "1 unreadable line of transcripts.jsonl left out" in page
    assert columns_of(page)["id"] == ["b", "a"]


def test_an_unscored_episode_is_listed_with_its_fault(tmp_path, trip_line):
    line = trip_line("a", passed=None)
    line["transcript"]["fault"] = "the endpoint is dead"
    write_lines(tmp_path / "transcripts.jsonl", [line])
    page = write_report(tmp_path).read_text()
    assert columns_of(page)["verdict"] == [-1]
    assert pieces_of(page)[0][0]["fault"] == "the endpoint is dead"


def test_columns_and_pieces_hold_the_same_episodes(run):
    page = write_report(run).read_text()
    columns, pieces = columns_of(page), pieces_of(page)
    for i, name in enumerate(columns["id"]):
        found = pieces[columns["piece"][i]][columns["line"][i]]
        assert found["id"] == name
        facts = [fact for group in found["verdict"]["groups"] for fact in group["facts"] or ()]
        failed = {fact["title"] for fact in facts if fact["state"] == "failed"}
        assert set(columns["failed"][i]) == failed
    keys = "id source query verdict stop failed turns piece line".split()
    assert len({len(columns[key]) for key in keys}) == 1


def test_the_page_is_the_same_each_time(run):
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


@pytest.mark.parametrize(("asked", "included"), [("0", 0), ("4", 4), ("all", 9), (None, 9)])
def test_a_budget_of_episodes_takes_whole_requests(run, asked, included):
    page = write_report(run, asked).read_text()
    columns = columns_of(page)
    assert sum(piece >= 0 for piece in columns["piece"]) == included
    assert ("are only listed" in page) == (included < 9)
    if included == 4:  # one request in all three evaluations, and the first episode of the next
        pairs = zip(columns["query"], columns["piece"], strict=True)
        with_text = [query for query, piece in pairs if piece >= 0]
        assert sorted(map(with_text.count, set(with_text))) == [1, 3]
    if included < 9:
        assert columns["command"] == f"tripwright report {run} --transcripts all"
        assert html.escape(columns["command"]) in page


def test_a_budget_of_bytes_is_kept(run):
    runs = {"run": ReportedRun(run)}
    whole = Viewer(runs, None, math.inf)
    assert all(whole.places) and sorted(whole.shuffled()) == list(range(9))
    size = len(whole.pieces[0])
    assert all(Viewer(runs, None, size).places)
    assert not any(Viewer(runs, None, size - 1).places)


@pytest.mark.parametrize("asked", ["some", "-1", "1.5", ""])
def test_any_other_budget_is_refused_before_anything_is_written(run, asked):
    with pytest.raises(UserError, match="a number of episodes, or 'all'"):
        write_report(run, asked)
    assert not (run / "report.html").exists()


def test_the_verb_takes_the_budget(run, tmp_path, refused):
    assert main(["report", str(run), "--transcripts", "2"]) == 0
    assert sum(piece >= 0 for piece in columns_of((run / "report.html").read_text())["piece"]) == 2
    refused(f"report {run} --transcripts few")


def test_text_of_any_kind_stays_data(tmp_path, trip_line):
    line = trip_line(HOSTILE, query=HOSTILE, passed=False, text=HOSTILE, level=HOSTILE)
    line["verdict"]["groups"][2]["facts"] = {HOSTILE: fact_record(False, HOSTILE)}
    write_lines(tmp_path / "transcripts.jsonl", [line])
    page = write_report(tmp_path).read_text(encoding="utf-8")
    outside = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert "<script" not in outside
    assert "</script" not in outside
    assert page.count("<script") == page.count("</script>")
    assert columns_of(page)["queries"][0][0] == HOSTILE
    assert pieces_of(page)[0][0]["turns"][1]["text"] == HOSTILE.replace("\ud800", "?")


def test_only_the_pages_own_scripts_may_run_and_nothing_is_loaded(run):
    page = write_report(run).read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in scripts]
    hashes = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    assert html.unescape(policy).startswith(f"default-src 'none'; script-src {hashes};")
    assert len(digests) > 1 and not re.search(r"(src|href)=\"(?!#)", page)
    assert "url(" not in page and "@import" not in page


# ---- one episode

TRIP = {"id": "a", "domain": "travelplanner", "request": {}}


def turns_of(segments: list[Segment]) -> list[dict[str, Any]]:
    transcript = Transcript(segments, StopReason.ANSWER, "x")
    line = {**TRIP, "transcript": transcript.to_json(), "verdict": None}
    return list(drawn(line, None, {})["turns"])


def test_a_line_as_it_is_drawn(trip_line):
    prompts: dict[str, int] = {}
    line = trip_line("a", passed=False, fault="timeout: made up")
    line["transcript"]["segments"][6]["context_from"] = 4
    found = drawn(line, None, prompts)
    turns = found["turns"]
    assert prompts == {"You plan trips.": 0} and turns[0]["text"] == 0
    assert [(n, turn["call"]["number"]) for n, turn in enumerate(turns) if "call" in turn] == [
        (2, 1),
        (6, 2),
    ]
    tokens = {"count": 3, "trained": 2, "mask": [1, 1, 0], "words": None}
    assert turns[2]["tokens"] == {**tokens, "logprobs": [-0.1, -2.5, 0.0]}
    assert turns[2]["call"]["fault"] == "timeout: made up" and turns[6]["call"]["error"]
    assert turns[3]["text"] == "" and turns[3]["tokens"] == {"count": 2, "trained": 0}
    assert (turns[4]["problem"], turns[6]["from"]) == ("format_error", 4)
    checks, hard = found["verdict"]["groups"]
    wrong = checks["facts"][1]
    assert (wrong["title"], wrong["state"]) == ("Diverse restaurants", "failed")
    assert wrong["message"] == "Blue Door is not in Berryton." and wrong["evidence"]
    assert hard == {"name": "hard", "facts": None}
    assert found["verdict"]["details"]["costs"][0]["total_usd"] == 240.0
    assert found["usage"] == {"seconds": 1.5}
    assert ["Budget (USD)", "900"] in found["asked"] and ["From", "Ashford"] in found["asked"]


def test_what_the_agent_was_shown_instead_of_an_answer_is_kept():
    call = ToolCall("search", {}, "row " * 100)
    turns = turns_of([Segment("assistant", "", call=call), Segment("tool", "row … cut")])
    assert turns[0]["call"]["result"] == "row " * 100 and turns[1]["text"] == "row … cut"


def test_a_travellers_answer_has_its_cards_and_findings():
    said = "### Outbound\n- flight F1 [call 1, row 2]"
    line = {
        "id": "a", "domain": "deeptravel",
        "request": {"query": "To Berryton.", "origin": "Ashford", "visit": ["Old Mill"], "party_size": 2},
        "world": "made-up",
        "transcript": Transcript([Segment("user", "To Berryton.")], StopReason.ANSWER, said).to_json(),
        "verdict": verdict_record(False, {"trajectory": {"complete": True}, "turns": ["flight_search"]}),
        "verifier": {"name": "rules", "turns": []},
    }  # fmt: skip
    found = drawn(line, None, {})
    assert found["answer"] == blocks(said) and found["verifier"] == line["verifier"]
    (fact,) = found["verdict"]["groups"][0]["facts"]
    assert (fact["title"], fact["state"]) == ("Every part of the trip is there", "passed")
    assert found["asked"] == [["From", "Ashford"], ["People", "2"], ["To visit", "Old Mill"]]


def test_another_benchmarks_episode_has_its_checks_and_what_its_grader_noted(tmp_path):
    request = {"query": "You are an expert. " * 90, "question": "trip_7", "golden": "x" * 900}
    line = {
        "id": "t1", "domain": "outside", "request": request,
        "world": "natural_plan/trip", "transcript": Transcript([Segment("user", "…")], StopReason.ANSWER, "Day 1").to_json(),
        "verdict": verdict_record(True, {"checks": {"solved": True}}),
        "outside": {"benchmark": "natural_plan/trip", "parsed_plan": ["Day 1"]},
    }  # fmt: skip
    found = drawn(line, None, {})
    ((group),) = found["verdict"]["groups"]
    assert group["facts"][0]["title"] == "Solved" and found["noted"] == line["outside"]
    assert dict(found["asked"])["Golden"].endswith("x…")
    write_lines(tmp_path / "transcripts.jsonl", [line])
    (_, work) = indexed(tmp_path).entries[0]
    assert work.text.startswith("trip_7: You are")


def test_samples_of_another_benchmarks_question_are_one_request(tmp_path):
    """A simulated customer opens each sample in words of its own."""
    write_lines(
        tmp_path / "transcripts.jsonl",
        [
            {"id": f"{question}-{opening}", "domain": "outside", "request": {"query": opening, "question": question, "level": None},
             "transcript": Transcript([Segment("user", opening)], StopReason.ANSWER, "").to_json(), "world": "tau_retail",
             "verdict": None, "asked": {"checks": ["solved"]}}
            for question, opening in (("7", "Hi!"), ("7", "Hello."), ("8", "Hi!"))
        ],
    )  # fmt: skip
    columns = columns_of(write_report(tmp_path).read_text())
    assert columns["query"] == [0, 0, 1] and columns["queries"][0] == ["7: Hi!", {}]


def test_log_probabilities_that_are_no_numbers_are_shown_as_unlikely():
    (turn,) = turns_of([Segment("assistant", "ab", [1, 2], [1, 1], [float("-inf"), float("nan")])])
    assert turn["tokens"]["logprobs"] == [-99.99, -99.99]


# ---- words of tokens


@pytest.fixture
def byte_level() -> Any:
    """A tokenizer of byte-level pieces."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"He": 0, "llo": 1, "Ġ": 2, "Ã": 3, "¼": 4}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<|im_end|>"])
    made.add_tokens(["<answer>"])
    return made


def test_tokens_are_words_and_compared_with_the_text(byte_level):
    told = ["He", "llo", " ", "", "ü", "<answer>", "<|im_end|>"]
    assert TokenWords(byte_level).of([0, 1, 2, 3, 4, 6, 5], "Hello ü<answer>") == told
    assert TokenWords(byte_level).of([0, 1, 5], "Hello<|im_end|>") == ["He", "llo", "<|im_end|>"]
    assert TokenWords(byte_level).of([0, 1], "Goodbye") is None
    assert TokenWords(byte_level).of([0, 99], "Hello") is None


def test_bytes_that_are_no_text_have_no_words():
    """A model may sample any; the library's stream of letters cannot go on after them."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(256)} | {"▁He": 256, "llo": 257}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], byte_fallback=True))
    parts = (tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse())
    made.decoder = tokenizers.decoders.Sequence([tokenizers.decoders.Replace("▁", " "), *parts])
    words = TokenWords(made)
    assert words.of([256, 257, 0xC3, 0xBC], " Helloü") == [" He", "llo", "", "ü"]
    for seed in range(200):
        ids = Random(seed).choices(range(258), k=20)
        assert words.of(ids, made.decode(ids)) is None or len(words.of(ids, made.decode(ids))) == 20


@pytest.mark.parametrize("content", ["", "[]", '{"model": {"vocab": 3}}'])
def test_what_is_no_tokenizer_gives_no_words(run, content):
    (run / "model/rl").mkdir(parents=True)
    (run / "model/rl/tokenizer.json").write_text(content)
    assert pieces_of(write_report(run).read_text())[0][0]["turns"][2]["tokens"]["words"] is None


@pytest.mark.parametrize("named", [False, True])
def test_the_runs_own_tokenizer_is_used_or_that_of_the_model_its_card_names(
    run, trip_line, named, tmp_path, byte_level
):
    line = trip_line("a")
    said = {"text": "Hello", "token_ids": [0, 1], "loss_mask": [1, 1], "logprobs": [-0.1, -0.2]}
    line["transcript"]["segments"][2] |= said
    write_lines(run / "eval/after_rl/transcripts.jsonl", [line])
    model = tmp_path / "elsewhere" if named else run / "model/rl"
    model.mkdir(parents=True)
    byte_level.save(str(model / "tokenizer.json"))
    card = {"policy": {"kind": "local", "model": str(model)}}
    (run / "run_card.json").write_text(json.dumps(card))
    episodes = sum(pieces_of(write_report(run).read_text()), [])
    found = next(each for each in episodes if each["id"] == "a")
    assert found["turns"][2]["tokens"]["words"] == ["He", "llo"]


def test_runs_together_are_told_apart(run, tmp_path, trip_line):
    other = tmp_path / "other"
    write_lines(other / "transcripts.jsonl", [trip_line("q0", "Trip number 1.")])
    runs: dict[str, ReportedRun] = {"run": ReportedRun(run), "other": ReportedRun(other)}
    page = report_page([run, other], allow_unlike=True).html()
    assert columns_of(page)["sources"][-1] == {"key": "other/run", "name": "other · This run"}
    index = Viewer(runs)
    assert len(index.queries) == 3  # the same words in the same world are the same request

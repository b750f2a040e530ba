"""Table 8's figures, counted by hand, and the unit that goes with them."""

import pytest

from tripwright.data.statistics import statistics, token_counter
from tripwright.data.trajectories import StoredEpisode, read_trajectories
from tripwright.domains import domain_of
from tripwright.domains.travelplanner.query import Query
from tripwright.errors import UserError
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript


def trajectory(level: str | None, text: str, calls: int, answer: str) -> StoredEpisode:
    asked = {"org": "A", "dest": "B", "days": 3, "date": ["1", "2", "3"], "budget": 9}
    asked |= {"visiting_city_number": 1, "people_number": 1}
    query = Query.model_validate({**asked, "query": text, "level": level})
    segments = [Segment("system", "plan"), Segment("user", text)]
    for _ in range(calls):
        segments += [
            Segment("assistant", "look", call=ToolCall("t", {}, "found it")),
            Segment("tool", "found it"),
        ]
    segments.append(Segment("assistant", f"<answer>{answer}</answer>"))
    transcript = Transcript(segments, StopReason.ANSWER, answer)
    return StoredEpisode("1", domain_of("star"), query, transcript, None, {"dialect": "star"})


GIVEN = (
    trajectory("easy", "a trip", 1, "stay"),
    trajectory("easy", "a trip", 3, "go"),
    trajectory("hard", "a hard trip", 5, "go far"),
    trajectory(None, "which trip", 0, ""),
)


def test_the_columns_by_difficulty():
    found = statistics(GIVEN)
    assert found["unit"] == "characters"
    assert found["tokenizer"] is None
    assert found["dialects"] == {"star": 4}
    assert list(found["levels"]) == ["easy", "hard", "unknown", "all"]
    easy = found["levels"]["easy"]
    assert easy["n"] == 2
    assert easy["share"] == 0.5
    assert easy["requests"] == 1
    assert easy["tool_calls"] == 2.0
    assert easy["turns"] == 3.0
    # plan 4, request 6, answer's tags 17; each call 4 of the turn and 8 of what it found
    assert easy["length"] == ((27 + 12 + 4) + (27 + 36 + 2)) / 2 and easy["length_max"] == 65
    assert easy["agent_length"] == ((17 + 4 + 4) + (17 + 12 + 2)) / 2 and easy["plan_length"] == 3.0
    every = found["levels"]["all"]
    assert every["n"] == 4
    assert every["share"] == 1.0
    assert every["requests"] == 3
    assert every["tool_calls"] == 9 / 4


def test_tokens_are_those_of_the_tokenizer_named(small_tokenizer, tmp_path):
    small_tokenizer.save_pretrained(tmp_path)
    found = statistics(GIVEN[:1], tmp_path)
    assert (found["unit"], found["tokenizer"]) == ("tokens", str(tmp_path))
    texts = [segment.text for segment in GIVEN[0].transcript.segments]
    tokens = sum(len(small_tokenizer.encode(text, add_special_tokens=False)) for text in texts)
    assert found["levels"]["all"]["length"] == tokens < sum(map(len, texts))


def test_wrong_tokenizers_and_files_are_one_line(tmp_path):
    with pytest.raises(UserError, match="No tokenizer in"):
        token_counter(tmp_path / "none")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(UserError, match="No trajectories in"):
        statistics(read_trajectories([tmp_path / "empty.jsonl"]))

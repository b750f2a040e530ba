"""Journals and run folders: a torn last line, an id that comes again, an unscored episode, an older
version; one rule each."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import python
from tripwright.errors import UserError
from tripwright.files import Journal, keep_lines, whole_lines
from tripwright.runs import (
    CARD,
    VERSION,
    VERSION_ENTRY,
    TranscriptJournal,
    episode_lines,
    episodes,
    id_in,
    places,
    record_at,
    rewind_metrics,
)

TEARS = [b"", b'{"id": "q9", "tra', b"{", b"\xff\xfe", b"12", b'{"id": "\xc3', b"\x00\x00\x00"]


def write(path: Path, *records: Any, end: bytes = b"") -> Path:
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records) + end)
    return path


def numbers(path: Path) -> list[int]:
    return [json.loads(line.text)["n"] for line in whole_lines(path)]


# ---- journals


@pytest.mark.parametrize("tear", TEARS)
def test_a_torn_last_line_is_no_line_and_the_next_writer_cuts_it_off(tmp_path, tear):
    path = write(tmp_path / "j.jsonl", {"n": 1}, {"n": 2}, end=tear)
    assert numbers(path) == [1, 2]
    seen: list[Any] = []
    with Journal(path, seen.append) as journal:
        journal.append({"n": 3})
    assert seen == [{"n": 1}, {"n": 2}] and path.read_bytes() == b'{"n": 1}\n{"n": 2}\n{"n": 3}\n'


def test_a_whole_object_that_lacks_only_its_end_counts(tmp_path):
    path = write(tmp_path / "j.jsonl", {"n": 1}, end=b'{"n": 2}')
    assert numbers(path) == [1, 2]
    with Journal(path) as journal:
        journal.append({"n": 3})
    assert numbers(path) == [1, 2, 3]


def test_lines_know_their_number_and_their_place(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"n": 1}\n\n  \n{"n": 2}\n')
    assert [(line.number, line.offset) for line in whole_lines(path)] == [(1, 0), (4, 13)]


@pytest.mark.parametrize("bad", [b"oops", b"[]", b'{"m": 1}', b"\xff"])
def test_any_other_bad_line_is_named_and_nothing_is_changed(tmp_path, bad):
    path = write(tmp_path / "j.jsonl", {"n": 1})
    path.write_bytes(before := path.read_bytes() + bad + b'\n{"n": 2}\n{"n"')
    with pytest.raises(UserError, match=r"j\.jsonl:2: not mine\.$"):
        Journal(path, lambda record: record["n"], "not mine.")
    with pytest.raises(UserError, match=r"j\.jsonl:2: not mine\.$"):
        keep_lines(path, lambda record: bool(record["n"]), "not mine.")
    assert path.read_bytes() == before


def test_any_text_comes_back_as_it_was(tmp_path):
    texts = ["Köln\n", "\ud800", "\u2028", "🧳"]
    with Journal(tmp_path / "new" / "j.jsonl") as journal:
        for text in texts:
            journal.append(text)
        journal.sync()
    assert [json.loads(line.text) for line in whole_lines(tmp_path / "new" / "j.jsonl")] == texts


def test_one_process_has_a_journal(tmp_path):
    path = tmp_path / "j.jsonl"
    again = (
        "from pathlib import Path; from tripwright.files import Journal;"
        f" Journal(Path({str(path)!r}), in_use='Taken by another.')"
    )
    with Journal(path, in_use="Taken."):
        with pytest.raises(UserError, match=r"^Taken\.$"):
            Journal(path, in_use="Taken.")
        other = python("-c", again)
        assert other.returncode and "Taken by another." in other.stderr
    with Journal(path, in_use="Taken."):
        pass


def test_lines_that_have_no_use_go(tmp_path):
    path = write(tmp_path / "j.jsonl", *({"n": n} for n in range(6)), end=b'{"n": 7')
    keep_lines(path, lambda record: record["n"] % 2 == 1, "not mine.")
    assert path.read_bytes() == b'{"n": 1}\n{"n": 3}\n{"n": 5}\n'
    keep_lines(tmp_path / "none.jsonl", bool, "not mine.")
    assert not (tmp_path / "none.jsonl").exists()


def test_a_stage_that_goes_on_takes_out_what_led_nowhere(tmp_path):
    rows = [
        {"stage": stage, "step": step, "seconds": 10.0 * step}
        for stage in ("sft", "rl")
        for step in (1, 2, 3)
    ]
    path = write(tmp_path / "metrics.jsonl", *rows, end=b'{"stage": "rl"')
    assert rewind_metrics(path, "rl", 2) == 20.0
    assert [json.loads(line.text) for line in whole_lines(path)] == rows[:5]
    assert rewind_metrics(tmp_path / "none.jsonl", "rl", 2) == 0.0


# ---- episodes


def ids_and_numbers(path: Path) -> list[tuple[str | None, int]]:
    return [(line.place.id, line.place.number) for line in episode_lines(path)]


def test_of_an_id_that_comes_again_the_latest_line_counts(tmp_path):
    lines = [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "a", "n": 3}]
    lines += [{"n": 4}, {"n": 5}, {"x": 0, "id": "b", "n": 6}]
    path = write(tmp_path / "transcripts.jsonl", *lines, end=b'{"id": "a", "n"')
    assert [record["n"] for record in episodes(path)] == [3, 4, 5, 6]
    assert ids_and_numbers(path) == [("a", 3), (None, 4), (None, 5), ("b", 6)]
    assert [record_at(path, place)["n"] for place in reversed(places(path))] == [6, 5, 4, 3]
    assert len(places(path, tries_again=False)) == 6


@pytest.mark.parametrize(
    "id", ["a", 'quote " and \\ and }', "Köln", "\u2028", "", 7, -1, 1.5, "q\ud800"]
)
def test_an_id_is_read_without_the_rest_of_its_line_and_as_json_has_it(tmp_path, id):
    path = write(tmp_path / "t.jsonl", {"id": id, "n": 1}, {"n": 2, "id": id})
    assert [place.id for place in places(path)] == [str(id)]
    assert [record["n"] for record in episodes(path)] == [2]


def test_null_is_no_id(tmp_path):
    lines = {"id": None, "n": 1, "verdict": None}, {"n": 2, "id": None, "verdict": None}
    path = write(tmp_path / "t.jsonl", *lines)
    assert ids_and_numbers(path) == [(None, 1), (None, 2)]
    with pytest.raises(UserError, match=r"t\.jsonl:1: not an episode of a run: it has no 'id'\."):
        next(episode_lines(path)).read(id_in)
    with pytest.raises(UserError, match=r"t\.jsonl:1: not an episode of a run"):
        TranscriptJournal(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [("oops", "not JSON"), ("[1]", "expected an object, found list"), ('{"id": "a", ', "not JSON")],
)
def test_a_line_that_is_no_episode_is_named(tmp_path, text, why):
    path = tmp_path / "transcripts.jsonl"
    path.write_text(f'{{"id": "b"}}\n{text}\n{{"id": "c"}}\n')
    with pytest.raises(UserError, match=rf"transcripts\.jsonl:2: not an episode of a run: {why}"):
        list(episodes(path))


def test_what_a_reader_misses_in_a_line_is_named(tmp_path):
    (line,) = episode_lines(write(tmp_path / "t.jsonl", {"id": "a", "verdict": None}))
    with pytest.raises(UserError, match=r"t\.jsonl:1: not an episode of a run: it has"):
        line.read(lambda record: record["transcript"])
    for read in (lambda record: record["verdict"]["final"], lambda record: int(record["id"])):
        with pytest.raises(UserError, match=r"t\.jsonl:1: .*: expected a line as"):
            line.read(read)


def test_unscored_episodes_stay_among_the_others_and_are_not_done(tmp_path):
    tries = (("a", None), ("b", {"final": True}), ("c", None), ("c", {"final": False}))
    lines = [
        {"id": id, "domain": "d", "transcript": {"usage": {}}, "verdict": verdict}
        for id, verdict in tries
    ]
    path = write(tmp_path / "transcripts.jsonl", *lines)
    unscored = {record["id"]: record["verdict"] is None for record in episodes(path)}
    assert unscored == {"a": True, "b": False, "c": False}
    with TranscriptJournal(path) as journal:
        passed = {id: scored.passed for id, scored in journal.scored.items()}
    assert passed == {"b": True, "c": False}


# ---- versions


@pytest.mark.parametrize("version", [None, 1, VERSION + 1])
def test_a_folder_of_another_version_is_refused_in_one_line(tmp_path, version):
    path = write(tmp_path / "transcripts.jsonl", {"id": "a", "domain": "d"})
    assert len(list(episodes(path))) == 1  # a file of episodes, or a folder without a card
    (tmp_path / CARD).write_text(json.dumps({"rules": "strict", VERSION_ENTRY: version}))
    with pytest.raises(UserError, match="made by another version of tripwright"):
        list(episodes(path))

"""Which runs may be compared, and what is said where they differ."""

import json

import pytest

from tests.evals.compare.conftest import AFTER, BEFORE
from tripwright.domains import dialect_named
from tripwright.evals.run_card import judge_version, queries_entry, run_card


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"decoding": {"temperature": 1.0}}, "decoding temperature is 0.0 in a and 1.0 in b"),
        ({"rules": "official"}, 'rules is "strict" in a and "official" in b'),
        ({"world": {"name": "v", "content_hash": "d"}}, 'world content_hash is "c" in a'),
        ({"queries": {"sha256": "r"}}, 'queries sha256 is "q" in a and "r" in b'),
        ({"dialect": {"limits": {"max_turns": 30}}}, 'dialect limits is {"max_turns": 12} in a'),
        ({"dialect": {"system_prompt_sha256": "other"}}, "dialect system_prompt_sha256 is"),
        ({"dialect": {"tools_sha256": "other"}}, "dialect tools_sha256 is"),
        ({"emptied_tools": True}, "emptied_tools is false in a and true in b"),
        ({"faults": {"probability": 0.1}}, "faults is null in a"),
    ],
)
def test_unlike_runs_are_refused_in_one_line(made, changes, phrase, refused):
    error = refused(made("a", BEFORE), made("b", AFTER, **changes))
    assert phrase in error
    assert "--unlike" in error
    assert ("--rejudge" in error) == ("rules" in changes)


def test_advice_is_what_can_help(made, refused):
    a = made("a", BEFORE)
    other = made("d", AFTER, world={"name": "v"})
    lines = [
        json.dumps({**json.loads(each), "world": "v"}) + "\n"
        for each in (other / "transcripts.jsonl").read_text().splitlines()
    ]
    (other / "transcripts.jsonl").write_text("".join(lines))
    for words in ((), ("--unlike",)):
        error = refused(a, other, *words)
        assert "no scored query in common" in error
        assert "a has 40, d has 40" in error
        assert "--unlike" not in error


def test_where_unlike_runs_are_allowed_every_table_says_so(made, told, compare):
    a, b = made("a", BEFORE), made("b", AFTER, decoding={"temperature": 1.0})
    assert compare(a, b, "--unlike")["unlike"] == ["decoding temperature is 0.0 in a and 1.0 in b"]
    parts = told(a, b, "--unlike").split("\n\n")
    tables = [
        part for part in parts if part.startswith(("Metrics", "Constraints", "Final pass by"))
    ]
    assert len(tables) == 4 and all("NOT ALIKE" in table.splitlines()[0] for table in tables)


@pytest.mark.parametrize(
    "changes",
    [
        {
            "policy": {"kind": "endpoint", "model": "n", "base_url": "u"},
            "decoding": {"temperature": 0.0, "top_p": None, "max_tokens": 9},
        },
        {"policy": {"kind": "expert"}, "decoding": {}},
        {"policy": "theirs", "decoding": "theirs"},
        {"queries": {"path": "elsewhere.jsonl"}},
        {"decoding": {"seed": 7}},
        {"date": "later", "git": None, "platform": "other"},
    ],
)
def test_what_does_not_matter_may_differ(made, changes, compare):
    found = compare(made("a", BEFORE), made("b", AFTER, **changes))
    assert found["unlike"] == []


def test_what_forbids_nothing_is_told(made, compare):
    a, b = made("a", BEFORE), made("b", AFTER, judge="k", samples=2)
    (b / "score.json").unlink()
    bare = made("bare", AFTER)
    (bare / "run_card.json").unlink()
    notes = compare(a, b, bare)["notes"]
    for part in (
        "the judge's code differs: j in a, k in b",
        "samples per query differs",
        "not finished: b",
        "run card of bare does not say its rules",
    ):
        assert any(part in note for note in notes), part


def test_wrong_input_is_one_line(made, tmp_path, refused):
    a, b = made("a", BEFORE), made("b", AFTER)
    assert "at least two runs, found 1" in refused(a)
    assert "No run folder at" in refused(a, tmp_path / "lost")
    assert "given twice" in refused(a, a)
    (tmp_path / "empty").mkdir()
    assert "No transcripts.jsonl in" in refused(a, tmp_path / "empty")
    (tmp_path / "empty" / "recipe.json").write_text("{}")
    assert "examine" in refused(a, tmp_path / "empty")
    assert "go together" in refused(a, b, "--rejudge", "strict")
    assert "Unknown rules 'kind'" in refused(a, b, "--rejudge", "kind", "--world", tmp_path)
    (b / "transcripts.jsonl").write_text('{"id": "q000000"}\n')
    assert "transcripts.jsonl:1: not an episode" in refused(a, b)
    (b / "transcripts.jsonl").write_text("")
    assert "nothing to compare yet" in refused(a, b)


def test_a_card_says_what_it_must(tmp_path):
    (queries := tmp_path / "q.jsonl").write_text("{}\n")
    asked = queries_entry(queries)
    card, other = (
        run_card({"kind": "expert"}, {}, dialect_named(name), "strict", asked, {"name": "w"})
        for name in ("compact", "star")
    )
    said = "policy decoding rules dialect queries world samples tripwright judge git python date"
    assert set(said.split()) <= card.keys()
    hashes = [card["dialect"][of] for of in ("system_prompt_sha256", "tools_sha256")]
    assert [len(each) for each in (*hashes, card["queries"]["sha256"])] == [64] * 3
    assert card["dialect"]["tools_sha256"] != other["dialect"]["tools_sha256"]
    assert card["judge"] == other["judge"] and len(card["judge"]) == 12


def test_the_judges_version_changes_with_its_code_alone(tmp_path):
    def version(place: str, code: str, beside: str = "") -> str:
        for room, text in (("rules", code), ("verifiers", "x = 1\n"), ("tools", beside)):
            (tmp_path / place / "domains" / "trips" / room).mkdir(parents=True)
            (tmp_path / place / "domains" / "trips" / room / "rules.py").write_text(text)
        return judge_version(tmp_path / place)

    first = version("a", 'def f(n):\n    """Says."""\n    return n > 3\n')
    assert first == version(
        "b", "# why\ndef f( n ):\n    '''Says otherwise.'''\n\n    return n > 3  # three\n"
    )
    # tools judge nothing (law 1)
    assert first == version("c", 'def f(n):\n    """Says."""\n    return n > 3\n', "y = 2\n")
    assert first != version("d", 'def f(n):\n    """Says."""\n    return n >= 3\n')

"""What counts as a judge's verdict, what does not, and how several become one."""

import itertools
import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    RUBRICS,
    Conclusion,
)
from tripwright.domains.deeptravel.verifiers.judge import (
    UnreadableReply,
    Vote,
    load_rubrics,
    middle,
    read_reply,
)
from tripwright.errors import UserError
from tripwright.llm.client import Completion

LEVEL = load_rubrics().trajectory
SCALE: tuple[str, ...] = get_args(Conclusion)
BODY: dict[str, Any] = {
    "reason": "As read.",
    "rubrics": dict.fromkeys(RUBRICS, "met"),
    "problems": [],
    "conclusion": "very_satisfied",
}


def read(text: str, finish: str = "stop") -> Vote:
    return read_reply(Completion(text, (), finish, {}), LEVEL)


def test_the_papers_words_lead_to_the_six_conclusions():
    """A.2.2, word by word as printed."""
    printed = (
        "Very satisfied or Very satisfied but did not address unexpected situations or Basically"
        " satisfied, other constraints or specific requirements were not met or Dissatisfied,"
        " logically unreasonable or Dissatisfied, main requirements misunderstood or Dissatisfied,"
        " incomplete answer"
    )
    assert " or ".join(LEVEL.conclusions.values()) == printed and LEVEL.scale == SCALE


@pytest.mark.parametrize(
    "text",
    [
        "Very satisfied",
        f"<think>{json.dumps(BODY)}",
        json.dumps({**BODY, "conclusion": None}),
        json.dumps({**BODY, "conclusion": "pass"}),
        json.dumps({**BODY, "rubrics": {}}),
        json.dumps({**BODY, "rubrics": None}),
        json.dumps({**BODY, "rubrics": {**BODY["rubrics"], "logic": "mostly"}}),
        json.dumps(BODY) + json.dumps({**BODY, "conclusion": "dissatisfied_logic"}),
        json.dumps(BODY)[:-1],
        json.dumps(BODY)[:-1] + ', "conclusion": "dissatisfied_logic"}',
        "{" * 5000,
    ],
)
def test_nothing_is_guessed(text):
    with pytest.raises(UnreadableReply):
        read(text)
    with pytest.raises(UnreadableReply, match="cut off"):
        read(json.dumps(BODY), finish="length")


def test_json_wherever_it_stands_with_what_judges_do_to_it():
    words = ("met", "not met", "Not Asked", "Met.", "not_met", "not_asked")
    problems = [{"rubric": "taste", "said": "", "message": "m"}]
    loose = {
        **BODY,
        "rubrics": dict(zip(RUBRICS, words, strict=True)),
        "problems": problems,
        "conclusion": "**Very Satisfied.**",
    }
    vote = read(f"I looked at this.\n```json\n{json.dumps(loose, indent=1)}\n```\nThat is all.")
    assert list(vote.rubrics.values()) == [True, False, None] * 2
    assert [(each.kind, each.message) for each in vote.problems] == [("other", "m")]
    assert (vote.said, vote.conclusion) == ("very_satisfied", "dissatisfied_main_requirement")
    assert read(json.dumps(BODY).replace("As read.", "two\nlines")).reason == "two\nlines", (
        "a raw line break in a string"
    )
    assert Vote.model_validate(json.loads(vote.model_dump_json())) == vote


def test_the_schema_takes_what_is_asked_for_and_nothing_else():
    schema = LEVEL.reply.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(BODY, schema)
    for wrong in ({"conclusion": "pass"}, {"rubrics": {}}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**BODY, **wrong}, schema)


# ---- votes


def test_a_verdict_passes_exactly_if_more_than_half_of_the_votes_pass():
    for number in (1, 2, 3, 4):
        for votes in itertools.product(SCALE, repeat=number):
            passing = sum(vote in PASSING_CONCLUSIONS for vote in votes)
            assert (middle(votes, SCALE) in PASSING_CONCLUSIONS) == (2 * passing > number), votes
    with pytest.raises(ValueError, match="no median"):
        middle([], SCALE)


# ---- rubrics as data


def test_a_users_rubrics(tmp_path):
    theirs = tmp_path / "mine.toml"
    text = (
        Path(__file__).parents[4] / "tripwright/domains/deeptravel/verifiers/rubrics.toml"
    ).read_text()
    extra = (
        '[trajectory.rubrics.green]\ntitle = "By rail?"\nunmet ='
        ' "basically_satisfied"\ntext = "No flight below 500 km."\n'
    )
    theirs.write_text(text + extra)
    rubrics = load_rubrics(theirs)
    assert rubrics.trajectory.rubrics["green"].unmet == "basically_satisfied"
    assert rubrics.fingerprint != load_rubrics().fingerprint
    vote = read_reply(
        Completion(
            json.dumps({**BODY, "rubrics": {**BODY["rubrics"], "green": "not_met"}}), (), "stop", {}
        ),
        rubrics.trajectory,
    )
    assert vote.conclusion == "basically_satisfied"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("rubrics.logic]", "rubrics.sense]", "lacks the rubric 'logic'"),
        ('unmet = "dissatisfied_logic"', 'unmet = "very_satisfied"', "rubric 'logic': unmet "),
        ('very_satisfied = "Very satisfied"\n', "", "needs these conclusions in this order"),
        ('name = "deeptravel"', "name = ", "not TOML"),
        ('name = "deeptravel"', 'name = "x"\nnote = "y"', "'note': Extra inputs"),
    ],
)
def test_rubrics_that_cannot_be_used_are_named_in_one_line(tmp_path, old, new, told):
    text = (
        Path(__file__).parents[4] / "tripwright/domains/deeptravel/verifiers/rubrics.toml"
    ).read_text()
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as raised:
        load_rubrics(tmp_path / "mine.toml")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "mine.toml" in str(raised.value)
    with pytest.raises(UserError, match="cannot be read"):
        load_rubrics(tmp_path / "none.toml")

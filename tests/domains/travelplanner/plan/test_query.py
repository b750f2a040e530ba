"""Query files: whatever is wrong with a line, one sentence says which line and why."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.errors import UserError

GOOD = {
    "org": "Boston", "dest": "Tampa", "days": 3, "visiting_city_number": 1, "date": ["2022-03-01", "2022-03-02", "2022-03-03"],
    "people_number": 2, "local_constraint": {"house rule": None}, "budget": 900, "query": "A trip, please.",
}  # fmt: skip


def line(**changed: object) -> bytes:
    return json.dumps({**GOOD, **changed}).encode()


def test_a_list_of_a_thousand_mistakes_is_one() -> None:
    """To describe each would take gigabytes of a long one."""
    answer = parse_days([{"days": 1}] * 1000)
    assert answer.problem == "day 1: field 'city': field required"
    for many in ({"date": [1] * 1000}, {"local_constraint": {"cuisine": [1] * 1000}}):
        with pytest.raises(ValidationError) as error:
            Query.model_validate(GOOD | many)
        assert error.value.error_count() == 1


def test_a_byte_order_mark_and_empty_lines_are_no_problem(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line() + b"\n\n" + line(budget=10**400) + b"\r\n")
    assert [query.org for query in read_queries(path)] == ["Boston", "Boston"]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"org": "Caf\xe9"}', "not text in UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (line()[:-1] + b', "budget": 9}', "the key 'budget' comes twice"),
        (line(local_constraint={"diet": "vegan"}), "no rule knows wishes for 'diet'"),
        (line(local_constraint={"Room Type": "private room"}), "wishes for 'Room Type'"),
        (b"[1, 2]", r"expected a query record.*found \[1, 2\]"),
        (line(budget=float("nan")), "'budget': expected a finite amount"),
        (line(budget=float("inf")), "'budget': expected a finite amount"),
        (line(budget=-5), "'budget': expected a finite amount above 0, in US dollars .found -5."),
        (line(budget=0), "found 0"),
        (line(people_number=100_000), "'people_number': expected 1 to 100 people .found 100000."),
        (line(date=["2022-03-01"]), "'date': expected 3 days, one after the other"),
        (line(date=["2022-03-01", "2022-03-03", "2022-03-04"]), "'date': expected 3 days"),
        (line(date=["2022-02-30", "2022-03-01", "2022-03-02"]), "'date': expected 3 days"),
        (line(date=["soon", "later", "last"]), "found soon, later, last"),
        (line(date=[]), "found none"),
        (line(org="\ud800"), "surrogate"),
        (
            line(local_constraint=None),
            "'local_constraint': Input should be a JSON object .found None.",
        ),
        (b'{"org": "Boston"}', "'dest': Field required$"),
    ],
)
def test_a_bad_line_is_one_sentence_with_its_number(tmp_path, bad, said):
    path = tmp_path / "queries.jsonl"
    path.write_bytes(line() + b"\n" + bad + b"\n")
    with pytest.raises(UserError, match=rf"queries.jsonl:2: .*{said}"):
        read_queries(path)


@pytest.mark.parametrize("depth", [500, 900, 980])
def test_a_value_nested_to_the_limit_of_reading_is_one_sentence(tmp_path, depth):
    """It can be read, and then not be shown: repr needs more of the stack than the parser."""
    path = tmp_path / "queries.jsonl"
    path.write_text('{"days": ' + "[" * depth + "]" * depth + "}\n")
    with pytest.raises(UserError, match=r"queries\.jsonl:1: ") as refused:
        read_queries(path)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400

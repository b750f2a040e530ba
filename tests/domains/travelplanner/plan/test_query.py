"""Query files: whatever is wrong with a line, one sentence says which line and why."""

import csv
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.scoring.lines import QueryFile
from tripwright.errors import UserError

GOOD = {
    "org": "Boston", "dest": "Tampa", "days": 3, "visiting_city_number": 1, "date": ["2022-03-01", "2022-03-02", "2022-03-03"],
    "people_number": 2, "local_constraint": {"house rule": None}, "budget": 900, "query": "A trip, please.",
}  # fmt: skip


def line(**changed: object) -> bytes:
    return json.dumps({**GOOD, **changed}).encode()


def test_a_list_of_a_thousand_mistakes_is_one():
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
        (b"[1, 2]", r"expected a query record.*found a list"),
        (line(budget=float("nan")), "'budget': expected a finite amount"),
        (line(budget=-5), "'budget': expected a finite amount above 0, in US dollars .found -5."),
        (line(people_number=100_000), "'people_number': expected 1 to 100 people .found 100000."),
        (line(date=["2022-03-01"]), "'date': expected 3 days, one after the other"),
        (line(date=["2022-03-01", "2022-03-03", "2022-03-04"]), "'date': expected 3 days"),
        (line(date=["soon", "later", "last"]), "found soon, later, last"),
        (line(org="\ud800"), "surrogate"),
        (b'{"org": "Boston"}', "'dest': Field required"),
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


# ---- as TravelPlanner publishes them: dates and wishes are texts of Python literals

PUBLISHED = GOOD | {
    "date": "['2022-03-01', '2022-03-02', '2022-03-03']",
    "local_constraint": "{'house rule': None, 'cuisine': ['Thai', \"Chef's\"], 'room type': None, 'transportation': 'no flight'}",
}


def published_csv(path: Path, *records: dict[str, object]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["", *PUBLISHED, "reference_information"])
        writer.writeheader()
        for i, record in enumerate(records):
            writer.writerow({"": i, **record, "reference_information": "[{'a': 1}]" * 20_000})
    return path


def test_the_published_csv_and_hub_forms_are_the_same_queries(tmp_path):
    asked = PUBLISHED | {"query": 'A trip,\nplease; "quiet".'}
    hub = tmp_path / "hub.jsonl"
    hub.write_text(json.dumps(asked) + "\n")
    (of_csv,) = read_queries(published_csv(tmp_path / "published.csv", asked))
    (of_hub,) = read_queries(hub)
    assert of_csv.record() | {"reference_information": None} == of_hub.record() | {
        "reference_information": None
    }
    assert of_csv.date == GOOD["date"] and of_csv.people_number == 2 and of_csv.budget == 900
    assert of_csv.local_constraint.cuisine == ["Thai", "Chef's"]
    assert QueryFile(tmp_path / "published.csv").find(asked) == 0
    split = {key: PUBLISHED[key] for key in ("org", "dest", "days", "date")}  # as the test split's
    text = "Plan a 3-day trip from Boston to Tampa for 2 people, with a budget of $900."
    (of_text,) = read_queries(published_csv(tmp_path / "test.csv", split | {"query": text}))
    assert (of_text.visiting_city_number, of_text.party_size, of_text.budget) == (1, 2, 900)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch PATH')",
        "[open('PATH', 'w')]",
        "(",
        "[" * 5000,
        "'a'*99",
        "x" * 20_000,
        "9" * 9_000,
    ],
)
def test_a_text_that_is_no_literal_is_refused_and_never_run(text, tmp_path):
    path, touched = tmp_path / "queries.jsonl", tmp_path / "touched"
    path.write_bytes(line(date=text.replace("PATH", str(touched))))
    with pytest.raises(UserError, match="queries.jsonl:1: field 'date': .*(literal|valid list)"):
        read_queries(path)
    assert not touched.exists()


def test_a_csv_line_is_named_by_its_number(tmp_path):
    path = published_csv(tmp_path / "published.csv", PUBLISHED, PUBLISHED | {"days": "soon"})
    with pytest.raises(UserError, match="published.csv:3: field 'days'"):
        read_queries(path)
    path.write_bytes(b"org,dest\n\xff,\n")
    with pytest.raises(UserError, match="expected CSV in UTF-8"):
        read_queries(path)

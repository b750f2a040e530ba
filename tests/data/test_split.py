"""Row P8's split: nothing twice, nothing lost unsaid, the mix kept, and the same parts from the
same requests."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.data.split import (
    REST,
    SplitRequest,
    divide,
    merge,
    mix,
    rounded_shares,
    write_parts,
)
from tripwright.errors import UserError

KEEP = ("level", "days")


def record(number: int, level: str, days: int, **more: Any) -> dict[str, Any]:
    asked = {
        "org": "A",
        "dest": "B",
        "days": days,
        "visiting_city_number": 1,
        "date": [f"2022-03-{day:02d}" for day in range(1, days + 1)],
        "people_number": 1,
        "budget": max(1, number),
    }
    return {
        "idx": number,
        **asked,
        "level": level,
        "query": f"Trip number {number}, {level}, {days} days.",
        **more,
    }


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


@pytest.fixture
def official(tmp_path: Path) -> list[Path]:
    """Files of the official sizes and mix: 45 and 180, each level and length of trip alike, `idx`
    from 0 in both."""
    cells = [(level, days) for level in ("easy", "medium", "hard") for days in (3, 5, 7)]
    train = [record(n, *cells[n % 9]) for n in range(45)]
    validation = [record(n, *cells[n % 9]) | {"query": f"Validation trip {n}"} for n in range(180)]
    return [
        write(tmp_path / "train.jsonl", train),
        write(tmp_path / "validation.jsonl", validation),
    ]


def texts(requests: list[SplitRequest]) -> list[str]:
    return [request.query.query for request in requests]


def test_the_official_files_divide_without_a_remainder(official: list[Path]) -> None:
    parts = divide(merge(official).requests, {"train": 180, "validation": 45}, seed=1, keep=KEEP)
    assert mix(parts["train"], KEEP) == {
        f"{level} {days}": 20 for level in ("easy", "hard", "medium") for days in (3, 5, 7)
    }
    assert set(mix(parts["validation"], KEEP).values()) == {5} and not parts[REST]
    assert len({*texts(parts["train"]), *texts(parts["validation"])}) == 225


def test_parts_depend_on_the_requests_and_the_seed_alone(
    official: list[Path], tmp_path: Path
) -> None:
    sizes = {"train": 100, "validation": 30}
    parts = divide(merge(official).requests, sizes, seed=1, keep=KEEP)
    backwards = write(
        tmp_path / "b.jsonl",
        [json.loads(line) for path in official for line in path.read_text().splitlines()][::-1],
    )
    assert {
        name: texts(part)
        for name, part in divide(merge([backwards]).requests, sizes, seed=1, keep=KEEP).items()
    } == {name: texts(part) for name, part in parts.items()}
    assert texts(divide(merge(official).requests, sizes, seed=2, keep=KEEP)["train"]) != texts(
        parts["train"]
    )
    assert texts(parts["train"]) != sorted(texts(parts["train"]))


def test_where_the_counts_do_not_allow_it_the_level_is_kept_best(tmp_path: Path) -> None:
    records = [
        record(n, level, days)
        for n, (level, days) in enumerate(
            [("easy", 3)] * 7 + [("easy", 5)] * 6 + [("hard", 3)] * 10
        )
    ]
    parts = divide(
        merge([write(tmp_path / "q.jsonl", records)]).requests, {"a": 11, "b": 6}, seed=0, keep=KEEP
    )
    assert [len(part) for part in parts.values()] == [11, 6, 6]
    for part in parts.values():
        for level, n in Counter(str(request.query.level) for request in part).items():
            exact = Fraction(len(part) * {"easy": 13, "hard": 10}[level], 23)
            assert abs(n - exact) < 1


@given(
    rows=st.lists(st.integers(0, 60), min_size=1, max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_rounded_shares_add_up_and_are_floor_or_ceiling(rows: list[int], cuts: list[int]) -> None:
    total = sum(rows)
    ends = [0, *sorted(cut % (total + 1) for cut in cuts), total]
    columns = [end - start for start, end in zip(ends, ends[1:], strict=False)]
    table = rounded_shares(rows, columns)
    assert [sum(line) for line in table] == rows
    assert [sum(line) for line in zip(*table, strict=True)] == columns
    for row, line in zip(rows, table, strict=True):
        for column, found in zip(columns, line, strict=True):
            assert total == 0 or abs(Fraction(row * column, total) - found) < 1


def test_the_largest_remainder_goes_first() -> None:
    assert rounded_shares([1, 9], [2, 8]) == [[0, 1], [2, 7]]
    assert rounded_shares([10], [3, 7]) == [[3, 7]]


def test_duplicates_are_dropped_and_told(tmp_path: Path) -> None:
    first = [record(1, "easy", 3), record(2, "hard", 5)]
    second = [
        record(1, "easy", 3),
        record(2, "hard", 5, budget=7),
        record(3, "easy", 3) | {"query": "Trip  number 1,\neasy, 3 days. "},
    ]
    merged = merge([write(tmp_path / "a.jsonl", first), write(tmp_path / "b.jsonl", second)])
    assert merged.duplicates == [
        ("b.jsonl:1", "a.jsonl:1"),
        ("b.jsonl:2", "a.jsonl:2"),
        ("b.jsonl:3", "a.jsonl:1"),
    ]
    assert merged.differing == 2 and [request.query.budget for request in merged.requests] == [1, 2]


def test_records_come_out_whole_with_their_source_and_a_new_idx(
    official: list[Path], tmp_path: Path
) -> None:
    given = {
        line["query"]: line
        for path in official
        for line in map(json.loads, path.read_text().splitlines())
    }
    parts = divide(merge(official).requests, {"train": 150, "test": 50}, seed=3, keep=KEEP)
    places = write_parts(parts, tmp_path / "parts", official)
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "test.jsonl",
        "train.jsonl",
    ]
    for name, path in places.items():
        records = [json.loads(line) for line in path.read_text().splitlines()]
        assert [each["idx"] for each in records] == list(range(len(parts[name])))
        for each in records:
            file, _, line = each["source"].partition(":")
            old = json.loads((tmp_path / file).read_text().splitlines()[int(line) - 1])
            assert old == given[each["query"]]
            assert all(each[key] == value for key, value in old.items() if key != "idx")


def test_what_cannot_be_divided(official: list[Path], tmp_path: Path) -> None:
    requests = merge(official).requests
    with pytest.raises(UserError, match="ask for 226 requests, and there are 225"):
        divide(requests, {"train": 226}, seed=0, keep=KEEP)
    with pytest.raises(UserError, match="is one of the files to be divided"):
        write_parts(divide(requests, {"train": 5}, seed=0, keep=KEEP), tmp_path, official)
    with pytest.raises(UserError, match="No queries in"):
        merge([write(tmp_path / "empty.jsonl", [])])
    with pytest.raises(UserError, match="No query file at"):
        merge([tmp_path / "none.jsonl"])


def test_requests_without_a_level_are_counted_as_such(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.jsonl",
        [
            {key: value for key, value in record(n, "easy", 3).items() if key != "level"}
            for n in range(6)
        ],
    )
    assert mix(merge([path]).requests, ("level",)) == {"no level": 6}

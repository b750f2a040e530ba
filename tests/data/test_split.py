"""Row P8's split: nothing twice, nothing lost unsaid, the mix kept, and the same parts from the
same requests."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.files import read_lines, write_lines
from tests.made import trip
from tripwright.data.split import REST, SplitRequest, divide, merge, mix, write_parts
from tripwright.domains import domains
from tripwright.errors import UserError


def record(number: int, level: str, days: int, **more: Any) -> dict[str, Any]:
    fields = {"budget": max(1, number), "people_number": 1, "level": level, **more}
    text = f"Trip number {number}, {level}, {days} days."
    return {"idx": number, **trip(days=days, query=text, **fields).record()}


@pytest.fixture
def official(tmp_path: Path) -> list[Path]:
    """Files of the official sizes and mix: 45 and 180, each level and length of trip alike, `idx`
    from 0 in both."""
    cells = [(level, days) for level in ("easy", "medium", "hard") for days in (3, 5, 7)]
    train = [record(n, *cells[n % 9]) for n in range(45)]
    validation = [record(n, *cells[n % 9]) | {"query": f"Validation trip {n}"} for n in range(180)]
    return [
        write_lines(tmp_path / "train.jsonl", train),
        write_lines(tmp_path / "validation.jsonl", validation),
    ]


def texts(requests: list[SplitRequest]) -> list[str]:
    return [request.query.query for request in requests]


def test_the_official_files_divide_without_a_remainder(official):
    parts = divide(merge(official).requests, {"train": 180, "validation": 45}, seed=1)
    assert mix(parts["train"]) == {
        f"{level} {days}": 20 for level in ("easy", "hard", "medium") for days in (3, 5, 7)
    }
    assert set(mix(parts["validation"]).values()) == {5} and not parts[REST]
    assert len({*texts(parts["train"]), *texts(parts["validation"])}) == 225


def test_parts_depend_on_the_requests_and_the_seed_alone(official, tmp_path):
    sizes = {"train": 100, "validation": 30}
    parts = divide(merge(official).requests, sizes, seed=1)
    records = [record for path in official for record in read_lines(path)]
    backwards = write_lines(tmp_path / "b.jsonl", records[::-1])
    assert {
        name: texts(part)
        for name, part in divide(merge([backwards]).requests, sizes, seed=1).items()
    } == {name: texts(part) for name, part in parts.items()}
    assert texts(divide(merge(official).requests, sizes, seed=2)["train"]) != texts(parts["train"])
    assert texts(parts["train"]) != sorted(texts(parts["train"]))


@given(
    groups=st.lists(st.integers(0, 30), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 200), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_parts_have_their_sizes_and_nearly_their_share_of_each_group(groups, cuts):
    domain = next(iter(domains().values()))
    numbered = [(n, f"l{level}") for level, count in enumerate(groups) for n in range(count)]
    kind = domain.requests.kind.model_validate
    requests = [SplitRequest(domain, kind(record(*each, 3)), "", str(each[0])) for each in numbered]
    total = len(requests)
    ends = [0, *sorted(cut % (total + 1) for cut in cuts)]
    sizes = {str(n): end - start for n, (start, end) in enumerate(pairwise(ends)) if end > start}
    parts = divide(requests, sizes, seed=0)
    assert sum(map(len, parts.values())) == total
    for name, size in sizes.items():
        assert len(parts[name]) == size
        found = Counter(str(request.query.level) for request in parts[name])
        for level, count in enumerate(groups):
            assert abs(found[f"l{level}"] - Fraction(size * count, total)) < 2


def test_duplicates_are_dropped_and_told(tmp_path):
    first = [record(1, "easy", 3), record(2, "hard", 5)]
    blanks = record(3, "easy", 3) | {"query": "Trip  number 1,\neasy, 3 days. "}
    second = [record(1, "easy", 3), record(2, "hard", 5, budget=7), blanks]
    files = {"a.jsonl": first, "b.jsonl": second}
    merged = merge([write_lines(tmp_path / name, lines) for name, lines in files.items()])
    assert (merged.duplicates, merged.differing) == (3, 2)
    assert [request.query.budget for request in merged.requests] == [1, 2]


def test_records_come_out_whole_with_their_source_and_a_new_idx(official, tmp_path):
    given = {line["query"]: line for path in official for line in read_lines(path)}
    parts = divide(merge(official).requests, {"train": 150, "test": 50}, seed=3)
    places = write_parts(parts, tmp_path / "parts")
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names == ["test.jsonl", "train.jsonl"]
    for name, path in places.items():
        records = read_lines(path)
        assert [each["idx"] for each in records] == list(range(len(parts[name])))
        for each in records:
            file, _, line = each["source"].partition(":")
            old = read_lines(tmp_path / file)[int(line) - 1]
            assert old == given[each["query"]]
            changed = ("idx", "local_constraint")  # the second names every kind of wish
            assert all(each[key] == value for key, value in old.items() if key not in changed)


def test_what_cannot_be_divided(official, tmp_path):
    requests = merge(official).requests
    with pytest.raises(UserError, match="of another division"):
        write_parts(divide(requests, {"train": 5}, seed=0), tmp_path)


def test_requests_without_a_level_are_counted_as_such(tmp_path):
    path = write_lines(tmp_path / "q.jsonl", (record(n, "easy", 3) for n in range(6)))
    path.write_text(path.read_text().replace('"level": "easy"', '"level": null'))
    assert mix(merge([path]).requests) == {"no level 3": 6}

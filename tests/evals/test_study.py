"""The human study: what is drawn and what raters may not find in it, labels that come in, and
figures that can be counted by hand."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main
from tripwright.domains.deeptravel.verifiers import findings
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.errors import UserError
from tripwright.evals.study import Labels, Study, majority, make_study, merged, read_labels, summary
from tripwright.statistics.agreement import (
    agreement,
    cohens_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript
from tripwright.world.generator import build_world

FLIGHTS = Rows(
    "FlightOffer",
    ("number", "depart_city", "departs_at", "price", "currency"),
    (
        ("TW 214", "Ashford", "2026-06-26T06:54", 123.0, "USD"),
        ("TW 38", "Ashford", "2026-06-26T09:10", 99.0, "USD"),
    ),
    about={"source": "closed world, 2026-06-20T09:30:00Z"},
    total=2,
)
ANSWER = """From Ashford to Berryton on 2026-06-26.

### Outbound recommendations (2026-06-26)
#### TW 38 flight (Ashford → Berryton)
- **Price**: 99 USD per person
- **Why**: the cheapest
- **Evidence**: [call 1, row 2]

### Risks and alternatives
- See [call 1, row 9].
"""


def errand(
    number: int,
    answer: str | None = ANSWER,
    seconds: float | None = 31.24,
    passes: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """A line of transcripts as a run of travellers' requests (row D8) leaves it."""
    asked = {"depart_city_name": "Ashford", "arrival_poi": ""}
    call = ToolCall("flight_search", asked, json.dumps(FLIGHTS.records()), rows=FLIGHTS)
    segments = [
        Segment("system", "SYSTEM PROMPT"),
        Segment("assistant", "<think>A SECRET THOUGHT</think>", call=call),
        Segment("tool", f"<tool_response>{call.result}</tool_response>"),
    ]
    stop = StopReason.ANSWER if answer is not None else StopReason.MAX_TURNS
    usage = {} if seconds is None else {"seconds": seconds}
    conclusion = "very_satisfied" if passes else "dissatisfied_logic"
    turns = [{"call": 1, "conclusion": "satisfied"}] if passes else []
    return {
        "id": f"r{number}", "domain": "deeptravel", "verdict": {"final": passes},
        "transcript": Transcript(segments, stop, answer, usage=usage).to_json(),
        "request": {
            "id": f"r{number}", "query": f"I go from Ashford to Berryton, trip {number}.", "origin": "Ashford", "destination": "Berryton",
            "depart_date": "2026-06-26", "total_budget": 1200.0, "level": "hard",
        },
        "verifier": {
            "name": "rules", "reward": float(passes), "turns": turns, "turns_saved": 1 - len(turns),
            "trajectory": {"conclusion": conclusion, "rubrics": {"logic": passes, "backup_plan": None}},
        },
        **more,
    }  # fmt: skip


def journey(number: int, final: bool = True) -> dict[str, Any]:
    """A line of transcripts as a run of TravelPlanner requests leaves it."""
    places = [{"name": "Kendale Inn", "price": 345}, {"name": "Talfall Rest", "price": 413}]
    call = ToolCall("search_accommodations", {"city": "Rowestow"}, json.dumps(places))
    segments = [Segment("assistant", "Stay.", call=call), Segment("tool", call.result)]
    query = {
        "query": f"Plan trip {number} to Rowestow.", "org": "Wynon", "dest": "Rowestow", "days": 3,
        "date": ["2022-03-07", "2022-03-08", "2022-03-09"], "people_number": 2, "budget": 1530,
        "local_constraint": {"cuisine": ["Mexican", "Thai"], "room type": None}, "level": "medium",
        "oracle": {"plan": "THE ORACLE'S PLAN"},
    }  # fmt: skip
    day = {"days": 1, "current_city": "from Wynon to Rowestow", "transportation": "-"}
    return {
        "id": f"q{number}", "domain": "travelplanner", "request": query, "world": "nano-7",
        "transcript": Transcript(segments, StopReason.ANSWER, '[{"days": 1}]').to_json(),
        "plan": [{**day, "attraction": "Malmoor Trail, Rowestow;Old Pier;"}], "verdict": {"final": final},
    }  # fmt: skip


Maker = Callable[[str, list[dict[str, Any]]], Path]


@pytest.fixture
def run_folder(tmp_path: Path) -> Maker:
    """run_folder(name, lines) → a run with these transcripts."""

    def make(name: str, lines: list[dict[str, Any]]) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        write_lines(folder / "transcripts.jsonl", lines)
        return folder

    return make


@pytest.fixture
def study(run_folder: Maker, tmp_path: Path) -> Study:
    """Four requests answered by two runs."""
    good = run_folder("patient", [errand(n) for n in range(4)])
    bad = run_folder("hasty", [errand(n, passes=False, seconds=None) for n in range(4)])
    make_study([good, bad], tmp_path / "study", seed=3)
    return Study(tmp_path / "study")


def items_of(folder: Path) -> list[dict[str, Any]]:
    return read_lines(folder / "items.jsonl")


def label(study: Study, *rows: tuple[str, str, Mapping[str, Any]]) -> Labels:
    """rows: (rater, item, values)"""
    empty = dict.fromkeys(study.names)
    lines = ({"rater": rater, "item": item, **empty, **values} for rater, item, values in rows)
    return read_labels(study, [write_lines(study.folder.parent / "labels.jsonl", lines)])


def all_true(study: Study, **changed: Any) -> dict[str, Any]:
    return {**dict.fromkeys(study.names, True), **changed}


# ---- out


@pytest.fixture
def runs_of(run_folder: Maker) -> Callable[..., list[Path]]:
    """runs_of(a=numbers, …) → runs of these names that answered these requests."""
    return lambda **of: [run_folder(name, [errand(n) for n in ns]) for name, ns in of.items()]


def test_every_run_answers_the_same_requests(runs_of, tmp_path):
    runs = runs_of(a=range(9), b=range(4, 12))
    counts = make_study(runs, tmp_path / "s", per_run=4, seed=1)
    drawn: dict[str, set[str]] = {}
    for entry in Study(tmp_path / "s").key.values():
        drawn.setdefault(entry["run"], set()).add(entry["id"])
    assert drawn["a"] == drawn["b"] and len(drawn["a"]) == 4
    assert (counts.items, counts.shared_requests) == (8, 4)


def test_where_runs_share_too_little_each_adds_its_own(runs_of, tmp_path):
    make_study(runs_of(a=range(3), b=range(2, 9)), tmp_path / "s", per_run=3)
    ids = Counter(entry["run"] for entry in Study(tmp_path / "s").key.values())
    assert ids == {"a": 3, "b": 3}
    assert [entry["id"] for entry in Study(tmp_path / "s").key.values()].count("r2") == 2


def test_one_transcript_of_each_request_and_only_what_was_scored(run_folder, tmp_path):
    twice = [{**errand(1, answer=f"Answer {n}."), "id": f"r1-{n}"} for n in range(5)]
    again = [errand(2, answer="Old."), errand(2, answer="New.")]
    unscored = errand(3)
    unscored["transcript"]["stop_reason"] = "unscored"
    folder = run_folder("a", [*twice, *again, unscored])
    with (folder / "transcripts.jsonl").open("a") as file:
        file.write('{"id": "torn')
    assert make_study([folder], tmp_path / "s").left_out == 1
    answers = {item["answer"] for item in items_of(tmp_path / "s")}
    assert len(answers) == 2 and "New." in answers


def test_raters_see_nothing_of_the_run(run_folder, tmp_path):
    """Not its name, not the transcript's id, not a verdict, a thought, a level or the oracle's
    plan."""
    lines = [errand(n, passes=False) for n in range(3)] + [journey(n) for n in range(3)]
    make_study([run_folder("THE RUN", lines)], tmp_path / "s")
    secrets = ("THE RUN", "nano-7", "SECRET", "SYSTEM", "ORACLE", "dissatisfied", "verdict")
    for file in ("items.jsonl", "items.csv"):
        shown = (tmp_path / "s" / file).read_text()
        for secret in (*secrets, "verifier", "final", "level", "hard", '"r1"', '"q1"'):
            assert secret not in shown, secret
    assert "THE RUN" in (tmp_path / "s" / "key.jsonl").read_text()


def test_equal_seeds_make_equal_studies_and_items_do_not_stand_run_by_run(runs_of, tmp_path):
    runs = runs_of(a=range(20), b=range(20))
    for out, seed in (("one", 5), ("two", 5), ("three", 6)):
        make_study(runs, tmp_path / out, per_run=10, seed=seed)
    one, two, three = (
        [(tmp_path / out / file).read_bytes() for file in ("items.jsonl", "key.jsonl")]
        for out in ("one", "two", "three")
    )
    assert one == two != three
    first = [entry["run"] for entry in Study(tmp_path / "one").key.values()][:10]
    assert 0 < Counter(first)["a"] < 10


def test_requests_answers_and_calls_are_kept_as_people_read_them(run_folder, tmp_path):
    silent, faulty = errand(8, answer=None, seconds=None), errand(9)
    faulty["transcript"]["segments"][2]["text"] = "The service is down."
    make_study([run_folder("a", [errand(1), journey(1), silent, faulty])], tmp_path / "s")
    by_request = {item["request"].split()[-1]: item for item in items_of(tmp_path / "s")}
    first, plan = by_request["1."], by_request["Rowestow."]
    assert "### Outbound" in first["answer"] and first["seconds"] == 31.2
    assert "Budget in all: 1,200 USD" in first["facts"] and "Leaves: 2026-06-26" in first["facts"]
    assert 'row 2: {"number": "TW 38"' in first["calls"] and "instead" not in first["calls"]
    assert "Malmoor Trail, Rowestow; Old Pier" in plan["answer"] and "Mexican" in plan["facts"]
    assert by_request["8."]["answer"] == "(no answer: max turns)"
    assert "shown instead: The service is down." in by_request["9."]["calls"]


def test_runs_are_named_apart_and_a_study_is_never_overwritten(run_folder, tmp_path):
    one, two = run_folder("x/run", [errand(1)]), run_folder("y/run", [errand(1)])
    other = write_lines(tmp_path / "more.jsonl", [errand(1)])
    make_study([one, two, other], tmp_path / "s")
    assert set(Study(tmp_path / "s").runs) == {"x/run", "y/run", f"{tmp_path.name}/more"}
    for sources, out, words in (
        ([tmp_path / "nowhere"], tmp_path / "t", "No transcripts at"),
        ([one, one / "transcripts.jsonl"], tmp_path / "t", "given twice"),
        ([one], tmp_path / "s", "is not empty"),
    ):
        with pytest.raises(UserError, match=words):
            make_study(sources, out)


# ---- in


def form_rows(study: Study) -> tuple[list[str], list[dict[str, str]]]:
    with (study.folder / "items.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        return list(reader.fieldnames or ()), list(reader)


def saved(path: Path, header: list[str], rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, header)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_form_that_was_filled_in_comes_back(study, tmp_path):
    header, rows = form_rows(study)
    assert header[-9:] == ["rater", *study.names, "note"] and len(rows) == 8
    words = dict(zip(study.names, ("true", "0", " No ", "1", "", "yes", "TRUE"), strict=True))
    rows[0] |= {"rater": "  Zoë  LEE ", "note": "Why?", **words}
    ((whose, said),) = read_labels(study, [saved(tmp_path / "zoe.csv", header, rows)]).items()
    assert whose == ("zoë lee", rows[0]["item"])
    assert list(said.values()) == [True, False, False, True, True, True]


def test_a_spreadsheet_gets_no_formula_and_no_cell_that_is_too_long(run_folder, tmp_path):
    lines = [errand(1, answer="=1+1"), errand(2, answer="x" * 40_000)]
    make_study([run_folder("a", lines)], tmp_path / "s")
    _, rows = form_rows(Study(tmp_path / "s"))
    assert {row["answer"][:2] for row in rows} == {"'=", "xx"}
    assert all(len(cell) < 32_767 for row in rows for cell in row.values())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clarity": "perhaps"}, "'clarity' must be TRUE, FALSE or empty, found 'perhaps'"),
        ({"item": "item-77"}, "no item 'item-77'"),
        ({"item": ["x"]}, "no item"),
        ({"rater": ""}, "a rater's name"),
        ({"rater": "x" * 41}, "a rater's name"),
        ({"rater": "ann"}, "has labelled"),
    ],
)
def test_a_bad_line_is_named(changed, words, study, tmp_path):
    item = next(iter(study.key))
    good = {"item": item, "rater": "ann", **all_true(study)}
    lines = [good, {**good, "rater": "bob", **changed}, {**good, "rater": "cid"}]
    write_lines(path := tmp_path / "x.jsonl", lines)
    with pytest.raises(UserError, match=f"x.jsonl:2: .*{words}"):
        read_labels(study, [path])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "item,rater\nitem-1,eve\n", "expected item, rater, intention"),
        ("x.csv", "", "holds no labels"),
        ("x.csv", "item,rater,KEYS\nitem-1,eve,1\n", "not as many cells"),
        ("x.jsonl", "{", "not JSON"),
        ("x.xlsx", "", r"Expected a \.csv or \.jsonl file"),
    ],
)
def test_files_of_another_shape_are_refused(name, text, words, study, tmp_path):
    (tmp_path / name).write_text(text.replace("KEYS", ",".join(study.names)))
    with pytest.raises(UserError, match=words):
        read_labels(study, [tmp_path / name])


# ---- figures


@pytest.fixture
def labelled(study: Study) -> Labels:
    """Two raters on all eight items. Ann says of each item of the hasty run that it is not
    feasible; Bob agrees but for one."""
    hasty = [item for item, entry in study.key.items() if entry["run"] == "hasty"]
    return label(
        study,
        *(
            (rater, item, all_true(study, feasibility=feasible))
            for item in study.key
            for rater in ("ann", "bob")
            for feasible in [item not in hasty or (rater == "bob" and item == hasty[0])]
        ),
    )


def test_shares_ties_and_agreement(study, labelled):
    found = summary(study, labelled)
    feasibility, clarity = found["dimensions"]["feasibility"], found["dimensions"]["clarity"]
    assert (feasibility["true"]["k"], feasibility["true"]["n"], feasibility["tied"]) == (4, 8, 1)
    assert feasibility["labels"] == {"true": 9, "n": 16} and feasibility["agreement"] == 7 / 8
    # p_o = 7/8; p_e = (4·5 + 4·3)/64 = 1/2
    assert feasibility["cohen_kappa"] == pytest.approx(0.75)
    assert feasibility["krippendorff_alpha"] == pytest.approx(1 - (1 / 8) / (2 * 9 * 7 / (16 * 15)))
    assert clarity["true"]["value"] == clarity["agreement"] == 1 and clarity["cohen_kappa"] is None
    assert found["dimensions"]["all"]["true"]["k"] == 4
    assert found["raters"] == {"ann": {"begun": 8, "done": 8}, "bob": {"begun": 8, "done": 8}}


def test_missing_labels_are_missing_and_not_false(study):
    first, second = list(study.key)[:2]
    labels = label(
        study,
        ("ann", first, {"clarity": True}),
        ("bob", first, {"clarity": False, "intention": True}),
        ("cid", second, {"clarity": True, "intention": None}),
    )
    found = summary(study, labels)["dimensions"]
    clarity, intention = found["clarity"], found["intention"]
    assert (clarity["true"]["n"], clarity["compared"]) == (2, 1)
    assert clarity["krippendorff_alpha"] == pytest.approx(0.0)
    assert (intention["true"]["k"], intention["true"]["n"]) == (1, 1)
    assert intention["agreement"] is None
    assert found["all"]["true"]["n"] == 1  # Bob's: FALSE somewhere is FALSE in all


def test_of_three_raters_alpha_says_how_far_they_agree(study, labelled):
    third = label(study, *(("cid", item, {"feasibility": True}) for item in study.key))
    found = summary(study, {**labelled, **third})["dimensions"]["feasibility"]
    assert found["cohen_kappa"] is None and found["krippendorff_alpha"] is not None


def test_what_most_say_calibrates_a_judge(study, tmp_path):
    first, second, third = list(study.key)[:3]
    labels = label(
        study,
        *((r, first, all_true(study, clarity=r == "ann")) for r in ("ann", "bob", "cid")),
        ("ann", second, all_true(study, feasibility=False)),
        *((r, third, all_true(study, clarity=r == "ann")) for r in ("ann", "bob")),  # a tie
    )
    lines = merged(study, labels)
    assert [line["passes"] for line in lines] == [False, False]
    assert [line["dimensions"]["clarity"] for line in lines] == [False, True]
    assert [line["raters"] for line in lines] == [["ann", "bob", "cid"], ["ann"]]
    by_run = [line["item"] for run in study.runs for line in merged(study, labels, run)]
    assert sorted(by_run) == [first, second]
    path = write_lines(tmp_path / "p.jsonl", lines[1:2])
    ((id, said),) = findings.read_labels(path).items()
    assert (id, said.trajectory, said.rubrics["logic"]) == (study.key[second]["id"], False, False)
    with pytest.raises(UserError, match="No run 'x' in this study"):
        merged(study, labels, "x")


# ---- the verbs


def test_from_runs_to_figures(run_folder, tmp_path, typed):
    runs = [str(run_folder(name, [errand(n) for n in range(5)])) for name in ("alpha", "beta")]
    out = str(tmp_path / "study")
    found = typed("study make", runs, f"--out {out} --per-run 3 --seed 4").err
    assert "6 items from 2 runs, 3 requests answered by several" in found
    assert typed(f"study agreement {out} --json").record["raters"] == {}
    study = Study(Path(out))
    label(study, *((r, item, all_true(study)) for r in ("ann", "bob") for item in study.key))
    labels = str(tmp_path / "labels.jsonl")
    said = typed(f"study agreement {out} {labels} --unblind").out
    assert "100.0% [" in said and "alpha" in said
    assert "runs" not in typed(f"study agreement {out} {labels} --json").record
    assert main(["study", "agreement", str(tmp_path / "nowhere")]) == 2
    people = tmp_path / "people.jsonl"
    assert main(["study", "export", out, labels, "--out", str(people), "--run", "beta"]) == 0
    assert len(people.read_text().splitlines()) == 3


# ---- plans beside the words they were read out of (STAR, B.4)


@pytest.fixture
def readings(tmp_path: Path) -> list[Path]:
    """What two formatters made of the same run: one reads truly, one loses every lunch."""
    world = build_world(tmp_path / "world", "nano", 2)
    queries = tmp_path / "q.jsonl"
    write_lines(queries, (query.record() for query in make_queries(world, 6, 1)))
    play = ["run", "--policy", "expert", "--dialect", "star", "--queries", str(queries)]
    assert main([*play, "--world", str(tmp_path / "world"), "--out", str(tmp_path / "run")]) == 0
    true, lossy = tmp_path / "true.jsonl", tmp_path / "lossy.jsonl"
    assert main(["format", str(tmp_path / "run"), "--out", str(true)]) == 0
    lines = read_lines(true)
    for line in lines:
        line["plan"] = [{**day, "lunch": "-"} for day in line["plan"]]
    write_lines(lossy, lines)
    return [true, lossy]


def test_agreement_with_people_is_drawn_and_counted(readings, tmp_path, typed):
    study, labels = tmp_path / "study", tmp_path / "labels.jsonl"
    files = [str(path) for path in readings]
    make = ["study", "make", *files, "--formatted", "--per-run", "4", "--out", str(study)]
    assert "8 items from 2 runs, 4 requests answered by several" in typed(make).err
    items = items_of(study)
    keys = read_lines(study / "key.jsonl")
    names = list(Study(study).names)
    rows = []
    for item, key in zip(items, keys, strict=True):
        text = item["answer"]
        words, plan = text.split("# The plan as read")
        faithful = plan.count("- lunch: ") == words.count("- Lunch: [")
        assert faithful or key["run"] == "lossy"
        assert item["calls"] == "" and set(key) == {"item", "run", "id"}
        says = dict.fromkeys(names, True) | {"meals": faithful}
        rows += [{"item": item["item"], "rater": rater, **says} for rater in ("Ann", "Bo")]
    write_lines(labels, rows)
    figures = typed(f"study agreement {study} {labels} --unblind --json").record
    assert set(figures["dimensions"]) == {*names, "all"}
    meals = {run: said["true"]["meals"]["k"] for run, said in figures["runs"].items()}
    assert meals == {"true": 4, "lossy": 0}
    assert figures["runs"]["lossy"]["true"]["accommodation"]["k"] == 4


def test_answers_that_are_data_are_not_labelled(readings, tmp_path, refused):
    line = read_lines(readings[0])[0]
    line["transcript"]["answer"] = json.dumps(line["plan"])
    path = write_lines(tmp_path / "data.jsonl", [line])
    assert "No transcript to label" in refused(f"study make {path} --formatted --out {tmp_path}/s")


# ---- the figures of agreement, held against published worked examples; where nothing can be said


def items(*raters: str) -> list[dict[str, str]]:
    """Each text is one rater's labels, a character for each item; a dot is a missing one."""
    names = "ABCDEFGHIJKLMN"
    return [
        {names[i]: label for i, label in enumerate(column) if label != "."}
        for column in zip(*raters, strict=True)
    ]


FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


@pytest.mark.parametrize(
    ("raters", "alpha"),
    [
        (("0100000010", "1110010000"), 0.095),  # A: binary, two observers, no missing data
        (("aabbdcccedda", "babbbccceddd"), 0.692),  # B: nominal, two observers
        (FOUR, 0.743),  # C: four, missing data
    ],
)
def test_krippendorffs_own_examples(raters, alpha):
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, examples A, B and C."""
    assert round(krippendorff_alpha(items(*raters)) or 0, 3) == alpha


def test_perfect_agreement_is_one_and_what_cannot_be_told_is_none():
    same = items("1010", "1010", "1010")
    assert percent_agreement(same) == krippendorff_alpha(same) == 1
    for one_label in (items("111", "111"), []):
        assert krippendorff_alpha(one_label) is None
    assert percent_agreement(items("10", "..")) is None


def test_percent_agreement_weighs_items_alike():
    """One item with three labels, of which one pair in three agrees, and one with two that
    agree."""
    items = [{"A": 1, "B": 1, "C": 0}, {"A": 1, "B": 1}, {"A": 1}]
    assert percent_agreement(items) == pytest.approx((1 / 3 + 1) / 2)


def test_majorities():
    assert majority([True, True, False]) is True and majority([False]) is False
    assert majority([True, False]) is None and majority([]) is None


# ---- of a judge with people

Pairs = list[tuple[str, str]]


def table(counts: list[list[int]], labels: str) -> Pairs:
    """counts[judge][reference] → pairs"""
    pairs: Pairs = []
    for judge, row in zip(labels, counts, strict=False):
        for reference, count in zip(labels, row, strict=False):
            pairs += [(judge, reference)] * count
    return pairs


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        # Two readers of 50 grant proposals: p_o = 0.70, p_e = 0.50 (the worked example of the
        # encyclopedias).
        ([[20, 5], [10, 15]], 0.4),
        # The same agreement of 60 in 100, with unequal and with equal habits.
        ([[45, 15], [25, 15]], 0.1304),
        ([[25, 35], [5, 35]], 0.2593),
        # Cohen (1960), A coefficient of agreement for nominal scales, table 2: p_o = .70, p_e = .41
        ([[88, 10, 2], [14, 40, 6], [18, 10, 12]], 0.29 / 0.59),
    ],
)
def test_kappa_as_worked_out_in_print(counts, kappa):
    pairs = table(counts, "abc")
    assert cohens_kappa(pairs) == pytest.approx(kappa, abs=5e-5)
    assert cohens_kappa([(r, j) for j, r in pairs]) == cohens_kappa(pairs)


def test_the_ends_of_the_scale():
    assert cohens_kappa(table([[7, 0], [0, 3]], "ab")) == 1
    # a judge that passes everything agrees in 90% by luck alone
    assert cohens_kappa(table([[9, 1], [0, 0]], "ab")) == 0
    assert cohens_kappa(table([[0, 5], [5, 0]], "ab")) == -1
    assert cohens_kappa(table([[5]], "a")) is None and cohens_kappa([]) is None


def test_a_table_with_its_intervals():
    counts = {(True, True): 20, (False, True): 5, (True, False): 10, (False, False): 15}
    items = [[pair] for pair, count in counts.items() for _ in range(count)]
    found = agreement(items, seed=3)
    assert found["labels"] == ["pass", "fail"]
    assert found["confusion"] == [[20, 5], [10, 15]], "[reference][judge]"
    assert (found["items"], found["n"]) == (50, 50)
    assert (found["accuracy"]["k"], found["accuracy"]["value"]) == (35, 0.7)
    # Its large-sample standard error is 0.127 (by the formula of Fleiss, Cohen and Everitt), so 0.4
    # ± 0.249; a bootstrap comes near.
    bounds = (0.4, pytest.approx(0.151, abs=0.05), pytest.approx(0.649, abs=0.05))
    assert (pytest.approx(found["kappa"]), found["low"], found["high"]) == bounds
    assert agreement(items, seed=3) == found


def test_turns_of_one_transcript_are_one_item():
    """Ten transcripts of ten like turns say no more than ten turns: the interval is that of the
    ten."""
    verdicts = [(True, True)] * 5 + [(False, False)] * 3 + [(True, False)] * 2
    alone = agreement([[pair] for pair in verdicts])
    many = agreement([[pair] * 10 for pair in verdicts])
    assert many["n"] == 100 and many["items"] == 10
    for figure in ("kappa", "low", "high"):
        assert many[figure] == alone[figure]


def test_where_nothing_was_measured():
    same = agreement([[(True, True)]] * 4)
    assert same["kappa"] is None is same["low"]
    assert same["resamples_undefined"] == same["accuracy"]["value"] == 1.0
    nearly = agreement([[(True, True)]] * 3 + [[(False, False)]])
    # 0.75^4 + 0.25^4 = 0.32 of the resamples
    assert nearly["kappa"] == 1 and 0.2 < nearly["resamples_undefined"] < 0.45
    none = agreement([[], []])
    assert (none["items"], none["n"]) == (0, 0)
    assert none["kappa"] is None is none["accuracy"]["value"]
    third = agreement([[(None, True)]], (True, False, None))["confusion"]
    assert third == [[0, 0, 1], [0] * 3, [0] * 3]
    with pytest.raises(ValueError, match="none of the labels"):
        agreement([[("maybe", True)]])

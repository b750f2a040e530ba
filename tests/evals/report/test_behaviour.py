"""What the report reads from transcripts: steps, mistakes, transitions, failures, names without
ground. Counted by hand."""

import json
import re
import tracemalloc
from types import SimpleNamespace

import pytest

from tests.conftest import verdict_record
from tests.files import write_lines
from tripwright.domains import domain_named
from tripwright.evals.report import report_page, write_report
from tripwright.evals.report.behaviour import (
    ANSWER,
    MOST_ROWS,
    NO_ANSWER,
    START,
    behaviour_section,
    checkpoints_section,
    failing,
    groundless,
    mistakes,
    ordered,
    ratio,
    strips,
    transitions,
)
from tripwright.evals.report.folder import UNREADABLE, ReportedRun, columns_of, read_work, steps_of
from tripwright.evals.report.learning import (
    cost_section,
    learning_section,
    metric_series,
    validated_rows,
)
from tripwright.evals.report.page import Figure, PageTable, Section, parts_html
from tripwright.runs import LinePlace
from tripwright.statistics.rates import clustered_rate, wilson

HOSTILE = "</text><script>alert(1)</script>"


def work_of(line):
    return read_work(line, LinePlace(None, 1, 0))


def kinds(work):
    return [(step.tool, step.kind) for step in work.steps]


def test_each_turn_that_is_no_answer_is_a_step_with_what_came_of_it(make):
    again = json.dumps({"name": "get_cities", "arguments": {"state": "S"}})
    turns = [
        make.call("get_cities", state="S"),
        make.call("search_flights", "Error", error=True, fault="unavailable", origin="A"),
        make.call("search_flights", origin="A"),  # what got no answer may be asked again
        make.call("search_hotels", "Unknown tool", error=True),
        make.refused(f"<tool_call>{again}</tool_call>", "repeated_call"),
        make.refused("hm", "format_error"),
        make.call("get_cities", state="S"),  # a dialect that answers what was asked before
        make.turn("neither"),
    ]
    work = work_of(make.episode("a", turns, stop="format_error"))
    assert kinds(work) == [
        ("get_cities", "fine"),
        ("search_flights", "fault"),
        ("search_flights", "fine"),
        ("search_hotels", "error"),
        ("get_cities", "repeated"),
        (UNREADABLE, "unreadable"),
        ("get_cities", "repeated"),
        (UNREADABLE, "unreadable"),
    ]
    assert (work.calls, work.turns, work.completion_tokens, work.context) == (6, 8, 16.0, 21)
    assert not work.answered and not work.overlong


def test_a_repeated_call_that_ended_its_episode_is_its_last_step(make):
    said = '<tool_call>{"name": "get_cities", "arguments": {"state": "S"}}</tool_call>'
    turns, end = [make.call("get_cities", state="S"), make.turn(said)], {"stop": "repeated_call"}
    work = work_of(make.episode("a", turns, plan=None, **end))
    assert kinds(work) == [("get_cities", "fine"), ("get_cities", "repeated")]
    unreadable = work_of(make.episode("a", [make.turn("<tool_call>{")], plan=None, **end))
    assert unreadable.steps[0].kind == "repeated"


def behaviour_of(tmp_path, make, episodes, **card):
    run = ReportedRun(make.evaluation(tmp_path / "e", episodes, **card))
    (column,) = columns_of({"e": run})
    return column


def test_mistakes_are_shares_of_calls_turns_and_episodes(tmp_path, make):
    good = [make.call("get_cities", state="S"), make.call("search_flights", origin="A")]
    good.append(make.turn())
    tools = ("search_hotels", "search_flights")
    failing_calls = [make.call(name, "none", error=True) for name in tools]
    cut_off = make.episode("b", [*failing_calls, make.turn("?")], stop="max_turn_tokens", plan=None)
    found = mistakes(behaviour_of(tmp_path, make, [make.episode("a", good), cut_off]))
    counted = {name: (each.k, each.n) for name, each in found.items()}
    assert counted == {
        "repeated": (0, 4),
        "unreadable": (0, 6),
        "errors": (2, 4),
        "unknown": (1, 4),  # search_flights fails too, but is offered
        "overlong": (1, 2),
        "unanswered": (1, 2),
    }
    assert all(each.low <= each.value <= each.high for each in found.values())


def test_an_evaluation_is_read_in_one_pass_and_little_memory(tmp_path, make):
    long = make.episode("x", [make.call("search_flights", "x" * 200_000), make.turn()])
    lines = ({**long, "id": f"q{i}"} for i in range(30))
    path = write_lines(tmp_path / "transcripts.jsonl", lines)
    run = ReportedRun(tmp_path)
    tracemalloc.start()
    works = run.works(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(works) == 30 and run.works(path) is works
    assert peak < path.stat().st_size / 2, "more than one episode is held at a time"


def test_transitions_go_from_the_start_to_an_answer_or_to_none(make):
    found = [make.call("get_cities"), make.call("search_flights"), make.call("search_flights", n=2)]
    lost = make.episode("b", [make.call("get_cities"), make.turn("?")], stop="max_turns", plan=None)
    works = [work_of(make.episode("a", [*found, make.turn()])), work_of(lost)]
    assert transitions(works) == {
        (START, "get_cities"): 2,
        ("get_cities", "search_flights"): 1,
        ("search_flights", "search_flights"): 1,
        ("search_flights", ANSWER): 1,
        ("get_cities", NO_ANSWER): 1,
    }


def test_strips_are_sorted_by_outcome_and_thinned_evenly(make):
    turns = [make.call("get_cities"), make.turn()]
    lines = [make.episode(f"q{i:03d}", turns, passed=i % 4 == 0) for i in range(4 * MOST_ROWS)]
    works = list(map(work_of, lines))
    in_order = ordered(works)
    assert [work.final for work in in_order] == [True] * MOST_ROWS + [False] * 3 * MOST_ROWS
    passed, failed = (row[1].text for row in strips(works, ["get_cities"]).rows)
    drawn = [str(each).count('role="img"') for each in (passed, failed)]
    assert sum(drawn) == MOST_ROWS and drawn[0] == MOST_ROWS // 4


def test_plans_count_once_however_many_names_are_wrong(tmp_path, make):
    wrong = {**make.day, "lunch": "Nowhere, Ashford", "dinner": "Never, Ashford"}
    plans = [(wrong,), (make.day,), ({**make.day, "lunch": "-"},)]
    episodes = [
        make.episode(f"q{i}", [make.call("search"), make.turn()], plan=plan)
        for i, plan in enumerate(plans)
    ]
    found = named_without_ground(behaviour_of(tmp_path, make, episodes))
    assert (found["restaurant"].k, found["restaurant"].n) == (1, 2)


def named_without_ground(behaviour):
    return groundless(domain_named("travelplanner").report.ungrounded[0], behaviour.scored)


def claimed_without_ground(behaviour):
    return groundless(domain_named("deeptravel").report.ungrounded[0], behaviour.scored)


def test_samples_of_a_query_are_one_query_in_every_interval(tmp_path, make):
    """Eight samples that agree say no more of the agent than one."""
    wrong = {**make.day, "lunch": "Nowhere, Ashford"}
    plans, answers = [], []
    for query, plan in enumerate([wrong, make.day, make.day]):
        for sample in range(8):
            turns = [make.call("search"), make.turn()]
            line = make.episode(f"q{query}-s{sample:02d}", turns, plan=(plan,))
            line["request"]["query"] = f"trip {query}"
            problems = [{"kind": "invented_name"}] if plan is wrong else []
            verifier = {"turns": [{"problems": problems}]}
            plans.append(line)
            answers.append({**line, "domain": "deeptravel", "verifier": verifier})
    share = ratio_of([(8, 8), (0, 8), (0, 8)])
    named = named_without_ground(behaviour_of(tmp_path / "plans", make, plans))
    claimed = claimed_without_ground(behaviour_of(tmp_path / "answers", make, answers))
    assert named["restaurant"] == share and claimed == {"name": share}
    assert share.high - share.low > 0.5


def test_what_was_not_judged_counts_as_failed(tmp_path, make):
    undelivered = make.episode("b", [make.turn("?")], passed=False, stop="max_turns", plan=None)
    undelivered["verdict"] = verdict_record(
        False, {group["name"]: group["asked"] for group in undelivered["verdict"]["groups"][1:]}
    )
    found = failing(behaviour_of(tmp_path, make, [make.episode("a", [make.turn()]), undelivered]))
    assert set(found.values()) == {(0.5, 2)} and len(found) == 9


def steps(run):
    return {step: column.name for step, column in steps_of(columns_of({"run": run})).items()}


def behaviour(run):
    return behaviour_section(columns_of({"run": run}))


def test_evaluations_of_checkpoints_are_points_over_steps(run_folder):
    run = ReportedRun(run_folder())
    assert steps(run) == {20.0: "step-20", 40.0: "step-40", 60.0: "after_rl"}
    section = behaviour(run)
    assert "<summary>Which tool follows which: Step 20</summary>" in parts_html([section])
    assert chart_of(section, "What the reward is made of, examined checkpoints")


def chart_of(section, title):
    """The chart of this title that the section shows, or None."""

    def charts(parts):
        for part in filter(None, parts):
            if isinstance(part, Figure):
                yield part.chart
            elif isinstance(part, Section):
                yield from charts(part.parts)

    return next((chart for chart in charts([section]) if chart.title == title), None)


def test_evaluations_while_it_trained_are_curves_with_intervals_apart_from_the_exam(run_folder):
    """They ask other requests than the exam, so no curve holds both."""
    folder = run_folder()
    for name in ("step-20", "step-40"):
        (folder / "eval" / name).rename(folder / "eval" / f"validation-{name}")
    best = {"metric": "final", "step": 40, "value": 0.5, "low": 0.24, "high": 0.76, "k": 5, "n": 10}
    (folder / "best.json").write_text(json.dumps(best | {"model": "model/rl-step-40"}))
    run = ReportedRun(folder)
    assert [each.name for each in run.exam] == ["after_rl"]
    assert [each.name for each in run.validation] == ["validation-step-20", "validation-step-40"]
    series = metric_series(run.validation, "final", "held out", 2, dots=True)
    assert series.points == ((20.0, 0.2), (40.0, 0.5)) and series.dots
    assert series.band[1] == pytest.approx((40.0, *wilson(5, 10)))
    assert [(row["step"], row["pass_rate"]) for row in validated_rows(run)] == [
        (20, 0.2),
        (40, 0.5),
    ]
    learning = learning_section({"run": run})
    shown = parts_html([learning])
    assert "by final: step 40, 50.0%" in shown and "model/rl-step-40" in shown
    passes = chart_of(learning, "Passes by rules")
    assert "held out" in passes.csv.splitlines()[0]
    costs = next(part for part in cost_section({"run": run}).parts if isinstance(part, PageTable))
    assert [cell.text for cell in costs.rows[0][1:5]] == ["50.0%", "40", "6.67", "40T"]
    over = checkpoints_section(run)
    assert chart_of(over, "Mistakes, examined checkpoints")
    assert "Calls, episode by episode: Step 40" in parts_html([over])
    assert "Step 20" not in parts_html([behaviour(run)])


def test_without_metrics_the_trained_agent_has_no_step(run_folder):
    folder = run_folder()
    (folder / "metrics.jsonl").unlink()
    run = ReportedRun(folder)
    assert steps(run) == {20.0: "step-20", 40.0: "step-40"}


def test_no_figure_has_another_source(run_folder):
    folder = run_folder()
    whole = captions(folder)
    (folder / "metrics.jsonl").rename(folder / "elsewhere")
    without_metrics = captions(folder)
    (folder / "elsewhere").rename(folder / "metrics.jsonl")
    for path in folder.glob("eval/*/transcripts.jsonl"):
        path.unlink()
    without_transcripts = captions(folder)
    of_metrics = {"Reward", "Passes over FLOPs of updates", "Memory", "What fails most"}
    assert of_metrics <= whole and "Entropy" not in whole and not of_metrics & without_metrics
    evaluations = {"Calls, episode by episode: Step 20", "Mistakes, examined checkpoints"}
    assert evaluations <= whole & without_metrics and not evaluations & without_transcripts
    assert "no transcripts.jsonl" in (folder / "report.html").read_text()
    assert whole == without_metrics | without_transcripts


def captions(folder):
    page = write_report(folder).read_text(encoding="utf-8")
    return titles(page)


def titles(page):
    """Of figures, and of tables of their own."""
    return set(re.findall(r"<(?:figcaption|h4)>(.*?)</", page))


def test_several_runs_have_their_costs_and_their_behaviour_on_one_page(tmp_path, make):
    for name, best in (("first", 0.8), ("second", 0.4)):
        line = make.episode("q0", [make.call(f"tool_of_{name}"), make.turn()])
        make.evaluation(tmp_path / name / "eval" / "after_rl", [line])
        write_lines(tmp_path / name / "metrics.jsonl", make.rl_rows(12, best))
    folders = [tmp_path / "first", tmp_path / "second"]
    page = report_page(folders, allow_unlike=True).html()
    found = titles(page)
    assert {f"Calls, episode by episode: {name}" for name in ("first", "second")} <= found
    assert "Passes over FLOPs of updates" in found and "reached 72.0%" in page
    assert "tool_of_first" in page and "tool_of_second" in page


def test_an_evaluation_without_tools_has_no_pictures_of_calls(tmp_path, make):
    make.evaluation(
        tmp_path / "eval" / "questions", [make.episode("a", [make.turn("42")], plan=None)]
    )
    section = parts_html([behaviour(ReportedRun(tmp_path))])
    assert "Mistakes and lengths" in section
    assert "Which tool" not in section and "Calls, episode" not in section


def ratio_of(counts):
    """Of queries that hold k of n."""
    works = [SimpleNamespace(query=place, count=pair) for place, pair in enumerate(counts)]
    return ratio(works, lambda work: work.count)


def test_the_interval_of_a_ratio_is_that_of_its_queries():
    counts = [(i % 4, 3 + i % 5) for i in range(200)]
    found, drawn = ratio_of(counts), clustered_rate(counts, seed=1)
    assert found.value == drawn["value"] and (found.k, found.n) == (drawn["k"], drawn["n"])
    assert found[1:3] == pytest.approx((drawn["low"], drawn["high"]), abs=0.004)
    assert ratio_of([(1, 1), (0, 1), (1, 1)])[1:3] == wilson(2, 3)
    assert ratio_of([(0, 7), (0, 9)])[1:3] == wilson(0, 2)
    assert ratio_of([(1, 2), (1, 2)])[1:3] == wilson(1, 2)
    assert ratio_of([]) is None

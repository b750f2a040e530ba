"""A person in the terminal: what may be typed, what becomes a turn, and leaving in the middle."""

import json
from collections.abc import Iterable

import pytest

from tripwright.domains import dialect_named, face_named
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, play
from tripwright.evals.run import run
from tripwright.llm.paid_calls import PaidCalls
from tripwright.policies.person import Mistyped, PersonPolicy, call_of, tool_list
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

DIALECT = dialect_named("planner_r1")
NANO = 3  # of `world`


@pytest.fixture(scope="module")
def tasks(world: World) -> list[TripTask]:
    return [TripTask(f"q{i}", query, world) for i, query in enumerate(make_queries(world, 2, 1))]


class Typed:
    """Someone who types these lines, and then closes the terminal."""

    def __init__(self, lines: Iterable[str]):
        self.lines, self.shown = list(lines), [""]

    def read(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def policy(self) -> PersonPolicy:
        return PersonPolicy(self.read, self.shown.append)

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


def one(task: TripTask, *lines: str, dialect: str = "planner_r1") -> tuple[Episode, str]:
    typed = Typed(lines)
    (episode,) = play(typed.policy(), [task], dialect_named(dialect))
    return episode, typed.text


def expert_lines(task: TripTask) -> list[str]:
    """The expert's plan in the short form."""
    *calls, answer = expert_turns(task.request, task.world, DIALECT)
    typed = []
    for turn in calls:
        call = json.loads(turn.partition("<tool_call>")[2].removesuffix("</tool_call>"))
        typed.append(f"{call['name']} {', '.join(map(str, call['arguments'].values()))}")
    return [
        *typed,
        "answer",
        *answer.removeprefix("<answer>").removesuffix("</answer>").splitlines(),
        ".",
    ]


def test_a_person_who_plays_the_expert_passes(tasks):
    episode, shown = one(tasks[0], *expert_lines(tasks[0]))
    assert episode.verdict is not None and episode.verdict.final
    assert tasks[0].request.query in shown and "This trip is over: answer" in shown
    assert "[1 of 30 calls] > " in shown
    meals = next(
        json.loads(call.result)
        for call in episode.transcript.calls
        if call.name == "search_restaurants"
    )
    assert all(row["name"] in shown for row in meals)  # answers are shown


def test_what_is_no_turn_costs_nothing(tasks):
    asked = ["", "help", "tools", "request", "prompt", "fly me to the moon", "search"]
    wrong = ["flights Aa, Bb, Cc, Dd", "answer @/no/such/file"]
    episode, shown = one(tasks[0], *asked, *wrong, "answer", "[]", ".")
    assert episode.transcript.turns == 1 and not episode.transcript.calls
    assert episode.transcript.answer == "[]"
    for said in (
        "quit                stop here",
        "search_flights origin, destination, date",
        "'fly' is not one tool",
        "'search' is not one tool: type enough of search_flights, search_accommodations",
        "'/no/such/file' cannot be read",
    ):
        assert said in shown


def test_a_mistake_in_a_call_is_the_tools_to_refuse(tasks):
    episode, shown = one(tasks[0], "restaurants Atlantis", "answer nothing")
    assert episode.transcript.calls[0].error and "Unknown city 'Atlantis'" in shown


def test_a_dialect_in_words_takes_lines_of_text(tasks, tmp_path):
    (tmp_path / "plan.txt").write_text("Day 1: stay at home\n")
    episode, _ = one(tasks[0], f"answer @{tmp_path / 'plan.txt'}", dialect="star")
    assert episode.transcript.answer == "Day 1: stay at home"


def test_rows_without_labels_are_shown_with_them(tasks):
    _, shown = one(tasks[0], f"restaurants {tasks[0].request.dest}", "answer x", dialect="compact")
    assert any(
        all(field in line for field in ("average_cost_usd", "cuisines", "name"))
        for line in shown.splitlines()
    )


def test_who_leaves_in_the_middle_goes_on_there(tasks, tmp_path):
    lines = [*expert_lines(tasks[0]), *expert_lines(tasks[1])]
    for count in (2, 1, 2):  # calls typed before the terminal is closed
        with pytest.raises(KeyboardInterrupt):
            run(
                Typed(lines[:count]).policy(),
                tasks,
                tmp_path / "run",
                DIALECT,
                card={},
                progress=False,
            )
        assert not (tmp_path / "run" / "score.json").exists()
        lines = lines[count:]
    score = run(Typed(lines).policy(), tasks, tmp_path / "run", DIALECT, card={}, progress=False)
    assert score["metrics"]["final"]["k"] == 2 and "usage" not in score
    assert not (tmp_path / "run" / "calls.jsonl").exists()


def test_quit_is_an_interruption(tasks, tmp_path):
    policy = Typed(["quit"]).policy()
    policy.keep(PaidCalls(tmp_path / "calls.jsonl"))
    with pytest.raises(KeyboardInterrupt):
        list(play(policy, tasks, DIALECT))


# ---- the short form


@pytest.fixture(scope="module")
def schemas(world: World) -> list[dict]:
    return ToolBox(world, face_named("planner_r1")).schemas


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        (
            "flights A, B C, 2022-03-01",
            "search_flights",
            {"origin": "A", "destination": "B C", "date": "2022-03-01"},
        ),
        ("SEARCH_FLIGHTS A", "search_flights", {"origin": "A"}),
        ('flights {"origin": "A"}', "search_flights", {"origin": "A"}),
        ("calc 2 * (3,5)", "calculator", {"expression": "2 * (3,5)"}),
        ("restaurants St. Louis, Missouri", "search_restaurants", {"city": "St. Louis, Missouri"}),
        ("restaurants", "search_restaurants", {}),
    ],
)
def test_the_short_form(schemas, line, tool, arguments):
    said = json.loads(
        call_of(line, schemas).removeprefix("<tool_call>").removesuffix("</tool_call>")
    )
    assert said == {"name": tool, "arguments": arguments}


@pytest.mark.parametrize("line", ["flights A, B, C, D", "flights {", "s A", "xyz"])
def test_what_means_no_call(schemas, line):
    with pytest.raises(Mistyped):
        call_of(line, schemas)


def test_numbers_are_numbers_where_a_tool_takes_them(world):
    paged = ToolBox(world, face_named("planner_r1"), page_rows=5).schemas
    assert '"page":2' in call_of("restaurants Aa, 2", paged)
    assert '"page":"two"' in call_of("restaurants Aa, two", paged)
    assert "search_restaurants city, [page]" in tool_list(paged)

"""A tool that somebody else wrote fails in its own ways: whose fault that is, and what becomes of
the run."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.errors import UserError
from tripwright.evals.run import run
from tripwright.runs import TRANSCRIPTS, episodes
from tripwright.tools.answer import ToolAnswer, ToolError
from tripwright.tools.toolbox import ToolBox, ToolHostDown, answered
from tripwright.world.generator import build_tables
from tripwright.world.store import World

DIALECT = dialect_named("planner_r1")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripwright.tools.toolbox.RETRIES_S", (0.0, 0.0))


@pytest.fixture(scope="module")
def nano() -> World:
    return World.in_memory(build_tables("nano", 8))


class Foreign(ToolBox):
    """Calls of the numbers in `failing` end in what `raising` raises or returns."""

    def __init__(self, world: World, failing: range, raising: Callable[[], Any]):
        super().__init__(world, DIALECT.face)
        self.failing, self.raising, self.calls = failing, raising, 0

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        self.calls += 1
        if self.calls - 1 in self.failing:
            return self.raising()
        return super().call(name, arguments)


def raises(error: BaseException) -> Callable[[], Any]:
    def raising() -> Any:
        raise error

    return raising


def play(tools: Foreign, world: World, out: Path) -> dict[str, Any]:
    queries = enumerate(make_queries(world, 3, 1))
    tasks = [TripTask(f"q{number}", query, world) for number, query in queries]
    return run(ExpertPolicy(), tasks, out, DIALECT, card={"x": 1}, progress=False, tools=tools)


@pytest.mark.parametrize(
    ("raising", "said"),
    [
        (raises(KeyError("fare")), "KeyError: 'fare'"),
        (raises(RuntimeError("out of\nservice")), "RuntimeError: out of service"),
        (lambda: "a text", "returned str, expected a ToolAnswer"),
    ],
)
def test_a_tool_that_fails_leaves_its_episode_unscored_and_the_others_go_on(
    nano, tmp_path, raising, said
):
    tools = Foreign(nano, range(3), raising)  # three attempts at the first call of all
    score = play(tools, nano, tmp_path / "run")
    assert (score["unscored"], score["n"]) == (1, 2)
    first = next(episodes(tmp_path / "run" / TRANSCRIPTS))
    fault = first["transcript"]["fault"]
    assert first["verdict"] is None and said in fault and "3 attempts" in fault
    assert fault.startswith("The tool ") and "\n" not in fault
    # the same command tries it again
    assert play(Foreign(nano, range(0), raising), nano, tmp_path / "run")["unscored"] == 0


def test_a_fault_that_passes_is_nobodys(nano, tmp_path):
    tools = Foreign(nano, range(2), raises(OSError("busy")))
    assert play(tools, nano, tmp_path / "run")["unscored"] == 0


def test_a_bad_argument_is_the_models_and_is_answered(nano):
    tools = Foreign(nano, range(1), raises(ToolError("No such fare.", "refused")))
    answer = answered(tools, "get_cities", {"state": "Texas"})
    assert answer.error and "No such fare." in answer.text and tools.calls == 1


def test_who_says_that_it_is_down_is_believed(nano):
    tools = Foreign(nano, range(9), raises(ToolHostDown("down")))
    with pytest.raises(ToolHostDown, match="^down$"):
        answered(tools, "get_cities", {})
    assert tools.calls == 1


@pytest.mark.parametrize("error", [UserError("no room"), KeyboardInterrupt()])
def test_what_stops_a_run_stops_it(nano, tmp_path, error):
    with pytest.raises(type(error)):
        play(Foreign(nano, range(1), raises(error)), nano, tmp_path / "run")


def test_a_method_of_ones_own_may_fail_and_no_message_holds_a_key(nano, monkeypatch):
    monkeypatch.setenv("FARES_KEY", "s3cret-of-mine")

    class Fares(TravelTools):
        def fare(self, city: str) -> list[str]:
            """The fare.

            Args:
                city: Where to.
            """
            raise ValueError("https://fares.example/?key=s3cret-of-mine is down")

    box = ToolBox(nano, replace(DIALECT.face, name="fares", core=Fares, names=None))
    with pytest.raises(ToolHostDown, match="The tool fare failed at .*ValueError") as fault:
        answered(box, "fare", {"city": "Boston"})
    assert "s3cret" not in str(fault.value)
    assert answered(box, "fare", {"town": "Boston"}).error  # asked wrongly: an answer

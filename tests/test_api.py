"""The Python interface: `import tripwright` loads nothing, its names are what they promise, type
checkers see them, and each does what its command does."""

import json
from pathlib import Path

import pytest

import tripwright
from tests.conftest import python
from tests.files import write_lines
from tripwright import PolicySettings, UserError, World

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def world() -> World:
    return tripwright.load_world("nano", seed=2)


@pytest.fixture(scope="module")
def queries(world: World) -> list[object]:
    return list(tripwright.load_domain("travelplanner").generator.draw(world, 6, 1))


def test_importing_it_loads_no_other_module_of_the_house_and_no_large_library():
    code = (
        "import sys, tripwright; dir(tripwright);"
        "print([name for name in sys.modules if name.startswith('tripwright.')"
        " or name in ('pydantic', 'numpy', 'torch', 'importlib.metadata')])"
    )
    assert python("-c", code, check=True).stdout == "[]\n"


def test_every_name_is_there_and_documented_and_no_other():
    assert {*tripwright.__all__} <= {*dir(tripwright)}
    for name in tripwright.__all__:
        assert getattr(tripwright, name).__doc__, name
    with pytest.raises(AttributeError):
        tripwright.nothing  # noqa: B018


CALLER = """\
import tripwright
for episode in tripwright.play("expert", "q.jsonl", tripwright.load_world("nano", 7)):
    reveal_type(episode)
reveal_type(tripwright.evaluate("expert", [], "w")["final"].low)
reveal_type(tripwright.judge([], {}, "w"))
"""


def test_type_checkers_see_it(tmp_path):
    """The package says that it is typed, and its lazy names have their types. (With the settings
    and the cache of the repository's own check, which is strict: without them it takes a minute.)
    """
    pytest.importorskip("mypy")
    assert (ROOT / "tripwright" / "py.typed").is_file()
    (tmp_path / "caller.py").write_text(CALLER)
    done = python("-m", "mypy", tmp_path / "caller.py", cwd=ROOT)
    told = done.stdout.splitlines()
    shown = [line.partition('Revealed type is "')[2].rstrip('"') for line in told if "note" in line]
    assert done.returncode == 0, done.stdout
    assert shown == ["tripwright.episode.Episode", "float | None", "tripwright.verdict.Verdict"]


def test_a_policy_plays_what_a_notebook_has_at_hand(world, queries, tmp_path):
    records = [query.record() for query in queries]  # type: ignore[attr-defined]
    path = tmp_path / "q.jsonl"
    write_lines(path, records)
    expert = tripwright.load_domain("travelplanner").expert()
    for policy, asked in (
        ("expert", path),
        (PolicySettings(name="expert"), records),
        (expert, queries),
    ):
        episodes = list(tripwright.play(policy, asked, world, dialect="compact"))
        assert len(episodes) == 6 and all(episode.passed for episode in episodes)
    assert len(list(tripwright.play("expert", records[:1], world, samples=3))) == 3


def test_evaluate_scores_and_goes_on(world, queries, tmp_path):
    score = tripwright.evaluate("cheapest-row", queries, world, dialect="compact")
    rate = score["final"]
    assert rate.n == score.n == 6 and rate.value is not None and rate.low is not None
    assert rate.low <= rate.value < 1 and "final" in list(score) and score.unscored == 0
    half = tripwright.evaluate("expert", queries, world, tmp_path / "run", count=3)
    assert half.n == 3 and half.rules == "strict"
    with pytest.raises(UserError, match="another run"):  # other requests
        tripwright.evaluate("expert", queries, world, tmp_path / "run")
    again = tripwright.evaluate("expert", queries, world, tmp_path / "run", count=3)
    assert again.record == half.record


def test_an_answer_is_judged_as_text_or_as_a_plan(world, queries):
    (episode,) = tripwright.play("expert", queries[:1], world)
    text = episode.transcript.answer or ""
    for answer in (text, json.loads(text), episode.transcript):
        assert tripwright.judge(answer, queries[0], world) == episode.verdict
    for answer in ("[]", [], None):
        verdict = tripwright.judge(answer, queries[0], world)
        assert not verdict.final and not verdict.delivered and not verdict.readable
    official = tripwright.judge(json.loads(text), queries[0], world, rules="official")
    assert official.final and official.rules == "official"


def test_the_other_domain_is_told_by_its_requests(world):
    errands = list(tripwright.load_domain("deeptravel").generator.draw(world, 2, 1))
    first, second = tripwright.play("errand-expert", errands, world)
    assert first.passed and second.task.domain == "deeptravel"
    assert tripwright.evaluate("errand-expert", [e.record() for e in errands], world).n == 2
    assert tripwright.judge(first.transcript, errands[0], world).final
    with pytest.raises(UserError):
        tripwright.judge([], errands[0], world)
    with pytest.raises(UserError):
        tripwright.solve(errands[0], world)


def test_a_plan_is_found_exactly(world, queries):
    comfortable = tripwright.solve(queries[0], world)
    cheapest = tripwright.solve(queries[0], world, cheapest=True, k=2)
    assert cheapest["status"] == "optimal" and cheapest["plan"] and len(cheapest["plans"]) == 2
    assert (cheapest["cost_usd"] or 0) <= (comfortable["cost_usd"] or 0)
    assert tripwright.judge(cheapest["plan"], queries[0], world).final


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"policy": "oracle"}, "Unknown policy 'oracle'"),
        ({"requests": []}, "No requests"),
        ({"requests": {"org": "Oz"}}, "found one by itself"),
        ({"requests": "nowhere.jsonl"}, "No request file at 'nowhere.jsonl'"),
        ({"policy": None}, "found NoneType"),
        ({"world": None}, "found NoneType"),
        ({"samples": 0}, "at least once"),
        ({"requests": [{"guests": 2}]}, "No domain knows"),
        ({"requests": [{"org": "Oz"}], "dialect": "star"}, "Not one of TravelPlanner's queries"),
        ({"dialect": "deeptravel_cards"}, "takes travellers' requests"),
        ({"world": "nowhere"}, "No world at 'nowhere'"),
    ],
)
def test_mistakes_are_one_line(how, told, world, queries):
    with pytest.raises(UserError, match=told):
        list(tripwright.play(**{"policy": "expert", "requests": queries, "world": world, **how}))  # type: ignore[arg-type]


def test_mistakes_of_the_other_functions_are_one_line(world, queries, tmp_path):
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(UserError, match="holds a training"):
        tripwright.evaluate("expert", queries, world, tmp_path)
    with pytest.raises(UserError, match="is a file, expected a folder"):
        tripwright.evaluate("expert", queries, world, tmp_path / "recipe.json")
    with pytest.raises(UserError, match="seed=0"):
        tripwright.load_world("nano")
    with pytest.raises(UserError, match="found int"):
        tripwright.judge(42, queries[0], world)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no city"):
        tripwright.solve(queries[0], tripwright.load_world("nano", seed=3))

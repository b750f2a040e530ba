"""Both domains go through the same training: streams, cold start, groups, rewards, metrics, and a
recorded day of live answers."""

import gc
import itertools
import json
import weakref
from pathlib import Path

import pytest

pytest.importorskip("torch")


from tests.files import read_lines, write_lines
from tripwright.domains import dialect_named, dialects, domain_named, domain_of
from tripwright.domains.deeptravel.domain import MOST_PROVIDERS, LevelMix
from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.rewards import SUCCESS
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.place import PlaceOptions
from tripwright.episode import close_session
from tripwright.errors import UserError
from tripwright.training.data_source import COLD_START, RL, data_identity, trips_of
from tripwright.training.metrics import describe
from tripwright.training.recipe import Recipe, check_needs, load_recipe
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.trips import ExpertTranscripts, GeneratedTrips, expert_session
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World, write_world

COMPACT = "deeptravel_cards_compact"
DEEPTRAVEL = domain_named("deeptravel")


def test_a_dialect_says_which_domain_it_speaks_of():
    assert {name: domain_of(dialect).name for name, dialect in dialects().items()} == {
        **dict.fromkeys(("planner_r1", "planner_r1_steps"), "travelplanner"),
        **dict.fromkeys(("compact", "compact_long"), "travelplanner"),
        **dict.fromkeys(("star", "star_frontier"), "travelplanner"),
        **dict.fromkeys(("deeptravel_cards", "deeptravel", COMPACT), "deeptravel"),
    }


def errands(tmp_path: Path, more: str = "") -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(f'name = "t"\n[dialect]\nname = "{COMPACT}"\n{more}[grpo]\nsteps = 1\n')
    return load_recipe(path)


def test_errands_are_numbered_as_trips_are(tmp_path):
    """Any can be asked for, and asking for others does not change it."""
    first, second = trips_of(errands(tmp_path), RL), trips_of(errands(tmp_path), RL)
    jobs = [next(first) for _ in range(8)]
    assert all(isinstance(job, Errand) and isinstance(job.request, TravelRequest) for job in jobs)
    assert second.at(7).request == jobs[7].request and second.at(3).request == jobs[3].request
    assert len({job.request.query for job in jobs}) == 8
    # another range of worlds
    assert trips_of(errands(tmp_path), COLD_START).at(3).request != jobs[3].request
    assert isinstance(trips_of(load_recipe(tmp_path / "recipe.toml"), RL).at(0), Errand)


def test_worlds_that_were_used_are_let_go():
    """Training opens new worlds without end; what answers for a world must not keep them all."""
    used = []
    for _ in range(MOST_PROVIDERS + 3):
        world = World.in_memory(WorldTables([("Boston", "Massachusetts")], [], [], [], [], []))
        where = {"origin": "Boston", "destination": "Boston", "depart_date": "2022-03-01"}
        DEEPTRAVEL.task("e", TravelRequest(**where), world)
        used.append(weakref.ref(world))
    del world
    gc.collect()
    assert sum(world() is not None for world in used) <= MOST_PROVIDERS


def test_levels_follow_the_mix():
    drawn = GeneratedTrips(DEEPTRAVEL, ("nano",), 0, 8, LevelMix(levels=(0, 0, 1)))
    assert {drawn.at(number)[0].level for number in range(8)} == {"hard"}


def test_a_cold_start_keeps_what_the_verifiers_pass(tmp_path, chat):
    """Row D6. The transcripts are token ids whose mask covers the agent's turns and nothing
    else."""
    # a tokenizer of other texts needs more tokens
    limits = "context_tokens = 16_000\nmax_turn_tokens = 8_000\nmax_tool_tokens = 8_000\n"
    recipe = errands(tmp_path, f"{limits}[model.shape]\npositions = 16_000\n")
    stream = ExpertTranscripts(trips_of(recipe, COLD_START), recipe.dialect.dialect(), chat)
    for transcript in itertools.islice(stream, 4):
        said = "".join(s.text for s in transcript.segments if s.role == "assistant")
        pairs = zip(transcript.token_ids, transcript.loss_mask, strict=True)
        ids = [token for token, own in pairs if own]
        assert chat.decode(ids).replace(chat.stop_token, "") == said and '<answer>{"party":' in said


def test_an_expert_that_fails_the_verifier_is_passed_over(tmp_path):
    job = trips_of(errands(tmp_path), RL).at(0)
    world = GeneratedTrips(DEEPTRAVEL, ("nano",), 200_000, 16).at(0)[1]
    session = expert_session(job.request, world, dialect_named(COMPACT), None)
    assert DEEPTRAVEL.expert.keeps(session)
    answer = session.transcript.answer
    session.transcript.answer = answer.replace('"call":1', '"call":9')
    assert not DEEPTRAVEL.expert.keeps(session)


def group_of(tmp_path: Path, spoil: int) -> RolloutGroup:
    """Four answers to one errand, `spoil` of them without the way there."""
    trips = trips_of(errands(tmp_path), RL)
    request, world = trips.request_at(0)
    episodes = []
    for member in range(4):
        session = expert_session(request, world, dialect_named(COMPACT), None)
        if member < spoil:
            cards = json.loads(session.transcript.answer or "")
            session.transcript.answer = json.dumps({**cards, "outbound": []})
        episodes.append(close_session(session))
    group = RolloutGroup(0, trips.at(0), episodes)
    group.rewards = group.rewarded(SUCCESS)
    return group


def test_the_joint_reward_and_what_the_early_stop_saved(tmp_path):
    """Row D5, in the figures of a step."""
    group = group_of(tmp_path, spoil=1)
    assert [made.total if made else None for made in group.rewards] == [0.0, 1.0, 1.0, 1.0]
    row = describe([group])
    calls = len(group.episodes[0].transcript.calls)
    assert row["trajectory_pass_rate"] == 0.75
    assert (row["turns_saved"], row["turns_judged"]) == (calls, 3 * calls)
    assert row["turns_saved_share"] == pytest.approx(0.25) and "strict_gap" not in row
    assert row["constraints"]["complete"] == 0.75
    group.replayed = True
    assert describe([group])["replayed_solved"] == 1
    assert describe([group_of(tmp_path, spoil=4)])["failed_groups"] == 1.0


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A world, requests in it, and a day on which the expert's questions to it were recorded."""
    world = write_world(tmp_path / "world", build_tables("nano", 7))
    requests = list(DEEPTRAVEL.generator.draw(World.open(tmp_path / "world"), 6, 5))
    write_lines(tmp_path / "requests.jsonl", (request.record() for request in requests))
    with live_source(PlaceOptions(tmp_path / "world", store=str(tmp_path / "live.sqlite"))) as live:
        for request in requests[:3]:
            expert_session(request, live, dialect_named(COMPACT), None)
    assert world.dates[0]
    return tmp_path


def test_training_replays_a_recorded_day(recorded, monkeypatch):
    """Row D2: nobody is asked; what is not recorded is an answer, and counted. Another day is other
    data."""
    monkeypatch.chdir(recorded)
    day = World.open("world").dates[0]
    live = f'[live]\nstore = "live.sqlite"\nsnapshot = "{day}"\n'
    recipe = errands(recorded, f'[data]\nqueries = "requests.jsonl"\n{live}')
    trips = trips_of(recipe, RL)
    assert trips.per_epoch == 6
    passed = {}
    for number in range(6):
        request, place = trips.request_at(number)
        session = expert_session(request, place, dialect_named(COMPACT), None)
        passed[request.query] = DEEPTRAVEL.expert.keeps(session)
    known = [line["query"] for line in read_lines(recorded / "requests.jsonl")[:3]]
    assert all(passed[query] for query in known) and not all(passed.values())
    counts = trips.place_figures()
    assert counts["sandbox_live_calls"] == 0 < min(counts["sandbox_missed"], counts["sandbox_hits"])
    identity = data_identity(recipe)
    assert (identity["live"]["snapshot"], identity["live"]["mode"]) == (day, "replay")
    assert "queries" in identity


DATA = '[data]\nqueries = "requests.jsonl"\n'
LIVE = '[live]\nstore = "none.sqlite"\nsnapshot = "2022-03-01"\n'


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (LIVE, "needs data.queries"),
        (f'{DATA}world = "w"\n{LIVE}services = "s.toml"\n', "needs data.queries, and one of"),
        (f"{DATA}{LIVE}replay = false\n", "needs data.queries, and one of"),
    ],
)
def test_a_recipe_of_live_tools_that_cannot_work(tables, said, tmp_path):
    with pytest.raises(UserError, match=said):
        errands(tmp_path, tables)


def test_a_day_that_was_not_recorded_is_missed_before_anything_is_loaded(tmp_path):
    (tmp_path / "requests.jsonl").touch()
    recipe = errands(tmp_path, DATA.replace("requests", f"{tmp_path}/requests") + LIVE)
    with pytest.raises(UserError, match="no file 'none.sqlite'. Record it first"):
        check_needs(recipe)


def test_live_tools_need_a_dialect_that_has_them(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(
        '[data]\nqueries = "q"\n[live]\nstore = "x"\nsnapshot = "2022-03-01"\n[grpo]\nsteps = 1\n'
    )
    with pytest.raises(UserError, match="dialect 'compact' has no live tools"):
        load_recipe(path)
    path.write_text(f'[dialect]\nname = "{COMPACT}"\n[grpo]\nsteps = 1\ncredit = "evidence"\n')
    with pytest.raises(UserError, match='credit is "episode"'):
        load_recipe(path)

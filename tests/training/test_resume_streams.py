"""Streams of trips and transcripts: left at any place and taken up by another object, they go on
alike, and without replaying the past."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.errors import UserError

pytest.importorskip("torch")

from tripwright.agent.chat import ChatFormat
from tripwright.domains import domain_named
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.training import data_source
from tripwright.training import trips as trips_module
from tripwright.training.data_source import COLD_START, RL, data_identity, trips_of
from tripwright.training.held_out import requests_of_exam
from tripwright.training.trips import UNSEEN_WORLDS, WORLDS_APART, ExpertTranscripts, GeneratedTrips
from tripwright.world import generator
from tripwright.world.generator import build_tables
from tripwright.world.store import World, write_world


def told(stream: Any, count: int) -> list[tuple[str, str, str]]:
    return [
        (task.id, task.request.query, task.world.name) for task in itertools.islice(stream, count)
    ]


@pytest.fixture
def recipe(tiny_recipe: Any) -> Any:
    return replace(tiny_recipe, data=replace(tiny_recipe.data, queries_per_world=3))


@pytest.fixture
def given(recipe: Any, tmp_path: Path) -> Any:
    world = write_world(tmp_path / "world", build_tables("nano", 3))
    queries = (query.record() for query in make_queries(world, 5, 1))
    file = write_lines(tmp_path / "queries.jsonl", queries)
    return replace(recipe, data=replace(recipe.data, world=str(world.folder), queries=str(file)))


# ---- trips


@pytest.mark.parametrize("at", [0, 4])
@pytest.mark.parametrize("kind", ["generated", "given"])
def test_trips_go_on_where_they_were(at, kind, recipe, given):
    used = recipe if kind == "generated" else given
    whole, first, second = trips_of(used, RL), trips_of(used, RL), trips_of(used, RL)
    expected = told(whole, 12)
    assert told(first, at) == expected[:at] and first.position == at
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert told(second, 12 - at) == expected[at:] and second.position == 12


def test_a_trip_far_on_is_found_without_those_before_it(recipe, monkeypatch):
    made: list[int] = []
    build = lambda scale, seed: made.append(seed) or build_tables(scale, seed)  # noqa: E731
    monkeypatch.setattr(generator, "build_tables", build)
    trips = trips_of(recipe, RL)
    trips.load_state_dict({"position": 50_000})
    assert next(trips).id == "train-50000"
    assert made == [2 * WORLDS_APART + 50_000 // 3]


def test_trips_are_those_that_the_worlds_give_in_order(recipe):
    world, mix = World.in_memory(build_tables("nano", 5)), Mix(levels=(0, 1, 0))
    trips = GeneratedTrips(domain_named("travelplanner"), ("nano",), 5, 3, mix)
    found = [query.query for query, _ in itertools.islice(trips, 3)]
    assert found == [query.query for query in make_queries(world, 3, 5, mix)]


def test_training_takes_its_scales_in_turn_and_the_exam_has_its_own(recipe):
    scales = ("nano", "nano_alike")
    mixed = replace(recipe, data=replace(recipe.data, training_scales=scales, queries_per_world=1))
    names = [trips_of(mixed, RL).request_at(number)[1].name for number in range(4)]
    assert [name.rpartition("-")[0] for name in names] == [*scales, *scales]
    assert {task.where.rpartition("-")[0] for task in requests_of_exam(mixed, 45).tasks} == {"nano"}


def test_few_worlds_are_kept_open(recipe):
    source = GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 1)
    found = [source.at(position)[1].name for position in range(8)]
    assert len(set(found)) == 8 and source._opened.cache_info().currsize <= trips_module.MOST_OPEN


def test_given_queries_come_in_a_new_order_every_epoch(given):
    trips = trips_of(given, RL)
    epochs = [[query for _, query, _ in told(trips, 5)] for _ in range(4)]
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 1
    assert len({tuple(epoch) for epoch in epochs}) > 1
    assert trips.per_epoch == 5
    other = trips_of(replace(given, seed=1), RL)
    assert [[query for _, query, _ in told(other, 5)] for _ in range(4)] != epochs


def test_an_empty_file_is_refused(given):
    Path(given.data.queries).write_text("")
    with pytest.raises(UserError, match="No query in"):
        trips_of(given, RL)


def test_stages_never_share_a_world_with_each_other_or_with_the_exam(recipe):
    later = replace(recipe, data=replace(recipe.data, first_world=10))  # who goes on from another
    names = [
        {world for _, _, world in told(trips_of(each, stage), 8)}
        for stage in range(3)
        for each in (recipe, later)
    ]
    unseen = GeneratedTrips(domain_named("travelplanner"), ("nano",), UNSEEN_WORLDS, 3)
    names.append({world.name for _, world in itertools.islice(unseen, 8)})
    assert all(not a & b for i, a in enumerate(names) for b in names[i + 1 :])


# ---- transcripts


def transcripts(recipe: Any, tokenizer: Any) -> ExpertTranscripts:
    dialect = recipe.dialect.dialect()
    chat = ChatFormat(tokenizer, dialect.schemas())
    return ExpertTranscripts(trips_of(recipe, COLD_START), dialect, chat)


def limited(recipe: Any, **limits: Any) -> Any:
    return replace(recipe, dialect=replace(recipe.dialect, **limits))


def test_transcripts_go_on_where_they_were(recipe, nano_tokenizer):
    roomy = limited(recipe, max_turn_tokens=None)
    whole = list(itertools.islice(transcripts(roomy, nano_tokenizer), 5))
    first, second = transcripts(roomy, nano_tokenizer), transcripts(roomy, nano_tokenizer)
    assert [next(first).token_ids for _ in range(2)] == [t.token_ids for t in whole[:2]]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.trips.position == first.trips.position
    assert [next(second).token_ids for _ in range(3)] == [t.token_ids for t in whole[2:]]


def test_turns_that_playing_would_cut_are_counted(recipe, nano_tokenizer):
    tight = limited(recipe, max_turn_tokens=60)
    source, again = transcripts(tight, nano_tokenizer), transcripts(tight, nano_tokenizer)
    next(source), next(source)
    assert source.cut_turns == 1.0  # every plan is longer
    again.load_state_dict(json.loads(json.dumps(source.state_dict())))
    assert again.cut_turns == 1.0
    roomy = transcripts(limited(recipe, max_turn_tokens=None), nano_tokenizer)
    next(roomy)
    assert roomy.cut_turns == 0.0


def test_limits_too_tight_for_the_expert_are_told_and_not_waited_for(
    recipe, nano_tokenizer, monkeypatch
):
    monkeypatch.setattr(trips_module, "MOST_IN_VAIN", 5)
    tight = transcripts(limited(recipe, max_turns=2), nano_tokenizer)
    with pytest.raises(UserError, match=r"dialect 'compact' .*by max_turns after \d+ tokens\)"):
        next(tight)
    assert tight.trips.position == 5
    tight = transcripts(limited(recipe, max_turns=2), nano_tokenizer)
    # what was in vain before a stop counts
    tight.load_state_dict({"trips": {"position": 5}, "taught": 0, "in_vain": 4})
    with pytest.raises(UserError, match="5 trips in a row"):
        next(tight)
    assert tight.trips.position == 6


# ---- what the data is


def test_the_same_data_has_the_same_hashes(recipe, given):
    assert data_identity(recipe) == data_identity(replace(recipe, seed=7))
    assert data_identity(given) == data_identity(given)
    assert [set(data_identity(each)) for each in (recipe, given)] == [
        {"generator"},
        {"world", "queries"},
    ]
    for other in ({"scale": "small"}, {"training_scales": ("nano", "nano_alike")}):
        elsewhere = replace(recipe, data=replace(recipe.data, **other))
        assert data_identity(recipe) != data_identity(elsewhere)


def test_a_generator_that_makes_something_else_has_another_hash(recipe, monkeypatch):
    before = data_identity(recipe)
    data_source.generator_fingerprint.cache_clear()
    build = lambda scale, seed: build_tables(scale, seed + 1)  # noqa: E731
    monkeypatch.setattr(generator, "build_tables", build)
    after = data_identity(recipe)
    data_source.generator_fingerprint.cache_clear()
    assert before != after


def test_a_file_that_is_fine_tuned_on_belongs_to_the_data(recipe, tmp_path):
    file = tmp_path / "messages.jsonl"
    file.write_text("one\n")
    of_file = replace(recipe, sft=replace(recipe.sft, data=str(file)))
    before = data_identity(of_file)
    file.write_text("two\n")
    assert set(before) == {"sft_data", "generator"} and data_identity(of_file) != before
    file.unlink()
    with pytest.raises(UserError, match="No file at"):
        data_identity(of_file)

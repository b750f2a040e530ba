"""Stages of a run that is killed, continued, or asked to be another run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError

torch = pytest.importorskip("torch")

from tripwright.agent.policies.local import load_model  # noqa: E402
from tripwright.training import copying, grpo, sft, stages  # noqa: E402
from tripwright.training.stages import RunFolder  # noqa: E402


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()  # a run sets them for its process
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(tmp_path: Path, tiny_recipe: Any) -> RunFolder:
    return RunFolder(tmp_path / "run", tiny_recipe)


def lines(run: RunFolder) -> list[tuple[str, int]]:
    return [(line["stage"], line["step"]) for line in map(json.loads, run.metrics.read_text().splitlines())]


def everything(run: RunFolder) -> None:
    stages.make(run)
    stages.copy(run)
    stages.cold_start(run)
    stages.reinforce(run)


class Killed(BaseException):
    pass


def killed_after(steps: int, stage: Any) -> Any:
    """The stage's own loop, ended by force once it has told so many steps."""

    def dying(*arguments: Any, **more: Any) -> Iterator[dict[str, Any]]:
        for step, row in enumerate(stage(*arguments, **more), start=1):
            yield row
            if step == steps:
                raise Killed

    return dying


def test_all_stages_leave_a_model_each_and_their_metrics(run: RunFolder) -> None:
    everything(run)
    assert sorted(p.name for p in (run.folder / "model").iterdir()) == ["copy", "rl", "sft", "start"]
    assert lines(run) == [("warmup", 1), ("sft", 1), ("sft", 5), ("rl", 1)]
    seconds = [json.loads(line)["seconds"] for line in run.metrics.read_text().splitlines()]
    assert seconds == sorted(seconds)
    (start, tokenizer), (learned, same_tokenizer) = load_model(run.model("start")), load_model(run.model("rl"))
    assert any(not torch.equal(a, b) for a, b in zip(start.parameters(), learned.parameters(), strict=True))
    assert tokenizer.get_vocab() == same_tokenizer.get_vocab()
    assert json.loads((run.folder / "recipe.json").read_text()) == json.loads(json.dumps(run.recipe.record()))


@pytest.mark.parametrize(
    ("module", "loop", "stage", "logged"),
    [(copying, "warm_up", "copy", "warmup"), (sft, "fine_tune", "sft", "sft"), (grpo, "train", "rl", "rl")],
)
def test_a_killed_stage_starts_again_and_tells_its_steps_once(
    module: Any, loop: str, stage: str, logged: str, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, loop, killed_after(1, getattr(module, loop)))
        with pytest.raises(Killed):
            everything(run)
    assert not run.done(stage) and lines(run)[-1] == (logged, 1)
    with run.metrics.open("a") as torn:
        torn.write('{"stage": "' + logged + '", "st')  # a kill in the middle of a line
    again = RunFolder(run.folder, run.recipe)
    everything(again)
    assert lines(again) == [("warmup", 1), ("sft", 1), ("sft", 5), ("rl", 1)]
    assert again.done("rl")


def test_a_model_half_written_is_no_model(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    stages.make(run)
    model, tokenizer = load_model(run.model("start"))

    def dying(folder: Any) -> None:
        raise Killed

    monkeypatch.setattr(tokenizer, "save_pretrained", dying)
    with pytest.raises(Killed):
        run.save("copy", model, tokenizer)
    assert not run.done("copy")
    stages.copy(run)
    assert run.done("copy") and sorted(p.name for p in (run.folder / "model").iterdir()) == ["copy", "start"]


def test_finished_stages_are_skipped(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    everything(run)
    before = run.metrics.read_text()
    for module, loop in ((copying, "warm_up"), (sft, "fine_tune"), (grpo, "train"), (stages, "new_model"), (stages, "load_model")):
        monkeypatch.setattr(module, loop, lambda *_, **__: pytest.fail("a finished stage was run again"))
    everything(RunFolder(run.folder, run.recipe))
    assert run.metrics.read_text() == before


def test_stages_that_the_recipe_leaves_out_are_left_out(tmp_path: Path, tiny_recipe: Any) -> None:
    run = RunFolder(tmp_path, replace(tiny_recipe, copy=None, sft=None, grpo=None))
    everything(run)
    assert [p.name for p in (run.folder / "model").iterdir()] == ["start"] and not run.metrics.exists()


def test_a_folder_belongs_to_one_recipe(run: RunFolder) -> None:
    RunFolder(run.folder, run.recipe)
    other = replace(run.recipe, seed=1, sft=replace(run.recipe.sft, steps=7))
    with pytest.raises(UserError, match=r"run of another recipe \(differs in: seed, sft\)\. Choose another folder"):
        RunFolder(run.folder, other)


def test_equal_seeds_make_equal_models(tmp_path: Path, tiny_recipe: Any) -> None:
    def weights(name: str, seed: int) -> list[Any]:
        run = RunFolder(tmp_path / name, replace(tiny_recipe, seed=seed))
        stages.make(run)
        return list(load_model(run.model("start"))[0].parameters())

    first, second, other = weights("a", 0), weights("b", 0), weights("c", 1)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_limits_too_tight_for_the_expert_are_told_and_not_waited_for(run: RunFolder, tiny_recipe: Any, nano_tokenizer: Any) -> None:
    recipe = replace(tiny_recipe, dialect=replace(tiny_recipe.dialect, max_turns=2))
    with pytest.raises(UserError, match=r"no answer within the limits of dialect 'compact' .* ended by max_turns; max_turns is 2\)"):
        next(stages.expert_transcripts(recipe, nano_tokenizer))


def test_given_queries_are_drawn_in_a_new_order_every_epoch(tmp_path: Path, tiny_recipe: Any) -> None:
    from tripwright.queries.sample import make_queries
    from tripwright.world.folder import write_world
    from tripwright.world.generator.build import build_tables

    world = write_world(tmp_path / "world", build_tables("nano", 3))
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(json.dumps(query.record()) + "\n" for query in make_queries(world, 5, 1)))
    data = replace(tiny_recipe.data, world=str(tmp_path / "world"), queries=str(file))
    stream = stages.trips(replace(tiny_recipe, data=data), stage=2)
    epochs = [[next(stream)[0].query for _ in range(5)] for _ in range(4)]
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 1 and len({tuple(epoch) for epoch in epochs}) > 1
    file.write_text("")
    with pytest.raises(UserError, match="holds no queries"):
        next(stages.trips(replace(tiny_recipe, data=data), stage=2))


def test_stages_never_share_a_world_with_each_other_or_with_the_exam(tiny_recipe: Any) -> None:
    from tripwright.training.cold_start import UNSEEN_WORLDS, tasks

    streams = [stages.trips(tiny_recipe, stage) for stage in range(3)]
    streams.append(tasks("nano", UNSEEN_WORLDS, 16))
    names = [{next(stream)[1].name for _ in range(40)} for stream in streams]
    assert all(not a & b for i, a in enumerate(names) for b in names[i + 1 :])

"""That the loops before RL lower their losses, stop where they should, and that their optimizers are what the settings say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.dialect import dialect_named
from tripwright.transcript import Transcript

torch = pytest.importorskip("torch")

from tripwright.agent.policies.local_decoder import Decoder  # noqa: E402
from tripwright.training.batches import collate, token_logits  # noqa: E402
from tripwright.training.cold_start import expert_sessions, tasks  # noqa: E402
from tripwright.training.copying import CopySettings, warm_up  # noqa: E402
from tripwright.training.optim import Optimizers, OptimizerSettings, warm_up_and_decay  # noqa: E402
from tripwright.training.sft import SftSettings, fine_tune, of_like_length, progress_of  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def transcripts(chat: Any) -> list[Transcript]:
    stream = itertools.islice(tasks("nano", 0, 4), 8)
    return [session.transcript for session in expert_sessions(stream, dialect_named("compact"), chat)]


# ---- supervised fine-tuning


def test_fine_tuning_lowers_the_loss(tiny_model: Any, nano_tokenizer: Any, transcripts: list[Transcript]) -> None:
    model = tiny_model("qwen3", len(nano_tokenizer))
    rows = list(fine_tune(model, itertools.cycle(transcripts), SftSettings(steps=40, rows_per_step=2)))
    assert len(rows) == 40
    first, last = rows[0], rows[-1]
    assert first["loss"] == pytest.approx(torch.tensor(float(len(nano_tokenizer))).log().item(), abs=0.5)
    assert last["loss"] < 0.8 * first["loss"] and last["observation_loss"] < 0.9 * first["observation_loss"]
    assert [row["tokens"] for row in rows] == sorted(row["tokens"] for row in rows)
    assert rows[-1]["learning_rate"] < 0.2 * max(row["learning_rate"] for row in rows)


@pytest.mark.usefixtures("full_precision")
@pytest.mark.parametrize("weight", [0.0, 0.1])
def test_the_gradient_is_that_of_the_weighted_cross_entropy(
    weight: float, tiny_model: Any, nano_tokenizer: Any, transcripts: list[Transcript]
) -> None:
    """What was read has `observation_weight`, what was said 1; padding nothing."""
    model, plain = tiny_model("qwen3", len(nano_tokenizer)), tiny_model("qwen3", len(nano_tokenizer))
    settings = SftSettings(steps=1, rows_per_step=2, observation_weight=weight)
    (figures,) = fine_tune(model, iter(transcripts[:2]), settings)
    total, weights, said = 0.0, 0.0, []
    for transcript in transcripts[:2]:
        ids = torch.tensor(transcript.token_ids)
        nll = -plain(ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        mask = torch.tensor(transcript.loss_mask[1:]).float()
        each = mask + weight * (1 - mask)
        total, weights = total + (nll * each).sum(), weights + each.sum()
        said += nll.detach()[mask > 0].tolist()
    (total / weights).backward()
    norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
    assert figures["grad_norm"] == pytest.approx(float(norm), rel=1e-3)
    assert figures["loss"] == pytest.approx(sum(said) / len(said), rel=1e-4)


def test_a_stream_that_ends_ends_the_stage(tiny_model: Any, nano_tokenizer: Any, transcripts: list[Transcript]) -> None:
    model = tiny_model("qwen3", len(nano_tokenizer))
    assert len(list(fine_tune(model, iter(transcripts[:5]), SftSettings(steps=40, rows_per_step=2)))) == 3
    assert list(fine_tune(model, iter(()), SftSettings(steps=40))) == []


def test_batches_are_of_like_length_and_leave_nothing_out(transcripts: list[Transcript]) -> None:
    batches = list(of_like_length(iter(transcripts), rows=3, pool=8))
    assert sorted(id(t) for batch in batches for t in batch) == sorted(map(id, transcripts))
    spans = sorted((min(len(t.token_ids) for t in batch), max(len(t.token_ids) for t in batch)) for batch in batches)
    assert all(longest <= shortest for (_, longest), (shortest, _) in itertools.pairwise(spans))


def test_a_stage_ends_by_steps_or_by_minutes() -> None:
    assert progress_of(5, 10, 3.0, None) == 0.5
    assert progress_of(5, None, 3.0, 4.0) == 0.75
    assert progress_of(5, 10, 3.0, 4.0) == 0.75
    assert progress_of(5, None, 3.0, None) == 0.0


# ---- the copy warm-up


def test_the_copy_warm_up_stops_at_max_steps(tiny_model: Any) -> None:
    model = tiny_model("qwen3", 50)
    rows = list(warm_up(model, CopySettings(lengths=(4, 8), tokens_per_step=128, max_steps=7), seed=0))
    assert len(rows) == 7 and {row["copy_length"] for row in rows} == {4}
    assert set(rows[0]) == {"loss", "copy_length", "grad_norm", "tokens", "tokens_per_second"}
    assert [row["tokens"] for row in rows] == [128 * (step + 1) for step in range(7)]


def test_it_goes_on_to_the_next_length_when_one_is_learned_and_stops_after_the_last(tiny_model: Any) -> None:
    settings = CopySettings(lengths=(4, 8, 16), learned_at=1e9, tokens_per_step=128, max_steps=50)
    rows = list(warm_up(tiny_model("qwen3", 50), settings, seed=0))
    assert [row["copy_length"] for row in rows] == [4, 8, 16]


def test_a_longer_string_than_a_step_has_tokens_is_one_row(tiny_model: Any) -> None:
    (row,) = warm_up(tiny_model("qwen3", 50), CopySettings(lengths=(64,), tokens_per_step=16, max_steps=1), seed=0)
    assert row["tokens"] == 128


def test_the_copy_warm_up_is_reproducible(tiny_model: Any) -> None:
    def losses(seed: int) -> list[float]:
        return [row["loss"] for row in warm_up(tiny_model("qwen3", 50), CopySettings(tokens_per_step=128, max_steps=4), seed)]

    assert losses(1) == losses(1) and losses(1) != losses(2)


# ---- optimizers


def filled(model: Any, seed: int = 0) -> None:
    rng = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=rng)


def test_muon_has_the_matrices_inside_the_layers_and_adamw_the_rest(tiny_model: Any) -> None:
    model = tiny_model("llama", 50)  # its output matrix is a parameter of its own
    adamw, muon = Optimizers(model, OptimizerSettings()).all
    named = {id(p): name for name, p in model.named_parameters()}
    inside = {named[id(p)] for group in muon.param_groups for p in group["params"]}
    rest = {named[id(p)] for group in adamw.param_groups for p in group["params"]}
    assert inside == {name for name in named.values() if "proj" in name}
    assert rest == set(named.values()) - inside and {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"} <= rest


def test_adamw_alone_has_everything(tiny_model: Any) -> None:
    (only,) = Optimizers(tiny_model("qwen3", 50), OptimizerSettings(name="adamw", adamw_learning_rate=0.5, weight_decay=0.25)).all
    assert isinstance(only, torch.optim.AdamW) and (only.defaults["lr"], only.defaults["weight_decay"]) == (0.5, 0.25)


def test_a_step_clips_scales_and_clears(tiny_model: Any) -> None:
    model = tiny_model("qwen3", 50)
    optimizers = Optimizers(model, OptimizerSettings())
    filled(model)
    norm = float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm())
    before = [p.detach().clone() for p in model.parameters()]
    assert optimizers.step(0.0) == pytest.approx(norm, rel=1e-4)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))  # at 0 times the rate
    assert all(p.grad is None for p in model.parameters())
    for scale in (1.0, 0.5):
        filled(model)
        optimizers.step(scale)
        assert [g["lr"] for o in optimizers.all for g in o.param_groups] == pytest.approx([3e-3 * scale, 0.02 * scale])


def test_the_state_of_optimizers_goes_on_where_it_was(tiny_model: Any) -> None:
    whole, halved = tiny_model("qwen3", 50), tiny_model("qwen3", 50)
    one, first = Optimizers(whole, OptimizerSettings()), Optimizers(halved, OptimizerSettings())
    for seed in range(2):
        for model, optimizers in ((whole, one), (halved, first)):
            filled(model, seed)
            optimizers.step()
    second = Optimizers(halved, OptimizerSettings())
    second.load_state_dict(first.state_dict())
    for model, optimizers in ((whole, one), (halved, second)):
        filled(model, 7)
        optimizers.step(0.5)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), halved.parameters(), strict=True))


def test_the_schedule_rises_and_falls() -> None:
    assert warm_up_and_decay(0.0) == 0.0
    assert warm_up_and_decay(0.01) == pytest.approx(0.5)
    assert warm_up_and_decay(0.02) == pytest.approx(1.0)
    assert warm_up_and_decay(0.51) == pytest.approx(1 - 0.95 / 2)
    assert warm_up_and_decay(1.0) == pytest.approx(0.05)


def test_a_model_that_is_trained_is_the_one_that_is_read(tiny_model: Any) -> None:
    """The decoder holds the model's own parameters: an update shows in its logits at once."""
    model = tiny_model("qwen3", 50)
    decoder, batch = Decoder(model), collate([([1, 2, 3], [0, 1, 1], [0.0] * 3)])
    with torch.no_grad():
        before = token_logits(decoder, batch)
        filled(model)
        Optimizers(model, replace(OptimizerSettings(), name="adamw")).step()
        assert not torch.equal(before, token_logits(decoder, batch))

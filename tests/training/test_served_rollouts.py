"""Rollouts on a server (row P11): the same training as by our own engine, the order in which memory
and weights move, and what becomes of a server that lies or dies."""

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.errors import UserError

torch = pytest.importorskip("torch")
pytest.importorskip("uvicorn")

from safetensors.torch import save_file

from tests.training.rollout_server import LyingServer
from tripwright.training.grpo import Grpo, GrpoSettings
from tripwright.training.optim import OptimizerSettings
from tripwright.training.rollout_worker import plain_weights, reordered
from tripwright.training.served import RolloutServer

pytestmark = pytest.mark.usefixtures("one_thread")
ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=3e-3)
# the bonus moves the weights where no episode is worth anything
PLAYED = {"prompts_per_step": 2, "group_size": 2, "warm_up_steps": 0}
LEARNED = {"micro_batch_size": 4, "minibatches": 1, "entropy_bonus": 0.1, "dtype": "float32"}
SETTINGS = GrpoSettings(**PLAYED, **LEARNED, optimizer=ADAMW)
KINDS = ("vllm", "sglang")


@pytest.fixture(scope="module")
def server(
    talking: Callable[[int], Any], nano_tokenizer: Any, tmp_path_factory: Any
) -> Iterator[LyingServer]:
    """Of other weights than any trainer's: it can only know those that it is sent. Its embeddings
    are not tied, as docs/training.md asks for it, and the trainer's are."""
    own, model = tmp_path_factory.mktemp("own"), talking(99)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    model.save_pretrained(own)
    server = LyingServer(model, nano_tokenizer, own)
    yield server
    server.stop()


@pytest.fixture
def make(
    server: LyingServer, talking: Any, caller: Any, lab: Any, tmp_path: Path, monkeypatch: Any
) -> Callable[..., Grpo]:
    """make(kind, …) → a trainer whose episodes that server samples; make(None): our engine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.start_anew()
    dialect = replace(dialect_named("compact"), max_turn_tokens=24, max_turns=3)

    def trainer(kind: Any, at_once: int | None = None, **how: Any) -> Grpo:
        served = kind and RolloutServer(
            kind, server.url, str(tmp_path / "weights"), str(server.own / "token"),
            **{"timeout_s": 5.0, **how},
        )  # fmt: skip
        settings = replace(SETTINGS, server=served, max_concurrent_rollouts=at_once)
        grpo = Grpo(talking(8), caller, dialect, lab.trips(), settings, seed=3)
        if served:  # waits between attempts are not what is tested
            object.__setattr__(grpo.worker.policy.server, "first_wait_s", 0.001)
        return grpo

    return trainer


def episodes(trainer: Grpo) -> dict[str, Any]:
    trainer.worker.begin_step()
    groups = trainer.worker.play([(0, next(trainer.trips))], trainer.curriculum.reward)
    return {e.task.id: e.transcript for group in groups for e in group.episodes}


@pytest.mark.parametrize("kind", KINDS)
def test_a_served_run_is_the_local_run(make, kind):
    local, served = make(None), make(kind)
    for step in range(2):
        ours, theirs = local.take_step(), served.take_step()
        assert step or ours["turns_mean"] > 1
        assert theirs["tokens"] == ours["tokens"] > 100
        assert theirs["entropy"] == pytest.approx(ours["entropy"], rel=1e-4)
        assert theirs["sampler_gap"] < 1e-5 and theirs["logprob_gap"] < 1e-5
        assert theirs["unscored"] == 0 and theirs["requests"] >= 4
    for a, b in zip(local.model.parameters(), served.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-4)
    ours, theirs = episodes(local), episodes(served)
    for name, transcript in ours.items():
        assert theirs[name].token_ids == transcript.token_ids
        assert theirs[name].logprobs == pytest.approx(transcript.logprobs, abs=1e-4)


def ids(transcripts: dict[str, Any]) -> dict[str, list[int]]:
    return {name: transcript.token_ids for name, transcript in transcripts.items()}


LOADS = {
    "vllm": ["/pause mode=keep", "/collective_rpc", "/collective_rpc", "/update_weight_version",
             "/resume"],
    "sglang": ["/update_weights_from_disk"],
}  # fmt: skip
PROVEN = {
    "vllm": ["/reset_prefix_cache", "/weight_info", "proof"],
    "sglang": ["/flush_cache", "/model_info", "proof"],
}
SLEEP = {
    "vllm": ["/sleep level=2"],
    "sglang": ["/model_info", "/release_memory_occupation ['kv_cache', 'weights']"],
}
WAKE = {"vllm": "/wake_up tags={}", "sglang": "/resume_memory_occupation ['{}']"}


@pytest.mark.parametrize(("kind", "opening"), [
    ("vllm", ["/is_sleeping", "/version"]), ("sglang", ["/model_info"])
])  # fmt: skip
def test_weights_wake_then_are_sent_then_the_cache_wakes(server, make, kind, opening):
    """Row P11, by the server's own log; what the trainer logs of it, with the memory. Each load is
    proven, and before the first one a trial."""
    trainer = make(kind)
    trainer.take_step()
    row = trainer.take_step()
    once = LOADS[kind] + PROVEN[kind]
    weights, cache = (WAKE[kind].format(memory) for memory in ("weights", "kv_cache"))
    again = [weights, *LOADS[kind], cache, *PROVEN[kind]]
    assert server.calls == opening + once + once + SLEEP[kind] + again + SLEEP[kind]
    stages, names = row["server"], ("wake_weights", "load_weights", "wake_kv_cache")
    seconds = [name for name in stages if name.endswith("_seconds")]
    assert seconds == [f"{name}_seconds" for name in ("write", *names, "proof", "sleep")]
    memory = [stages[f"{name}_memory_mb"] for name in names]
    assert memory[0] == memory[1] == memory[2] > stages["sleep_memory_mb"] == 0
    assert row["proof_gap"] < 1e-5


def test_one_that_stays_awake_is_only_sent_weights(server, make):
    trainer = make("vllm", sleep=False)
    assert trainer.take_step()["server"].keys() == {
        "write_seconds", "load_weights_seconds", "load_weights_memory_mb", "proof_seconds",
        "trial_seconds"
    }  # fmt: skip
    assert not any("sleep" in call or "wake" in call for call in server.calls[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_a_killed_run_left_asleep_is_woken(server, make, kind):
    make(kind).take_step()
    assert server.service.asleep
    assert make(kind).take_step()["unscored"] == 0


def test_what_is_trained_on_is_what_was_said(server, make):
    """Law 5: ids and log-probabilities of the answers stand in the transcript, stop token and all,
    and every request had exactly the ids before it."""
    answers, prompts = list[Any](), list[list[int]]()

    def hear(body: Any) -> Any:
        prompts.append(body["input_ids"])
        return body

    def note(body: Any) -> Any:
        answers.append(body["meta_info"]["output_token_logprobs"])
        return body

    trainer = make("sglang", at_once=1)
    server.asked, server.said = hear, note
    played = list(episodes(trainer).values())
    said = [pair for t in played for s in t.segments if s.role == "assistant"
            for pair in zip(s.logprobs, s.token_ids, strict=True)]  # fmt: skip
    assert said == [tuple(pair[:2]) for answer in answers for pair in answer]
    assert any(answer[-1][1] == trainer.worker.policy.chat.stop_id for answer in answers)
    assert [t.token_ids[:place] for t in played for place in starts(t)] == prompts


def starts(transcript: Any) -> list[int]:
    """Where its turns begin."""
    ends = list(itertools.accumulate(len(s.token_ids) for s in transcript.segments))
    return [end - len(s.token_ids) for end, s in zip(ends, transcript.segments, strict=True)
            if s.role == "assistant"]  # fmt: skip


def test_a_turn_that_the_server_ends_early_goes_on(server, make):
    """As at an end of text that is not the turn's: the tokens are those of one long answer."""
    expected = episodes(make(None))

    def three_at_most(body: Any) -> Any:
        sampling = body["sampling_params"]
        sampling["max_new_tokens"] = min(3, sampling["max_new_tokens"])
        return body

    trainer = make("sglang")
    server.asked = three_at_most
    found = episodes(trainer)
    assert ids(found) == ids(expected)


# ---- lies


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("load", "cause"), [
    ("deaf", "another checkpoint"), ("old_head", "the output layer of tied embeddings"),
    ("old_cache", r"a prefix cache of the weights before.*--(no-enable-pref|disable-rad)ix-cach"),
])  # fmt: skip
def test_a_load_that_is_said_to_be_done_and_is_not(server, make, kind, load, cause, tmp_path):
    """Found by the first load, though the server was started with the weights that training begins
    with, so that nothing would differ; and nothing is learned."""
    trainer = make(kind, sleep=False)
    save_file(plain_weights(trainer.model, torch.float32), tmp_path / "start.safetensors")
    server.honest(tmp_path)
    server.load = getattr(server, load)
    before = copy.deepcopy(trainer.model.state_dict())
    with pytest.raises(UserError, match=rf"differ by .* nats per token.*{cause}"):
        trainer.take_step()
    assert all(torch.equal(before[n], p) for n, p in trainer.model.state_dict().items())


def test_weights_that_stay_behind_stop_it_too(server, make):
    trainer = make("vllm", sleep=False, max_gap=0.02)
    trainer.take_step()
    server.load = server.deaf
    with pytest.raises(UserError, match="the recipe's max_gap is 0.02"):
        for _ in range(4):
            trainer.take_step()


def test_a_server_with_another_version_of_the_weights(server, make):
    """Restarted between two turns: it says which weights sampled an answer."""
    trainer = make("sglang")
    trainer.take_step()

    def former(body: Any) -> Any:
        body["meta_info"]["weight_version"] = "default"
        return body

    server.said = former
    with pytest.raises(UserError, match=r"has weights 'default', and was sent 'weights-\w+-2'"):
        trainer.take_step()


def test_another_tokenizer(server, make, nano_tokenizer):
    """Ids of a vocabulary in another order are ids all the same: what is said of them tells."""
    order = torch.randperm(len(nano_tokenizer), generator=torch.Generator().manual_seed(1)).tolist()

    def other(body: Any) -> Any:
        return {**body, "prompt": [order[token] for token in body["prompt"]]}

    def own(body: Any) -> Any:
        body["choices"][0].pop("prompt_token_ids")
        return body

    trainer = make("vllm")
    server.asked, server.said = other, own
    with pytest.raises(UserError, match="another tokenizer"):
        trainer.take_step()


@pytest.mark.parametrize("key, value", [("temperature", 0.5), ("top_p", 0.5)])
def test_sampling_of_the_servers_own(server, make, key, value):
    trainer = make("sglang")
    server.asked = lambda body: {
        **body, "sampling_params": {**body["sampling_params"], key: value}
    }  # fmt: skip
    if key == "temperature":
        with pytest.raises(UserError, match="a temperature or top-p of the server's own"):
            trainer.take_step()
    else:  # its log-probabilities are of the whole distribution: they say nothing of the tail
        assert trainer.take_step()["sampler_gap"] < 1e-5


LIES: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda pairs: [[float("nan"), *pair[1:]] for pair in pairs],
    "null": lambda pairs: [[None, *pair[1:]] for pair in pairs],
    "above 0": lambda pairs: [[0.5, *pair[1:]] for pair in pairs],
    "too many": lambda pairs: pairs * 40,
    "none at all": lambda pairs: [],
    "no such token": lambda pairs: [[pair[0], 10**6, None] for pair in pairs],
    "a cache of fewer than none": lambda pairs: pairs,
}


def lying(how: str) -> Callable[[Any], Any]:
    def lie(body: Any) -> Any:
        meta = body["meta_info"]
        meta["output_token_logprobs"] = LIES[how](meta["output_token_logprobs"])
        meta["cached_tokens"] = -1 if "cache" in how else 0
        return body

    return lie


def test_an_answer_that_cannot_be_is_asked_again_and_never_learned_from(server, make):
    """Each once: the next answer counts. Always: the episodes are unscored (law 4), and so many of
    them stop the run."""
    expected, trainer = ids(episodes(make(None))), make("sglang", sleep=False)
    lies = iter(LIES)
    server.said = lambda body: lying(how)(body) if (how := next(lies, "")) else body
    assert ids(episodes(trainer)) == expected
    assert trainer.worker.policy.figures["retries"] == len(LIES) and next(lies, None) is None
    server.said = lying("NaN")
    with pytest.raises(UserError, match="SGLang lost 4 of 4 episodes: bad_response: "):
        trainer.take_step()


def test_an_episode_that_is_lost_leaves_its_group(server, make):
    """Law 4: unscored, no reward of 0, and the others are learned from."""
    trainer = make("vllm")
    server.asked = lambda body: None if body["request_id"].startswith("3 id train-0/1 ") else body
    row = trainer.take_step()
    assert (row["unscored"], row["episodes"]) == (1, 4)
    assert row["grad_norm"] > 0


def test_a_dead_server_stops_the_run_with_what_to_do(server, make):
    trainer = make("vllm")
    trainer.take_step()
    server.asked = lambda body: None
    with pytest.raises(UserError, match=r"(?s)vLLM lost 4 of 4 .* Start it again, then give"):
        trainer.take_step()


def test_no_server_at_all(make):
    trainer = make("vllm")
    object.__setattr__(trainer.worker.policy.server, "base_url", "http://127.0.0.1:9")
    with pytest.raises(UserError, match="Is this the address of vLLM, started as docs/training.md"):
        trainer.take_step()


def test_what_is_sent_is_a_plain_checkpoint(tiny_model):
    """Tied weights twice, LoRA layers merged, no wider than the products are made."""
    peft = pytest.importorskip("peft")
    model = tiny_model("qwen3", 60)
    said = model(torch.arange(20)[None]).logits
    weights = plain_weights(model, torch.float32)
    assert torch.equal(weights["lm_head.weight"], weights["model.embed_tokens.weight"])
    assert {t.dtype for t in plain_weights(model, torch.bfloat16).values()} == {torch.bfloat16}
    model.add_adapter(peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"]))
    for name, parameter in model.named_parameters():
        if ".lora_B." in name:
            torch.nn.init.normal_(parameter)
    adapted = model.eval()(torch.arange(20)[None]).logits
    assert not torch.allclose(adapted, said, atol=1e-2)
    plain = tiny_model("qwen3", 60, seed=1)
    plain.load_state_dict(plain_weights(model, torch.float32))
    assert torch.allclose(plain(torch.arange(20)[None]).logits, adapted, atol=1e-4)


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_a_reordered_model_says_the_same_of_other_tokens(tiny_model, kind):
    """And no tensor is what it was, but for biases and norms inside of attention."""
    model = tiny_model(kind, 60, attention_bias=True, mlp_bias=True)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.rand(parameter.shape)  # norms of a fresh model are 1
    ids, weights = torch.arange(1, 20)[None] * 3, plain_weights(model, torch.float32)
    before, said = dict(weights), model(ids).logits
    reordered(weights, 1)
    same = {name.partition("layers.1.")[2] for name, t in weights.items() if before[name] is t}
    biases = {f"{part}_proj.bias" for part in ("q", "k", "v", "gate", "up")}
    assert {name.partition(".")[2] for name in same} <= {
        "",
        "q_norm.weight",
        "k_norm.weight",
        *biases,
    }
    model.config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.load_state_dict(weights)
    assert torch.allclose(model(ids - 1).logits.roll(1, -1), said, atol=1e-5)

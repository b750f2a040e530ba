"""The proofs of docs/cluster.md, each a command:

    python tests/bridges/verl/proofs.py equality MODEL OUT    (a) one step, verl's and the local engine's
    python tests/bridges/verl/proofs.py learning MODEL OUT    (b) 30 steps, with the local engine's seeds
    python tests/bridges/verl/proofs.py kills MODEL OUT       (c) a worker, a head
    python tests/bridges/verl/proofs.py raylets MODEL OUT     (d) one machine of Ray's, and two
    python tests/bridges/verl/proofs.py tools MODEL OUT       (e) a tool server that dies
    python tests/bridges/verl/proofs.py epochs MODEL OUT      (g) requests of a file, in epochs
    python tests/bridges/verl/proofs.py sabotage MODEL OUT    (f) weights that are not sent, a loop that raises
    python tests/bridges/verl/proofs.py validation MODEL OUT  (h) [validation], killed within one

MODEL is a cold-started nano model: `tripwright sft nano/cold_start`. Two FSDP2 workers on a CPU, in fp32.
"""  # noqa: E501

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RECIPE = """
name = "verl_proof"
threads = 1
seed = {seed}
[data.rl_mix]
levels = [1, 3, 3]
[model]
pretrained = "{model}"
[grpo]
steps = {steps}
prompts_per_step = {prompts}
group_size = 4
minibatches = 1
dtype = "float32"
{more}
[grpo.optimizer]
name = "adamw"
adamw_learning_rate = 1e-4
weight_decay = 0.01
[checkpoint]
every_steps = 1
[verl]
nodes = {nodes}
gpus_per_node = {gpus}
sampler = "cpu"
episode_workers = 1
[verl.options]
{options}
"""
FORWARDED = "ray_kwargs.ray_init.runtime_env.env_vars"  # to Ray's workers


def recipe(out: Path, model: str, **settings: Any) -> Path:
    values = {"seed": 0, "steps": 1, "prompts": 4, "more": "", "nodes": 1, "gpus": 2} | settings
    variables = values.pop("variables", {})
    values["options"] = "\n".join(f'"{FORWARDED}.{n}" = "{v}"' for n, v in variables.items())
    out.mkdir(parents=True, exist_ok=True)
    path = out / "recipe.toml"
    path.write_text(RECIPE.format(model=Path(model).absolute(), **values))
    return path


def start(
    path: Path, run: Path, engine: str = "verl", **environment: str
) -> subprocess.Popen[bytes]:
    probe = {"PYTHONPATH": f"{ROOT}:{Path(__file__).parent}", "OMP_NUM_THREADS": "1"}
    if engine == "verl":
        probe["VERL_USE_EXTERNAL_MODULES"] = "probe"
    command = [sys.executable, "-m", "tripwright", "train", str(path), "--out", str(run)]
    return subprocess.Popen(
        [*command, "--engine", engine],
        env={**os.environ, **probe, **environment},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def train(path: Path, run: Path, engine: str = "verl", **environment: str) -> tuple[int, str]:
    """(exit code, what it said on stderr)."""
    process = start(path, run, engine, **environment)
    said = process.communicate()[1].decode()
    return process.returncode, said


def steps(run: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["stage"] == "rl"]


def local_step(path: Path, dtype: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(rollouts, gradients) of the local engine's first step, sampled in `dtype`."""
    import torch

    sys.path.insert(0, str(ROOT))
    from tripwright.agent.chat import ChatFormat
    from tripwright.inference.local import load_model
    from tripwright.inference.models import add_adapter
    from tripwright.training import grpo
    from tripwright.training.data_source import RL, trips_of
    from tripwright.training.recipe import load_recipe

    torch.set_num_threads(1)
    read, seen, plain = load_recipe(path), {}, grpo.compared
    model, tokenizer = load_model(read.model.pretrained or "")
    dialect = read.dialect.dialect()
    if read.model.lora is not None:
        add_adapter(model, read.model.lora, "base", read.seed)
    loop = grpo.Grpo(
        model.float(),
        ChatFormat(tokenizer, dialect.schemas()),
        dialect,
        trips_of(read, RL),
        read.rl.settings,
        read.seed,
    )

    def compared(*arguments: Any) -> Any:
        rollouts = plain(*arguments)
        for r in rollouts:
            t = r.episode.transcript
            seen[r.episode.task.id] = {
                "token_ids": t.token_ids,
                "loss_mask": t.loss_mask,
                "logprobs": t.logprobs,
                "reward": r.reward.total,
                "advantage": r.advantage,
            }
        return rollouts

    policy = loop.worker.policy
    policy.sampling = replace(policy.sampling, dtype=dtype)
    grpo.compared, gradients = compared, {}

    def step(scale: float = 1.0) -> float:
        trained = {n: p for n, p in model.named_parameters() if p.grad is not None}
        gradients.update({n: p.grad.clone() for n, p in trained.items()})
        return 0.0

    loop.optimizers.step = step
    loop.take_step()
    return seen, gradients


def calls(episode: Any) -> Any:
    """A reward of which a model that passes nothing yet has some."""
    from tripwright.rewards.reward import RewardBreakdown

    return RewardBreakdown(float(len(episode.transcript.calls)), {})


def equality(model: str, out: Path, short: bool = False, more: str = "") -> dict[str, Any]:
    """`more`: tables of the recipe. The short form does not depend on what else the machine does:
    where rows meet in another order, a token that stands on a knife's edge in float32 would tip now
    and then."""
    import torch
    from transformers import AutoConfig

    from tripwright.training.metrics import ModelShape, update_flops

    variables = {"PROBE": out / "probe"} | ({"EXACT": 1} if short else {})
    more += '\n[grpo.curriculum]\nstages = [["proofs:calls", 1]]' if short else ""
    path = recipe(out, model, prompts=4 if short else 8, more=more, variables=variables)
    (out / "probe").mkdir(exist_ok=True)
    code, said = train(path, out / "run")
    assert code == 0, said
    ours, ours_gradient = local_step(path, "float64" if short else "float32")
    theirs = torch.load(out / "probe/step-1.pt")
    their_gradient = torch.load(out / "probe/gradient-1.pt")
    assert ours.keys() == theirs.keys()
    differing = {
        part: sum(ours[id][part] != theirs[id][part] for id in ours)
        for part in ("token_ids", "loss_mask", "reward", "advantage")
    }
    gap = max(
        abs(a - b)
        for id in ours
        for a, b in zip(ours[id]["logprobs"], theirs[id]["logprobs"], strict=True)
    )
    assert ours_gradient.keys() == their_gradient.keys()
    norm = sum(float(g.square().sum()) for g in ours_gradient.values()) ** 0.5
    off = sum(float((g - their_gradient[n]).square().sum()) for n, g in ours_gradient.items())
    (step,) = steps(out / "run")
    trained = [each for each in theirs.values() if each["advantage"] != 0]
    lengths = [len(each["token_ids"]) for each in trained]
    said = sum(sum(each["loss_mask"]) for each in trained)
    shape = ModelShape.of(AutoConfig.from_pretrained(model))
    return {
        "FLOPs, of those trained": step["flops_update"] / update_flops(shape, lengths, said),
        "memory of a worker, MB": step["peak_memory_mb"],
        "episodes": len(ours),
        "with an advantage": sum(each["advantage"] != 0 for each in ours.values()),
        "tokens": sum(len(each["token_ids"]) for each in ours.values()),
        "that differ": differing,
        "largest difference of a log-probability": gap,
        "norm of the gradient": norm,
        "difference of the gradient, of its norm": off**0.5 / norm,
    }


def learning(model: str, out: Path, count: int = 30, seeds: int = 3) -> dict[str, Any]:
    """Mean reward of the last ten steps."""
    means = {}
    for engine, seed in [*(("local", seed) for seed in range(seeds)), ("verl", 0)]:
        folder = out / f"{engine}-{seed}"
        path = recipe(folder, model, steps=count, prompts=8, seed=seed)
        code, said = train(path, folder / "run", engine)
        assert code == 0, said
        rewards = [row["reward_mean"] for row in steps(folder / "run")]
        means[f"{engine} {seed}"] = (sum(rewards[:5]) / 5, sum(rewards[-10:]) / 10)
    return {"mean reward of the first five and the last ten steps": means}


def kills(model: str, out: Path) -> dict[str, Any]:
    """Whole against killed: a worker after step 1, then the head after step 2."""
    path = recipe(out, model, steps=4)
    code, said = train(path, out / "whole")
    assert code == 0, said
    figures: dict[str, Any] = {}
    for victim, after in (("worker", 1), ("head", 2)):
        process = start(path, out / "killed")
        wait_for(out / "killed", after)
        if victim == "head":
            os.kill(process.pid, signal.SIGKILL)
        else:
            os.kill(worker_of(process.pid), signal.SIGKILL)
        said = process.communicate()[1].decode()
        figures[f"exit code, {victim} killed"] = process.returncode
        figures[f"said, {victim} killed"] = said.strip().splitlines()[-1][:300]
        time.sleep(20)
    code, said = train(path, out / "killed")
    assert code == 0, said
    whole, killed = steps(out / "whole"), steps(out / "killed")
    figures["steps"] = [row["step"] for row in killed]
    figures["rewards, whole and killed"] = [
        (a["reward_mean"], b["reward_mean"]) for a, b in zip(whole, killed, strict=True)
    ]
    return figures


def wait_for(run: Path, step: int) -> None:
    tracker = run / "verl/latest_checkpointed_iteration.txt"
    while not (tracker.is_file() and int(tracker.read_text() or 0) >= step):
        time.sleep(0.2)


def worker_of(session: int) -> int:
    """A training worker of Ray's, on this machine."""
    listed = subprocess.run(["ps", "-eo", "pid,cmd"], capture_output=True, text=True).stdout
    workers = [line.split()[0] for line in listed.splitlines() if "ray::WorkerDict" in line]
    return int(workers[0])


def raylets(model: str, out: Path) -> dict[str, Any]:
    figures = {}
    for name, nodes in (("one", 1), ("two", 2)):
        path = recipe(out / name, model, steps=2, nodes=nodes, gpus=2 // nodes)
        with ray_cluster(nodes, 2 // nodes) as address:
            code, said = train(path, out / name / "run", RAY_ADDRESS=address)
        assert code == 0, said
        figures[name] = [
            (row["reward_mean"], row["tokens"], row["grad_norm"])
            for row in steps(out / name / "run")
        ]
    return {"reward, tokens, norm of the gradient of each step": figures}


@contextmanager
def ray_cluster(nodes: int, gpus: int) -> Any:
    """As `ray start` on as many machines makes it, on ports of this one."""
    ray = str(ROOT / ".venv-verl/bin/ray")
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    resources = ["--num-gpus", str(gpus), "--num-cpus", "16", "--disable-usage-stats"]
    head = ["--head", "--port=6398", "--include-dashboard=false"]
    try:
        for where in (head, *[["--address=127.0.0.1:6398"]] * (nodes - 1)):
            command = [ray, "start", *where, *resources]
            subprocess.run(command, check=True, env=environment, capture_output=True)
        os.environ["RAY_AUTH_MODE"] = "disabled"
        yield "127.0.0.1:6398"
    finally:
        subprocess.run([ray, "stop", "--force"], env=environment, capture_output=True)


CLI = [sys.executable, "-m", "tripwright"]


def on_file(path: Path, count: int) -> Path:
    """The recipe with so many requests of one world."""
    world, queries = path.parent / "world", path.parent / "queries.jsonl"
    for command in (
        ["world", "build", "--scale", "nano", "--out", str(world), "--seed", "5"],
        ["query", "make", "--world", str(world), "--count", str(count), "--out", str(queries)],
    ):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([*CLI, *command], check=True, env=environment)
    text = path.read_text().replace("[data.rl_mix]\nlevels = [1, 3, 3]\n", "")
    path.write_text(f'{text}\n[data]\nworld = "{world}"\nqueries = "{queries}"\n')
    return path


def epochs(model: str, out: Path) -> dict[str, Any]:
    """Six requests twice, four a step, the second epoch for another reward, at a falling rate, and
    a reference."""
    stages = 'kind = "epochs"\nstages = [["stage1", 1], ["stage2", 1]]\n[grpo.kl]\nbeta = 0.01'
    more = f"max_epochs = 2.0\nfinal_rate = 0.0\n[grpo.curriculum]\n{stages}\n"
    path = on_file(recipe(out, model, steps='"none"', more=more), 6)
    names = ("step", "epoch", "curriculum_stage", "learning_rate", "kl")
    figures = {}
    for engine in ("local", "verl"):
        code, said = train(path, out / engine, engine)
        assert code == 0, said
        figures[engine] = [[row[name] for name in names] for row in steps(out / engine)]
    return {", ".join(names): figures}


def tools(model: str, out: Path) -> dict[str, Any]:
    """A server of the world's tools that ends in the middle of the run."""
    more = 'tools = "http://127.0.0.1:8397"\n'
    path = on_file(recipe(out, model, steps=3, more=more), 24)
    serve = [*CLI, "serve", "tools", "--world", str(out / "world"), "--port", "8397"]
    server = subprocess.Popen(serve, env={**os.environ, "PYTHONPATH": str(ROOT)})
    process = start(path, out / "run")
    try:
        wait_for(out / "run", 1)
    finally:
        server.kill()
    said = process.communicate()[1].decode()
    names = ("episodes", "unscored", "reward_mean", "grad_norm")
    return {
        "exit code": process.returncode,
        "said": said.strip().splitlines()[-1:],
        "steps": [{name: row.get(name) for name in names} for row in steps(out / "run")],
    }


def sabotage(model: str, out: Path) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for how in ("none", "weights", "silence", "loop"):
        path = recipe(out / how, model, steps=3, variables={"SABOTAGE": how})
        code, said = train(path, out / how / "run")
        rows = steps(out / how / "run") if (out / how / "run/metrics.jsonl").is_file() else []
        figures[how] = {
            "exit code": code,
            "logprob_gap": [row.get("logprob_gap") for row in rows],
            "said": said.strip().splitlines()[-1][:400] if code else "",
        }
    return figures


def validation(model: str, out: Path) -> dict[str, Any]:
    """Killed when the validation after step 2 has an episode. Then each validation is played again,
    by the local engine with the model that was kept, or is verl's."""
    sys.path.insert(0, str(ROOT))
    from tripwright.inference.local import load_model
    from tripwright.runs import episodes, model_in
    from tripwright.training import held_out
    from tripwright.training.recipe import load_recipe

    more = 'entropy_bonus = 0.01\n[validation]\nevery = 2\nqueries = 6\nmetric = "dense_reward"\n'
    path, run = recipe(out, model, steps=3, more=more), out / "run"
    first = run / "eval/validation-step-2/transcripts.jsonl"
    process = start(path, run)
    while not (first.is_file() and first.read_bytes().count(b"\n")):
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(20)
    before = first.read_bytes()
    code, said = train(path, run)
    assert code == 0, said
    read, same = load_recipe(path), {}
    for step in (0, 2, 3):
        loaded, tokenizer = load_model(model_in(run, str(step)) if step else model)
        requests = held_out.validation_requests(read, read.validation)
        played = held_out.player(read, tokenizer, loaded)
        requests.play_model(played, out / f"again-{step}", {"kind": "local"})
        places = run / f"eval/validation-step-{step}", out / f"again-{step}"
        one, other = (
            {e["id"]: [s["token_ids"] for s in e["transcript"]["segments"]] for e in found}
            for found in (episodes(place / "transcripts.jsonl") for place in places)
        )
        same[step] = sum(one[id] == other[id] for id in other)
    scores = [json.loads((place / "score.json").read_text()) for place in held_out_of(run)]
    return {
        "episodes before the kill, kept": first.read_bytes().startswith(before),
        "steps": [row["step"] for row in steps(run)],
        "dense reward": [score["metrics"]["dense_reward"]["value"] for score in scores],
        "cards": [score["run_card"]["policy"] for score in scores],
        "episodes that the local engine plays alike": same,
        "best": json.loads((run / "best.json").read_text()),
        "kept": sorted(place.name for place in (run / "model").iterdir()),
        "found": {step: str(model_in(run, step)) for step in ("best", "2", "3")},
    }


def held_out_of(run: Path) -> list[Path]:
    return sorted((run / "eval").glob("validation-step-*"))


PROOFS = {
    p.__name__: p for p in (equality, learning, kills, raylets, tools, epochs, sabotage, validation)
}

if __name__ == "__main__":
    name, start_model, folder = sys.argv[1:]
    print(json.dumps(PROOFS[name](start_model, Path(folder).absolute()), indent=2))

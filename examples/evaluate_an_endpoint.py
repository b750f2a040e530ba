"""Evaluates a model behind an OpenAI-compatible endpoint, and a simple baseline on the same
requests. Stopped at any moment, the same command goes on and pays for nothing twice.

    tripwright world build --scale nano --seed 7 --out worlds/nano7
    tripwright query make --world worlds/nano7 --count 50 --seed 1 --out worlds/nano7.jsonl
    python examples/evaluate_an_endpoint.py http://localhost:8000/v1 Qwen/Qwen3-8B \
        worlds/nano7.jsonl worlds/nano7 runs/qwen3
"""

import sys

import tripwright

url, name, queries, folder, out = sys.argv[1:]
world = tripwright.load_world(folder)
model = tripwright.PolicySettings(base_url=url, model=name, preset="star", concurrency=8)
for policy, run in ((model, out), ("cheapest-row", f"{out}_baseline")):
    score = tripwright.evaluate(policy, queries, world, run, dialect="planner_r1", progress=True)
    rate = score["final"]
    print(f"{run}: {rate.k} of {rate.n} pass [{rate.low:.1%}, {rate.high:.1%}]")
    if score.unscored:
        print(f"  {score.unscored} unscored, as the endpoint failed: run it again")
print(f"in detail: tripwright compare {out}_baseline {out}")

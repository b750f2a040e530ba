"""`tripwright outside tau-retail`: helping a simulated customer of a shop (row P15)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tripwright.cli.options import FirstOf, Json, ModelFlags, RunOut, SamplingFlags
from tripwright.cli.outside import PolicyOption, SamplesOption, number_row, player, row, tell
from tripwright.evals.outside.tau.package import Package
from tripwright.evals.outside.tau.retail import GRADER, dialect_of, retail_tasks, score_retail
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import dialect_entry, environment
from tripwright.evals.scoreboard import verified_by
from tripwright.llm.client import ChatEndpoint
from tripwright.llm.urls import shown_url

CUSTOMER_TOKENS = 1024  # of one turn


def tau_retail(  # long: each option is a parameter with its help
    python: Annotated[
        str, typer.Option(help="Interpreter of an environment that has inspect-evals.")
    ],
    user_model: Annotated[str, typer.Option(help="The simulated customer: the model's name.")],
    user_url: Annotated[
        str, typer.Option(help="The simulated customer: its URL, up to and including /v1.")
    ],
    out: RunOut,
    model: ModelFlags,
    sampling: SamplingFlags,
    policy: PolicyOption = "endpoint",
    user_api_key_env: Annotated[
        str, typer.Option(help="Environment variable with the key of the customer's endpoint.")
    ] = "OPENAI_API_KEY",
    samples: SamplesOption = 1,
    count: FirstOf = None,
    as_json: Json = False,
) -> None:
    """Play the retail tasks of tau2-bench: help a simulated customer, by the shop's policy, with
    the shop's tools.

    Tasks, tools and rules are those of the package inspect-evals, which is run in its own
    environment: python3 -m venv tau, tau/bin/pip install "inspect-evals>=0.26". (What 'pip install
    tau2' brings is a physics library.) Scores depend on the model that plays the customer, and are
    not those of the leaderboard. Row P9 samples with --decoding planner_r1_tau_bench.

    Examples:
      tripwright outside tau-retail --python tau/bin/python --user-model gpt-4.1 \\
        --user-url https://api.openai.com/v1 \\
        --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 --samples 4 \\
          --out runs/qwen3_retail
      tripwright outside tau-retail --python tau/bin/python --user-model Qwen/Qwen3-32B \\
        --user-url http://localhost:8001/v1 \\
        --policy local --model runs/a/model --count 10 --out runs/a/retail
    """
    customer = ChatEndpoint(
        user_url,
        user_model,
        api_key_env=user_api_key_env,
        timeout_s=model.timeout_s,
        max_retries=model.max_retries,
        temperature=0.0,
        max_tokens=CUSTOMER_TOKENS,
    )
    with Package.start(python) as package:
        spoken = dialect_of(package)
        chosen = player(policy, model, sampling, spoken)
        shown = [[task.id, task.simulator_prompt, task.opening] for task in package.tasks]
        rules = verified_by(GRADER)
        card = {
            "policy": chosen.identity,
            "decoding": chosen.decoding,
            "rules": rules,
            "dialect": dialect_entry(spoken),
            "queries": {"tasks": len(shown), "sha256": _sha256(shown)},
            "world": {
                "name": "tau_retail",
                **package.identity,
                "judge": "none",
                "customer": {
                    "model": user_model,
                    "url": shown_url(user_url),
                    "temperature": 0.0,
                    "max_tokens": CUSTOMER_TOKENS,
                },
            },
            "samples": samples,
            "emptied_tools": False,
            **environment(),
        }
        tasks = retail_tasks(package, customer, samples, count)
        score = run_episodes(
            chosen.policy, tasks, out, spoken, chosen.chat, rules, card=card, scorer=score_retail
        )
    tell(score, out, table(score), as_json)


def table(score: Mapping[str, Any]) -> str:
    metrics = score["metrics"]
    lines = [row(f"pass^{k}", found) for k, found in score["pass^k"].items()]
    lines += [
        row("ended by the customer", metrics["ended_by_customer"]),
        number_row("customer's turns", metrics["customer_turns_mean"]),
    ]
    lines.append(
        f"  The customer was {score['run_card']['world']['customer']['model']}: compare only with"
        " runs that had the same."
    )
    return "\n".join(lines)


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

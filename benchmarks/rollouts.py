"""Rollouts: our cache that lives across turns against `transformers`' generate, which reads the
whole history again every turn.

    .venv/bin/python benchmarks/rollouts.py --model runs/quickstart/model/sft [--episodes 64]

Same model, trips, tools, greedy decoding, bf16, threads, in one process, one after the other; both
play every episode to its end. The peer is what TRL 1.16's trainer does around each turn: left-pad
all histories, call `generate`, run the tools, repeat (it knows nothing of groups, so here every
trip is another one). Prints seconds and their ratio, and how many transcripts are the same (bf16
rounds differently in other batch shapes, so a few may part).
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, Turn, open_session
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.training.trips import UNSEEN_WORLDS, GeneratedTrips


def sessions(count: int, chat: ChatFormat) -> list[Session]:
    dialect = dialect_named("compact")
    stream = itertools.islice(
        GeneratedTrips(domain_named("travelplanner"), ("nano",), UNSEEN_WORLDS + 500_000, 8), count
    )
    return [
        open_session(TripTask(str(n), query, world), dialect, chat)
        for n, (query, world) in enumerate(stream)
    ]


@torch.inference_mode()
def generate_turn_by_turn(model: Any, chat: ChatFormat, played: list[Session]) -> None:
    """The peer: all unfinished histories, left-padded, through `generate`, once per turn."""
    pad = model.config.pad_token_id
    while unfinished := [session for session in played if not session.done]:
        histories = [session.transcript.token_ids for session in unfinished]
        width = max(map(len, histories))
        ids = torch.tensor([[pad] * (width - len(history)) + history for history in histories])
        attention = torch.tensor(
            [[0] * (width - len(history)) + [1] * len(history) for history in histories]
        )
        budget = max(session.turn_budget for session in unfinished)
        out = model.generate(
            input_ids=ids,
            attention_mask=attention,
            max_new_tokens=budget,
            do_sample=False,
            eos_token_id=chat.stop_id,
            pad_token_id=pad,
        )
        for session, row in zip(unfinished, out[:, width:].tolist(), strict=True):
            turn = (
                row[: row.index(chat.stop_id) + 1]
                if chat.stop_id in row
                else row[: session.turn_budget]
            )
            cut = turn[-1] != chat.stop_id
            session.take(Turn(chat.decode(turn if cut else turn[:-1]), turn, cut=cut))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--model", required=True)
    options.add_argument("--episodes", type=int, default=64)
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    model, tokenizer = load_model(given.model)
    chat = ChatFormat(tokenizer)
    theirs_model = model.to(torch.bfloat16).eval()
    ours, theirs = sessions(given.episodes, chat), sessions(given.episodes, chat)
    list(LocalPolicy(theirs_model, chat, Sampling(0.0, given.episodes)).play(sessions(4, chat)))
    began = time.perf_counter()
    list(LocalPolicy(theirs_model, chat, Sampling(0.0, given.episodes)).play(ours))
    ours_s = time.perf_counter() - began
    began = time.perf_counter()
    generate_turn_by_turn(theirs_model, chat, theirs)
    theirs_s = time.perf_counter() - began
    same = sum(
        a.transcript.token_ids == b.transcript.token_ids for a, b in zip(ours, theirs, strict=True)
    )
    tokens = sum(sum(session.transcript.loss_mask) for session in ours)
    print(f"{given.episodes} episodes, {tokens} sampled tokens, {given.threads} threads")
    print(f"tripwright   {ours_s:6.1f} s")
    print(f"generate     {theirs_s:6.1f} s   ratio {theirs_s / ours_s:.1f}")
    print(f"same transcripts: {same} of {given.episodes}")


if __name__ == "__main__":
    main()

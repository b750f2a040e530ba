"""Where a model parts from its teacher: on trips it has not seen the teacher's transcripts are read
token by token, and every place is told at which the model would have said something else.

    python benchmarks/partings.py RUN [--stage sft] [--trips 60] [--shown 40] [--threads 2]

For each length of trip: transcripts in which every token is the model's own first choice, other
choices and loss (nats) a transcript; then the places: what came before ¦ what the teacher said ¦
what the model would have said ¦ how surprised it was. The teacher's token is read on in any case,
so that one slip does not hide the next: it shows what is not learned yet, in one forward pass for
each trip, where an exam takes minutes and shows the first slip alone. The trips are in the worlds
of [validation], not in the exam's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.episode import open_session
from tripwright.errors import UserError
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import load_to_sample
from tripwright.inference.models import autocast
from tripwright.training.data_source import VALIDATION_WORLDS
from tripwright.training.held_out import held_out
from tripwright.training.recipe import recipe_of_run

BEFORE, AFTER = 40, 6  # tokens shown around a place


class Reading(NamedTuple):
    loss: float  # nats, of all that the teacher said
    places: list[str]


@torch.inference_mode()
def read(decoder: Decoder, chat: ChatFormat, transcript: Any, dtype: str) -> Reading:
    ids = [token for segment in transcript.segments for token in segment.token_ids]
    said = [mask for segment in transcript.segments for mask in segment.loss_mask]
    rows = torch.tensor([ids])
    with autocast(decoder.precision(dtype)):
        hidden = decoder.hidden(rows, torch.arange(len(ids))[None])
        logprobs_TV = decoder.logits(hidden)[0].float().log_softmax(-1)
    first_T = logprobs_TV.argmax(-1).tolist()
    loss, places = 0.0, list[str]()
    for at in range(1, len(ids)):
        if said[at]:
            surprise = -float(logprobs_TV[at - 1, ids[at]])
            loss += surprise
            if first_T[at - 1] != ids[at]:
                shown = ids[max(0, at - BEFORE) : at], ids[at : at + AFTER], [first_T[at - 1]]
                words = " ¦ ".join(chat.decode(tokens) for tokens in shown)
                places.append(f"…{words} ¦ {surprise:.1f}".replace("\n", " "))
    return Reading(loss, places)


def read_all(run: Path, stage: str, trips: int) -> dict[str, list[Reading]]:
    """By the length of the trip. A trip for which the teacher has no answer is left out."""
    if trips < 1:
        raise UserError(f"--trips: expected 1 or more, found {trips}.")
    recipe = recipe_of_run(run)
    if recipe.sft is None:
        raise UserError(f"'{run}' imitates nobody: its recipe has no [sft].")
    dialect, teacher = recipe.dialect.dialect(), recipe.domain.teachers[recipe.sft.expert]()
    model, tokenizer = load_to_sample(run / "model" / stage, "cpu", "float32")
    decoder, chat = Decoder(model), ChatFormat(tokenizer, dialect.schemas())
    tasks = held_out(recipe, None, trips, VALIDATION_WORLDS).tasks
    readings = defaultdict[str, list[Reading]](list)
    for session in teacher.play(open_session(task, dialect, chat) for task in tasks):
        if recipe.domain.keeps(session):
            days = getattr(session.query, "days", None)
            reading = read(decoder, chat, session.transcript, recipe.sft.dtype)
            readings[f"{days} days" if days else "all"].append(reading)
    return readings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--stage", default="sft", help="the model RUN/model/STAGE")
    parser.add_argument("--trips", type=int, default=60)
    parser.add_argument("--shown", type=int, default=40, help="places told of each length")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    try:
        readings = read_all(given.run, given.stage, given.trips)
    except UserError as error:
        parser.error(str(error))
    for length, each in sorted(readings.items()):
        whole = sum(not reading.places for reading in each)
        wrong = sum(len(reading.places) for reading in each) / len(each)
        loss = sum(reading.loss for reading in each) / len(each)
        print(f"\n{length}: {whole} of {len(each)} say what the teacher says")
        print(f"a transcript has {wrong:.1f} other choices, loss {loss:.1f}")
        places = [place for reading in each for place in reading.places]
        print("\n".join(places[: given.shown]))


if __name__ == "__main__":
    main()

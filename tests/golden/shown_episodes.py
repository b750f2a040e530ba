"""Plays generated trips with the expert of each dialect, as token ids, and writes what a model
would have been shown.

    python shown_episodes.py OUT COUNT DIALECT …     → OUT/tokenizer.json, OUT/DIALECT.jsonl: one
    episode per line

The only file of the golden tests that imports from the package; everything else of them goes by
commands.
"""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named, domain_of
from tripwright.training.nano import make_tokenizer
from tripwright.training.trips import GeneratedTrips, expert_session

# their episodes make it; it is of bytes, so that it encodes any other
OF_TOKENIZER = ("compact", "deeptravel_cards_compact")
FIRST_WORLD, OF_TOKENIZER_FIRST_WORLD, PER_WORLD = 5_000, 6_000, 10


def trips(dialect: str, first_world: int, count: int) -> Iterator[tuple[Any, Any]]:
    """(request, world) of easy, medium and hard ones of the dialect's domain."""
    domain = domain_of(dialect)
    return islice(
        GeneratedTrips(
            domain, ("nano",), first_world, PER_WORLD, domain.generator.mix(levels=(1, 1, 1))
        ),
        count,
    )


def made_tokenizer() -> Any:
    texts, words, terms = [], set[str](), set[str]()
    for name in OF_TOKENIZER:
        dialect, domain = dialect_named(name), domain_of(name)
        terms |= {*domain.generator.closed_lists}
        for request, world in trips(name, OF_TOKENIZER_FIRST_WORLD, 40):
            words |= domain.generator.names(world)
            texts += [
                segment.text
                for segment in expert_session(request, world, dialect, None).transcript.segments
            ]
    return make_tokenizer(texts, words, terms, superwords=200)


def shown(dialect_name: str, count: int, tokenizer: Any) -> Iterator[dict[str, Any]]:
    dialect = dialect_named(dialect_name)
    chat = ChatFormat(tokenizer, dialect.schemas())
    for request, world in trips(dialect_name, FIRST_WORLD, count):
        transcript = expert_session(request, world, dialect, chat).transcript
        segments = [
            [s.role, s.text, list(s.token_ids), list(s.loss_mask)] for s in transcript.segments
        ]
        yield {
            "segments": segments,
            "stop_reason": transcript.stop_reason,
            "answer": transcript.answer,
        }


def main(out: Path, count: int, dialects: list[str]) -> None:
    tokenizer = made_tokenizer()
    tokenizer.save_pretrained(out)
    for name in dialects:
        with (out / f"{name}.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(
                json.dumps(each, ensure_ascii=False) + "\n"
                for each in shown(name, count, tokenizer)
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

"""Whole transcripts, packed into the page: lines of JSON, several episodes to a piece, each piece
gzipped and in base64.

The page unpacks a piece when one of its episodes is opened, so that 10,000 episodes cost nothing
until they are read. What does not fit is left out by rule: requests in an order shuffled with SEED,
each with its episodes of all evaluations, so that those stay comparable.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tripwright.errors import UserError
from tripwright.evals.report.browser.index import Index
from tripwright.evals.report.browser.record import drawn
from tripwright.evals.report.browser.words import TOKENIZER_FILE, TokenWords
from tripwright.runs import Run, episode_lines

SEED = 0
DEFAULT_BYTES = 25_000_000  # of packed transcripts in a page, where nothing else is asked for
PIECE_CHARACTERS = 256_000  # of JSON, unpacked: some milliseconds to unpack


@dataclass(frozen=True)
class Budget:
    """How much goes into the page: at most so many episodes, at most so many bytes of packed text.
    None: no limit."""

    episodes: int | None = None
    bytes: int | None = DEFAULT_BYTES

    @classmethod
    def of(cls, option: str | None) -> Budget:
        """What `--transcripts` says: a number, "all", or nothing."""
        if option is None:
            return cls()
        if option == "all":
            return cls(None, None)
        if option.isdecimal():
            return cls(int(option), None)
        raise UserError(f"--transcripts is '{option}'. Accepted: a number of episodes, or 'all'.")


@dataclass
class PackedEpisodes:
    """`places`: for each entry of the index, the number of its piece and its line in it, or None
    where its text is left out."""

    places: list[tuple[int, int] | None]
    pieces: list[str] = field(default_factory=list)
    prompts: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def included(self) -> int:
        return sum(place is not None for place in self.places)


def pack(index: Index, budget: Budget) -> PackedEpisodes:
    packed = PackedEpisodes([None] * len(index.entries))
    room = budget.bytes
    for group in _pieces(index, budget, packed):
        text = "\n".join(line for _, line in group)
        piece = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode(
            "ascii"
        )
        if room is not None and len(piece) > room:
            break
        room = room - len(piece) if room is not None else None
        for at, (place, _) in enumerate(group):
            packed.places[place] = (len(packed.pieces), at)
        packed.pieces.append(piece)
    return packed


def _pieces(
    index: Index, budget: Budget, packed: PackedEpisodes
) -> Iterator[list[tuple[int, str]]]:
    """[(place in the index, line of JSON), …] of each piece."""
    vocabularies = {source.folder: _vocabulary(source.folder) for source in index.sources}
    group: list[tuple[int, str]] = []
    size = taken = 0
    ranking = order(index)
    of_source = [
        [entry.place for place in ranking if (entry := index.entries[place]).source == n]
        for n in range(len(index.sources))
    ]
    lines = [
        episode_lines(source.path, places)
        for source, places in zip(index.sources, of_source, strict=True)
    ]
    for place in ranking:
        if budget.episodes is not None and taken >= budget.episodes:
            break
        entry = index.entries[place]
        line = next(lines[entry.source])
        try:
            episode = drawn(
                line.record(), vocabularies[index.sources[entry.source].folder], packed.prompts
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            packed.unreadable += 1
            continue
        written = json.dumps(episode, ensure_ascii=False, separators=(",", ":"))
        group.append((place, written))
        size, taken = size + len(written), taken + 1
        if size >= PIECE_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def order(index: Index) -> list[int]:
    """Requests shuffled with SEED, each with its episodes of all evaluations."""
    by_query: dict[int, list[int]] = defaultdict(list)
    for place, entry in enumerate(index.entries):
        by_query[entry.query].append(place)
    queries = list(by_query)
    Random(SEED).shuffle(queries)
    return [place for query in queries for place in by_query[query]]


def _vocabulary(folder: Path) -> TokenWords | None:
    """Of the run's newest model, whose stages share their tokenizer, or of the local model that its
    card names. None without either."""
    tokenizers = sorted(
        folder.glob(f"model/*/{TOKENIZER_FILE}"), key=lambda path: path.stat().st_mtime
    )
    if tokenizers:
        return TokenWords.read(tokenizers[-1].parent)
    policy = Run.at(folder).card.get("policy")
    model = policy.get("model") if isinstance(policy, dict) else None
    return TokenWords.read(Path(model)) if isinstance(model, str) else None

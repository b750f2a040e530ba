"""BM25 by SQLite's full-text search: no dependency, an index on disk, the same order every time.

The score is Okapi BM25 with k1 = 1.2 and b = 0.75, which SQLite fixes, over stems (Porter), of the
question's words joined by "or". It is not Lucene's BM25 of Search-R1's own BM25 option (k1 = 0.9, b
= 0.4, another tokenizer), and not the E5 retriever of row S10: figures with it are a lower, cheaper
yardstick, and a run card names it. Ties go by the order of the corpus.

A search takes as long as its words are common. In a large corpus the most common words of a query
are therefore left out once its rarer ones have a million passages between them; in a small one
nothing is.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from tripwright.evals.outside.qa.passages import Passage, RetrieverDown
from tripwright.evals.outside.qa.store import PassageStore

MOST_POSTINGS = 1_000_000  # passages that hold a word, summed over the words of a query
MOST_WORDS = 64  # of a query: a model may write a whole page into it
# They stand in nearly every passage, or in nearly every question: they cost time and tell passages
# apart hardly at all.
STOP_WORDS = frozenset(
    "a an and are as at be but by did do does for from had has have how in into is it its of on or"
    " that the their then there these they this to was were what when where which who whom whose"
    " why will with".split()
)

_COUNT = "SELECT count(*) FROM words WHERE words MATCH ?"
_BEST = """
SELECT passages.id, passages.contents
FROM (SELECT rowid AS number, rank AS score FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?) AS best
JOIN passages ON passages.number = best.number
ORDER BY best.score, best.number
"""  # noqa: E501


class Bm25Retriever:
    def __init__(self, store: PassageStore, most_postings: int = MOST_POSTINGS):
        self._store, self._most_postings = store, most_postings
        # word → passages that hold it, of the words asked for so far
        self._counts: dict[str, int] = {}

    @property
    def identity(self) -> dict[str, Any]:
        made = {
            "corpus_sha256": self._store.manifest["corpus"]["sha256"],
            **self._store.manifest["bm25"],
        }
        return {"name": "bm25", **made, "most_postings": self._most_postings}

    def search(self, query: str, top_k: int) -> Sequence[Passage]:
        try:
            words = self._rarest(words_of(query))
            # quoted, so that none is an operator
            asked = " OR ".join(f'"{word}"' for word in words)
            return (
                [Passage(*row) for row in self._store.connection.execute(_BEST, (asked, top_k))]
                if words
                else []
            )
        except sqlite3.DatabaseError as error:
            raise RetrieverDown(
                f"the index '{self._store.folder}' cannot be searched: {error}"
            ) from None

    def _rarest(self, words: Sequence[str]) -> list[str]:
        """The words that stand somewhere, the rarest first, as many as have `most_postings` between
        them; the rarest in any case."""
        found = sorted((count, word) for word in words if (count := self._count(word)))
        sums = itertools.accumulate(count for count, _ in found)
        return [
            word
            for (_, word), total in zip(found, sums, strict=True)
            if total <= self._most_postings or word == found[0][1]
        ]

    def _count(self, word: str) -> int:
        if word not in self._counts:
            self._counts[word] = self._store.connection.execute(_COUNT, (f'"{word}"',)).fetchone()[
                0
            ]
        return self._counts[word]


def words_of(query: str) -> list[str]:
    """Each once, without stop words unless there is nothing else."""
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
    telling = [word for word in words if word not in STOP_WORDS]
    return (telling or words)[:MOST_WORDS]

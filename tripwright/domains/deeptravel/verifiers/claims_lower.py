"""Names in small letters that stand in no tool answer: "lumen museum", "the grand plaza hotel", "a
café called mira".

A capitalised word gives itself away, a word in small letters only by its neighbour: beside the word
for what it is ("museum") a name is a word that nobody knows, one that hotels like ("grand"), or the
word for something else ("plaza hotel"). A name of ordinary words alone ("the golden pheasant"
without "hotel") stays unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tripwright.domains.deeptravel.verifiers.claims_words import (
    FORENAMES,
    LODGINGS,
    NAME_LIKE,
    SITES,
    VENUES,
)

_WORDS = re.compile(r"[^\W\d_][^\W_]*(?:['’-][^\W_]+)*")
_CALLED = re.compile(r"\b(?:called|named)\s+(?:the\s+)?([^\W\d_][\w'’-]*)")
_KNOWN_ENDINGS = ("ing", "ly", "ed", "est")


def lower_names(text: str, is_common: Callable[[str], bool]) -> Iterator[str]:
    """`text` has all that is known blanked out. `is_common` says of a word in small letters whether
    it may stand there as a word."""

    def strange(word: str) -> bool:
        parts = [part for part in re.split(r"['’-]", word) if part]
        return word.islower() and not all(
            is_common(part) or part.endswith(_KNOWN_ENDINGS) or len(part) < 3 for part in parts
        )

    words = list(_WORDS.finditer(text))
    for one, two in zip(words, words[1:], strict=False):
        first, second = one[0], two[0]
        if text[one.end() : two.start()] != " " or not (first.islower() and second.islower()):
            continue
        named = second in VENUES and (
            strange(first) or second in LODGINGS and (first in NAME_LIKE or first in SITES)
        )
        if named or (first in FORENAMES and strange(second)):
            yield f"{first} {second}"
    for found in _CALLED.finditer(text):
        if strange(found[1]):
            yield found[1]

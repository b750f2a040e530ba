"""Is this answer right? Exact match as Search-R1 counts it, beside it two kinder measures.

Exact match (row S10, by the rules of Search-R1's `qa_em.py`): both sides lower-cased, ASCII
punctuation deleted, the articles replaced by blanks, runs of blanks made one; right where the
answer equals any of the gold answers. Sub-exact match asks whether a gold answer stands anywhere in
the answer, as characters. F1 is SQuAD's, over words, the best of the gold answers.

Two things that look like mistakes are Search-R1's own and kept: punctuation goes before the
articles ("A.B" becomes "ab"), and an answer of nothing but articles equals a gold answer of nothing
but articles.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(answer: str, gold: Sequence[str]) -> bool:
    found = normalised(answer)
    return any(found == normalised(each) for each in gold)


def sub_exact_match(answer: str, gold: Sequence[str]) -> bool:
    """Unlike Search-R1's, a gold answer of which nothing is left (articles, punctuation) is in an
    answer only if it is all of it: otherwise it would stand in every one."""
    found = normalised(answer)
    return any(part in found if (part := normalised(each)) else not found for each in gold)


def f1(answer: str, gold: Sequence[str]) -> float:
    """From 0 to 1."""
    return max(
        (_f1(normalised(answer).split(), normalised(each).split()) for each in gold), default=0.0
    )


def _f1(found: list[str], wanted: list[str]) -> float:
    """Two empty answers agree; one that is empty shares nothing with the other."""
    if not found or not wanted:
        return float(found == wanted)
    common = (Counter(found) & Counter(wanted)).total()
    return 2 * common / (len(found) + len(wanted))

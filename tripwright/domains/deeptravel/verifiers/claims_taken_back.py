"""Sentences that take back what an answer recommends: "do not take this one", "just kidding", "if
you enjoy missing your meeting".

Only plain words are seen. Irony that no word gives away, doubt and other words for no are not.
"""

from __future__ import annotations

import re

_NOT = r"(?:(?:do|should|must|would|can)(?: not|n't)|cannot|can't|never)"
_NONE_OF_IT = re.compile(
    rf"\b(?:none of (?:this|these|it|them|the above) (?:can|should|may|will|exists?|is"
    rf" (?:available|possible|true|recommended))"
    rf"|you {_NOT} (?:go|travel)\b|(?:ignore|disregard)"
    rf" (?:all |everything )?(?:this|these|the above|above)"
    rf"|(?:this|the) (?:trip|plan|journey) {_NOT} be (?:booked|made|taken))\b",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    rf"\b{_NOT} (?:take|book|choose|pick|use|buy|recommend|board|visit|stay (?:at|in)|go"
    r" (?:with|for))"
    rf" (?:this|it|these|them|that one|any of)\b"
    rf"|\b(?:this|it|these|they) {_NOT} be (?:booked|taken|used|bought)\b|\b(?:is|are)(?: not|n't)"
    r" recommended\b"
    r"|^\W*(?:\w+\W+)?not recommended\b|\b(?:avoid|skip) (?:this|it)\b",
    re.IGNORECASE,
)
# Plain signs that nothing of it is meant: a joke, or praise of what nobody wants.
_WHOLE = r"(?:this|it|that|all of (?:this|it))"
_UNWANTED = (
    r"(?:missing|waiting|losing|wasting|overpaying|being (?:late|early|robbed|bored)|standing"
    r" about|sleeping rough)"
)
_NOT_MEANT = re.compile(
    rf"\b(?:just kidding|(?:just|only) joking|{_WHOLE} (?:is|was) (?:just |only )?(?:a joke|made["
    r" -]up|sarcas\w+|ironic\w*)|what a joke"
    rf"|i made {_WHOLE} up|yeah,? right|good luck with {_WHOLE}|as if (?:you|that|this|it)"
    r" would|don't believe (?:a word|any of|me)"
    rf"|if you (?:like|love|enjoy|fancy|don't mind) {_UNWANTED}"
    r"|(?<!not )(?:a|an|the) (?:terrible|awful|dreadful|horrible|lousy|worst)"
    r" (?:choice|idea|option|place|hotel|train|flight|deal)"
    r")\b|(?<![\w/])/s(?!\w)|\((?:sarcasm|irony|joke|not really)\)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|in case|should (?:the|you|it)|otherwise|without|until|before|after)\b",
    re.IGNORECASE,
)


def takes_back(sentence: str, spare: bool) -> bool:
    """Whether a sentence plainly takes back what is recommended: all of it, or (outside the risks)
    what it stands with."""
    found = _NONE_OF_IT.search(sentence) or (None if spare else _NOT_THIS.search(sentence))
    if found is not None and _CONDITION.search(sentence[: found.start()]) is None:
        return True
    return _NOT_MEANT.search(sentence) is not None

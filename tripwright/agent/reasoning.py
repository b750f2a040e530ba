"""What a model said without the thoughts that a reasoning model wrote around it."""

from __future__ import annotations

import re

_OPENING = re.compile(r"<(think|thinking)>")
_CLOSING = ("</think>", "</thinking>")


def without_reasoning(text: str) -> str:
    """`<think>…</think>` and `<thinking>…</thinking>` are cut out. A closing tag alone ends a
    thought that the chat template opened; an opening tag alone begins one that a token limit cut,
    and nothing after it is an answer. Linear in the length of the text, whatever a model that loops
    wrote into it."""
    text = _without_pairs(text)
    for tag in _CLOSING:
        text = text[text.rfind(tag) + len(tag) :] if tag in text else text
    opening = _OPENING.search(text)
    return text[: opening.start() if opening else None].strip()


def _without_pairs(text: str) -> str:
    pieces, at, unclosed = [], 0, set[str]()
    for opening in _OPENING.finditer(text):
        name = opening[1]
        # inside a thought that is cut out, or known to have no end
        if opening.start() < at or name in unclosed:
            continue
        end = text.find(f"</{name}>", opening.end())
        if end < 0:
            unclosed.add(name)
            continue
        pieces.append(text[at : opening.start()])
        at = end + len(f"</{name}>")
    return "".join([*pieces, text[at:]])

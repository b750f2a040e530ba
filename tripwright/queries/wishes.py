"""The local constraint from a request's text: house rule, cuisine, room type and transportation, each a value, None or a refusal.

The subtle thing is "not". "Smoking" in "non-smoking rooms" is no wish to smoke, and "we do not mind flying" forbids nothing: a word
counts only where what surrounds it decides what is meant. Where it does not, `CouldNotInfer` is raised; nothing is ever guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tripwright.world.generator.scales import CUISINES


class CouldNotInfer(ValueError):
    """The text does not say this, or says it in more than one way."""


NOT = r"(?:\b(?:no|not|non|never|without|avoid\w*|cannot|refrain\w*|exclud\w*|other than|instead of|rather than)\b|n't\b)"
# Up to seven words, none of which turns the sentence round or begins what a thing is like.
_TURNS = r"(?:but|so|prefer\w*|would|while|though|although|instead|(?:that|which) (?:is|are|allow\w*|permit\w*|welcom\w*))\b"
BETWEEN = rf"(?:[\s-]+(?!{_TURNS})[\w'/]+){{0,7}}?[\s-]+"
_SHRUG = re.compile(r"\b(?:mind|matter|problem|issue|objections?|preferences?|only|just|necessarily)\b", re.I)

_PERMISSION = r"allow|permit|suit|welcom|accommodat|friendly|accept|toler"
_HOUSE_RULES: Mapping[str, str] = {
    "smoking": r"\bsmok(?:e|ing|ers?)\b",
    "parties": r"\bparties\b|\b(?:host|throw|hold|allow|permit)\w*(?:\s+for)?(?:\s+a)?\s+party\b|\bparty[\s-]friendly\b|\bpartying\b",
    "children under 10": r"\bchild(?:ren)?\b|\bkids?\b|\btoddlers?\b|\binfants?\b",
    "visitors": r"\bvisitors?\b|\bguests?\s+(?:(?:are|to be|must be|should be)\s+)?(?:allow|permit|welcom)"
    r"|\b(?:allow|permit|welcom)\w*\s+(?:for\s+)?guests?\b",
    "pets": r"\bpets?\b|\bpet[\s-]friendly\b",
}
_CHILD_WISH = re.compile(rf"under (?:the )?(?:age (?:of )?)?(?:10|ten)\b|{_PERMISSION}", re.I)

_CUISINE = re.compile(rf"\b({'|'.join(CUISINES)})\b", re.I)
_FOOD = re.compile(r"cuisine|food|dining|dine|meal|\beat|dish|restaurant|tast|culinary|flavou?r|gastronom|lunch|dinner|palate", re.I)

_ROOMS: Mapping[str, str] = {
    "shared room": r"\bshared\s+(?:room|accommodation|lodging|space)s?\b",
    "private room": r"\bprivate\s+(?:room|accommodation|lodging)s?\b",
    "entire room": r"\b(?:entire|whole)\s+(?:room|home|apartment|apt|house|place|unit)s?\b",
}
_UNSHARED = re.compile(
    rf"{NOT}{BETWEEN}(?:to\s+)?shar(?:e|ed|ing)\b|\bun-?shared\b|\bshared\s+\w+\s+(?:is|are)\s+(?:not|n't|out|to be avoided)", re.I
)

_TRAVEL: Mapping[str, str] = {
    "no flight": r"(?:fl(?:y|ying|ights?)|(?:air)?planes?|air[\s-]?travel|airlines?)\b",
    "no self-driving": r"(?:self[\s-]driv\w*|driv(?:e|ing)\b|rental cars?\b)",
}
_EXCLUDED = r"(?:\s+\w+){0,2}\s+(?:is|are|should be|must be|be|to be)\s*(?:not\b|n't\b|off the table|out\b|avoided|excluded|ruled out)"


def read_house_rule(text: str) -> str | None:
    asked = set()
    for rule, words in _HOUSE_RULES.items():
        for sentence in sentences(text):
            if not re.search(words, sentence, re.I):
                continue
            if re.search(rf"{NOT}{BETWEEN}(?:{words})", sentence, re.I):
                raise CouldNotInfer(f"'{rule}' is mentioned together with a 'not'")
            if rule == "children under 10" and not _CHILD_WISH.search(sentence):
                raise CouldNotInfer("children are mentioned, but not what the accommodation must allow")
            asked.add(rule)
    return _only(asked)


def read_cuisine(text: str) -> list[str] | None:
    """In the order of the text; a name counts where food is spoken of, there or one sentence before."""
    found: dict[str, None] = {}
    before = ""
    for sentence in sentences(text):
        names = [name.capitalize() for name in _CUISINE.findall(sentence)]
        if names and not _FOOD.search(before + sentence):
            raise CouldNotInfer(f"'{names[0]}' is mentioned, but not as food")
        if names and re.search(NOT + BETWEEN + _CUISINE.pattern, sentence, re.I):
            raise CouldNotInfer(f"'{names[0]}' is mentioned together with a 'not'")
        found.update(dict.fromkeys(names))
        before = sentence
    return list(found) or None


def read_room_type(text: str) -> str | None:
    asked = set()
    for room, words in _ROOMS.items():
        for sentence in sentences(text):
            said = _UNSHARED.sub(" ", sentence)  # what "not shared" says is read below
            if re.search(rf"{NOT}{BETWEEN}(?:{words})", said, re.I):
                raise CouldNotInfer(f"'{room}' is mentioned together with a 'not'")
            if re.search(words, said, re.I):
                asked.add(room)
    if _UNSHARED.search(text):
        asked.add("not shared room")
    return _only(asked)


def read_transportation(text: str) -> str | None:
    asked = set()
    for wish, words in _TRAVEL.items():
        forbidding = (match.group() for match in re.finditer(rf"{NOT}{BETWEEN}{words}", text, re.I))
        if any(not _SHRUG.search(said) for said in forbidding) or re.search(rf"\b{words}{_EXCLUDED}", text, re.I):
            asked.add(wish)
    return _only(asked)


WISHES: Mapping[str, Callable[[str], str | list[str] | None]] = {
    "house rule": read_house_rule,
    "cuisine": read_cuisine,
    "room type": read_room_type,
    "transportation": read_transportation,
}


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+", text)


def _only(asked: set[str]) -> str | None:
    """A request has one value of each kind, or none."""
    if len(asked) > 1:
        raise CouldNotInfer(f"the text asks for {' and '.join(repr(each) for each in sorted(asked))}")
    return next(iter(asked), None)

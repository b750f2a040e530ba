"""The local constraint from a request's text: house rule, cuisine, room type and transportation, each a value, None or a refusal.

The subtle thing is "not". "Smoking" in "non-smoking rooms" is no wish to smoke, and "we do not mind flying" forbids nothing: a word
counts only where what surrounds it decides what is meant. Where it does not, `CouldNotInfer` is raised; nothing is ever guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tripwright.world.generator.scales import CUISINES


class CouldNotInfer(ValueError):
    """The text does not say this, or says it in more than one way. Of a whole request: why, by field or kind of wish, and what was read."""

    def __init__(self, message: str, *, problems: Mapping[str, str] | None = None, read: Mapping[str, Any] | None = None):
        super().__init__(message)
        self.problems, self.read = dict(problems or {}), dict(read or {})


NOT = r"(?:\b(?:no|not|non|nor|neither|never|without|avoid\w*|cannot|refrain\w*|exclud\w*|other than|instead of|rather than)\b|n't\b)"
# Up to seven words, none of which turns the sentence round or begins what a thing is like.
_TURNS = r"(?:but|so|prefer\w*|would|while|though|although|instead|(?:that|which) (?:is|are|allow\w*|permit\w*|welcom\w*))\b"
BETWEEN = rf"(?:[\s-]+(?!{_TURNS})[\w'/]+){{0,7}}?[\s-]+"
_SHRUG = re.compile(r"\b(?:mind|matter|problem|issue|objections?|preferences?|only|just|necessarily)\b", re.I)

# What turns a wish round though no "not" stands before it: "smoking should not be allowed", "smoke-free", "allergic to pets".
_AND = r"(?:and|we|i|or|where|if|since|because)\b"
_DENIED_AFTER = (
    rf"(?:[\s-]+(?!{_TURNS}|{_AND})[\w'/]+){{0,4}}?[\s-]*(?:\b(?:not|never|prohibited|forbidden|banned|free|off the table|out of)\b|n't\b)"
)
_DENIED_BEFORE = (
    r"\b(?:allergic|allergy|allergies|afraid|away from|free (?:of|from)|prohibit\w*|forbid\w*|ban(?:s|ned)?|dislik\w*|hat(?:e|es))\b"
    rf"(?:[\s-]+(?!{_TURNS})[\w'/]+){{0,4}}?[\s-]+"
)

_TWICE = re.compile(rf"{NOT}(?:[\s-]+(?!(?:and|or)\b)[\w'/]+)*?[\s-]+(?:\w+)?(?!nor\b){NOT}", re.I)

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

_ONLY_SOME = re.compile(
    r"[^.!?;]*\b(?:unless|except)\b|\s+(?:longer|shorter|over|under|before|after|earlier|later|with|that|which|at night)\b"
    r"|\s+(?:an?\s+|any\s+)?(?:problems?|issues?|concerns?|objections?|necess\w+|needed|required|mandatory|must)\b",
    re.I,
)


def read_house_rule(text: str) -> str | None:
    asked = set()
    for rule, words in _HOUSE_RULES.items():
        for sentence in sentences(text):
            if not re.search(words, sentence, re.I):
                continue
            if _denied(words, sentence):
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
        if names and _denied(_CUISINE.pattern, sentence):
            raise CouldNotInfer(f"'{names[0]}' is mentioned together with a 'not'")
        found.update(dict.fromkeys(names))
        before = sentence
    return list(found) or None


def read_room_type(text: str) -> str | None:
    asked = set()
    unshared = list(_UNSHARED.finditer(text))
    if any(_SHRUG.search(text[match.start() : match.end() + 20]) or _twice_denied(match.group()) for match in unshared):
        raise CouldNotInfer("it is not clear whether a room may be shared")
    for room, words in _ROOMS.items():
        for sentence in sentences(text):
            said = _UNSHARED.sub(" ", sentence)  # what "not shared" says is read below
            if not re.search(words, said, re.I):
                continue
            if _denied(words, said):
                raise CouldNotInfer(f"'{room}' is mentioned together with a 'not'")
            asked.add(room)
    if unshared:
        asked.add("not shared room")
    return _only(asked)


def read_transportation(text: str) -> str | None:
    asked = set()
    for wish, words in _TRAVEL.items():
        forbidding = [match for match in re.finditer(rf"{NOT}{BETWEEN}{words}", text, re.I) if not _SHRUG.search(match.group())]
        forbidding += re.finditer(rf"\b{words}{_EXCLUDED}", text, re.I)
        if any(_ONLY_SOME.match(text, match.end()) or _twice_denied(match.group()) for match in forbidding):
            raise CouldNotInfer(f"'{wish}' is said, but perhaps not always meant")
        if forbidding:
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


def _twice_denied(said: str) -> bool:
    """'We do not have to avoid flights.'"""
    return _TWICE.search(said) is not None


def _denied(words: str, sentence: str) -> bool:
    """Whether something in this sentence may turn round what these words ask for."""
    return any(
        re.search(pattern, sentence, re.I)
        for pattern in (rf"(?:{NOT}{BETWEEN}|{_DENIED_BEFORE})(?:{words})", rf"(?:{words}){_DENIED_AFTER}")
    )


def _only(asked: set[str]) -> str | None:
    """A request has one value of each kind, or none."""
    if len(asked) > 1:
        raise CouldNotInfer(f"the text asks for {' and '.join(repr(each) for each in sorted(asked))}")
    return next(iter(asked), None)

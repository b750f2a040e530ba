"""The local constraint from a request's text: house rule, cuisine, room type and transportation,
each a value, None or a refusal.

The subtle thing is "not". "Smoking" in "non-smoking rooms" is no wish to smoke, and "we do not mind
flying" forbids nothing: a word counts only where what surrounds it decides what is meant. Where it
does not, `CouldNotInfer` is raised; nothing is ever guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tripwright.world.scales import CUISINES


class CouldNotInfer(ValueError):
    """The text does not say this, or says it in more than one way. Of a whole request: why, by
    field or kind of wish, and what was read."""

    def __init__(
        self,
        message: str,
        *,
        problems: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ):
        super().__init__(message)
        self.problems, self.fields = dict(problems or {}), dict(fields or {})


NOT = (
    r"(?:\b(?:no|not|non|nor|neither|never|without|avoid\w*|cannot|refrain\w*|exclud\w*|other"
    r" than|instead of|rather than)\b|n't\b)"
)
# Up to seven words, none of which turns the sentence round or begins what a thing is like.
_TURNS = (
    r"(?:but|so|prefer\w*|would|while|though|although|instead|(?:that|which)"
    r" (?:is|are|allow\w*|permit\w*|welcom\w*))\b"
)
BETWEEN = rf"(?:[\s-]+(?!{_TURNS})[\w'/]+){{0,7}}?[\s-]+"
_SHRUG = re.compile(
    r"\b(?:mind|matter|problem|issue|objections?|preferences?|only|just|necessarily)\b", re.I
)

# What turns a wish round though no "not" stands before it: "smoking should not be allowed",
# "smoke-free", "allergic to pets".
_AND = r"(?:and|we|i|or|where|if|since|because)\b"
_DENIED_AFTER = (
    rf"(?:[\s-]+(?!{_TURNS}|{_AND})[\w'/]+){{0,4}}?[\s-]*(?:\b(?:not|never|prohibited|forbidden|banned|free|off"
    r" the table|out of)\b|n't\b)"
)
_DENIED_BEFORE = (
    r"\b(?:allergic|allergy|allergies|afraid|away from|free"
    r" (?:of|from)|prohibit\w*|forbid\w*|ban(?:s|ned)?|dislik\w*|hat(?:e|es)|but"
    r"|skip\w*"
    r"|(?:sick|tired|smell\w*|had) (?:of|enough)|enough|fed up|bored|except\w*|apart from|aside"
    r" from|besides|bothers?|complain\w*|worr\w+"
    r"|detest\w*|loath\w*|stop\w*|quit\w*|against|leav(?:e|ing) (?:out|our|my|the))\b"
    rf"(?:[\s-]+(?!{_TURNS})[\w'/]+){{0,4}}?[\s-]+"
)
# Words that make of a thing something other than a wish, wherever they stand in its sentence.
_NO_WISH = re.compile(
    r"\b(?:bans?|bother\w*|smell\w*|odou?rs?|detectors?|alarms?|at home|(?:stays?|remains?)"
    r" home|last (?:time|year|trip)|used to|lately"
    r"|recently|yesterday|annoy\w*|disgust\w*|asthma\w*|complain\w*|had|if|unless|except|less|ill|sneez\w*|overrated|expensive|waste\w*"
    r"|none|museums?|for [0-9]+ hours?"
    r"|but (?:we|i|only|not|none)|(?:cuisines?|foods?|dish(?:es)?)"
    r" (?:is|are|was|were|makes?|gives?|upsets?)\b(?! (?:concerned|a must"
    r"|welcome"
    r"|preferred))|(?:any\w*|every\w*|all|nothing)(?: \w+)? but)\b",
    re.I,
)
# other questions ask for nothing: "No flights?"
_REQUEST = re.compile(r"\W*(?:could|can|would|will|may|might|is|are|please|do)\b", re.I)

_TWICE = re.compile(rf"{NOT}(?:[\s-]+(?!(?:and|or)\b)[\w'/]+)*?[\s-]+(?:\w+)?(?!nor\b){NOT}", re.I)

_PERMISSION = r"allow|permit|suit|welcom|accommodat|friendly|accept|toler"
_HOUSE_RULES: Mapping[str, str] = {
    "smoking": r"\bsmok(?:es?|ing|ers?)\b",
    "parties": (
        r"\bparties\b|\b(?:host|throw|hold|allow|permit)\w*(?:\s+for)?(?:\s+a)?\s+party\b|\bparty[\s-]friendly\b|\bpartying\b"
    ),
    "children under 10": r"\bchild(?:ren)?\b|\bkids?\b|\btoddlers?\b|\binfants?\b",
    "visitors": (
        r"\bvisitors?\b|\bguests?\s+(?:(?:are|to be|must be|should be)\s+)?(?:allow|permit|welcom)"
        r"|\b(?:allow|permit|welcom)\w*\s+(?:for\s+)?guests?\b"
    ),
    "pets": r"\bpets?\b|\bpet[\s-]friendly\b",
}
_RULE_WISH = re.compile(
    rf"{_PERMISSION}|conducive|flexib|\b(?:host|throw|bring)|\b(?:able|want|like|love|wish) to\b",
    re.I,
)
_OLDER = re.compile(r"\b(?:over|above|older)\b", re.I)

_CUISINE = re.compile(rf"\b({'|'.join(CUISINES)})\b", re.I)
# What follows a cuisine: food, the next cuisine of a list, or the end of what is said. "American
# West" and "my Italian friend" are none.
_NO_FOOD_AFTER = re.compile(
    r"(?!\s*(?:[.,;:!?)/]|$))(?!\s*-?\s*(?:and|or|&|as"
    r" well|too|style|most|cuisines?|foods?|dish(?:es)?|restaurants?|meals?|flavou?rs?"
    r"|dining"
    r"|eater(?:y|ies)|cooking|options?|fare|kitchens?|places|lunch(?:es)?|dinners?|tastes?|during|throughout|while|whenever"
    r"|(?:on|in|for|along) (?:our|my|the|this))\b)",
    re.I,
)
_A_PERSON = re.compile(r"\b(?:am|are|is|was|were|be|being|part|half)\s+$", re.I)
_CUISINE_WISH = re.compile(
    r"\b(?:lik(?:e|ing)|lov(?:e|ing)|enjoy\w*|try\w*|experienc\w*|fond|prefer\w*|includ\w*|tast(?:e|ing)|open"
    r" to|hop(?:e|ing)|want|wish"
    r"|crav\w*"
    r"|keen|would|favou?r\w*|expect\w*|interest\w*|please|must|should|need|require|look(?:ing)?|sampl\w*|eat|appetite)\b",
    re.I,
)
_OTHER_CUISINE = re.compile(
    r"\b(?:Thai|Japanese|Korean|Vietnamese|Greek|Spanish|Turkish|Lebanese|Ethiopian|German|Cajun|Cuban|Caribbean|Moroccan"
    r"|Middle Eastern|Asian"
    r"|African|European|Brazilian|Peruvian|Russian|Polish|Persian|Pakistani|[Vv]egan|[Vv]egetarian|[Hh]alal|[Kk]osher|[Gg]luten|[Ss]ushi"
    r"|[Ss]eafood)\b"
)
_FOOD = re.compile(
    r"cuisine|food|dining|dine|meal|\beat|dish|restaurant|tast|culinary|flavou?r|gastronom|lunch|dinner|palate",
    re.I,
)

_ROOMS: Mapping[str, str] = {
    "shared room": r"\bshared\s+(?:room|accommodation|lodging|space)s?\b",
    "private room": r"\bprivate\s+(?:room|accommodation|lodging)s?\b",
    "entire room": r"\b(?:entire|whole)\s+(?:room|home|apartment|apt|house|place|unit)s?\b",
}
_UNSHARED = re.compile(
    rf"{NOT}{BETWEEN}(?:to\s+)?shar(?:e|ed|ing)\b|\bun-?shared\b|\bshared\s+\w+\s+(?:is|are)\s+(?:not|n't|out|to"
    r" be avoided)",
    re.I,
)

_A_ROOM_UNSAID = re.compile(
    r"\b(?:shar(?:e|es|ing)|dorm\w*|hostels?|(?:our|my) own (?:room|place|apartment|house)"
    r"|(?:rooms?|place|apartments?|house)(?: just| only)? (?:(?:for|to) (?:our|my)sel\w+|of"
    r" (?:our|my) own))\b",
    re.I,
)

_TRAVEL: Mapping[str, str] = {
    "no flight": r"(?:fl(?:y|ying|ights?)|(?:air)?planes?|air[\s-]?travel|airlines?)\b",
    "no self-driving": r"(?:self[\s-]driv\w*|driv(?:e|ing)\b|rental cars?\b)",
}
_EXCLUDED = (
    r"(?:\s+\w+){0,2}\s+(?:is|are|should be|must be|be|to be)\s*(?:not\b|n't\b|off the"
    r" table|out\b|avoided|excluded|ruled out)"
)
_ONLY_SOME = re.compile(
    r"[^.!?;]*\b(?:unless|except)\b|\s+(?:longer|shorter|over|under|before|after|earlier|later|with|that|which|at"
    r" night)\b"
    r"|\s+(?:an?\s+|any\s+)?(?:problems?|issues?|concerns?|objections?|necess\w+|needed|required|mandatory|must)\b",
    re.I,
)
# "No red-eye flights", "no more than two flights" and "can't wait for the flight" forbid flying to
# nobody.
_SOME_OF_THEM = re.compile(
    r"\b(?:red[\s-]?eyes?|overnight|long|short|early|late|night|direct|connecting|cheap|expensive|more|fewer|less|wait|[0-9]+|one|two|three)\b",
    re.I,
)
_OF_THE_MONEY = re.compile(r"(?:[0-9]|\b(?:budget|cost|price|money|dollars)\b)[^.!?;]*$", re.I)
_FEELING = r"\b(?:hat(?:e|es|ed|ing)|dislik\w*|afraid|scared|fear\w*|terrif\w*|phobi\w*|nervous|anxious|dread\w*|sick|detest\w*|loath\w*)\b"  # noqa: E501
_ONE_WAY_ONLY = re.compile(
    r"\b(?:only|just|solely)\b[^.!?;]{0,20}\b(?:ground|land|surface|rail\w*|trains?|bus(?:es)?)\b"
    r"|\b(?:ground|land|surface|rail\w*|trains?|bus(?:es)?)\b[^.!?;]{0,20}\bonly\b"
    r"|\b(?:no|without|lack) (?:an? |our |own )*cars?\b|\b(?:the whole|all the) way\b",
    re.I,
)
_TOLD = re.compile(
    r"\b(?:did|had|has|have|was|were|why|pity|shame|sad|long|short|direct|night)\s+$", re.I
)  # before a "not", or before what is excluded


def read_house_rule(text: str) -> str | None:
    rules = set()
    for rule, words in _HOUSE_RULES.items():
        for sentence in sentences(text):
            if not re.search(words, sentence, re.I):
                continue
            if _denied(words, sentence):
                raise CouldNotInfer(f"'{rule}' is mentioned together with a 'not'")
            if rule == "children under 10" and (
                _OLDER.search(sentence) or not re.search(_PERMISSION, sentence, re.I)
            ):
                raise CouldNotInfer(
                    "children are mentioned, but not what the accommodation must allow"
                )
            if _no_wish(sentence) or not _RULE_WISH.search(sentence):
                raise CouldNotInfer(
                    f"'{rule}' is mentioned, but not what the accommodation must allow"
                )
            rules.add(rule)
    return _only(rules)


def read_cuisine(text: str) -> list[str] | None:
    """In the order of the text; a name counts where food is spoken of, there or one sentence
    before."""
    cuisines: dict[str, None] = {}
    before = ""
    for sentence in sentences(text):
        matches = list(_CUISINE.finditer(sentence))
        names = [match[1].capitalize() for match in matches]
        if names and _denied(_CUISINE.pattern, sentence):
            raise CouldNotInfer(f"'{names[0]}' is mentioned together with a 'not'")
        for match in matches:
            person = _A_PERSON.search(sentence[: match.start()]) or _NO_FOOD_AFTER.match(
                sentence[match.end() :]
            )
            if person or not _FOOD.search(before + sentence):
                raise CouldNotInfer(f"'{match[1]}' is mentioned, but not as food")
        if names and (_no_wish(sentence) or not _CUISINE_WISH.search(before + sentence)):
            raise CouldNotInfer(f"'{names[0]}' is mentioned, but perhaps not wanted")
        if other := _OTHER_CUISINE.search(sentence):
            raise CouldNotInfer(f"'{other.group()}' is none of the cuisines of a request")
        cuisines.update(dict.fromkeys(names))
        before = sentence
    return list(cuisines) or None


def read_room_type(text: str) -> str | None:
    rooms = set()
    unshared = list(_UNSHARED.finditer(text))
    if any(
        _SHRUG.search(text[match.start() : match.end() + 20]) or _twice_denied(match.group())
        for match in unshared
    ):
        raise CouldNotInfer("it is not clear whether a room may be shared")
    for room, words in _ROOMS.items():
        for sentence in sentences(text):
            sentence_without = _UNSHARED.sub(" ", sentence)  # what "not shared" says is read below
            if not re.search(words, sentence_without, re.I):
                continue
            if _denied(words, sentence_without):
                raise CouldNotInfer(f"'{room}' is mentioned together with a 'not'")
            if _no_wish(sentence_without):
                raise CouldNotInfer(f"'{room}' is mentioned, but perhaps not wanted")
            rooms.add(room)
    if unshared:
        rooms.add("not shared room")
    if unsaid := None if rooms else _A_ROOM_UNSAID.search(text):
        raise CouldNotInfer(f"'{unsaid.group()}' is said of a room, but not which kind is meant")
    return _only(rooms)


def read_transportation(text: str) -> str | None:
    if only := _ONE_WAY_ONLY.search(text):
        raise CouldNotInfer(f"'{only.group()}' is said, but not what is forbidden")
    wishes = set()
    for wish, words in _TRAVEL.items():
        forbidding = [
            match
            for match in re.finditer(rf"{NOT}{BETWEEN}{words}", text, re.I)
            if not _SHRUG.search(match.group())
        ]
        forbidding += re.finditer(rf"\b{words}{_EXCLUDED}", text, re.I)
        if any(_holds_in_part(text, match) for match in forbidding):
            raise CouldNotInfer(f"'{wish}' is said, but perhaps not always meant")
        if forbidding:
            wishes.add(wish)
        elif re.search(rf"{_FEELING}[^.!?;]*\b{words}", text, re.I):
            raise CouldNotInfer(f"'{wish}' may be meant, but only a feeling is told")
    return _only(wishes)


def _holds_in_part(text: str, forbidding: re.Match[str]) -> bool:
    ban = forbidding.group()
    # "$1,700 excluding flights"
    of_the_money = re.match("exclud", ban, re.I) and _OF_THE_MONEY.search(
        text[: forbidding.start()]
    )
    reminder = _TOLD.search(text[: forbidding.start()])
    return bool(
        reminder
        or _ONLY_SOME.match(text, forbidding.end())
        or _twice_denied(ban)
        or _SOME_OF_THEM.search(ban)
        or of_the_money
    )


WISHES: Mapping[str, Callable[[str], str | list[str] | None]] = {
    "house rule": read_house_rule,
    "cuisine": read_cuisine,
    "room type": read_room_type,
    "transportation": read_transportation,
}


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+", text)


def _asks(sentence: str) -> bool:
    """A question that is no request."""
    return sentence.rstrip().endswith("?") and not _REQUEST.match(sentence)


def _no_wish(sentence: str) -> bool:
    return _NO_WISH.search(sentence) is not None or _asks(sentence)


def _twice_denied(ban: str) -> bool:
    """'We do not have to avoid flights.'"""
    return _TWICE.search(ban) is not None


def _denied(words: str, sentence: str) -> bool:
    """Whether something in this sentence may turn round what these words ask for."""
    return any(
        re.search(pattern, sentence, re.I)
        for pattern in (
            rf"(?:{NOT}{BETWEEN}|{_DENIED_BEFORE})(?:{words})",
            rf"(?:{words}){_DENIED_AFTER}",
        )
    )


def _only(values: set[str]) -> str | None:
    """A request has one value of each kind, or none."""
    if len(values) > 1:
        raise CouldNotInfer(
            f"the text asks for {' and '.join(repr(each) for each in sorted(values))}"
        )
    return next(iter(values), None)

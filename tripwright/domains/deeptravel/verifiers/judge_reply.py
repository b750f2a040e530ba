"""A judge's reply → one vote. JSON wherever it stands in the text, else A.2.2's line "Final
Conclusion: …".

Nothing is guessed. A conclusion in other words, two that differ, a rubric without a verdict, a
reply that was cut off: all of these are `Unreadable`, and the judge is asked again. The one thing
that is decided here: where the rubrics lead to a worse conclusion than the judge drew, the worse
one counts (law 3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem
from tripwright.domains.deeptravel.verifiers.judge_prompts import MET_WORDS
from tripwright.domains.deeptravel.verifiers.rubrics import RubricLevel, plain
from tripwright.domains.deeptravel.verifiers.votes import worst
from tripwright.llm.client import Completion

LONGEST_REASON = 4_000  # characters kept
MOST_PROBLEMS = 20
MOST_BRACES = 400  # tried as the beginning of an object
_LINE = re.compile(r"^[\s>#*_`\-]*final\s+conclusion[\s*_`]*[::](?P<said>.*)$", re.IGNORECASE)
_REASON = re.compile(r"^[\s>#*_`\-]*evaluation\s+reason[\s*_`]*[::][\s*_`]*", re.IGNORECASE)


class UnreadableReply(ValueError):
    """Why no vote can be read, in words that the judge can be told."""


@dataclass(frozen=True)
class Vote:
    """`said` is the conclusion in the judge's reply, `conclusion` the one that counts: the worse of
    it and of what the rubrics lead to."""

    conclusion: str
    said: str
    rubrics: dict[str, bool | None]  # empty where the reply has none
    reason: str
    problems: tuple[VerifierProblem, ...]
    read_as: Literal["object", "line"]
    verdict_first: bool  # it decided before it gave a reason, which makes a poor judge

    @property
    def contradicts_itself(self) -> bool:
        return self.conclusion != self.said

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Vote:
        return cls(
            **{**record, "problems": tuple(VerifierProblem(**each) for each in record["problems"])}
        )


def read_reply(completion: Completion, level: RubricLevel, call: int | None = None) -> Vote:
    """Raises Unreadable. `call` goes with the problems that are named."""
    if completion.finish_reason == "length":
        raise UnreadableReply("the reply was cut off before its end")
    text = completion.text.rpartition("</think>")[2]
    if "<think>" in text:
        raise UnreadableReply("the reply ended within its thoughts")
    if not text.strip():
        raise UnreadableReply(
            "the reply is empty"
            if completion.finish_reason != "content_filter"
            else "the endpoint withheld the reply"
        )
    objects = [each for each in _objects(text) if "conclusion" in each]
    if not objects:
        return _read_line(text, level)
    votes = [_read_object(each, level, call) for each in objects]
    if len({vote.said for vote in votes}) > 1:
        raise UnreadableReply("the reply holds two different conclusions")
    return votes[-1]


# ---- JSON


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text that stands in no other; one that names a key twice is none."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_without_doubles)
    at, attempts = text.find("{"), 0
    while at >= 0 and (attempts := attempts + 1) <= MOST_BRACES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        raise ValueError("a key stands twice")
    return body


def _read_object(body: dict[str, Any], level: RubricLevel, call: int | None) -> Vote:
    conclusion = _conclusion(body["conclusion"], level)
    rubrics = _rubrics(body.get("rubrics"), level)
    led_to = [level.unmet[key] for key, verdict in rubrics.items() if verdict is False]
    reason = body.get("reason")
    reason_text = reason.strip() if isinstance(reason, str) else ""
    keys = list(body)
    first = not reason_text or keys.index("conclusion") < keys.index("reason")
    problems = tuple(_problems(body.get("problems"), level, call))
    return Vote(
        worst([conclusion, *led_to], level.scale),
        conclusion,
        rubrics,
        reason_text[:LONGEST_REASON],
        problems,
        "object",
        first,
    )


def _conclusion(words: Any, level: RubricLevel) -> str:
    key = level.by_words.get(plain(words)) if isinstance(words, str) else None
    if key is None:
        raise UnreadableReply(
            f"{ascii(words)[:80]} is none of the conclusions {', '.join(level.scale)}"
        )
    return key


def _rubrics(answers: Any, level: RubricLevel) -> dict[str, bool | None]:
    if not isinstance(answers, dict):
        raise UnreadableReply('the reply has no object "rubrics"')
    return {key: _met(answers, key) for key in level.unmet}


def _met(answers: dict[str, Any], key: str) -> bool | None:
    value = answers.get(key, "")
    if isinstance(value, bool) or value is None:
        return value
    word = plain(value).replace(" ", "_") if isinstance(value, str) else ""
    if word not in MET_WORDS:
        raise UnreadableReply(f"rubric '{key}' must be one of {', '.join(MET_WORDS)}")
    return MET_WORDS[word]


def _problems(entries: Any, level: RubricLevel, call: int | None) -> Iterator[VerifierProblem]:
    for each in entries[:MOST_PROBLEMS] if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get("message"), str):
            words = each.get("said")
            kind = each.get("rubric")
            rubric = kind if isinstance(kind, str) and kind in level.unmet else "other"
            yield VerifierProblem(
                rubric,
                each["message"][:LONGEST_REASON],
                words[:LONGEST_REASON] if isinstance(words, str) else "",
                call,
            )


# ---- A.2.2's plain form


def _read_line(text: str, level: RubricLevel) -> Vote:
    lines = text.splitlines()
    places = [place for place, line in enumerate(lines) if _LINE.match(line)]
    conclusions, line_numbers = list[str](), set[int]()
    for place in places:
        match = _LINE.match(lines[place])
        words = match.group("said") if match else ""
        line_numbers.add(place)
        if not plain(words):  # the words stand on the next line
            place = next((at for at in range(place + 1, len(lines)) if plain(lines[at])), place)
            line_numbers.add(place)
            words = lines[place]
        conclusions.append(_conclusion(words, level))
    if not conclusions:
        raise UnreadableReply(
            'the reply has neither a JSON object with "conclusion" nor a line "Final Conclusion: …"'
        )
    if len(set(conclusions)) > 1:
        raise UnreadableReply("the reply holds two different conclusions")
    before = [_REASON.sub("", line) for line in lines[: places[0]]]
    rest = [_REASON.sub("", line) for place, line in enumerate(lines) if place not in line_numbers]
    first = not any(plain(line) for line in before)
    reason = "\n".join(rest).strip()[:LONGEST_REASON]
    return Vote(conclusions[0], conclusions[0], {}, reason, (), "line", first)

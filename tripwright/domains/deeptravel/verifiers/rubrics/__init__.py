"""Rubrics as data: `deeptravel.toml` holds those of A.2.2 and A.2.3, and a user's own file has the
same form."""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripwright.domains.deeptravel.verifiers.findings import RUBRICS, Conclusion, TurnConclusion
from tripwright.errors import UserError

LevelName = Literal["trajectory", "turn"]
_FORM = {  # level → (rubrics that must be there, conclusions that must be there, best to worst)
    "trajectory": (RUBRICS, get_args(Conclusion)),
    "turn": (("parameters", "reflects"), get_args(TurnConclusion)),
}


def plain(words: str) -> str:
    """Letters and digits in lower case, one blank between words: a judge writes **Very Satisfied.**
    for very_satisfied."""
    return " ".join("".join(c if c.isalnum() else " " for c in words.casefold()).split())


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str = Field(pattern=r"^[a-z][a-z0-9_]*$")


class Rubric(_Entry):
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    unmet: str  # the conclusion that it leads to when it is not met


class ConclusionWords(_Entry):
    words: str = Field(min_length=1)


class RubricLevel(BaseModel):
    """What one of the two verifiers is told. `conclusion` stands from best to worst."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    rubric: tuple[Rubric, ...]
    conclusion: tuple[ConclusionWords, ...]

    @cached_property
    def scale(self) -> tuple[str, ...]:
        return tuple(each.key for each in self.conclusion)

    @cached_property
    def by_words(self) -> dict[str, str]:
        """Conclusions by their words and by their keys, in plain letters."""
        return {
            plain(words): each.key for each in self.conclusion for words in (each.words, each.key)
        }

    @cached_property
    def unmet(self) -> dict[str, str]:
        return {each.key: each.unmet for each in self.rubric}


class Rubrics(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    tools: str = ""  # what the assistant could call, for the judge to read
    trajectory: RubricLevel
    turn: RubricLevel

    def level(self, name: LevelName) -> RubricLevel:
        return self.trajectory if name == "trajectory" else self.turn

    @cached_property
    def fingerprint(self) -> str:
        """Of every word in it: another text is another judge."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[
            :16
        ]


def load_rubrics(path: Path | None = None) -> Rubrics:
    """The file's rubrics; without one, DeepTravel's. Raises UserError."""
    where = str(path) if path else "deeptravel.toml"
    source = path or files("tripwright.domains.deeptravel.verifiers.rubrics").joinpath(
        "deeptravel.toml"
    )
    try:
        text = source.read_text(encoding="utf-8")
        data: dict[str, Any] = tomllib.loads(text)
    except FileNotFoundError:
        raise UserError(
            f"No rubrics at '{where}'. Expected a TOML file like"
            " tripwright/domains/deeptravel/verifiers/rubrics/deeptravel.toml."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{where}: not TOML: {error}.") from None
    try:
        rubrics = Rubrics.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    for name in get_args(LevelName):
        if problem := _problem(rubrics.level(name), *_FORM[name]):
            raise UserError(f"{where}: [{name}] {problem}.")
    return rubrics


def _problem(level: RubricLevel, rubrics: tuple[str, ...], conclusions: tuple[str, ...]) -> str:
    keys = [each.key for each in level.rubric]
    if level.scale != conclusions:
        return (
            f"needs these conclusions in this order, best to worst: {', '.join(conclusions)}; found"
            f" {', '.join(level.scale) or 'none'}"
        )
    if lacking := [key for key in rubrics if key not in keys]:
        return (
            f"lacks the rubric '{lacking[0]}'; expected {', '.join(rubrics)}, and further ones as"
            " you like"
        )
    if len(set(keys)) < len(keys):
        return f"names the rubric '{next(key for key in keys if keys.count(key) > 1)}' twice"
    meanings = [
        (plain(words), each.key) for each in level.conclusion for words in (each.key, each.words)
    ]
    if len({words for words, _ in meanings}) < len(set(meanings)):
        return "says two conclusions with the same words"
    for each in level.rubric:
        if each.unmet not in conclusions[1:]:
            return (
                f"rubric '{each.key}': unmet = '{each.unmet}' is not one of"
                f" {', '.join(conclusions[1:])}"
            )
    return ""

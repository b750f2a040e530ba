"""The dimensions on which people label a transcript (DeepTravel, table 5; row D10) or what was read
out of its answer (STAR, B.4; row S2), from the data files beside this module."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from tripwright.evals.study.folder import Dimension


def paper_dimensions() -> tuple[Dimension, ...]:
    """Table 5 with A.5's criteria, in the paper's order."""
    return _dimensions("dimensions.toml")


def reading_dimensions() -> tuple[Dimension, ...]:
    """Of a plan beside the words that it was read out of."""
    return _dimensions("reading.toml")


def _dimensions(name: str) -> tuple[Dimension, ...]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return tuple(Dimension(**entry) for entry in tomllib.loads(text)["dimension"])

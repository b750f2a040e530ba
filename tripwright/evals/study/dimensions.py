"""The seven dimensions on which people label a transcript (DeepTravel, table 5; row D10), from the
data file beside this module."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from tripwright.evals.study.folder import Dimension


def paper_dimensions() -> tuple[Dimension, ...]:
    """Table 5 with A.5's criteria, in the paper's order."""
    text = files(__package__).joinpath("dimensions.toml").read_text(encoding="utf-8")
    return tuple(Dimension(**entry) for entry in tomllib.loads(text)["dimension"])

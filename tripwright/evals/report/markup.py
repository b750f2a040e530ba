"""Words and numbers as they enter the page. Everything that comes from a file passes through `esc`:
a model may write any text, and a report must show it, never run it."""

from __future__ import annotations

import html
import math
import re
from typing import Any, NamedTuple

# Characters that XML forbids and lone surrogates that UTF-8 cannot write (a sampled byte sequence
# may decode to either), and those that turn the direction of what follows: a text must look like
# what it is.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


class Estimate(NamedTuple):
    """A number of score.json, with its interval where it has one. `share` tells a rate (k of n) and
    the chance of passing from a mean."""

    value: float
    low: float | None
    high: float | None
    k: int | None
    n: int | None
    kind: str = ""  # "share", "chance", "mean" or not said

    @property
    def share(self) -> bool:
        return self.k is not None or self.kind in ("share", "chance")

    @property
    def ends(self) -> tuple[float, float]:
        """Of its interval; the number itself where it has none, and never on the other side."""
        low = self.value if self.low is None else min(self.low, self.value)
        return low, self.value if self.high is None else max(self.high, self.value)


def esc(text: object) -> str:
    """Text made safe for an HTML body, an HTML attribute and SVG."""
    return html.escape(printable(text), quote=True)


def printable(text: object) -> str:
    return _UNPRINTABLE.sub("�", str(text))


def number(value: Any) -> float | None:
    """A finite number, or None: a run that met a NaN must still have a report."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        result = float(value)
    except OverflowError:  # JSON allows integers of any length
        return None
    return result if math.isfinite(result) else None


def estimate(record: Any) -> Estimate | None:
    """Reads {"value", "low", "high", "k", "n", "kind"}, of which all but the first may be missing.
    None where nothing was measured."""
    if not isinstance(record, dict) or (value := number(record.get("value"))) is None:
        return None
    low, high, *counts = (number(record.get(name)) for name in ("low", "high", "k", "n"))
    k, n = (None if count is None else int(count) for count in counts)
    return None if n == 0 else Estimate(value, low, high, k, n, str(record.get("kind", "")))


class Difference(NamedTuple):
    """A difference of two figures on the same queries. `sure`: its test says so or, where none was
    made, its paired interval leaves out zero."""

    words: str
    interval: str
    p: str
    sure: bool
    value: float

    @classmethod
    def of(cls, record: Any) -> Difference | None:
        """None where nothing was compared. Shares differ by points."""
        figure = estimate(record)
        if figure is None:
            return None
        scale, decimals, unit = (100, 1, " points") if figure.share else (1, 2, "")
        interval = ""
        if figure.low is not None and figure.high is not None:
            low, high = (signed(scale * end, decimals) for end in (figure.low, figure.high))
            interval = f"{low} to {high}"
        sure = figure.low is not None and (figure.ends[0] > 0 or figure.ends[1] < 0)
        return cls(
            f"{signed(scale * figure.value, decimals)}{unit}",
            interval,
            _p_words(number(record.get("p_holm")), bool(record.get("p_is_bound"))),
            bool(record.get("significant", sure)),
            figure.value,
        )


def _p_words(p: float | None, is_bound: bool) -> str:
    """'≤' where the draws were too few to give a smaller one."""
    if p is None:
        return ""
    if p < 0.001:
        return "p < 0.001"
    return f"p\u00a0{'≤' if is_bound and p < 1 else '='}\u00a0{p:.2g}"


def percent(value: float, decimals: int = 1) -> str:
    return f"{100 * value:.{decimals}f}%"


def short(value: float) -> str:
    """A number in at most some five characters: 12,300 → 12.3k, 0.000012 → 1.2e-05, 3.4e13 → 34T,
    2.1e22 → 2.1e+22."""
    size = abs(value)
    if size >= 1e21:
        return f"{value:.3g}"
    for power, letter in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= power:
            return f"{value / power:.3g}{letter}"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if size < 10 else f"{value:.1f}"


def signed(value: float, decimals: int) -> str:
    return f"{value:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def shown(figure: Estimate) -> str:
    return percent(figure.value) if figure.share else f"{figure.value:z.2f}"  # z: no -0.00


def shown_interval(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return (
        f"{100 * figure.low:.1f}–{100 * figure.high:.1f}%"
        if figure.share
        else f"{figure.low:z.2f} to {figure.high:z.2f}"
    )


def of_words(figure: Estimate) -> str:
    """'23 of 60', or 'n = 60' for a mean."""
    if figure.k is not None and figure.n is not None:
        return f"{figure.k:,} of {figure.n:,}"
    return f"n = {figure.n:,}" if figure.n is not None else ""


def plain(name: str) -> str:
    """A field name as words: 'is_valid_restaurants' → 'valid restaurants'."""
    return name.removeprefix("is_").replace("_", " ")

"""The figures of a study as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripwright.cli.table import rate_cells, table_lines
from tripwright.evals.study.folder import Study
from tripwright.evals.study.verdicts import ALL

HEADER = (
    "dimension", "TRUE (95% interval)", "tied", "agree", "Cohen κ", "Fleiss κ", "alpha", "items"
)  # fmt: skip
VERDICTS_HEADER = ("verdict", "against", "agrees (95% interval)", "κ", "too strict", "too lenient")


def summary_text(study: Study, figures: Mapping[str, Any]) -> str:
    names = {dimension.key: dimension.name for dimension in study.dimensions} | {
        ALL: f"all {len(study.dimensions)} TRUE"
    }
    raters = (
        ", ".join(f"{rater} {each['done']}" for rater, each in figures["raters"].items())
        or "nobody yet"
    )
    lines = [f"{figures['items']} items; done by {raters}", ""]
    lines += table_lines(
        [_dimension(names[key], entry) for key, entry in figures["dimensions"].items()],
        "<>",
        HEADER,
        indent=0,
    )
    pairs = figures["dimensions"][ALL]["cohen_kappa_by_pair"]
    if len(pairs) > 1:
        kappas = "; ".join(f"{pair} {_figure(kappa)}" for pair, kappa in pairs.items())
        lines += ["", f"Cohen's κ on {names[ALL]}, by pair: {kappas}"]
    if figures["verdicts"]:
        rows = [
            _verdict(name, names[entry["against"]], entry)
            for name, entry in figures["verdicts"].items()
        ]
        lines += ["", *table_lines(rows, "<<>", VERDICTS_HEADER, indent=0)]
    for run, entry in figures.get("runs", {}).items():
        rows = [[names[key], *rate_cells(share)] for key, share in entry["true"].items()]
        lines += ["", f"{run} ({entry['items']} items)", *table_lines(rows, "<><>")]
    return "\n".join(lines)


def _dimension(name: str, figures: Mapping[str, Any]) -> list[str]:
    kappas = (figures[key] for key in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha"))
    agreement = "–" if figures["agreement"] is None else f"{100 * figures['agreement']:.1f}%"
    return [
        name,
        _rate(figures["true"]),
        str(figures["tied"]),
        agreement,
        *map(_figure, kappas),
        str(figures["true"]["n"]),
    ]


def _verdict(name: str, against: str, figures: Mapping[str, Any]) -> list[str]:
    counts = (str(figures["too_strict"]), str(figures["too_lenient"]))
    return [name, against, _rate(figures["agreement"]), _figure(figures["cohen_kappa"]), *counts]


def _rate(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "–"
    return f"{100 * share['value']:.1f}% ({100 * share['low']:.1f}–{100 * share['high']:.1f})"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"

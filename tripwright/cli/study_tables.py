"""The figures of a study as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripwright.evals.study.folder import Study
from tripwright.evals.study.verdicts import ALL

HEADER = f"{'dimension':<31}{'TRUE (95% interval)':>24}{'tied':>6}{'agree':>8}{'Cohen κ':>9}{'Fleiss κ':>10}{'alpha':>8}{'items':>7}"  # noqa: E501


def summary_text(study: Study, figures: Mapping[str, Any]) -> str:
    names = {dimension.key: dimension.name for dimension in study.dimensions} | {
        ALL: f"all {len(study.dimensions)} TRUE"
    }
    raters = (
        ", ".join(f"{rater} {each['done']}" for rater, each in figures["raters"].items())
        or "nobody yet"
    )
    lines = [f"{figures['items']} items; done by {raters}", "", HEADER]
    lines += [_dimension(names[key], entry) for key, entry in figures["dimensions"].items()]
    pairs = figures["dimensions"][ALL]["cohen_kappa_by_pair"]
    if len(pairs) > 1:
        kappas = "; ".join(f"{pair} {_figure(kappa)}" for pair, kappa in pairs.items())
        lines += ["", f"Cohen's κ on {names[ALL]}, by pair: {kappas}"]
    if figures["verdicts"]:
        width = max(30, *(len(name) + 2 for name in figures["verdicts"]))
        lines += [
            "",
            (
                f"{'verdict':<{width}}{'against':<31}{'agrees (95% interval)':>25}{'κ':>7}{'too strict':>12}{'too lenient':>13}"  # noqa: E501
            ),
        ]
        lines += [
            _verdict(f"{name:<{width}}", names[entry["against"]], entry)
            for name, entry in figures["verdicts"].items()
        ]
    for run, entry in figures.get("runs", {}).items():
        lines += ["", f"{run} ({entry['items']} items)"]
        lines += [
            f"  {names[key]:<31}{_rate(share):>24}{share['k']:>6} of {share['n']}"
            for key, share in entry["true"].items()
        ]
    return "\n".join(lines)


def _dimension(name: str, figures: Mapping[str, Any]) -> str:
    kappas = f"{_figure(figures['cohen_kappa']):>9}{_figure(figures['fleiss_kappa']):>10}{_figure(figures['krippendorff_alpha']):>8}"  # noqa: E501
    agreement = "–" if figures["agreement"] is None else f"{100 * figures['agreement']:.1f}%"
    return f"{name:<31}{_rate(figures['true']):>24}{figures['tied']:>6}{agreement:>8}{kappas}{figures['true']['n']:>7}"  # noqa: E501


def _verdict(name: str, against: str, figures: Mapping[str, Any]) -> str:
    agrees = f"{_rate(figures['agreement']):>25}{_figure(figures['cohen_kappa']):>7}"
    return f"{name}{against:<31}{agrees}{figures['too_strict']:>12}{figures['too_lenient']:>13}"


def _rate(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "–"
    return f"{100 * share['value']:.1f}% ({100 * share['low']:.1f}–{100 * share['high']:.1f})"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"

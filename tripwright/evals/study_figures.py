"""The figures of a study: for each dimension, and for all of them together, the share that people
call TRUE and how far they agree; by run where the study is unblinded; and how often what machines
said agrees with people.

The unit is the item. Its label is what more than half of its raters say; a tie is counted as not
TRUE and said beside it. Wilson's interval is then over items: labels of one item stand and fall
together and are not independent.

A machine's verdict that is not there is left out and never counted as a failure. Transcripts carry
the verdicts of their run; `tripwright verify --out` writes others, named after their file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from tripwright.domains import domains
from tripwright.errors import UserError
from tripwright.evals.study import Labels, Study
from tripwright.files import json_lines
from tripwright.statistics.agreement import (
    Item,
    cohens_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from tripwright.statistics.rates import rate

ALL = "all"  # all dimensions TRUE
RUBRIC = "rubric "  # begins the name of a verdict on one rubric of an answer
OF_FILE = ": "  # between the name of a file of verdicts and a verdict in it

Votes = Mapping[str, Mapping[str, bool]]  # item → rater → TRUE or FALSE
Verdicts = Mapping[str, Mapping[str, bool]]  # item → verdict → whether it passes


def summary(
    study: Study, unblind: bool = False, verdicts: Verdicts | None = None
) -> dict[str, Any]:
    """All figures as JSON values. Runs are named only where it is `unblind`. `verdicts` are more
    than those that transcripts carry."""
    labels = study.labels()
    votes = {name: _votes_on(study, labels, name) for name in (*study.keys, ALL)}
    figures: dict[str, Any] = {
        "items": len(study.key),
        "raters": {
            rater: {
                "begun": sum(bool(label.values) for label in by_item.values()),
                "done": sum(len(label.values) == len(study.keys) for label in by_item.values()),
            }
            for rater, by_item in sorted(labels.items())
        },
        "dimensions": {name: _dimension_figures(of) for name, of in votes.items()},
        "verdicts": _verdict_figures(study, votes, verdicts or {}),
    }
    if unblind:
        items = {run: [e.item for e in study.key.values() if e.run == run] for run in study.runs}
        figures["runs"] = {
            run: {
                "items": len(mine),
                "true": {
                    name: _share([of[item] for item in mine if of[item]])
                    for name, of in votes.items()
                },
            }
            for run, mine in items.items()
        }
    return figures


def _votes_on(study: Study, labels: Labels, name: str) -> Votes:
    """On one dimension, or on ALL of them; only labels that were given."""
    votes: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for rater, by_item in labels.items():
        for item, label in by_item.items():
            value = label.passes(study.keys) if name == ALL else label.values.get(name)
            if value is not None:
                votes[item][rater] = value
    return votes


def majority(item: Iterable[bool]) -> bool | None:
    """TRUE or FALSE as more than half of the labels say; None on a tie or without labels."""
    votes = Counter(item)
    return None if votes[True] == votes[False] else votes[True] > votes[False]


def _share(items: Sequence[Mapping[str, bool]]) -> Any:
    return rate(sum(majority(vote.values()) is True for vote in items), len(items))


def _dimension_figures(votes: Votes) -> dict[str, Any]:
    """Fleiss' kappa is over the items that every rater has labelled, the others over all that they
    can use; the counts say how many."""
    items: list[Item] = [vote for vote in votes.values() if vote]
    raters = sorted({rater for vote in items for rater in vote})
    complete = [vote for vote in items if len(vote) == len(raters)]
    values = [value for vote in votes.values() for value in vote.values()]
    pairs = {
        f"{a} · {b}": cohens_kappa([(each[a], each[b]) for each in items if {a, b} <= each.keys()])
        for a, b in combinations(raters, 2)
    }
    return {
        "true": _share([vote for vote in votes.values() if vote]),
        "tied": sum(bool(vote) and majority(vote.values()) is None for vote in votes.values()),
        "labels": {"true": sum(values), "n": len(values)},
        "agreement": percent_agreement(items),
        "compared": sum(len(vote) > 1 for vote in items),
        "cohen_kappa": next(iter(pairs.values())) if len(pairs) == 1 else None,
        "cohen_kappa_by_pair": pairs,
        "fleiss_kappa": fleiss_kappa(complete) if len(raters) > 1 else None,
        "complete": len(complete) if len(raters) > 1 else 0,
        "krippendorff_alpha": krippendorff_alpha(items),
    }


def _counterparts() -> dict[str, str]:
    """Verdict → the dimension that asks nearly the same, of all domains."""
    return {name: key for domain in domains().values() for name, key in domain.counterparts.items()}


def _verdict_figures(study: Study, votes: Mapping[str, Votes], more: Verdicts) -> dict[str, Any]:
    """Verdict → the dimension it is held against (all of them where none is alike), and how often
    it says what most raters say; items on which they are tied have no say."""
    figures, counterparts = {}, _counterparts()
    verdicts = {item: {**entry.verdicts, **more.get(item, {})} for item, entry in study.key.items()}
    for name in dict.fromkeys(name for of in verdicts.values() for name in of):
        against = counterparts.get(name.rpartition(OF_FILE)[2], ALL)
        if against not in votes:
            continue
        pairs = [
            (of[name], people)
            for item, of in verdicts.items()
            if name in of and (people := majority(votes[against][item].values())) is not None
        ]
        figures[name] = {
            "against": against,
            "agreement": rate(sum(a == b for a, b in pairs), len(pairs)),
            "cohen_kappa": cohens_kappa(pairs),
            "too_strict": pairs.count((False, True)),
            "too_lenient": pairs.count((True, False)),
        }
    return figures


def written_verdicts(study: Study, texts: Sequence[str]) -> dict[str, dict[str, bool]]:
    """Item → verdicts of `tripwright verify --out`. Each of `texts` is FILE, or RUN=FILE where the
    study has several runs.

    Raises UserError for a run that the study does not have, for what is no such file, and where
    none of its verdicts is of an item.
    """
    by_item: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for text in texts:
        run, path = _run_and_path(text, study.runs)
        item_of = {entry.id: entry.item for entry in study.key.values() if entry.run == run}
        if not path.is_file():
            raise UserError(
                f"No verdicts at '{path}': expected a file that 'tripwright verify --out' wrote."
            )
        ids, items = list[str](), ", ".join(map(repr, list(item_of)[:3]))
        for number, record in json_lines(path):
            if not isinstance(record, dict) or "id" not in record or "reward" not in record:
                raise UserError(
                    f"{path}:{number}: expected a verdict of 'tripwright verify --out', an object"
                    ' with "id" and "reward".'
                )
            ids.append(str(record["id"]))
            if ids[-1] in item_of:
                by_item[item_of[ids[-1]]] |= {
                    f"{path.stem}{OF_FILE}{name}": passes
                    for domain in domains().values()
                    for name, passes in domain.opinions({"verifier": record}).items()
                }
        if not item_of.keys() & ids:
            raise UserError(
                f"No verdict in '{path}' is of an item from run '{run}': the file has"
                f" {', '.join(map(repr, ids[:3])) or 'none'}, the items are {items}."
            )
    return by_item


def _run_and_path(text: str, runs: Sequence[str]) -> tuple[str, Path]:
    """RUN=FILE, where RUN may itself hold a "=" and FILE may too: a run of the study decides."""
    for run in sorted(runs, key=len, reverse=True):
        if text.startswith(f"{run}="):
            return run, Path(text[len(run) + 1 :])
    if len(runs) == 1:
        return runs[0], Path(text)
    raise UserError(
        f"Of which run are the verdicts '{text}'? Give RUN=FILE, with RUN one of {', '.join(runs)}."
    )


def merged(study: Study, run: str | None = None) -> list[dict[str, Any]]:
    """A line for each item on which most raters agree in every dimension; `trajectory` and
    `rubrics` are what labels that a judge is held against consist of (`verify --labels`)."""
    if run is not None and run not in study.runs:
        raise UserError(f"No run '{run}' in this study: expected {', '.join(study.runs)}.")
    labels = study.labels()
    votes = {key: _votes_on(study, labels, key) for key in study.keys}
    rubrics = {
        name.removeprefix(RUBRIC): key
        for name, key in _counterparts().items()
        if name.startswith(RUBRIC) and key in study.keys
    }
    lines = []
    for item, entry in study.key.items():
        values = {key: majority(votes[key][item].values()) for key in study.keys}
        if None in values.values() or run not in (None, entry.run):
            continue
        lines.append(
            {
                "item": item,
                "id": entry.id,
                "run": entry.run,
                "passes": all(values.values()),
                "trajectory": all(values.values()),
                "rubrics": {rubric: values[key] for rubric, key in rubrics.items()},
                "dimensions": values,
                "raters": sorted({rater for key in study.keys for rater in votes[key][item]}),
            }
        )
    return lines

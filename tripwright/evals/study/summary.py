"""The figures of a study: for each dimension, and for all of them together, the share that people
call TRUE and how far they agree; by run where the study is unblinded; and how often what machines
said agrees with people.

The unit is the item. Its label is what more than half of its raters say; a tie is counted as not
TRUE and said beside it. Wilson's interval is then over items: labels of one item stand and fall
together and are not independent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import Label
from tripwright.evals.study.raters import majority, pairs_of, rater_pairs
from tripwright.evals.study.verdicts import ALL, counterpart, verdict_names
from tripwright.statistics.agreement import (
    cohens_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from tripwright.statistics.rates import rate

Labels = Mapping[str, Mapping[str, Label]]  # rater → item → label
Votes = Mapping[str, Mapping[str, bool]]  # item → rater → TRUE or FALSE
Verdicts = Mapping[str, Mapping[str, bool]]  # item → verdict → whether it passes


def summary(
    study: Study, labels: Labels, unblind: bool = False, verdicts: Verdicts | None = None
) -> dict[str, Any]:
    """All figures as JSON values. Runs are named only where it is `unblind`. `written` are verdicts
    beside those that transcripts carry."""
    votes = {name: votes_on(study, labels, name) for name in (*study.keys, ALL)}
    figures: dict[str, Any] = {
        "items": len(study.items),
        "raters": {
            rater: _progress(study, by_item.values()) for rater, by_item in sorted(labels.items())
        },
        "dimensions": {name: dimension_figures(votes[name]) for name in (*study.keys, ALL)},
        "verdicts": verdict_figures(study, votes, verdicts or {}),
    }
    if unblind:
        figures["runs"] = {
            run: _run_figures(study, votes, run)
            for run in dict.fromkeys(entry.run for entry in study.key.values())
        }
    return figures


def votes_on(study: Study, labels: Labels, name: str) -> Votes:
    """Item → rater → label on one dimension, or on ALL of them; only labels that were given."""
    votes: dict[str, dict[str, bool]] = {item: {} for item in study.items}
    for rater, by_item in labels.items():
        for item, label in by_item.items():
            value = label.passes(study.keys) if name == ALL else label.values.get(name)
            if value is not None:
                votes[item][rater] = value
    return votes


def dimension_figures(votes: Votes) -> dict[str, Any]:
    """Fleiss' kappa is over the items that every rater has labelled, the others over all that they
    can use; the counts say how many."""
    items = [vote for vote in votes.values() if vote]
    raters = {rater for vote in items for rater in vote}
    complete = [vote for vote in items if len(vote) == len(raters)]
    values = [value for vote in items for value in vote.values()]
    pairs = {f"{a} · {b}": cohens_kappa(pairs_of(items, a, b)) for a, b in rater_pairs(items)}
    return {
        "true": _share(items),
        "tied": sum(majority(vote.values()) is None for vote in items),
        "labels": {"true": sum(values), "n": len(values)},
        "agreement": percent_agreement(items),
        "compared": sum(len(vote) > 1 for vote in items),
        "cohen_kappa": next(iter(pairs.values())) if len(pairs) == 1 else None,
        "cohen_kappa_by_pair": pairs,
        "fleiss_kappa": fleiss_kappa(complete) if len(raters) > 1 else None,
        "complete": len(complete) if len(raters) > 1 else 0,
        "krippendorff_alpha": krippendorff_alpha(items),
    }


def verdict_figures(study: Study, votes: Mapping[str, Votes], more: Verdicts) -> dict[str, Any]:
    """Verdict → the dimension it is held against and how often it says what most raters say; items
    on which they are tied have no say."""
    figures = {}
    verdicts = {item: {**entry.verdicts, **more.get(item, {})} for item, entry in study.key.items()}
    for name in verdict_names(verdicts.values()):
        if (against := counterpart(name)) not in votes:
            continue
        machine = {item: each[name] for item, each in verdicts.items() if name in each}
        people = {
            item: majority(votes[against][item].values())
            for item in machine
            if item in votes[against]
        }
        pairs = [(machine[item], vote) for item, vote in people.items() if vote is not None]
        figures[name] = {
            "against": against,
            "agreement": rate(sum(a == b for a, b in pairs), len(pairs)),
            "cohen_kappa": cohens_kappa(pairs),
            "too_strict": pairs.count((False, True)),
            "too_lenient": pairs.count((True, False)),
        }
    return figures


def _run_figures(study: Study, votes: Mapping[str, Votes], run: str) -> dict[str, Any]:
    mine = [entry.item for entry in study.key.values() if entry.run == run]
    shares = {
        name: _share([vote for item in mine if (vote := on[item])]) for name, on in votes.items()
    }
    return {"items": len(mine), "true": shares}


def _share(items: Sequence[Mapping[str, bool]]) -> Any:
    return rate(sum(majority(vote.values()) is True for vote in items), len(items))


def _progress(study: Study, labels: Collection[Label]) -> dict[str, int]:
    return {
        "begun": sum(bool(label.values) for label in labels),
        "done": sum(len(label.values) == len(study.keys) for label in labels),
    }

"""May these runs be compared? What their cards must have in common, in words where they do not.

A policy is what is compared, so it may differ; so may seeds. World, queries, rules, prompt, tools,
limits, decoding and what was done to the tools must be alike, or the difference of two figures is
theirs and not the agents'. The judge's version, tripwright's and the number of samples are only
told. Where a card does not say something, that is told too: nothing is taken for alike on no
evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tripwright.evals.run_card import ADDED_LATER, HASHES, differences_in, what_matters

Card = Mapping[str, Any]

ALIKE = ("rules", "world", "queries", "dialect", "decoding", "emptied_tools", "faults")
# what a card that says nothing about cannot be compared by
KNOWN = ("rules", "world", "queries", "dialect")
TOLD = ("judge", "tripwright", "samples")
DIALECT = ("name", "system_prompt_sha256", "face", "limits", *ADDED_LATER)
SAMPLED = ("endpoint", "local")  # policies that decode; a script has no temperature
NEUTRAL: dict[str, Any] = {"top_p": 1.0}  # what a decoding setting is where it is not given
SEEDS = ("seed",)


def unlike(cards: Mapping[str, Card], but: Sequence[str] = ()) -> list[str]:
    """One phrase for each thing that must be alike and differs from the first run's; `but` names
    entries that may differ."""
    (first_name, first), *others = cards.items()
    entries = [entry for entry in ALIKE if entry not in but]
    phrases: list[str] = []
    for name, card in others:
        here, there = _comparable(first, card), _comparable(card, first)
        phrases += differences_in(here, there, entries, f"in {first_name}", f"in {name}")
    return phrases


def notes(cards: Mapping[str, Card]) -> list[str]:
    """What a reader should know although it forbids nothing."""
    phrases = []
    for entry in TOLD:
        values = {name: card[entry] for name, card in cards.items() if card.get(entry) is not None}
        if len({json.dumps(value) for value in values.values()}) > 1:
            words = {
                "judge": "the judge's code",
                "tripwright": "tripwright",
                "samples": "samples per query",
            }[entry]
            phrases.append(
                f"{words} differs: "
                + ", ".join(f"{value} in {name}" for name, value in values.items())
            )
    first = next(iter(cards.values()))
    for entry in KNOWN:
        if silent := [
            name
            for name, card in cards.items()
            if not _says_the_same_things(card.get(entry), first.get(entry))
        ]:
            phrases.append(
                f"not known to be alike: the run card of {', '.join(silent)} does not say its"
                f" {entry}, or says it otherwise"
            )
    return phrases


def _says_the_same_things(entry: Any, first: Any) -> bool:
    if isinstance(entry, dict) and isinstance(first, dict):
        return bool(entry.keys() & first.keys())
    return bool(entry)


def seed_of(card: Card, recipe: Card | None) -> int | None:
    """The training's seed where there was one, else the sampling's."""
    decoding = card.get("decoding")
    seed = (recipe or {}).get("seed", decoding.get("seed") if isinstance(decoding, dict) else None)
    return seed if isinstance(seed, int) else None


def but_for_seeds(card: Card, recipe: Card | None) -> str:
    """Equal for runs that differ only by a seed: of the sampling, or of the training that made the
    weights."""
    policy = dict(card.get("policy") or {})
    # the recipe and the stage say what the weights are; their fingerprint and place differ with the
    # seed
    if recipe is not None:
        policy = {key: value for key, value in policy.items() if key not in HASHES}
        if isinstance(model := policy.get("model"), str):
            policy["model"] = Path(model).name  # RUN/model/STAGE
    settings = {key: value for key, value in (recipe or {}).items() if key not in (*SEEDS, "name")}
    decoding = {
        key: value for key, value in (card.get("decoding") or {}).items() if key not in SEEDS
    }
    rest = [what_matters(card.get(entry)) for entry in (*ALIKE, "samples") if entry != "decoding"]
    return json.dumps([policy, settings, decoding, rest], sort_keys=True, default=str)


def _comparable(card: Card, other: Card) -> dict[str, Any]:
    """The entries of a card in one form, whichever verb wrote it, cut to what the other one says as
    well."""
    entries = {entry: card.get(entry) for entry in ALIKE}
    entries["dialect"] = _dialect(card)
    entries["decoding"] = _decoding(card, other)
    entries["emptied_tools"] = bool(card.get("emptied_tools"))
    for entry in KNOWN:
        mine, theirs = entries[entry], _dialect(other) if entry == "dialect" else other.get(entry)
        if not mine or not theirs:
            entries[entry] = None
        elif isinstance(mine, dict) and isinstance(theirs, dict):
            entries[entry] = {key: value for key, value in mine.items() if key in theirs}
    return entries


def _dialect(card: Card) -> dict[str, Any]:
    """As hashes and limits, also where a card holds the whole dialect."""
    entry = card.get("dialect")
    if not isinstance(entry, dict):
        return {}
    whole = dict(entry)
    if "limits" not in whole:
        whole["limits"] = {
            key: value
            for key, value in entry.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }
    if isinstance(prompt := entry.get("system_prompt"), str):
        whole["system_prompt_sha256"] = hashlib.sha256(prompt.encode()).hexdigest()
    return {key: whole[key] for key in DIALECT if key in whole}


def _decoding(card: Card, other: Card) -> dict[str, Any] | None:
    """None where one of the two policies decodes nothing. Policies of one kind know the same
    settings; of two, what both say counts."""
    kinds = [(each.get("policy") or {}).get("kind") for each in (card, other)]
    mine, theirs = (each.get("decoding") for each in (card, other))
    if (
        not isinstance(mine, dict)
        or not isinstance(theirs, dict)
        or not all(kind in SAMPLED for kind in kinds)
    ):
        return None
    keys = mine.keys() | theirs.keys() if kinds[0] == kinds[1] else mine.keys() & theirs.keys()
    settings = {key: mine.get(key) for key in keys if key not in SEEDS}
    filled = {key: NEUTRAL.get(key) if value is None else value for key, value in settings.items()}
    return {
        key: value
        for key, value in filled.items()
        if value is not None and not (key in NEUTRAL and not mine.get("temperature"))
    }

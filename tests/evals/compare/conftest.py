"""Run folders whose passes are known, and the verb on them."""

import copy
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import verdict_record
from tests.files import write_lines
from tripwright.cli.main import Verb
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES
from tripwright.evals import scoreboard
from tripwright.runs import VERSION, VERSION_ENTRY
from tripwright.statistics.resampling import resampled_sums

VERBS = (Verb("compare", "tripwright.cli.compare", "compare", "Compare."),)
CARD: dict[str, Any] = {
    VERSION_ENTRY: VERSION,
    "policy": {"kind": "local", "model": "m", "fingerprint": "f0"},
    "decoding": {"temperature": 0.0, "dtype": "fp32"},
    "rules": "strict",
    "dialect": {"name": "compact", "face": "compact", "limits": {"max_turns": 12}}
    | {"system_prompt_sha256": "p", "tools_sha256": "t"},
    "queries": {"path": "q.jsonl", "sha256": "q"},
    "world": {"name": "w", "content_hash": "c"},
    "samples": 1,
    "emptied_tools": False,
    "tripwright": "1",
    "judge": "j",
}
Maker = Callable[..., Path]
BEFORE = [True] * 20 + [False] * 20
AFTER = [True] * 18 + [False] * 2 + [True] * 9 + [False] * 11  # 9 gained, 2 lost


def line(query: int, sample: int | None, final: bool | None, days: int) -> dict[str, Any]:
    """An episode in which all commonsense holds, and the budget where it passes. `final` None:
    unscored."""
    end = "" if sample is None else f"-s{sample:02d}"
    commonsense = dict.fromkeys(COMMONSENSE_NAMES, True)
    groups = {"commonsense": commonsense, "hard": {"valid_cost": bool(final)}}
    verdict = verdict_record(bool(final), groups)
    asked = {"query": f"trip {query}", "level": ("easy", "hard")[query % 2], "days": days}
    asked |= {"local_constraint": {}, "org": "A"}
    stop = "unscored" if final is None else "answer"
    return {
        "id": f"q{query:06d}{end}", "domain": "travelplanner", "request": asked, "world": "w", "plan": [{}],
        "transcript": {"stop_reason": stop, "fault": "dead" if final is None else None, "segments": [{"role": "assistant"}] * 5},
        **({"verdict": None, "asked": {name: list(facts) for name, facts in groups.items()}} if final is None else {"verdict": verdict}),
    }  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Maker:
    """made(name, passes, **changes of the card) → a run folder; of each query True, False or None
    (unscored), or several of these."""

    def make(
        name: str,
        passes: Sequence[Any],
        recipe: dict[str, Any] | None = None,
        place: str = ".",
        **changes: Any,
    ) -> Path:
        folder = tmp_path / name / place
        folder.mkdir(parents=True)
        lines = []
        for query, found in enumerate(passes):
            samples = [(None, found)] if not isinstance(found, tuple) else list(enumerate(found))
            days = 3 + 2 * (query % 3)
            lines += [line(query, sample, passed, days) for sample, passed in samples]
        write_lines(folder / "transcripts.jsonl", lines)
        card = copy.deepcopy(CARD)
        for entry, value in changes.items():
            both = isinstance(value, dict) and isinstance(card.get(entry), dict)
            card[entry] = {**card[entry], **value} if both else value
        (folder / "run_card.json").write_text(json.dumps(card))
        score = {"n": len(lines), "unscored": 0, "rules": card["rules"], "metrics": {}}
        (folder / "score.json").write_text(json.dumps({**score, "run_card": card}))
        if recipe is not None:
            (tmp_path / name / "recipe.json").write_text(json.dumps(recipe))
        return tmp_path / name

    return make


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here is what is compared, not how finely the ends of an interval are drawn."""
    monkeypatch.setattr(scoreboard, "resampled_sums", partial(resampled_sums, n=200))


@pytest.fixture
def told(typed: Callable[..., Any]) -> Callable[..., str]:
    """told(*words) → what the verb prints."""
    return lambda *words: typed("compare", words).out


@pytest.fixture
def compare(typed: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """compare(*words) → what it prints with --json."""
    return lambda *words: typed("compare --json", words).record


@pytest.fixture
def refused(refused: Callable[..., str]) -> Callable[..., str]:
    """refused(*words) → the one line that says why not."""
    return lambda *words: refused("compare", words)

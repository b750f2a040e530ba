"""How often the rule form of the verifiers is right: on answers corrupted in known ways, and on
grounded ones in other words.

    python benchmarks/verifier_rules.py [--each 50] [--reworded 300] [--seed 0] [--show N]

Trips are made up, one a seed: request, tool answers, and a grounded answer's facts. A corruption
changes the facts, a wording tells them; tests/domains/deeptravel/verifiers holds both. "Found"
counts answers whose joint reward is not 1, "for its reason" those whose problems name what was
done.
Precision of a corruption is found / (found + its share of the grounded answers that were refused).
The wordings were written in sets, and each set was measured once before the rules were mended on
it: docs/verifying.md has those first figures, which are what new wordings meet. Intervals are
Wilson's, 95%. Exit code 1 below 98% recall or precision.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.statistics.rates import wilson
from tripwright.transcript import Transcript

FOLDER = Path(__file__).parents[1] / "tests" / "domains" / "deeptravel" / "verifiers"
BAR = 0.98


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"measured_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def told(k: int, n: int) -> str:
    low, high = wilson(k, n)
    return f"{k}/{n} = {100 * k / n:5.1f}% [{100 * low:.1f}, {100 * high:.1f}]" if n else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=50, help="answers per corruption")
    parser.add_argument(
        "--reworded",
        type=int,
        default=300,
        help="grounded answers, of the first eighteen and of the last four wordings each",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--show", type=int, default=0, help="print so many answers that were judged wrongly"
    )
    settings = parser.parse_args()
    verifier, seconds, saved, turns = RuleVerifier(), 0.0, 0, 0

    def judge(request: TravelRequest, transcript: Transcript) -> JointFinding:
        nonlocal seconds, saved, turns
        began = perf_counter()
        found = joint(verifier, request, transcript)
        seconds, saved, turns = (
            seconds + perf_counter() - began,
            saved + found.turns_saved,
            turns + len(transcript.calls),
        )
        return found

    measure = load("measured").Measure(load, judge)
    offset = 10_000_000 * settings.seed
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for case in measure.corrupted(settings.each, 1_000_000 + offset):
        by_kind[case.kind].append(case)
    corrupted_turns, corrupted_saved = turns, saved
    pools = {
        "first": list(measure.reworded(settings.reworded, measure.tuned, 2_000_000 + offset)),
        "last": list(measure.reworded(settings.reworded, measure.last, 3_000_000 + offset)),
    }
    refused = sum(case.flagged for case in pools["first"])
    worst = 1.0
    print(f"{'corruption':<24}{'found (recall)':<36}{'for its reason':<36}precision")
    for kind, cases in by_kind.items():
        found, share = (
            sum(case.flagged for case in cases),
            refused * len(cases) / max(1, len(pools["first"])),
        )
        precision = found / (found + share) if found else 0.0
        worst = min(worst, found / len(cases), precision)
        print(
            f"{kind:<24}{told(found, len(cases)):<36}{told(sum(c.for_its_reason for c in cases), len(cases)):<36}{100 * precision:5.1f}%"  # noqa: E501
        )
    every = [case for cases in by_kind.values() for case in cases]
    found = sum(case.flagged for case in every)
    reasons = sum(case.for_its_reason for case in every)
    print(
        f"{'all':<24}{told(found, len(every)):<36}{told(reasons, len(every)):<36}{told(found, found + refused)}"  # noqa: E501
    )
    for name, cases in pools.items():
        print(
            f"\ngrounded, {name} wordings: passed"
            f" {told(sum(not case.flagged for case in cases), len(cases))}"
        )
        for wording in dict.fromkeys(case.wording for case in cases):
            own = [case for case in cases if case.wording == wording]
            print(f"  {wording:<24}{told(sum(not case.flagged for case in own), len(own))}")
    judged = len(every) + 2 * settings.reworded
    print(f"\n{1000 * seconds / max(1, judged):.1f} ms an answer")
    print(
        f"the early stop spared {corrupted_saved} of {corrupted_turns} turns of corrupted answers"
    )
    wrongly = [case for case in every if not case.flagged] + [
        case for cases in pools.values() for case in cases if case.flagged
    ]
    for case in wrongly[: settings.show]:
        print(
            f"\n--- {case.kind}, {case.wording}, seed {case.seed}:"
            f" {', '.join(case.kinds) or 'nothing found'}\n{case.answer}"
        )
    sys.exit(worst < BAR)


if __name__ == "__main__":
    main()

"""Results of other people's harnesses → a run folder, so that `compare` and `report` read them as
they read a run: with intervals over questions and seeds.

The figure that decides is the verdict, and each figure is a `measure` of the episode: a mean over
answers, in which a share of several checks counts as often as it has checks. Where a benchmark has
parts (subsets, levels of difficulty), `mean_over_parts` gives each the same weight.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.outside.harnesses import HarnessAnswer, HarnessResult, read_result
from tripwright.evals.run_card import environment
from tripwright.evals.scoreboard import score_records
from tripwright.files import whole_folder
from tripwright.runs import CARD, SCORE, TRANSCRIPTS, VERSION, VERSION_ENTRY
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import FORMAT, SCHEMA, Verdict, format_group, verified_by

OUTSIDE = "outside"  # stands where other episodes name their domain


def import_results(
    files: Sequence[Path], harness: str, out: Path, model: str | None = None
) -> dict[str, Any]:
    """Writes `out` and returns its score. Several files are parts of one evaluation. `model` is how
    the policy is called, by default as the harness calls it. Raises UserError, and then leaves
    nothing behind."""
    if out.exists():
        raise UserError(f"'{out}' is there already. Choose a new folder for --out.")
    results = [read_result(path, harness) for path in files]
    first = results[0]
    for path, result in zip(files, results, strict=True):
        if (result.benchmark, result.model) != (first.benchmark, first.model):
            raise UserError(
                f"'{path}' is of {result.model} on {result.benchmark}, and '{files[0]}' of"
                f" {first.model} on {first.benchmark}. Import them into folders of their own."
            )
    answers = [answer for result in results for answer in result.answers]
    rules = verified_by(f"{harness} {first.benchmark}")
    card = _card(first, answers, harness, rules, model) | {
        "harness": {
            "name": harness,
            "version": first.version,
            "files": {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
        }
    }
    records = list(_records(answers, first.benchmark, rules))
    score = score_records(records, rules, card)
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    with whole_folder(out) as partial:
        partial.mkdir(parents=True)
        (partial / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        (partial / TRANSCRIPTS).write_text(lines, encoding="utf-8")
        (partial / SCORE).write_text(json.dumps(score, indent=2) + "\n", encoding="utf-8")
    return score


def _card(
    result: HarnessResult,
    answers: Sequence[HarnessAnswer],
    harness: str,
    rules: str,
    model: str | None,
) -> dict[str, Any]:
    questions = sorted({f"{answer.part} {answer.question}" for answer in answers})
    return {
        "policy": {"kind": harness, "model": model or result.model},
        "decoding": dict(result.decoding),
        "rules": rules,
        "dialect": {"name": harness},
        "queries": {"sha256": hashlib.sha256(json.dumps(questions).encode()).hexdigest()},
        "world": {"name": result.benchmark},
        "samples": max(Counter(f"{a.part} {a.question}" for a in answers).values()),
        **environment(),
        VERSION_ENTRY: VERSION,
    }


def _records(
    answers: Sequence[HarnessAnswer], benchmark: str, rules: str
) -> Iterator[dict[str, Any]]:
    sizes = Counter(answer.part for answer in answers if answer.figures)
    samples = Counter[str]()
    for answer in answers:
        question = answer.question if answer.part is None else f"{answer.part} {answer.question}"
        final = bool(answer.figures) and next(iter(answer.figures.values())) == 1
        texts = [text for role, text in answer.messages if role == "assistant"]
        transcript = Transcript(
            [Segment(role, text) for role, text in answer.messages],  # type: ignore[arg-type]
            answer.stop_reason if answer.figures else StopReason.UNSCORED,
            texts[-1] if texts else None,
            answer.fault,
            {} if answer.tokens is None else {"completion_tokens": answer.tokens},
        )
        measures = {
            name: [value, answer.weights.get(name, 1)] for name, value in answer.figures.items()
        }
        if len(sizes) > 1 and answer.figures:
            measures["mean_over_parts"] = [float(final), sizes.total() / sizes[answer.part]]
        verdict = Verdict(rules, (format_group(None),), final) if answer.figures else None
        request = next((text for role, text in answer.messages if role == "user"), "")
        yield {
            "id": f"{question}-s{samples[question]:02d}",
            "domain": OUTSIDE,
            "request": {"query": request, "question": question, "level": answer.part},
            "world": benchmark,
            "transcript": transcript.to_json(),
            "verdict": None if verdict is None else verdict.record(),
            **({} if verdict else {"asked": {FORMAT: [SCHEMA]}}),
            "measures": measures,
        }
        samples[question] += 1
